//! Share sessions of a case.

use std::collections::BTreeSet;

use std::time::Duration;

use ackflow_protocol::messages::share_acknowledge::{
    AcknowledgePartition, AcknowledgeTopic, AcknowledgementBatch as Acknowledgement, ShareAcknowledgeRequest,
    ShareAcknowledgeResponse,
};
use ackflow_protocol::messages::share_fetch::{
    AcknowledgementBatch, FetchPartition, FetchTopic, PartitionData, ShareFetchRequest, ShareFetchResponse,
};
use ackflow_protocol::wire::ErrorCode;

use super::{Lab, Link, Member, Outcome, Stop, Topic};

/// Neighbouring offsets that were acquired.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Acquired {
    pub(crate) partition: i32,
    pub(crate) first: i64,
    pub(crate) last: i64,
    pub(crate) delivery_count: i16,
}

/// Ranges to acknowledge: first offset, last offset, and one type for all or one each.
pub(crate) type Ranges<'a> = &'a [(i64, i64, &'a [i8])];

/// A share session on a connection of its own.
#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) link: Link,
    pub(crate) group: String,
    pub(crate) member: String,
    /// The epoch of the next request; 0 opens the session.
    pub(crate) epoch: i32,
    /// What a session of its topics' partitions begins with.
    topics: Vec<FetchTopic>,
}

impl Lab {
    /// A session of a member with the leader of partition 0, on these topics: all partitions that this broker leads. The first request opens it.
    pub(crate) async fn session(&self, member: &Member, topics: &[&Topic]) -> Outcome<Session> {
        self.session_of(&member.group, &member.id, topics).await
    }

    /// The same, of a member that is named.
    pub(crate) async fn session_of(&self, group: &str, member: &str, topics: &[&Topic]) -> Outcome<Session> {
        let node = topics.first().map_or(self.target.info.nodes[0], |topic| topic.leader(0));
        self.session_with(node, group, member, topics).await
    }

    /// The same, with this broker.
    pub(crate) async fn session_with(
        &self,
        node: i32,
        group: &str,
        member: &str,
        topics: &[&Topic],
    ) -> Outcome<Session> {
        let link = self.link_to(node).await?;
        Ok(Session {
            link,
            group: group.to_owned(),
            member: member.to_owned(),
            epoch: 0,
            topics: fetch_topics(node, topics),
        })
    }
}

impl Session {
    /// A fetch of up to 500 records that waits for nothing: the next of the session. A session that is not open yet names its partitions.
    pub(crate) fn request(&self) -> ShareFetchRequest {
        ShareFetchRequest {
            group_id: Some(self.group.clone()),
            member_id: Some(self.member.clone()),
            share_session_epoch: self.epoch,
            max_wait_ms: 0,
            min_bytes: 0,
            max_bytes: 1 << 20,
            max_records: 500,
            batch_size: 500,
            topics: if self.epoch == 0 { self.topics.clone() } else { Vec::new() },
            ..Default::default()
        }
    }

    /// Fetches, whatever comes of it. A request that the broker has taken is followed by the next epoch.
    pub(crate) async fn fetch_as(&mut self, request: &ShareFetchRequest) -> Outcome<ShareFetchResponse> {
        let response = self.link.call(request).await?;
        if response.error_code.is_none() {
            self.epoch = if self.epoch == i32::MAX { 1 } else { self.epoch + 1 };
        }
        Ok(response)
    }

    /// Fetches once; an error of the request or of a partition ends the case.
    pub(crate) async fn fetch(&mut self) -> Outcome<Vec<Acquired>> {
        let response = self.fetch_as(&self.request()).await?;
        acquired(&response)
    }

    /// Fetches until so many records were acquired in all.
    pub(crate) async fn acquire(&mut self, count: i64) -> Outcome<Vec<Acquired>> {
        let mut all: Vec<Acquired> = Vec::new();
        let began = std::time::Instant::now();
        loop {
            let request = ShareFetchRequest { max_wait_ms: 200, min_bytes: 1, ..self.request() };
            let response = self.fetch_as(&request).await?;
            all.extend(acquired(&response)?);
            // Somebody else's locks may have to end first, which last as long as the broker says.
            let lock = Duration::from_millis(u64::try_from(response.acquisition_lock_timeout_ms).unwrap_or_default());
            let patience = super::PATIENCE.max(lock + super::PATIENCE / 2);
            let sum: i64 = all.iter().map(|range| range.last - range.first + 1).sum();
            match sum {
                sum if sum == count => return Ok(all),
                sum if sum > count => {
                    return Err(Stop::failed(format!("{count} records are acquired"), format!("{all:?}")));
                }
                _ if began.elapsed() > patience => {
                    let expected = format!("{count} records are acquired within {} s", patience.as_secs());
                    return Err(Stop::failed(expected, format!("{all:?}")));
                }
                _ => {}
            }
        }
    }

    /// Repeats a fetch until it acquires something, and waits for that: a broker may have to read first what it keeps of a partition.
    pub(crate) async fn fetch_some(&mut self, request: &ShareFetchRequest) -> Outcome<ShareFetchResponse> {
        let end = std::time::Instant::now() + super::PATIENCE;
        loop {
            let next = self.request();
            let (share_session_epoch, topics) = (next.share_session_epoch, next.topics);
            let request =
                ShareFetchRequest { share_session_epoch, topics, max_wait_ms: 200, min_bytes: 1, ..request.clone() };
            let response = self.fetch_as(&request).await?;
            if !acquired(&response)?.is_empty() {
                return Ok(response);
            }
            if std::time::Instant::now() > end {
                return Err(Stop::failed("something is acquired within 30 s", "nothing"));
            }
        }
    }

    /// Fetches until this offset of partition 0 was acquired, and says all that were.
    pub(crate) async fn acquire_through(&mut self, offset: i64) -> Outcome<Vec<Acquired>> {
        let mut all = Vec::new();
        while !offsets(&all).contains(&offset) {
            all.extend(acquired(&self.fetch_some(&self.request()).await?)?);
        }
        Ok(all)
    }

    /// A request that acknowledges offsets `first` to `last` of a partition: one type for all, or one each. The next of the session.
    pub(crate) fn acknowledgement(
        &self,
        topic: &Topic,
        partition: i32,
        batches: Ranges<'_>,
    ) -> ShareAcknowledgeRequest {
        let batch = |(first_offset, last_offset, types): &(i64, i64, &[i8])| Acknowledgement {
            first_offset: *first_offset,
            last_offset: *last_offset,
            acknowledge_types: types.to_vec(),
        };
        let acknowledgement_batches = batches.iter().map(batch).collect();
        let partitions = vec![AcknowledgePartition { partition_index: partition, acknowledgement_batches }];
        ShareAcknowledgeRequest {
            group_id: Some(self.group.clone()),
            member_id: Some(self.member.clone()),
            share_session_epoch: self.epoch,
            is_renew_ack: batches.iter().any(|(_, _, types)| types.contains(&RENEW)),
            topics: vec![AcknowledgeTopic { topic_id: topic.id, partitions }],
        }
    }

    /// Acknowledges, whatever comes of it. A request that the broker has taken is followed by the next epoch.
    pub(crate) async fn acknowledge_as(
        &mut self,
        request: &ShareAcknowledgeRequest,
    ) -> Outcome<ShareAcknowledgeResponse> {
        let response = self.link.call(request).await?;
        if response.error_code.is_none() {
            self.epoch = if self.epoch == i32::MAX { 1 } else { self.epoch + 1 };
        }
        Ok(response)
    }

    /// Acknowledges offsets of a partition by ShareAcknowledge, and says the error of the request or else of the partition.
    pub(crate) async fn acknowledge(
        &mut self,
        topic: &Topic,
        partition: i32,
        batches: Ranges<'_>,
    ) -> Outcome<ErrorCode> {
        let response = self.acknowledge_as(&self.acknowledgement(topic, partition, batches)).await?;
        if !response.error_code.is_none() {
            return Ok(response.error_code);
        }
        let answered = response.responses.iter().flat_map(|topic| &topic.partitions).next();
        answered
            .map(|partition| partition.error_code)
            .ok_or_else(|| Stop::failed("ShareAcknowledge answers for the partition", "no partition in the answer"))
    }

    /// The partitions of [`request`](Self::request), with these acknowledgements of one of them.
    pub(crate) fn piggyback(&self, topic: &Topic, partition: i32, batches: Ranges<'_>) -> ShareFetchRequest {
        let batch = |(first_offset, last_offset, types): &(i64, i64, &[i8])| AcknowledgementBatch {
            first_offset: *first_offset,
            last_offset: *last_offset,
            acknowledge_types: types.to_vec(),
        };
        let acknowledgement_batches = batches.iter().map(batch).collect();
        let partitions = vec![FetchPartition { partition_index: partition, acknowledgement_batches }];
        ShareFetchRequest {
            is_renew_ack: batches.iter().any(|(_, _, types)| types.contains(&RENEW)),
            topics: vec![FetchTopic { topic_id: topic.id, partitions }],
            ..self.request()
        }
    }

    /// Ends the session, which gives back what it holds.
    pub(crate) async fn close(&mut self) -> Outcome<ErrorCode> {
        let request = ShareFetchRequest { share_session_epoch: -1, topics: Vec::new(), ..self.request() };
        Ok(self.link.call(&request).await?.error_code)
    }
}

/// Acknowledgement types.
pub(crate) const GAP: i8 = 0;
pub(crate) const ACCEPT: i8 = 1;
pub(crate) const RELEASE: i8 = 2;
pub(crate) const REJECT: i8 = 3;
pub(crate) const RENEW: i8 = 4;

/// The partitions of topics that a broker leads, as a session begins with them.
pub(crate) fn fetch_topics(node: i32, topics: &[&Topic]) -> Vec<FetchTopic> {
    let led = |topic: &Topic| {
        let indexes = (0..topic.leaders.len() as i32).filter(|partition| topic.leader(*partition) == node);
        indexes.map(|partition_index| FetchPartition { partition_index, ..Default::default() }).collect()
    };
    topics.iter().map(|topic| FetchTopic { topic_id: topic.id, partitions: led(topic) }).collect()
}

/// The ranges that a fetch has acquired.
///
/// # Errors
/// Where it failed, as a whole or for a partition.
pub(crate) fn acquired(response: &ShareFetchResponse) -> Outcome<Vec<Acquired>> {
    let failed = |code: ErrorCode, message: Option<&str>| {
        let got = format!("{code:?} {}", message.unwrap_or_default());
        Err(Stop::failed("ShareFetch without an error", got))
    };
    if !response.error_code.is_none() {
        return failed(response.error_code, response.error_message.as_deref());
    }
    let mut all = Vec::new();
    for partition in partitions(response) {
        if !partition.error_code.is_none() {
            return failed(partition.error_code, partition.error_message.as_deref());
        }
        if !partition.acknowledge_error_code.is_none() {
            return failed(partition.acknowledge_error_code, partition.acknowledge_error_message.as_deref());
        }
        all.extend(partition.acquired_records.iter().map(|range| Acquired {
            partition: partition.partition_index,
            first: range.first_offset,
            last: range.last_offset,
            delivery_count: range.delivery_count,
        }));
    }
    Ok(all)
}

/// Ranges in short: `0[0-9x1 12-12x2] 1[0-4x1]` are offsets 0 to 9 of partition 0 at their first delivery, 12 at its second, and 0 to 4 of partition 1.
/// Neighbours of one delivery count are told as one range, since a broker may cut ranges as it likes.
pub(crate) fn told(ranges: &[Acquired]) -> String {
    let mut sorted = ranges.to_vec();
    sorted.sort();
    let mut merged: Vec<Acquired> = Vec::new();
    for range in sorted {
        match merged.last_mut() {
            Some(before)
                if (before.partition, before.last + 1, before.delivery_count)
                    == (range.partition, range.first, range.delivery_count) =>
            {
                before.last = range.last;
            }
            _ => merged.push(range),
        }
    }
    let of_partition = |ranges: &[Acquired]| {
        let each = ranges.iter().map(|range| format!("{}-{}x{}", range.first, range.last, range.delivery_count));
        format!("{}[{}]", ranges[0].partition, each.collect::<Vec<_>>().join(" "))
    };
    let partitions = merged.chunk_by(|a, b| a.partition == b.partition).map(of_partition);
    match merged.is_empty() {
        true => "nothing".to_owned(),
        false => partitions.collect::<Vec<_>>().join(" "),
    }
}

/// The offsets of ranges of one partition.
pub(crate) fn offsets(ranges: &[Acquired]) -> BTreeSet<i64> {
    ranges.iter().flat_map(|range| range.first..=range.last).collect()
}

/// All partitions of an answer.
pub(crate) fn partitions(response: &ShareFetchResponse) -> impl Iterator<Item = &PartitionData> {
    response.responses.iter().flat_map(|topic| &topic.partitions)
}
