//! Producers of a case, made of bare requests.

use std::collections::{BTreeMap, BTreeSet};

use ackflow_protocol::messages::add_partitions_to_txn::{AddPartitionsToTxnRequest, AddPartitionsToTxnTopic};
use ackflow_protocol::messages::describe_transactions::{DescribeTransactionsRequest, TransactionState};
use ackflow_protocol::messages::end_txn::{EndTxnRequest, EndTxnResponse};
use ackflow_protocol::messages::init_producer_id::{InitProducerIdRequest, InitProducerIdResponse};
use ackflow_protocol::messages::produce::{PartitionProduceResponse, ProduceRequest};
use ackflow_protocol::records::BatchOptions;
use ackflow_protocol::wire::{ApiKey, ErrorCode, Request};
use bytes::Bytes;

use super::groups::Kind;
use super::produce::{answered, batch, request};
use super::{Lab, Link, Outcome, Stop, Topic, values};

/// How long transactions of cases may be open, where nothing else is said.
const TIMEOUT_MS: i32 = 60_000;

/// How a producer makes partitions part of its transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    /// It names them by AddPartitionsToTxn, and its epoch stays when a transaction ends: clients of `transaction.version` 0 and 1.
    Adding,
    /// It writes to them, and each end begins another epoch: clients of `transaction.version` 2 (KIP-890).
    Writing,
}

impl Way {
    /// The newest version of `R` that clients of this way use.
    pub(crate) fn version<R: Request>(self, lab: &Lab) -> Outcome<i16> {
        let newest = lab.target.version::<R>()?;
        let last = match R::KEY {
            _ if self == Self::Writing => return Ok(newest),
            ApiKey::PRODUCE => 11,
            ApiKey::END_TXN | ApiKey::TXN_OFFSET_COMMIT => 4,
            ApiKey::ADD_PARTITIONS_TO_TXN => 3,
            _ => newest,
        };
        let version = newest.min(last);
        lab.target.offers(R::KEY, version)?;
        Ok(version)
    }
}

/// A transactional producer.
#[derive(Debug)]
pub(crate) struct Producer<'a> {
    pub(super) lab: &'a Lab,
    pub(super) way: Way,
    /// To the coordinator of its transactional id, shown in the report.
    pub(crate) link: Link,
    /// The same, not shown.
    pub(super) quiet: Link,
    pub(crate) id: String,
    pub(crate) producer_id: i64,
    pub(crate) epoch: i16,
    added: BTreeSet<(String, i32)>,
    /// By partition, the epoch that was last written with and the sequence that is next in it.
    sequences: BTreeMap<(String, i32), (i16, i32)>,
}

impl Lab {
    /// Only where transactions are of version 2.
    ///
    /// # Errors
    /// [`Stop::NotOffered`].
    pub(crate) fn needs_transactions_of_version_2(&self) -> Outcome {
        self.needs_feature("transaction.version", 2)
    }

