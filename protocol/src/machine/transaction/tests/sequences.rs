//! Transactions in all orders, with answers lost on the way.

use super::rig::*;
use crate::{
    machine::{
        RequestFailure,
        consumer::{OffsetAndMetadata, Offsets},
        transaction::GroupMetadata,
    },
    random::SplitMix64,
};

struct Run {
    rig: Rig,
    random: SplitMix64,
}

impl Run {
    fn chance(&mut self, of: u64) -> bool {
        self.random.next_u64().is_multiple_of(of)
    }

    /// Brokers answer, and some answers are lost: before the request was acted on, or after.
    fn serve(&mut self) {
        for _ in 0..1_000 {
            self.rig.drain();
            if let Some(sent) = self.rig.out.take() {
                let fate = self.random.next_u64() % 8;
                let response = (fate != 0).then(|| self.rig.coordinator.answer(&sent.request, &sent.versions));
                let response = response.filter(|_| fate > 1).ok_or(RequestFailure::Disconnected);
                self.rig.machine.handle_response(self.rig.now, sent.id, response);
            } else if let Some(flush) = self.rig.flushes.take() {
                self.rig.machine.flushed(flush);
            } else if let Some(wait) = self.rig.wait {
                self.rig.now = wait;
            } else {
                return;
            }
        }
        panic!("the machine asks without end");
    }

    /// One transaction. Gives whether it was committed, where it had anything in it.
    fn transact(&mut self) -> Option<bool> {
        self.rig.machine.begin().unwrap();
        let mut has_any = false;
        for _ in 0..self.random.next_u64() % 4 {
            let index = (self.random.next_u64() % 3) as i32;
            while !self.rig.machine.may_send(&partition(index)) {
                self.serve();
            }
            // A leader adds the partition of a transaction of version 2 when it takes the batch.
            has_any |= self.rig.write(index);
            if self.chance(8) {
                self.rig.machine.record_failed(None, "no answer".into(), true);
                break;
            }
        }
        if self.chance(3) && self.rig.machine.check().is_ok() {
            let offsets = Offsets::from([(partition(0), OffsetAndMetadata::new(3))]);
            self.rig.machine.send_offsets(offsets, GroupMetadata::of_nobody("group"));
            has_any = true;
            if self.chance(2) {
                self.serve();
            }
        }
        let must_abort = self.rig.machine.check().is_err();
        let commits = !must_abort && !self.chance(3);
        let before = self.rig.coordinator.ended.len();
        let id = if commits { self.rig.machine.commit() } else { self.rig.machine.abort() };
        self.serve();
        let (_, result) = self.rig.answers.iter().find(|(answered, _)| *answered == id).expect("an end is answered");
        assert_eq!(*result, Ok(()));
        let ended = &self.rig.coordinator.ended[before..];
        assert!(self.rig.coordinator.ongoing.is_none(), "something is left open");
        assert!(ended.len() <= 1, "one transaction has ended {} times", ended.len());
        assert!(ended.iter().all(|ended| *ended == commits), "it ended the other way: {ended:?}");
        assert!(!(commits && has_any) || ended == [true], "what was committed did not count");
        ended.first().copied()
    }
}

#[test]
fn what_is_confirmed_is_what_counts_whatever_answer_is_lost() {
    let (mut commits, mut aborts) = (0, 0);
    for seed in 0..400 {
        let mut run = Run { rig: Rig::with_seed(seed % 2 == 0, seed), random: SplitMix64::new(seed) };
        run.rig.machine.init();
        run.serve();
        for _ in 0..10 {
            match run.transact() {
                Some(true) => commits += 1,
                Some(false) => aborts += 1,
                None => {}
            }
        }
    }
    assert!(commits > 1_000 && aborts > 500, "{commits} and {aborts}");
}
