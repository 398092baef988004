//! Members of share groups that behave, for cases that are about something else.

use std::collections::BTreeSet;
use std::time::Duration;

use ackflow_protocol::messages::share_group_heartbeat::{ShareGroupHeartbeatRequest, ShareGroupHeartbeatResponse};
use ackflow_protocol::wire::Uuid;
use tokio::task::JoinHandle;

use super::groups::Kind;
use super::{Lab, Link, Outcome, Topic, random_uuid};

/// A member that has its partitions. It goes on with its heartbeats until it is dropped.
#[derive(Debug)]
pub(crate) struct Member {
    pub(crate) group: String,
    pub(crate) id: String,
    heartbeats: JoinHandle<()>,
}

impl Lab {
    /// A new member of a share group that has all partitions of these topics.
    pub(crate) async fn member(&self, group: &str, topics: &[&Topic]) -> Outcome<Member> {
        let wanted: BTreeSet<(Uuid, i32)> = topics
            .iter()
            .flat_map(|topic| (0..topic.leaders.len()).map(|partition| (topic.id, partition as i32)))
            .collect();
        self.member_once(group, topics, |assigned| assigned.is_superset(&wanted)).await
    }

    /// A new member of a share group that has some partition of these topics, as one of several members may.
    pub(crate) async fn member_beside(&self, group: &str, topics: &[&Topic]) -> Outcome<Member> {
        self.member_once(group, topics, |assigned| !assigned.is_empty()).await
    }

    async fn member_once(
        &self,
        group: &str,
        topics: &[&Topic],
        enough: impl Fn(&BTreeSet<(Uuid, i32)>) -> bool,
    ) -> Outcome<Member> {
        let mut link = self.coordinator(Kind::Group, group).await?.unrecorded();
        let id = random_uuid().to_string();
        self.made().members.push((group.to_owned(), id.clone()));
        let mut request = join(group, &id, topics);
        let joined = self.eventually("a member gets its partitions", async || {
            let response = beat(&mut link, &mut request).await?;
            self.granted("ShareGroupHeartbeat", response.error_code, response.error_message.as_deref())?;
            let assigned = response.assignment.iter().flat_map(|assignment| &assignment.topic_partitions);
            let assigned = assigned.flat_map(|topic| topic.partitions.iter().map(|index| (topic.topic_id, *index)));
            let assigned: BTreeSet<_> = assigned.collect();
            Ok(enough(&assigned).then_some(response))
        });
        let joined = joined.await?;
        let interval = Duration::from_millis(u64::try_from(joined.heartbeat_interval_ms).unwrap_or(1000));
        let heartbeats = tokio::spawn(async move {
            loop {
                tokio::time::sleep(interval / 2).await;
                if beat(&mut link, &mut request).await.is_err() {
                    return;
                }
            }
        });
        Ok(Member { group: group.to_owned(), id, heartbeats })
    }
}

impl Lab {
    /// Has a member leave its group.
    pub(crate) async fn leave(&self, member: Member) -> Outcome {
        let mut link = self.coordinator(Kind::Group, &member.group).await?.unrecorded();
        // Another heartbeat of it would come to a member that is gone.
        member.heartbeats.abort();
        let request = ShareGroupHeartbeatRequest {
            group_id: member.group.clone(),
            member_id: member.id.clone(),
            member_epoch: -1,
            ..Default::default()
        };
        let left = link.call(&request).await?;
        self.granted("ShareGroupHeartbeat that leaves", left.error_code, left.error_message.as_deref())
    }
}

impl Drop for Member {
    fn drop(&mut self) {
        self.heartbeats.abort();
    }
}

/// The first heartbeat of a member.
pub(crate) fn join(group: &str, member: &str, topics: &[&Topic]) -> ShareGroupHeartbeatRequest {
    ShareGroupHeartbeatRequest {
        group_id: group.to_owned(),
        member_id: member.to_owned(),
        member_epoch: 0,
        rack_id: None,
        subscribed_topic_names: Some(topics.iter().map(|topic| topic.name.clone()).collect()),
    }
}

/// A heartbeat, after which the request is the next one.
async fn beat(link: &mut Link, request: &mut ShareGroupHeartbeatRequest) -> Outcome<ShareGroupHeartbeatResponse> {
    let response = link.call(request).await?;
    if response.error_code.is_none() {
        (request.member_epoch, request.subscribed_topic_names) = (response.member_epoch, None);
    }
    Ok(response)
}
