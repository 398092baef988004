//! A machine, a virtual clock, and a coordinator that does what Kafka's does.

use std::{
    collections::BTreeSet,
    ops::RangeInclusive,
    time::{Duration, Instant},
};

use crate::{
    machine::{
        Destination, RequestFailure, RequestId,
        consumer::TopicPartition,
        transaction::{
            FlushId, OperationId, TransactionError, TransactionEvent, TransactionMachine, TransactionOptions,
            TransactionRequest as Request, TransactionResponse as Response, TransactionStep,
        },
    },
    messages::{
        add_offsets_to_txn::AddOffsetsToTxnResponse,
        add_partitions_to_txn::{
            AddPartitionsToTxnPartitionResult, AddPartitionsToTxnResponse, AddPartitionsToTxnTopicResult,
        },
        end_txn::EndTxnResponse,
        find_coordinator::{Coordinator as Found, FindCoordinatorResponse},
        init_producer_id::InitProducerIdResponse,
        txn_offset_commit::{TxnOffsetCommitResponse, TxnOffsetCommitResponsePartition, TxnOffsetCommitResponseTopic},
    },
    wire::ErrorCode,
};

#[derive(Debug, Clone)]
pub(super) struct Sent {
    pub(super) id: RequestId,
    #[cfg_attr(
        not(feature = "unstable-kip-1289"),
        expect(dead_code, reason = "whom a request goes to is the driver's")
    )]
    pub(super) to: Destination,
    pub(super) request: Request,
    pub(super) versions: RangeInclusive<i16>,
}

pub(super) struct Rig {
    pub(super) machine: TransactionMachine,
    pub(super) now: Instant,
    pub(super) wait: Option<Instant>,
    /// What was sent and not answered: one request at most.
    pub(super) out: Option<Sent>,
    /// All that was ever sent.
    pub(super) log: Vec<Sent>,
    pub(super) coordinator: Coordinator,
    pub(super) answers: Vec<(OperationId, Result<(), TransactionError>)>,
    /// Whether the machine waits to hear that nothing is under way.
    pub(super) flushes: Option<FlushId>,
}

pub(super) fn ms(milliseconds: u64) -> Duration {
    Duration::from_millis(milliseconds)
}

pub(super) fn partition(index: i32) -> TopicPartition {
    TopicPartition::new("topic", index)
}

impl Rig {
    pub(super) fn new(is_v2: bool) -> Self {
        Self::with_seed(is_v2, 7)
    }

    pub(super) fn with_seed(is_v2: bool, seed: u64) -> Self {
        let options = TransactionOptions {
            transactional_id: "id".into(),
            transaction_timeout: ms(60_000),
            retry_backoff: ms(100),
            retry_backoff_max: ms(1_000),
        };
        let mut machine = TransactionMachine::new(seed, options);
        machine.supports_v2(is_v2);
        Self {
            machine,
            now: Instant::now(),
            wait: None,
            out: None,
            log: Vec::new(),
            coordinator: Coordinator::default(),
            answers: Vec::new(),
            flushes: None,
        }
    }

    /// One that is initialized.
    pub(super) fn ready(is_v2: bool) -> Self {
        let mut rig = Self::new(is_v2);
        rig.machine.init();
        rig.serve();
        assert!(rig.answers.pop().unwrap().1.is_ok());
        rig
    }

    /// Does what the machine says until it waits.
    pub(super) fn drain(&mut self) {
        for _ in 0..1_000 {
            match self.machine.poll(self.now) {
                TransactionStep::Send { id, to, request, versions } => {
                    assert!(self.out.is_none(), "two requests at a time");
                    let sent = Sent { id, to, request, versions };
                    self.log.push(sent.clone());
                    self.out = Some(sent);
                }
                TransactionStep::Event(TransactionEvent::Answered { id, result }) => {
                    assert!(self.answers.iter().all(|(answered, _)| *answered != id), "answered twice");
                    self.answers.push((id, result));
                }
                TransactionStep::Event(TransactionEvent::Flush(flush)) => self.flushes = Some(flush),
                TransactionStep::Event(TransactionEvent::Changed) => {}
                TransactionStep::Wait(wait) => {
                    assert!(wait.is_none_or(|wait| wait > self.now), "a deadline that has passed, not acted on");
                    self.wait = wait;
                    return;
                }
            }
        }
        panic!("the machine never waits");
    }