    /// A transactional producer with an id of its own, in the way of the cluster's `transaction.version`.
    pub(crate) async fn producer(&self) -> Outcome<Producer<'_>> {
        let way = if self.target.feature("transaction.version") >= 2 { Way::Writing } else { Way::Adding };
        self.producer_in(way).await
    }

    /// The same, in this way.
    pub(crate) async fn producer_in(&self, way: Way) -> Outcome<Producer<'_>> {
        self.producer_of(way, &self.unique("transaction"), TIMEOUT_MS).await
    }

    /// The same, whose transactions may be open for so long.
    pub(crate) async fn producer_with_timeout(&self, timeout_ms: i32) -> Outcome<Producer<'_>> {
        let way = if self.target.feature("transaction.version") >= 2 { Way::Writing } else { Way::Adding };
        self.producer_of(way, &self.unique("transaction"), timeout_ms).await
    }

    async fn producer_of(&self, way: Way, id: &str, timeout_ms: i32) -> Outcome<Producer<'_>> {
        self.target.version::<InitProducerIdRequest>()?;
        self.target.version::<EndTxnRequest>()?;
        let link = self.coordinator(Kind::Transaction, id).await?;
        let mut quiet = self.coordinator(Kind::Transaction, id).await?.unrecorded();
        let request = InitProducerIdRequest { transaction_timeout_ms: timeout_ms, ..init(Some(id)) };
        let started = unless_concurrent(self, &mut quiet, None, &request, |answer| answer.error_code).await?;
        self.granted("InitProducerId", started.error_code, None)?;
        Ok(Producer {
            lab: self,
            way,
            link,
            quiet,
            id: id.to_owned(),
            producer_id: started.producer_id,
            epoch: started.producer_epoch,
            added: BTreeSet::new(),
            sequences: BTreeMap::new(),
        })
    }

    /// The id of an idempotent producer, which no transaction needs. Its epoch is 0.
    pub(crate) async fn idempotent_producer(&self) -> Outcome<i64> {
        let mut link = self.link().await?.unrecorded();
        let request = init(None);
        let started = self
            .eventually("a producer id", async || {
                let started = link.call(&request).await?;
                Ok((!started.error_code.is_retriable()).then_some(started))
            })
            .await?;
        self.granted("InitProducerId", started.error_code, None)?;
        Ok(started.producer_id)
    }
}

/// Asks for a producer id, for a transactional id or for none.
pub(crate) fn init(id: Option<&str>) -> InitProducerIdRequest {
    InitProducerIdRequest {
        transactional_id: id.map(str::to_owned),
        transaction_timeout_ms: TIMEOUT_MS,
        ..Default::default()
    }
}

/// Asks until the transaction before has ended: clients do the same.
pub(super) async fn unless_concurrent<R: Request>(
    lab: &Lab,
    link: &mut Link,
    version: Option<i16>,
    request: &R,
    code: impl Fn(&R::Response) -> ErrorCode,
) -> Outcome<R::Response> {
    let version = version.map_or_else(|| link.newest::<R>(), Ok)?;
    lab.eventually("the end of the transaction before", async || {
        let response = link.call_in(version, request).await?;
        let waits = [ErrorCode::CONCURRENT_TRANSACTIONS, ErrorCode::COORDINATOR_LOAD_IN_PROGRESS];
        Ok((!waits.contains(&code(&response))).then_some(response))
    })
    .await
}

