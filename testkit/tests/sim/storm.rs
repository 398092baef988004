//! How often a member asks: a machine that asks in a loop would drown its brokers.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use ackflow_protocol::machine::ClientRequest;

/// The most requests of a kind that belongs to no session, in a second.
const OTHER: usize = 20;
/// The most requests of a session in a second, beside those that activity accounts for: a fetch that may not be held for long
/// goes out again every 20 ms.
const SESSION: u64 = 60;

/// The requests of the last second.
#[derive(Debug, Default)]
pub(crate) struct Storm {
    coordinator: VecDeque<Instant>,
    heartbeat: VecDeque<Instant>,
    metadata: VecDeque<Instant>,
    /// With what the caller and its records had done by then.
    session: VecDeque<(Instant, u64)>,
}

impl Storm {
    /// Notes a request; says what is wrong with that.
    pub(crate) fn sent(&mut self, now: Instant, request: &ClientRequest, nodes: u64, activity: u64) -> Option<String> {
        const SECOND: Duration = Duration::from_secs(1);
        let (name, queue) = match request {
            ClientRequest::FindCoordinator(_) => ("FindCoordinator", &mut self.coordinator),
            ClientRequest::Heartbeat(_) => ("ShareGroupHeartbeat", &mut self.heartbeat),
            ClientRequest::Metadata(_) => ("Metadata", &mut self.metadata),
            ClientRequest::ShareFetch(_) | ClientRequest::ShareAcknowledge(_) => {
                self.session.push_back((now, activity));
                while self.session.front().is_some_and(|(at, _)| now.duration_since(*at) > SECOND) {
                    self.session.pop_front();
                }
                let before = self.session.front().map_or(activity, |(_, before)| *before);
                let sent = self.session.len() as u64;
                let most = SESSION * nodes + 3 * (activity - before);
                return (sent > most).then(|| format!("{sent} requests of sessions in a second, {most} are enough"));
            }
        };
        queue.push_back(now);
        while queue.front().is_some_and(|at| now.duration_since(*at) > SECOND) {
            queue.pop_front();
        }
        (queue.len() > OTHER).then(|| format!("{} times {name} in a second", queue.len()))
    }
}
