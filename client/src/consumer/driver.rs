//! The task that runs a consumer: it feeds the machine and does what the machine says.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;

use ackflow_protocol::machine::Output;
use ackflow_protocol::machine::consumer::{CallId, ConsumerEvent, ConsumerMachine, ConsumerResponse};
use tokio::sync::mpsc;

use super::conversation::Heard;
use super::dialogue::{Connections, Done, Outcome};
use super::failures;
use super::link::{Command, Notice, Reply};
use super::standing::Standing;
use crate::cluster::{self, Reach};
use crate::error::{ClientError, ErrorKind};
use crate::metrics::ConsumerMetrics;

/// One task owns the machine, the connections and the calls on them. It ends after [`Command::Close`].
#[derive(Debug)]
pub(super) struct Driver {
    machine: ConsumerMachine,
    connections: Connections,
    reach: Reach,
    commands: mpsc::UnboundedReceiver<Command>,
    notices: mpsc::UnboundedSender<Notice>,
    standing: Standing,
    metrics: Arc<ConsumerMetrics>,
    /// Questions whose answer somebody waits for.
    calls: HashMap<CallId, Reply>,
    closing: Option<Instant>,
}

impl Driver {
    pub(super) fn new(
        machine: ConsumerMachine,
        connections: Connections,
        commands: mpsc::UnboundedReceiver<Command>,
        notices: mpsc::UnboundedSender<Notice>,
        standing: Standing,
        metrics: Arc<ConsumerMetrics>,
    ) -> Self {
        let reach = Reach::new(connections.unreached_patience(), !connections.rebootstraps());
        Self { machine, connections, reach, commands, notices, standing, metrics, calls: HashMap::new(), closing: None }
    }

    /// Runs until the consumer is closed.
    ///
    /// # Errors
    /// [`ErrorKind::TimedOut`] when closing took longer than it was allowed to.
    pub(super) async fn run(mut self) -> Result<(), ClientError> {
        let mut outcomes = Vec::new();
        while let Some(wake) = self.drain() {
            tokio::select! {
                done = self.connections.next() => self.done(done, &mut outcomes),
                Some(command) = self.commands.recv() => self.commands(command),
                () = cluster::sleep(wake.into_iter().chain(self.closing).min()) => {}
            }
            if self.closing.is_some_and(|deadline| deadline <= Instant::now()) {
                return Err(closing_timed_out());
            }
        }
        Ok(())
    }

    /// Does what the machine says until it has to wait, and gives until when; `None` when it is closed.
    fn drain(&mut self) -> Option<Option<Instant>> {
        loop {
            match self.machine.poll(Instant::now()) {
                Output::Send { id, to, request, least_version } => {
                    tracing::trace!(id = id.0, ?to, ?request, "says");
                    self.connections.send(id, to, request, least_version);
                }
                Output::Event(ConsumerEvent::Closed) => return None,
                Output::Event(event) => self.event(event),
                Output::Wait(until) => {
                    self.standing.set_epoch(self.machine.member_epoch());
                    return Some(until);
                }
            }
        }
    }

    fn done(&mut self, done: Done, outcomes: &mut Vec<Outcome>) {
        self.connections.handle(done, outcomes);
        let now = Instant::now();
        for outcome in outcomes.drain(..) {
            match outcome {
                Outcome::Answered(id, result) => {
                    if let Some(error) = self.reach.heard(now, &result) {
                        self.tell(Notice::Failed { error, fatal: false });
                    }
                    let result = result.map_err(cluster::failure);
                    if let Ok(ConsumerResponse::Fetch(response)) = &result {
                        self.metrics.fetched(response);
                    }
                    tracing::trace!(id = id.0, answer = ?Heard(&result), "hears");
                    self.machine.handle_response(now, id, result);
                }
                // A fetch session outlives its connection.
                Outcome::SessionLost(_) => {}
                Outcome::Connected(role, began, result) => {
                    if let Some(error) = self.reach.attempted(role, began, now, result.map(|_| ())) {
                        self.tell(Notice::Failed { error, fatal: false });
                    }
                }
            }
        }
    }

    fn commands(&mut self, first: Command) {
        self.command(first);
        while let Ok(command) = self.commands.try_recv() {
            self.command(command);
        }
    }

    fn command(&mut self, command: Command) {
        let now = Instant::now();
        let machine = &mut self.machine;
        match command {
            Command::Subscribe(topics) => machine.subscribe(now, topics),
            Command::SubscribePattern(pattern) => machine.subscribe_pattern(now, pattern),
            Command::Assign(partitions, assignment) => machine.assign(now, &partitions, assignment),
            Command::Unsubscribe(offsets) => machine.unsubscribe(now, offsets),
            Command::Polled(taken) => {
                taken.iter().for_each(|(partition, run, position)| machine.taken(now, partition, *run, *position));
                machine.polled(now);
            }
            Command::Taken(taken) => {
                taken.iter().for_each(|(partition, run, position)| machine.taken(now, partition, *run, *position));
            }
            Command::Seek(partition, run, to) => machine.seek(now, &partition, run, to),
            Command::Pause(partitions, is_paused) => machine.pause(now, &partitions, is_paused),
            Command::Revoked(id, offsets) => machine.revoked(now, id, offsets),
            Command::Assigned(id, seeks) => machine.assigned(now, id, seeks),
            Command::Commit(offsets, reply) => _ = self.calls.insert(machine.commit(now, offsets), reply),
            Command::Committed(partitions, reply) => {
                self.calls.insert(machine.committed(now, partitions), reply);
            }
            Command::Times(times, reply) => _ = self.calls.insert(machine.offsets_for_times(now, times), reply),
            Command::Position(partition, reply) => _ = self.calls.insert(machine.position(now, partition), reply),
            Command::Close { deadline, offsets, commits } => {
                if self.closing.replace(deadline).is_none() {
                    machine.close(now, offsets, commits, deadline.saturating_duration_since(now));
                }
            }
        }
    }

    fn event(&mut self, event: ConsumerEvent) {
        match event {
            ConsumerEvent::Fetched(fetched) => self.tell(Notice::Fetched(Box::new(fetched))),
            ConsumerEvent::Revoking { id, partitions } => self.tell(Notice::Revoking(id, partitions)),
            ConsumerEvent::Assigning { id, partitions } => self.tell(Notice::Assigning(id, partitions)),
            ConsumerEvent::Lost(partitions) => {
                self.standing.count_loss();
                self.tell(Notice::Lost(partitions));
            }
            ConsumerEvent::Answered { id, result } => {
                if let Some(reply) = self.calls.remove(&id) {
                    // The future may have been dropped.
                    let _ = reply.send(result.map_err(|error| failures::of_any(&error)));
                }
            }
            ConsumerEvent::Failed(error) => match failures::of_machine(&error) {
                Some(told) => {
                    let told = told.at(self.connections.cluster());
                    self.tell(Notice::Failed { error: told, fatal: error.fatal });
                }
                None => tracing::warn!("{error}"),
            },
            ConsumerEvent::Closed => {}
        }
    }

    fn tell(&self, notice: Notice) {
        // The application's end is gone once it has asked to close; it wants to know nothing more then.
        let _ = self.notices.send(notice);
    }
}

fn closing_timed_out() -> ClientError {
    let reason = "the brokers did not answer in time; the group gives the partitions to others when the member's session times out";
    ClientError::new(ErrorKind::TimedOut, "closing a consumer", reason)
}
