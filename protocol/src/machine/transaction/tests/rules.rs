//! The rules of transactions, one by one.

use super::rig::*;
use crate::{
    machine::{
        RequestFailure,
        consumer::{OffsetAndMetadata, Offsets},
        transaction::{
            GroupMetadata, TransactionFault, TransactionRequest as Request, TransactionResponse as Response,
        },
    },
    messages::{add_partitions_to_txn::AddPartitionsToTxnPartitionResult, end_txn::EndTxnResponse},
    wire::ErrorCode,
};

fn is_init(request: &Request) -> bool {
    matches!(request, Request::InitProducerId(_))
}

fn is_add(request: &Request) -> bool {
    matches!(request, Request::AddPartitionsToTxn(_))
}

fn is_end(request: &Request) -> bool {
    matches!(request, Request::EndTxn(_))
}

fn is_offsets(request: &Request) -> bool {
    matches!(request, Request::TxnOffsetCommit(_))
}

fn ended(error_code: ErrorCode) -> Response {
    Response::EndTxn(EndTxnResponse { error_code, ..Default::default() })
}

fn offsets() -> Offsets {
    [(partition(0), OffsetAndMetadata::new(5))].into()
}

// Mutation: protocol/src/machine/transaction/answers.rs
// - ErrorCode::CONCURRENT_TRANSACTIONS => self.retry_at = Some(now + COMPLETING),
// + ErrorCode::CONCURRENT_TRANSACTIONS => return Some(code),
#[test]
fn row_53_taking_over_an_open_transaction_waits_until_it_is_aborted() {
    let mut rig = Rig::new(true);
    let began = rig.now;
    rig.coordinator.producer = (4000, 6);
    rig.coordinator.init_errors = vec![ErrorCode::CONCURRENT_TRANSACTIONS; 2];
    let id = rig.machine.init();
    rig.serve();
    assert!(matches!(rig.answers[..], [(answered, Ok(()))] if answered == id), "{:?}", rig.answers);
    assert_eq!(rig.machine.producer().map(|producer| producer.epoch), Some(7));
    assert_eq!(rig.now - began, ms(40), "the pause is that of the coordinator's work, not that of errors");
    for code in
        [ErrorCode::COORDINATOR_LOAD_IN_PROGRESS, ErrorCode::COORDINATOR_NOT_AVAILABLE, ErrorCode::NOT_COORDINATOR]
    {
        let mut rig = Rig::new(true);
        rig.coordinator.init_errors = vec![code; 3];
        rig.machine.init();
        rig.serve();
        assert!(rig.answers.pop().unwrap().1.is_ok(), "{code}");
    }
}

// Mutation: protocol/src/machine/transaction/mod.rs
// - self.is_v2 = self.supports_v2;
// + self.is_v2 = true;
#[test]
fn row_54_the_version_of_a_transaction_is_the_one_that_the_cluster_has_finalized() {
    for is_v2 in [false, true] {
        let mut rig = Rig::ready(is_v2);
        rig.machine.begin().unwrap();
        // It counts from the next transaction on.
        rig.machine.supports_v2(!is_v2);
        assert_eq!(rig.machine.is_v2(), is_v2);
        assert!(rig.write(0));
        rig.machine.send_offsets(offsets(), GroupMetadata::of_nobody("group"));
        rig.machine.commit();
        rig.serve();
        let versions = |wanted: fn(&Request) -> bool| {
            rig.log.iter().filter(|sent| wanted(&sent.request)).map(|sent| sent.versions.clone()).collect::<Vec<_>>()
        };
        assert_eq!(versions(is_add).is_empty(), is_v2);
        assert_eq!(versions(is_end), [if is_v2 { 5..=5 } else { 1..=4 }]);
        assert_eq!(versions(is_offsets), [if is_v2 { 5..=5 } else { 3..=4 }]);
        assert_eq!(versions(|request| matches!(request, Request::AddOffsetsToTxn(_))).is_empty(), is_v2);
        assert_eq!(rig.coordinator.ended, [true]);
        rig.machine.begin().unwrap();
        assert_eq!(rig.machine.is_v2(), !is_v2);
    }
}