    /// Brokers answer, records are written, and time passes, until nothing happens.
    pub(super) fn serve(&mut self) {
        for _ in 0..1_000 {
            self.drain();
            if let Some(sent) = self.out.take() {
                let response = self.coordinator.answer(&sent.request, &sent.versions);
                self.machine.handle_response(self.now, sent.id, Ok(response));
            } else if let Some(flush) = self.flushes.take() {
                self.machine.flushed(flush);
            } else if let Some(wait) = self.wait {
                self.now = wait;
            } else {
                return;
            }
        }
        panic!("the machine asks without end");
    }

    /// The request that is out, which has to be one of these.
    pub(super) fn take(&mut self, wanted: impl Fn(&Request) -> bool) -> Sent {
        for _ in 0..10 {
            self.drain();
            match self.out.take() {
                Some(sent) if wanted(&sent.request) => return sent,
                Some(sent) => {
                    let response = self.coordinator.answer(&sent.request, &sent.versions);
                    self.machine.handle_response(self.now, sent.id, Ok(response));
                }
                None => match self.flushes.take() {
                    Some(flush) => self.machine.flushed(flush),
                    None => self.now = self.wait.expect("no such request comes"),
                },
            }
        }
        panic!("no such request comes");
    }

    pub(super) fn answer(&mut self, sent: &Sent, response: Response) {
        self.machine.handle_response(self.now, sent.id, Ok(response));
        self.drain();
    }

    pub(super) fn fail(&mut self, sent: &Sent, failure: RequestFailure) {
        self.machine.handle_response(self.now, sent.id, Err(failure));
        self.drain();
    }

    /// A batch is written to a partition, as soon as it may be.
    pub(super) fn write(&mut self, index: i32) -> bool {
        for _ in 0..10 {
            if self.machine.may_send(&partition(index)) {
                return self.coordinator.write(self.machine.is_v2(), index);
            }
            self.drain();
            let Some(sent) = self.out.take() else { return false };
            let response = self.coordinator.answer(&sent.request, &sent.versions);
            self.machine.handle_response(self.now, sent.id, Ok(response));
            self.drain();
        }
        false
    }

    pub(super) fn ends(&self) -> Vec<bool> {
        let ends = self.log.iter().filter_map(|sent| match &sent.request {
            Request::EndTxn(request) => Some(request.committed),
            _ => None,
        });
        ends.collect()
    }
}

/// The coordinator of the transactional id, and of the group.
#[derive(Debug)]
pub(super) struct Coordinator {
    pub(super) producer: (i64, i16),
    /// The partitions and groups of the transaction that is under way.
    pub(super) ongoing: Option<BTreeSet<String>>,
    /// How each transaction that there was has ended.
    pub(super) ended: Vec<bool>,
    /// What the next answers to InitProducerId say instead.
    pub(super) init_errors: Vec<ErrorCode>,
}

impl Default for Coordinator {
    fn default() -> Self {
        Self { producer: (4000, -1), ongoing: None, ended: Vec::new(), init_errors: Vec::new() }
    }
}

impl Coordinator {
    fn add(&mut self, what: String) {
        self.ongoing.get_or_insert_default().insert(what);
    }

    /// A leader takes a batch, which adds its partition where the transaction is of version 2.
    fn write(&mut self, is_v2: bool, index: i32) -> bool {
        let name = partition(index).to_string();
        if is_v2 {
            self.add(name);
            return true;
        }
        self.ongoing.as_ref().is_some_and(|ongoing| ongoing.contains(&name))
    }

