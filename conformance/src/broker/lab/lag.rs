//! What a group has left to do.

use ackflow_protocol::messages::describe_share_group_offsets::{
    DescribeShareGroupOffsetsRequest, DescribeShareGroupOffsetsRequestGroup, DescribeShareGroupOffsetsRequestTopic,
    DescribeShareGroupOffsetsResponsePartition,
};

use super::groups::Kind;
use super::{Lab, Outcome, Stop, Topic};

impl Lab {
    /// What the coordinator says of a group's offsets in a partition.
    pub(crate) async fn described(
        &self,
        group: &str,
        topic: &Topic,
        partition: i32,
    ) -> Outcome<DescribeShareGroupOffsetsResponsePartition> {
        let mut link = self.coordinator(Kind::Group, group).await?;
        // Lag came with version 1.
        self.target.offers(ackflow_protocol::wire::ApiKey::DESCRIBE_SHARE_GROUP_OFFSETS, 1)?;
        let topics =
            vec![DescribeShareGroupOffsetsRequestTopic { topic_name: topic.name.clone(), partitions: vec![partition] }];
        let asked = DescribeShareGroupOffsetsRequestGroup { group_id: group.to_owned(), topics: Some(topics) };
        let response = link.call(&DescribeShareGroupOffsetsRequest { groups: vec![asked] }).await?;
        let mut groups = response.groups.into_iter();
        let group = groups.next().ok_or_else(|| Stop::failed("an answer for the group", "none"))?;
        self.granted("DescribeShareGroupOffsets", group.error_code, group.error_message.as_deref())?;
        let found = group.topics.into_iter().flat_map(|topic| topic.partitions).next();
        let found = found.ok_or_else(|| Stop::failed("an answer for the partition", "none"))?;
        self.granted("DescribeShareGroupOffsets", found.error_code, found.error_message.as_deref())?;
        Ok(found)
    }

    /// The lag of a group in a partition.
    pub(crate) async fn lag(&self, group: &str, topic: &Topic, partition: i32) -> Outcome<i64> {
        Ok(self.described(group, topic, partition).await?.lag)
    }

    /// Checks the lag of a group in partition 0, for which a broker that has just written may take a moment.
    pub(crate) async fn check_lag(&self, what: &str, group: &str, topic: &Topic, wanted: i64) -> Outcome {
        let mut last = None;
        let arrived = self.eventually("the lag", async || {
            let lag = self.lag(group, topic, 0).await?;
            last = Some(lag);
            Ok((lag == wanted).then_some(lag))
        });
        match arrived.await {
            Ok(lag) => self.check(what, lag, wanted),
            Err(stop) => match last {
                Some(lag) => self.check(what, lag, wanted),
                None => Err(stop),
            },
        }
    }
}