impl<'a> Producer<'a> {
    /// The same transactional id once more: fences this one, and aborts what it has open.
    pub(crate) async fn successor(&self) -> Outcome<Producer<'a>> {
        self.lab.producer_of(self.way, &self.id, TIMEOUT_MS).await
    }

    /// The newest version of a request that such a producer uses.
    pub(crate) fn version<R: Request>(&self) -> Outcome<i16> {
        self.way.version::<R>(self.lab)
    }

    /// What it says to begin again, as clients do that have just started.
    pub(crate) fn init_request(&self) -> InitProducerIdRequest {
        init(Some(&self.id))
    }

    /// Asks to begin again until the transaction before has ended.
    pub(crate) async fn init_as(&mut self, request: &InitProducerIdRequest) -> Outcome<InitProducerIdResponse> {
        unless_concurrent(self.lab, &mut self.link, None, request, |answer| answer.error_code).await
    }

    /// Goes on with what InitProducerId has given.
    pub(crate) fn begin_as(&mut self, producer_id: i64, epoch: i16) {
        (self.producer_id, self.epoch) = (producer_id, epoch);
        self.added.clear();
    }

    /// What it says to make partitions part of its transaction, as clients of `transaction.version` 0 and 1.do.
    pub(crate) fn add_request(&self, topic: &Topic, partitions: &[i32]) -> AddPartitionsToTxnRequest {
        let topic = AddPartitionsToTxnTopic { name: topic.name.clone(), partitions: partitions.to_vec() };
        AddPartitionsToTxnRequest {
            v3_and_below_transactional_id: self.id.clone(),
            v3_and_below_producer_id: self.producer_id,
            v3_and_below_producer_epoch: self.epoch,
            v3_and_below_topics: vec![topic],
            ..Default::default()
        }
    }

    /// Makes partitions part of the transaction by AddPartitionsToTxn in this version, until the transaction before has ended; the error of each.
    pub(crate) async fn add_in(
        &mut self,
        version: i16,
        request: &AddPartitionsToTxnRequest,
    ) -> Outcome<BTreeMap<i32, ErrorCode>> {
        add(self.lab, &mut self.link, version, request).await
    }

    /// The batch of this many records that it writes next to a partition.
    pub(crate) fn batch(&self, topic: &Topic, partition: i32, count: usize) -> Bytes {
        batch(values(count), self.options(self.next_sequence(topic, partition)))
    }

    /// How its batches begin with this sequence.
    pub(crate) fn options(&self, base_sequence: i32) -> BatchOptions {
        BatchOptions {
            transactional: true,
            producer_id: self.producer_id,
            producer_epoch: self.epoch,
            base_sequence,
            ..BatchOptions::default()
        }
    }

    fn next_sequence(&self, topic: &Topic, partition: i32) -> i32 {
        match self.sequences.get(&(topic.name.clone(), partition)) {
            Some((epoch, next)) if *epoch == self.epoch => *next,
            _ => 0,
        }
    }

    /// Tries to write a batch, in this version or the newest that such a producer uses. It makes nothing part of the transaction beforehand.
    pub(crate) async fn try_write(
        &self,
        version: Option<i16>,
        topic: &Topic,
        partition: i32,
        batch: Bytes,
    ) -> Outcome<PartitionProduceResponse> {
        let version = version.map_or_else(|| self.version::<ProduceRequest>(), Ok)?;
        let mut link = self.lab.leader(topic, partition).await?;
        write(self.lab, &mut link, version, &request(topic, partition, Some(&self.id), batch)).await
    }

    /// Writes a batch of this many records in its transaction, and says the offset of the first.
    pub(crate) async fn write(&mut self, topic: &Topic, partition: i32, count: usize) -> Outcome<i64> {
        let of = (topic.name.clone(), partition);
        if self.way == Way::Adding && !self.added.contains(&of) {
            let version = self.version::<AddPartitionsToTxnRequest>()?;
            let request = self.add_request(topic, &[partition]);
            let codes = add(self.lab, &mut self.quiet, version, &request).await?;
            codes.values().try_for_each(|code| self.lab.granted("AddPartitionsToTxn", *code, None))?;
            self.added.insert(of.clone());
        }
        let version = self.version::<ProduceRequest>()?;
        let mut link = self.lab.leader(topic, partition).await?.unrecorded();
        let request = request(topic, partition, Some(&self.id), self.batch(topic, partition, count));
        let written = write(self.lab, &mut link, version, &request).await?;
        self.lab.granted("Produce", written.error_code, written.error_message.as_deref())?;
        let next = self.next_sequence(topic, partition) + count as i32;
        self.sequences.insert(of, (self.epoch, next));
        Ok(written.base_offset)
    }

    /// What it says to end its transaction.
    pub(crate) fn end_request(&self, committed: bool) -> EndTxnRequest {
        let (producer_id, producer_epoch) = (self.producer_id, self.epoch);
        EndTxnRequest { transactional_id: self.id.clone(), producer_id, producer_epoch, committed }
    }

    /// Tries to end a transaction, in this version or the newest that such a producer uses, until the transaction before has ended.
    pub(crate) async fn try_end(&mut self, version: Option<i16>, request: &EndTxnRequest) -> Outcome<EndTxnResponse> {
        let version = version.map_or_else(|| self.version::<EndTxnRequest>(), Ok)?;
        unless_concurrent(self.lab, &mut self.link, Some(version), request, |answer| answer.error_code).await
    }

    /// Ends the transaction and waits until it has ended everywhere.
    pub(crate) async fn end(&mut self, committed: bool) -> Outcome {
        self.decide(committed).await?;
        self.settled().await.map(drop)
    }

    /// Ends the transaction. Markers may come later.
    pub(crate) async fn decide(&mut self, committed: bool) -> Outcome {
        let (version, request) = (self.version::<EndTxnRequest>()?, self.end_request(committed));
        let code = |answer: &EndTxnResponse| answer.error_code;
        let ended = unless_concurrent(self.lab, &mut self.quiet, Some(version), &request, code).await?;
        self.lab.granted("EndTxn", ended.error_code, None)?;
        if self.way == Way::Writing {
            (self.producer_id, self.epoch) = (ended.producer_id, ended.producer_epoch);
        }
        self.added.clear();
        Ok(())
    }

    /// What its coordinator says of its transaction.
    pub(crate) async fn described(&mut self) -> Outcome<TransactionState> {
        describe(&mut self.link, &self.id).await
    }

    /// Waits until no marker of a transaction that is decided is missing any more, and says what its coordinator says then.
    pub(crate) async fn settled(&mut self) -> Outcome<TransactionState> {
        self.lab
            .eventually("a transaction that is decided has ended", async || {
                let found = describe(&mut self.quiet, &self.id).await?;
                Ok((!found.transaction_state.starts_with("Prepare")).then_some(found))
            })
            .await
    }

    /// Waits until its transaction has this state.
    pub(crate) async fn comes_to(&mut self, state: &str) -> Outcome<TransactionState> {
        self.lab
            .eventually(&format!("the transaction comes to {state}"), async || {
                let found = describe(&mut self.quiet, &self.id).await?;
                Ok((found.transaction_state == state).then_some(found))
            })
            .await
    }
}