    pub(super) fn answer(&mut self, request: &Request, versions: &RangeInclusive<i16>) -> Response {
        match request {
            Request::FindCoordinator(request) => {
                let key = request.coordinator_keys[0].clone();
                let found = Found { key, node_id: 1, host: "h".into(), port: 9000, ..Default::default() };
                Response::FindCoordinator(FindCoordinatorResponse { coordinators: vec![found], ..Default::default() })
            }
            Request::InitProducerId(_) if !self.init_errors.is_empty() => {
                Response::InitProducerId(InitProducerIdResponse {
                    error_code: self.init_errors.remove(0),
                    producer_id: -1,
                    producer_epoch: -1,
                    ..Default::default()
                })
            }
            Request::InitProducerId(_) => {
                if self.ongoing.take().is_some() {
                    self.ended.push(false);
                }
                self.raise_epoch();
                let (producer_id, producer_epoch) = self.producer;
                Response::InitProducerId(InitProducerIdResponse { producer_id, producer_epoch, ..Default::default() })
            }
            Request::AddPartitionsToTxn(request) => {
                let error_code = self.check(request.v3_and_below_producer_id, request.v3_and_below_producer_epoch);
                let mut results = Vec::new();
                for topic in &request.v3_and_below_topics {
                    for index in &topic.partitions {
                        if error_code.is_none() {
                            self.add(format!("{}-{index}", topic.name));
                        }
                    }
                    results.push(of_topic(&topic.name, &topic.partitions, error_code));
                }
                added(results)
            }
            Request::AddOffsetsToTxn(request) => {
                let error_code = self.check(request.producer_id, request.producer_epoch);
                if error_code.is_none() {
                    self.add(request.group_id.clone());
                }
                Response::AddOffsetsToTxn(AddOffsetsToTxnResponse { error_code, ..Default::default() })
            }
            Request::TxnOffsetCommit(request) => {
                let error_code = self.check(request.producer_id, request.producer_epoch);
                if error_code.is_none() && *versions.start() >= 5 {
                    self.add(request.group_id.clone());
                }
                let topics = request.topics.iter().map(|topic| TxnOffsetCommitResponseTopic {
                    name: topic.name.clone(),
                    partitions: topic
                        .partitions
                        .iter()
                        .map(|said| TxnOffsetCommitResponsePartition {
                            partition_index: said.partition_index,
                            error_code,
                        })
                        .collect(),
                    ..Default::default()
                });
                Response::TxnOffsetCommit(TxnOffsetCommitResponse { topics: topics.collect(), ..Default::default() })
            }
            #[cfg(feature = "unstable-kip-1289")]
            Request::TxnShareAcknowledge(request) => {
                self.add(request.group_id.clone());
                Response::TxnShareAcknowledge(super::shares::taken(request, ErrorCode::NONE))
            }
            Request::EndTxn(request) => self.end(request.committed, *versions.start() >= 5, request.producer_epoch),
        }
    }

    fn end(&mut self, commits: bool, is_v2: bool, epoch: i16) -> Response {
        let is_again = is_v2 && self.ongoing.is_none() && epoch.checked_add(1) == Some(self.producer.1);
        let error_code = match &self.ongoing {
            _ if is_again => ErrorCode::NONE,
            _ if epoch != self.producer.1 => ErrorCode::INVALID_PRODUCER_EPOCH,
            None if !is_v2 && self.ended.last() == Some(&commits) => ErrorCode::NONE,
            None if !is_v2 || commits => ErrorCode::INVALID_TXN_STATE,
            _ => ErrorCode::NONE,
        };
        if error_code.is_none() && !is_again {
            if self.ongoing.take().is_some() {
                self.ended.push(commits);
            }
            if is_v2 {
                self.raise_epoch();
            }
        }
        let (producer_id, producer_epoch) = if is_v2 { self.producer } else { (-1, -1) };
        Response::EndTxn(EndTxnResponse { error_code, producer_id, producer_epoch, ..Default::default() })
    }

    fn raise_epoch(&mut self) {
        self.producer = match self.producer {
            // The largest one is kept for fencing.
            (id, epoch) if epoch >= i16::MAX - 1 => (id + 1, 0),
            (id, epoch) => (id, epoch + 1),
        };
    }

    fn check(&self, id: i64, epoch: i16) -> ErrorCode {
        if (id, epoch) == self.producer { ErrorCode::NONE } else { ErrorCode::INVALID_PRODUCER_EPOCH }
    }
}

pub(super) fn of_topic(name: &str, partitions: &[i32], code: ErrorCode) -> AddPartitionsToTxnTopicResult {
    let result =
        |index: &i32| AddPartitionsToTxnPartitionResult { partition_index: *index, partition_error_code: code };
    AddPartitionsToTxnTopicResult { name: name.into(), results_by_partition: partitions.iter().map(result).collect() }
}

pub(super) fn added(results: Vec<AddPartitionsToTxnTopicResult>) -> Response {
    let response = AddPartitionsToTxnResponse { results_by_topic_v3_and_below: results, ..Default::default() };
    Response::AddPartitionsToTxn(response)
}
