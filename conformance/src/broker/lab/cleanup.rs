//! What a case leaves behind, and how it is taken away.

use std::time::{Duration, Instant};

use ackflow_protocol::messages::delete_groups::DeleteGroupsRequest;
use ackflow_protocol::messages::delete_topics::{DeleteTopicState, DeleteTopicsRequest};
use ackflow_protocol::messages::share_group_heartbeat::ShareGroupHeartbeatRequest;
use ackflow_protocol::wire::ErrorCode;

use super::groups::Kind;
use super::{Lab, Outcome, Stop};

/// What a case has made.
#[derive(Debug, Default)]
pub(super) struct Made {
    pub(super) topics: Vec<String>,
    pub(super) groups: Vec<String>,
    /// Group and member id.
    pub(super) members: Vec<(String, String)>,
}

/// A broker that does not let go keeps what the case has left.
const ENOUGH: Duration = Duration::from_secs(15);

impl Lab {
    /// Notes a member that a case has made by requests of its own.
    pub(crate) fn made_member(&self, group: &str, member: &str) {
        self.made().members.push((group.to_owned(), member.to_owned()));
    }

    /// Notes a topic that a case has made by requests of its own.
    pub(crate) fn made_topic(&self, name: &str) {
        self.made().topics.push(name.to_owned());
    }

    /// Takes away what the case has left behind. What a broker does not let go of stays; the verdict is another matter.
    pub(crate) async fn clean_up(&self) {
        let made = std::mem::take(&mut *self.made());
        let began = Instant::now();
        match tokio::time::timeout(ENOUGH, self.take_away(made)).await {
            Ok(Ok(())) => tracing::debug!(case = self.case, took = ?began.elapsed(), "cleaned up"),
            Ok(Err(Stop::NotOffered(what))) => tracing::debug!(case = self.case, what, "cannot be cleaned up"),
            Ok(Err(Stop::Failed { expected, got })) => {
                tracing::warn!(case = self.case, expected, got, "what the case has made may be left");
            }
            Err(_) => {
                tracing::warn!(case = self.case, "what the case has made may be left: the broker did not let go of it")
            }
        }
    }

    /// Tries all of it, and says what went wrong first.
    async fn take_away(&self, made: Made) -> Outcome {
        let mut done = Ok(());
        for (group, member) in &made.members {
            done = done.and(self.take_member(group, member).await);
        }
        // Groups first: a Kafka that deletes a group while it deletes its topics may take minutes.
        for group in &made.groups {
            done = done.and(self.take_group(group).await);
        }
        done.and(self.take_topics(made.topics).await)
    }

    async fn take_member(&self, group: &str, member: &str) -> Outcome {
        let mut link = self.coordinator(Kind::Group, group).await?.unrecorded();
        let request = ShareGroupHeartbeatRequest {
            member_epoch: -1,
            group_id: group.to_owned(),
            member_id: member.to_owned(),
            ..Default::default()
        };
        // It may have left, or been put out.
        link.call(&request).await.map(drop)
    }

    async fn take_group(&self, group: &str) -> Outcome {
        let mut link = self.coordinator(Kind::Group, group).await?.unrecorded();
        let request = DeleteGroupsRequest { groups_names: vec![group.to_owned()] };
        // A group whose members have just left may not be empty yet.
        for _ in 0..20 {
            let response = link.call(&request).await?;
            if response.results.iter().all(|result| result.error_code != ErrorCode::NON_EMPTY_GROUP) {
                return Ok(());
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        Err(Stop::failed(format!("the group {group} is empty"), "it still has members"))
    }

    async fn take_topics(&self, topics: Vec<String>) -> Outcome {
        if topics.is_empty() {
            return Ok(());
        }
        let by_name = |name: &String| DeleteTopicState { name: Some(name.clone()), ..Default::default() };
        let request = DeleteTopicsRequest {
            topics: topics.iter().map(by_name).collect(),
            topic_names: topics,
            timeout_ms: 10_000,
        };
        // The case may have deleted some itself.
        self.link().await?.unrecorded().call(&request).await.map(drop)
    }
}