async fn add(
    lab: &Lab,
    link: &mut Link,
    version: i16,
    request: &AddPartitionsToTxnRequest,
) -> Outcome<BTreeMap<i32, ErrorCode>> {
    lab.target.offers(ApiKey::ADD_PARTITIONS_TO_TXN, version)?;
    let response = unless_concurrent(lab, link, Some(version), request, |response| {
        let results = response.results_by_topic_v3_and_below.iter().flat_map(|topic| &topic.results_by_partition);
        let waits = |code: &ErrorCode| *code == ErrorCode::CONCURRENT_TRANSACTIONS;
        results.map(|result| result.partition_error_code).find(waits).unwrap_or_default()
    });
    let topics = response.await?.results_by_topic_v3_and_below;
    let results = topics.into_iter().flat_map(|topic| topic.results_by_partition);
    Ok(results.map(|result| (result.partition_index, result.partition_error_code)).collect())
}

/// Writes until the transaction before has ended.
async fn write(
    lab: &Lab,
    link: &mut Link,
    version: i16,
    request: &ProduceRequest,
) -> Outcome<PartitionProduceResponse> {
    lab.target.offers(ApiKey::PRODUCE, version)?;
    lab.eventually("the end of the transaction before", async || {
        let written = answered(link.call_in(version, request).await?)?;
        // Clients of before Produce 12 would give up for CONCURRENT_TRANSACTIONS.
        let waits = [ErrorCode::CONCURRENT_TRANSACTIONS, ErrorCode::NOT_ENOUGH_REPLICAS];
        Ok((!waits.contains(&written.error_code)).then_some(written))
    })
    .await
}

/// What a coordinator says of a transactional id.
pub(crate) async fn describe(link: &mut Link, id: &str) -> Outcome<TransactionState> {
    let request = DescribeTransactionsRequest { transactional_ids: vec![id.to_owned()] };
    let found = link.call(&request).await?.transaction_states.pop();
    found.ok_or_else(|| Stop::failed("DescribeTransactions answers for the transactional id", "it does not"))
}
