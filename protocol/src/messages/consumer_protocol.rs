//! What members of a classic consumer group tell each other through the coordinator, which does not look inside:
//! subscriptions (the metadata of a protocol in JoinGroup) and assignments (in SyncGroup). Versions 0-3, never flexible.
//!
//! In a subscription, version 1 adds the partitions that the member holds (KIP-429), 2 the generation it holds them
//! from (KIP-792), 3 its rack (KIP-881). In an assignment all versions are the same.

use std::ops::RangeInclusive;

use bytes::Bytes;

use super::embedded::Embedded;
use crate::wire::{Decode, DecodeError, Decoder, Encode, Encoder};

/// What a member wants, and what it holds.
#[derive(Debug, Clone, PartialEq)]
pub struct ConsumerProtocolSubscription {
    /// The topics that it wants.
    pub topics: Vec<String>,
    /// What the assignor wants to know besides.
    pub user_data: Option<Bytes>,
    /// The partitions that it holds, by topic. Since version 1.
    pub owned_partitions: Vec<TopicPartition>,
    /// The generation that it holds them from; -1 where it does not say. Since version 2.
    pub generation_id: i32,
    /// Its rack. Since version 3.
    pub rack_id: Option<String>,
}

impl Default for ConsumerProtocolSubscription {
    fn default() -> Self {
        Self { topics: Vec::new(), user_data: None, owned_partitions: Vec::new(), generation_id: -1, rack_id: None }
    }
}

/// Partitions of one topic.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TopicPartition {
    /// The topic.
    pub topic: String,
    /// Its partitions.
    pub partitions: Vec<i32>,
}

impl Encode for ConsumerProtocolSubscription {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.array("topics", &self.topics);
        w.nullable_bytes("userData", self.user_data.as_deref());
        w.since(1, |w| w.array("ownedPartitions", &self.owned_partitions));
        w.since(2, |w| w.i32("generationId", self.generation_id));
        w.since(3, |w| w.nullable_string("rackId", self.rack_id.as_deref()));
    }
}

impl Decode for ConsumerProtocolSubscription {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self {
            topics: r.array("topics")?,
            user_data: r.nullable_bytes("userData")?,
            owned_partitions: r.since(1, Vec::new(), |r| r.array("ownedPartitions"))?,
            generation_id: r.since(2, -1, |r| r.i32("generationId"))?,
            rack_id: r.since(3, None, |r| r.nullable_string("rackId"))?,
        })
    }
}

impl Encode for TopicPartition {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.string("topic", &self.topic);
        w.array("partitions", &self.partitions);
    }
}

impl Decode for TopicPartition {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self { topic: r.string("topic")?, partitions: r.array("partitions")? })
    }
}

impl Embedded for ConsumerProtocolSubscription {
    const NAME: &'static str = "ConsumerProtocolSubscription";
    const VERSIONS: RangeInclusive<i16> = 0..=3;
}

/// What a member is to read.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ConsumerProtocolAssignment {
    /// The partitions by topic.
    pub assigned_partitions: Vec<TopicPartition>,
    /// What the assignor wants to say besides.
    pub user_data: Option<Bytes>,
}

impl Encode for ConsumerProtocolAssignment {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.array("assignedPartitions", &self.assigned_partitions);
        w.nullable_bytes("userData", self.user_data.as_deref());
    }
}

impl Decode for ConsumerProtocolAssignment {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self { assigned_partitions: r.array("assignedPartitions")?, user_data: r.nullable_bytes("userData")? })
    }
}

impl Embedded for ConsumerProtocolAssignment {
    const NAME: &'static str = "ConsumerProtocolAssignment";
    const VERSIONS: RangeInclusive<i16> = 0..=3;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::DecodeErrorKind;

    /// Version 1: topic `t`, no user data, partition 2 of `t` held.
    const SUBSCRIPTION: [u8; 28] = [
        0, 1, // version
        0, 0, 0, 1, 0, 1, b't', // topics
        0xff, 0xff, 0xff, 0xff, // user data: null
        0, 0, 0, 1, 0, 1, b't', 0, 0, 0, 1, 0, 0, 0, 2, // one topic, one partition
    ];

    fn subscription() -> ConsumerProtocolSubscription {
        ConsumerProtocolSubscription {
            topics: vec!["t".into()],
            owned_partitions: vec![TopicPartition { topic: "t".into(), partitions: vec![2] }],
            ..ConsumerProtocolSubscription::default()
        }
    }

    fn read(bytes: &[u8]) -> Result<(i16, ConsumerProtocolSubscription), DecodeError> {
        ConsumerProtocolSubscription::from_versioned_bytes(Bytes::copy_from_slice(bytes))
    }

    #[test]
    fn version_stands_in_front() {
        assert_eq!(subscription().to_versioned_bytes(1).unwrap(), SUBSCRIPTION[..]);
        assert_eq!(read(&SUBSCRIPTION).unwrap(), (1, subscription()));
    }

    #[test]
    fn newer_version_reads_as_the_newest_known() {
        let held = ConsumerProtocolSubscription { generation_id: 7, rack_id: Some("r".into()), ..subscription() };
        let mut bytes = held.to_versioned_bytes(3).unwrap().to_vec();
        bytes[1] = 9;
        bytes.extend(b"a field of version 9");
        assert_eq!(read(&bytes).unwrap(), (9, held));
    }

    #[test]
    fn what_is_no_subscription_is_refused() {
        let refused = |bytes: &[u8]| {
            let error = read(bytes).unwrap_err();
            (error.path(), error.kind().clone())
        };
        assert_eq!(refused(&[0]), ("version".into(), DecodeErrorKind::Truncated { needed: 2, left: 1 }));
        assert_eq!(refused(&[0xff, 0xff, 0, 0]), ("version".into(), DecodeErrorKind::Version(-1)));
        let too_short = refused(&SUBSCRIPTION[..19]);
        assert_eq!(too_short, ("ownedPartitions[0].topic".into(), DecodeErrorKind::Length { length: 1, left: 0 }));
        assert_eq!(refused(&[&SUBSCRIPTION[..], &[0]].concat()), (String::new(), DecodeErrorKind::Trailing(1)));
    }
}