// Mutation: protocol/src/machine/transaction/mod.rs
// - self.started = self.started.at_least(Started::Maybe);
// + self.lost_count |= false;
#[test]
fn row_55_what_was_attempted_is_aborted_at_the_coordinator_though_nothing_was_written() {
    let mut rig = Rig::ready(true);
    let before = rig.machine.producer().unwrap();
    rig.machine.begin().unwrap();
    assert!(rig.machine.may_send(&partition(0)));
    let code = Some(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION);
    rig.machine.record_failed(code, "no such topic".into(), true);
    let error = rig.machine.check().unwrap_err();
    assert!(error.is_abortable && error.fault.code() == code, "{error}");
    rig.machine.commit();
    rig.machine.abort();
    rig.serve();
    assert!(rig.answers[0].1.is_err() && rig.answers[1].1.is_ok(), "{:?}", rig.answers);
    assert_eq!(rig.ends(), [false]);
    let after = rig.machine.producer().unwrap();
    assert_eq!((after.id, after.epoch), (before.id, before.epoch + 1));
    rig.machine.begin().unwrap();
    assert!(rig.write(0));
    rig.machine.commit();
    rig.serve();
    assert_eq!(rig.coordinator.ended, [true]);
}

// Mutation: protocol/src/machine/transaction/answers.rs
// - if self.is_v2 && response.producer_id >= 0 {
// + if self.is_v2 && self.producer.is_some_and(|producer| producer.id == response.producer_id) {
#[test]
fn row_55_after_the_last_epoch_comes_another_producer_id() {
    let mut rig = Rig::new(true);
    rig.coordinator.producer = (4000, i16::MAX - 2);
    rig.machine.init();
    rig.serve();
    rig.machine.begin().unwrap();
    assert!(rig.write(0));
    rig.machine.commit();
    rig.serve();
    let producer = rig.machine.producer().unwrap();
    assert_eq!((producer.id, producer.epoch), (4001, 0));
    rig.machine.begin().unwrap();
    assert!(rig.write(0));
    rig.machine.commit();
    rig.serve();
    assert_eq!(rig.coordinator.ended, [true, true]);
}

// Mutation: protocol/src/machine/transaction/asking.rs
// - State::InTransaction | State::Ending { commits: true, .. } if !self.partitions.to_add.is_empty() => {
// + State::InTransaction | State::Ending { .. } if !self.partitions.to_add.is_empty() => {
#[test]
fn row_58_a_partition_that_cannot_be_added_holds_back_neither_the_abort_nor_what_comes_after() {
    let mut rig = Rig::ready(false);
    rig.machine.begin().unwrap();
    for _ in 0..20 {
        assert!(!rig.machine.may_send(&partition(0)));
        let add = rig.take(is_add);
        rig.answer(&add, added(vec![of_topic("topic", &[0], ErrorCode::UNKNOWN_TOPIC_OR_PARTITION)]));
    }
    // Its records have waited for delivery.timeout.ms.
    rig.machine.record_failed(None, "not confirmed within delivery.timeout.ms".into(), false);
    assert!(rig.machine.check().unwrap_err().is_abortable);
    let before = rig.log.len();
    rig.machine.abort();
    rig.serve();
    assert!(rig.answers.pop().unwrap().1.is_ok());
    assert!(rig.log[before..].iter().all(|sent| !is_add(&sent.request)));
    rig.machine.begin().unwrap();
    assert!(rig.write(1));
    rig.machine.commit();
    rig.serve();
    assert_eq!(rig.coordinator.ended, [true]);
}

// Mutation: protocol/src/machine/transaction/mod.rs
// - State::Initializing => self.waiting.push(id),
// + State::Initializing => {}
#[test]
fn row_58_a_second_init_joins_the_first() {
    let mut rig = Rig::new(true);
    let first = rig.machine.init();
    let out = rig.take(is_init);
    let second = rig.machine.init();
    rig.fail(&out, RequestFailure::TimedOut);
    rig.serve();
    let ended: Vec<_> = rig.answers.iter().map(|(id, result)| (*id, result.is_ok())).collect();
    assert_eq!(ended, [(first, true), (second, true)]);
    // The result of one that nobody waited for any more.
    rig.machine.init();
    rig.serve();
    assert!(rig.answers.pop().unwrap().1.is_ok());
    assert_eq!(rig.machine.producer().map(|producer| producer.epoch), Some(0));
}

#[test]
fn what_does_not_fit_the_state_is_refused_and_changes_nothing() {
    let mut rig = Rig::new(true);
    assert!(rig.machine.begin().unwrap_err().to_string().contains("not initialized"));
    rig.machine.init();
    rig.serve();
    rig.answers.clear();
    assert!(rig.machine.check().is_err());
    rig.machine.commit();
    rig.machine.abort();
    rig.machine.send_offsets(offsets(), GroupMetadata::of_nobody("group"));
    rig.serve();
    assert!(rig.answers.drain(..).all(|(_, result)| result.is_err_and(|error| !error.is_fatal && !error.is_abortable)));
    rig.machine.begin().unwrap();
    assert!(rig.machine.begin().is_err());
    rig.machine.init();
    rig.serve();
    assert!(rig.answers.pop().unwrap().1.is_err());
    rig.machine.check().unwrap();
}

