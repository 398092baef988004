//! What most cases about records begin with.

use super::{ACCEPT, Acquired, Lab, Member, Outcome, Session, Topic, told};

/// A group, a topic, and a member of the group with a session on the topic.
#[derive(Debug)]
pub(crate) struct Stage {
    pub(crate) group: String,
    pub(crate) topic: Topic,
    /// Goes on with its heartbeats until it is dropped.
    pub(crate) member: Member,
    pub(crate) session: Session,
}

impl Lab {
    /// A group with these settings, which starts at the first record, a topic, and a member with a session that is not open yet. One broker leads
    /// all partitions.
    pub(crate) async fn stage(&self, partitions: i32, configs: &[(&str, &str)]) -> Outcome<Stage> {
        let group = self.group_with(configs).await?;
        self.stage_of(group, partitions).await
    }

    /// The same, of a group that is there. Brokers that know the topic know the settings that the group had before.
    pub(crate) async fn stage_of(&self, group: String, partitions: i32) -> Outcome<Stage> {
        let topic = self.topic_together(partitions).await?;
        let member = self.member(&group, &[&topic]).await?;
        let session = self.session(&member, &[&topic]).await?;
        Ok(Stage { group, topic, member, session })
    }

    /// A stage whose member holds the first records of the only partition, which came in one batch.
    pub(crate) async fn stage_holding(&self, count: i64, configs: &[(&str, &str)]) -> Outcome<Stage> {
        let mut stage = self.stage(1, configs).await?;
        self.produce(&stage.topic, 0, usize::try_from(count).unwrap_or_default()).await?;
        stage.session.acquire(count).await?;
        Ok(stage)
    }

    /// A group whose only member has accepted the first records of the only partition of the topic, and left.
    pub(crate) async fn group_that_accepted(&self, count: i64) -> Outcome<(String, Topic)> {
        let Stage { group, topic, member, mut session } = self.stage_holding(count, &[]).await?;
        let accepted = session.acknowledge(&topic, 0, &[(0, count - 1, &[ACCEPT])]).await?;
        self.granted("ShareAcknowledge", accepted, None)?;
        // Brokers may keep what they have in memory for as long as a member's connection is there.
        drop(session);
        self.leave(member).await?;
        Ok((group, topic))
    }

    /// Another member of the group, with a session of its own that is not open yet.
    pub(crate) async fn beside(&self, stage: &Stage) -> Outcome<(Member, Session)> {
        let member = self.member_beside(&stage.group, &[&stage.topic]).await?;
        let session = self.session(&member, &[&stage.topic]).await?;
        Ok((member, session))
    }

    /// A session of the stage's member, on a connection of its own, that is not open yet.
    pub(crate) async fn session_again(&self, stage: &Stage) -> Outcome<Session> {
        self.session(&stage.member, &[&stage.topic]).await
    }

    /// Checks what was acquired, in the words of [`told`].
    pub(crate) fn check_acquired(&self, what: &str, got: &[Acquired], wanted: &str) -> Outcome {
        self.check(what, told(got).as_str(), wanted)
    }
}
