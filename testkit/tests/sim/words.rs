//! Words under way: what requests say about records, from when they are sent until the cluster has dealt with them.

use std::collections::BTreeMap;
use std::time::Instant;

use ackflow_protocol::machine::{AckType, ClientRequest, TopicIdPartition};

/// What one request says about records.
#[derive(Debug)]
pub(crate) struct Words {
    member: Option<String>,
    sent: Instant,
    said: BTreeMap<(TopicIdPartition, i64), AckType>,
}

impl Words {
    pub(crate) fn of(request: &ClientRequest, sent: Instant) -> Self {
        let mut words = Self { member: None, sent, said: BTreeMap::new() };
        /// Both requests say it alike, each in types of its own.
        macro_rules! take_in {
            ($request:expr) => {{
                words.member.clone_from(&$request.member_id);
                for topic in &$request.topics {
                    for of in &topic.partitions {
                        let id = TopicIdPartition { topic_id: topic.topic_id, partition: of.partition_index };
                        for batch in &of.acknowledgement_batches {
                            words.add(id, (batch.first_offset, batch.last_offset), &batch.acknowledge_types);
                        }
                    }
                }
            }};
        }
        match request {
            ClientRequest::ShareFetch(request) => take_in!(request),
            ClientRequest::ShareAcknowledge(request) => take_in!(request),
            ClientRequest::Metadata(_) | ClientRequest::FindCoordinator(_) | ClientRequest::Heartbeat(_) => {}
        }
        words
    }

    /// One type for all offsets, or one for each.
    fn add(&mut self, partition: TopicIdPartition, (first, last): (i64, i64), types: &[i8]) {
        for (offset, kind) in (first..=last).zip(types.iter().cycle()) {
            self.said.insert((partition, offset), ack_type(*kind));
        }
    }
}

fn ack_type(kind: i8) -> AckType {
    use AckType::{Accept, Gap, Reject, Release, Renew};
    let found = [Gap, Accept, Release, Reject, Renew].into_iter().find(|known| *known as i8 == kind);
    found.unwrap_or_else(|| panic!("a word of type {kind}"))
}

/// Which request it was that the cluster obeyed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Obeyed {
    /// One that the member sent about this attempt.
    Own,
    /// One of an earlier session, about an earlier attempt of the same member. Kafka knows a session by its group, its member and its epoch,
    /// and asks for no connection: where the member has opened another session meanwhile, and the epochs meet, a request that was left
    /// behind is one of that.
    Late,
    /// Either: both wait at the node.
    Unsure,
}

/// The words that have arrived and that the cluster has not obeyed, by connection: a node deals with one request of each at a time.
#[derive(Debug, Default)]
pub(crate) struct Arrived(BTreeMap<u64, Words>);

impl Arrived {
    /// A node begins to deal with a request.
    pub(crate) fn insert(&mut self, connection: u64, words: Words) {
        if !words.said.is_empty() {
            self.0.insert(connection, words);
        }
    }

    /// A node is through with the request of a connection, or never will be.
    pub(crate) fn remove(&mut self, connection: u64) {
        self.0.remove(&connection);
    }

    /// Takes out the word that the cluster has just obeyed about an attempt that began then; `is_left` tells connections that their member has
    /// ended. `None` where no request says that.
    pub(crate) fn obey(
        &mut self,
        member: &str,
        about: (TopicIdPartition, i64),
        word: AckType,
        began: Instant,
        is_left: impl Fn(u64) -> bool,
    ) -> Option<Obeyed> {
        let says = |words: &Words| words.member.as_deref() == Some(member) && words.said.get(&about) == Some(&word);
        // Before the member has the records it can say nothing about them.
        let meant = self
            .0
            .iter_mut()
            .filter(|(connection, words)| says(words) && (words.sent > began || is_left(**connection)));
        let mut meant: Vec<&mut Words> = meant.map(|(_, words)| words).collect();
        let own = meant.iter().filter(|words| words.sent > began).count();
        let obeyed = match (own, meant.len() - own) {
            (0, 0) => return None,
            (_, 0) => Obeyed::Own,
            (0, _) => Obeyed::Late,
            _ => Obeyed::Unsure,
        };
        if let Some(oldest) = meant.iter_mut().min_by_key(|words| words.sent) {
            oldest.said.remove(&about);
        }
        Some(obeyed)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use ackflow_protocol::messages::share_acknowledge::{
        AcknowledgePartition, AcknowledgeTopic, AcknowledgementBatch, ShareAcknowledgeRequest,
    };

    use super::*;

    const PARTITION: TopicIdPartition = TopicIdPartition { topic_id: ackflow_protocol::wire::Uuid::ZERO, partition: 0 };

    /// Accepts offsets 3 and 5 and releases 4.
    fn words(sent: Instant) -> Words {
        let batch = AcknowledgementBatch { first_offset: 3, last_offset: 5, acknowledge_types: vec![1, 2, 1] };
        let partition = AcknowledgePartition { partition_index: 0, acknowledgement_batches: vec![batch] };
        let topic = AcknowledgeTopic { topic_id: PARTITION.topic_id, partitions: vec![partition] };
        let member_id = Some("m".to_owned());
        let request = ShareAcknowledgeRequest { member_id, topics: vec![topic], ..Default::default() };
        Words::of(&ClientRequest::ShareAcknowledge(request), sent)
    }

    #[test]
    fn a_word_is_obeyed_once_and_by_what_it_says() {
        let began = Instant::now();
        let mut arrived = Arrived::default();
        arrived.insert(7, words(began + Duration::from_millis(1)));
        let mut obey = |member, offset, word| arrived.obey(member, (PARTITION, offset), word, began, |_| false);
        assert_eq!(obey("other", 3, AckType::Accept), None);
        assert_eq!(obey("m", 4, AckType::Accept), None);
        assert_eq!(obey("m", 6, AckType::Accept), None);
        assert_eq!(obey("m", 4, AckType::Release), Some(Obeyed::Own));
        assert_eq!(obey("m", 4, AckType::Release), None);
        assert_eq!(obey("m", 3, AckType::Accept), Some(Obeyed::Own));
    }

    #[test]
    fn a_word_from_before_an_attempt_is_late_and_only_where_its_connection_was_left() {
        let sent = Instant::now();
        let began = sent + Duration::from_secs(1);
        let mut arrived = Arrived::default();
        arrived.insert(7, words(sent));
        assert_eq!(arrived.obey("m", (PARTITION, 3), AckType::Accept, began, |_| false), None);
        assert_eq!(arrived.obey("m", (PARTITION, 3), AckType::Accept, began, |id| id == 7), Some(Obeyed::Late));
        arrived.insert(8, words(began + Duration::from_millis(1)));
        assert_eq!(arrived.obey("m", (PARTITION, 5), AckType::Accept, began, |id| id == 7), Some(Obeyed::Unsure));
        // The late one is spent.
        assert_eq!(arrived.obey("m", (PARTITION, 5), AckType::Accept, began, |id| id == 7), Some(Obeyed::Own));
    }

    #[test]
    fn a_request_that_has_its_answer_is_obeyed_no_more() {
        let began = Instant::now();
        let mut arrived = Arrived::default();
        arrived.insert(7, words(began + Duration::from_millis(1)));
        arrived.remove(7);
        assert_eq!(arrived.obey("m", (PARTITION, 3), AckType::Accept, began, |_| true), None);
    }
}