#[test]
fn without_anything_in_it_a_transaction_ends_without_a_word() {
    for is_v2 in [false, true] {
        let mut rig = Rig::ready(is_v2);
        let before = rig.log.len();
        rig.machine.begin().unwrap();
        rig.machine.commit();
        rig.serve();
        rig.machine.begin().unwrap();
        rig.machine.abort();
        rig.serve();
        assert!(rig.answers.iter().all(|(_, result)| result.is_ok()));
        assert_eq!(rig.log.len(), before);
    }
}

// Mutation: protocol/src/machine/transaction/asking.rs
// - State::Ending { commits, is_flushed: true } => self.end_transaction(now, commits),
// + State::Ending { commits, .. } => self.end_transaction(now, commits),
#[test]
fn the_end_waits_until_nothing_is_under_way() {
    let mut rig = Rig::ready(true);
    rig.machine.begin().unwrap();
    assert!(rig.write(0));
    rig.machine.commit();
    rig.drain();
    assert!(rig.flushes.is_some() && rig.out.is_none());
    rig.serve();
    assert_eq!(rig.ends(), [true]);
}

// Mutation: protocol/src/machine/transaction/mod.rs
// - *is_flushed |= flush == self.last_flush;
// + *is_flushed |= flush.0 <= self.last_flush.0;
#[test]
fn a_flush_that_reports_late_ends_no_later_transaction() {
    let mut rig = Rig::ready(true);
    rig.machine.begin().unwrap();
    assert!(rig.write(0));
    rig.machine.commit();
    rig.drain();
    let late = rig.flushes.take().unwrap();
    rig.machine.record_failed(Some(ErrorCode::MESSAGE_TOO_LARGE), "refused".to_owned(), true);
    rig.machine.abort();
    rig.serve();
    rig.machine.begin().unwrap();
    assert!(rig.write(0));
    rig.machine.commit();
    rig.drain();
    rig.machine.flushed(late);
    rig.drain();
    assert!(rig.out.is_none() && rig.ends() == [false], "it is committed before its records are written");
    rig.serve();
    assert_eq!(rig.ends(), [false, true]);
}

// Mutation: protocol/src/machine/transaction/mod.rs
// - State::Ready if self.last_end == Some(commits) => self.answer(id, Ok(())),
// + State::Ready if self.last_end == Some(!commits) => self.answer(id, Ok(())),
#[test]
fn a_commit_that_is_asked_for_again_joins_the_first_and_an_abort_does_not() {
    let mut rig = Rig::ready(true);
    rig.machine.begin().unwrap();
    assert!(rig.write(0));
    rig.machine.commit();
    let out = rig.take(is_end);
    rig.machine.commit();
    let abort = rig.machine.abort();
    rig.fail(&out, RequestFailure::Disconnected);
    rig.serve();
    rig.machine.commit();
    rig.drain();
    assert_eq!(rig.answers.len(), 4);
    assert!(rig.answers.iter().all(|(id, result)| result.is_ok() == (*id != abort)), "{:?}", rig.answers);
    assert_eq!(rig.coordinator.ended, [true]);
}

#[test]
fn who_is_fenced_is_told_for_ever() {
    let mut rig = Rig::ready(true);
    rig.machine.begin().unwrap();
    assert!(rig.write(0));
    rig.machine.send_offsets(offsets(), GroupMetadata::of_nobody("group"));
    rig.coordinator.producer.1 += 1;
    rig.machine.commit();
    rig.serve();
    assert_eq!(rig.answers.len(), 2);
    for (_, result) in rig.answers.drain(..) {
        let error = result.unwrap_err();
        assert!(error.is_fatal && matches!(error.fault, TransactionFault::Fenced { .. }), "{error}");
    }
    assert!(rig.machine.begin().unwrap_err().is_fatal);
    rig.machine.abort();
    rig.machine.init();
    rig.serve();
    assert!(rig.answers.drain(..).all(|(_, result)| result.unwrap_err().is_fatal));
}

// Mutation: protocol/src/machine/transaction/mod.rs
// - let needs_epoch = std::mem::take(&mut self.lost_count) && !self.is_v2;
// + let needs_epoch = std::mem::take(&mut self.lost_count) && self.is_v2;
#[test]
fn after_records_whose_fate_is_unknown_the_next_transaction_has_another_epoch() {
    for is_v2 in [false, true] {
        let mut rig = Rig::ready(is_v2);
        let before = rig.machine.producer().unwrap();
        rig.machine.begin().unwrap();
        assert!(rig.write(0));
        rig.machine.record_failed(None, "no answer".into(), true);
        rig.machine.abort();
        rig.serve();
        assert!(rig.answers.pop().unwrap().1.is_ok());
        assert_eq!(rig.machine.producer().unwrap().epoch, before.epoch + 1);
        let inits = rig.log.iter().filter(|sent| is_init(&sent.request)).count();
        assert_eq!(inits, if is_v2 { 1 } else { 2 });
    }
}

// Mutation: protocol/src/machine/transaction/answers.rs
// - !commits && self.started == Started::Maybe && response.error_code == ErrorCode::INVALID_TXN_STATE;
// + commits && self.started == Started::Maybe && response.error_code == ErrorCode::INVALID_TXN_STATE;
#[test]
fn an_abort_of_what_the_coordinator_never_heard_of_is_well() {
    let mut rig = Rig::ready(false);
    rig.machine.begin().unwrap();
    assert!(!rig.machine.may_send(&partition(0)));
    let add = rig.take(is_add);
    rig.fail(&add, RequestFailure::Disconnected);
    rig.machine.abort();
    let end = rig.take(is_end);
    rig.answer(&end, ended(ErrorCode::INVALID_TXN_STATE));
    assert!(rig.answers.pop().unwrap().1.is_ok());
}

// Mutation: protocol/src/machine/transaction/answers.rs
// - ErrorCode::OPERATION_NOT_ATTEMPTED => {}
// + ErrorCode::OPERATION_NOT_ATTEMPTED => worst = Some((name, ErrorCode::OPERATION_NOT_ATTEMPTED)),
#[test]
fn the_partition_that_is_to_blame_is_named() {
    let mut rig = Rig::ready(false);
    rig.machine.begin().unwrap();
    assert!(!rig.machine.may_send(&partition(0)) && !rig.machine.may_send(&partition(1)));
    let add = rig.take(is_add);
    let mut topic = of_topic("topic", &[0], ErrorCode::TOPIC_AUTHORIZATION_FAILED);
    let partition_error_code = ErrorCode::OPERATION_NOT_ATTEMPTED;
    topic.results_by_partition.push(AddPartitionsToTxnPartitionResult { partition_index: 1, partition_error_code });
    rig.answer(&add, added(vec![topic]));
    let error = rig.machine.check().unwrap_err();
    let code = ErrorCode::TOPIC_AUTHORIZATION_FAILED;
    assert_eq!(error.fault, TransactionFault::Partition { partition: partition(0), code });
    assert!(error.is_abortable);
}

#[test]
fn a_member_that_the_group_does_not_count_makes_the_transaction_abortable() {
    let mut rig = Rig::ready(true);
    rig.machine.begin().unwrap();
    let id = rig.machine.send_offsets(offsets(), GroupMetadata::of_nobody("group"));
    let mut commit = rig.take(is_offsets);
    let Response::TxnOffsetCommit(mut response) = rig.coordinator.answer(&commit.request, &commit.versions) else {
        panic!("another answer");
    };
    response.topics[0].partitions[0].error_code = ErrorCode::ILLEGAL_GENERATION;
    commit.versions = 5..=5;
    rig.answer(&commit, Response::TxnOffsetCommit(response));
    let (answered, result) = rig.answers.pop().unwrap();
    let error = result.unwrap_err();
    assert!(answered == id && error.is_abortable, "{error}");
    assert!(error.to_string().contains("no such member") && error.to_string().contains("group"), "{error}");
    rig.machine.abort();
    rig.serve();
    assert!(rig.answers.pop().unwrap().1.is_ok());
}

#[test]
fn a_commit_waits_for_the_offsets_of_the_transaction() {
    let mut rig = Rig::ready(false);
    rig.machine.begin().unwrap();
    rig.machine.send_offsets(offsets(), GroupMetadata::of_nobody("group"));
    rig.machine.commit();
    rig.serve();
    let order: Vec<bool> = rig.answers.iter().map(|(_, result)| result.is_ok()).collect();
    assert_eq!(order, [true, true]);
    let kinds: Vec<_> = rig.log.iter().filter(|sent| is_offsets(&sent.request) || is_end(&sent.request)).collect();
    assert!(is_offsets(&kinds[0].request) && is_end(&kinds[1].request));
}
