//! When a consumer that cannot reach its brokers has to say so.
//!
//! Kafka's own client tries for ever and only logs. A program that was given a wrong address should hear of it, and one
//! that loses its brokers for a while should not: an error is due when a kind of connection has never been made though
//! it was tried for a while (or was, and ends each time before anything is answered), or as soon as a broker refuses who this client is, and again after each further while. From the first success on, only the log tells, unless
//! the consumer may not look for other brokers than those that it knew (`metadata.recovery.strategy=none`), or a broker
//! refuses it.

use std::time::{Duration, Instant};

use super::connections::{Failed, Role};
use crate::error::{ClientError, ErrorKind};
use crate::net::Repeats;

/// How long a broker that the cluster names may be unreachable at the start. A broker that died a moment ago is named until
/// its session with the cluster ends, by default after 9 s.
const NAMED_PATIENCE: Duration = Duration::from_secs(15);

/// How connecting went so far, by kind of connection.
#[derive(Debug)]
pub(crate) struct Reach {
    /// How long a cluster is tried that was never reached.
    patience: Duration,
    /// Whether the loss of all known brokers is told: the consumer does not get over it by itself.
    tells_losses: bool,
    any: Attempts,
    coordinator: Attempts,
    session: Attempts,
    /// Connections may be made and lost again all the time.
    repeats: Repeats,
}

#[derive(Debug, Clone, Copy)]
enum Attempts {
    /// Never made; tried since then, or since an error was given.
    Never(Option<Instant>),
    Reached,
    /// Made before, and failing now.
    Lost,
}

impl Reach {
    pub(crate) fn new(patience: Duration, tells_losses: bool) -> Self {
        let never = Attempts::Never(None);
        Self { patience, tells_losses, any: never, coordinator: never, session: never, repeats: Repeats::default() }
    }

    /// An attempt that began at `began` ended at `now`: the error that is due, if one is.
    pub(crate) fn attempted(
        &mut self,
        role: Role,
        began: Instant,
        now: Instant,
        result: Result<(), ClientError>,
    ) -> Option<ClientError> {
        let (attempts, patience) = match role {
            // A broker that wants to know who asks takes the connection, and ends it at the first question.
            Role::Any if result.is_ok() && matches!(self.any, Attempts::Never(_)) => return None,
            Role::Any => (&mut self.any, self.patience),
            Role::Coordinator(_) => (&mut self.coordinator, NAMED_PATIENCE),
            Role::Session(_) | Role::Leader(_) => (&mut self.session, NAMED_PATIENCE),
        };
        let error = match result {
            Ok(()) => {
                *attempts = Attempts::Reached;
                return None;
            }
            Err(error) => error,
        };
        match *attempts {
            Attempts::Never(since) => {
                // Waiting makes no password right.
                let refused = since.is_none() && error.kind() == ErrorKind::Authentication;
                let since = since.unwrap_or(began);
                let due = refused || now.duration_since(since) >= patience;
                *attempts = Attempts::Never(Some(if due { now } else { since }));
                tracing::debug!("{error}");
                due.then_some(error)
            }
            Attempts::Reached => {
                match self.repeats.is_news(now, &error.to_string()) {
                    true => tracing::warn!("{error}; trying again"),
                    false => tracing::debug!("{error}; trying again"),
                }
                *attempts = Attempts::Lost;
                let tells = self.tells_losses && role == Role::Any || error.kind() == ErrorKind::Authentication;
                tells.then_some(error)
            }
            Attempts::Lost => {
                tracing::debug!("{error}");
                None
            }
        }
    }

    /// A request has its answer, or will have none: the error that is due, if one is.
    pub(crate) fn heard<T>(&mut self, now: Instant, result: &Result<T, Failed>) -> Option<ClientError> {
        match result {
            Ok(_) => {
                self.answered();
                None
            }
            Err(Failed { error, .. }) if error.kind() == ErrorKind::Disconnected => self.cut_off(now, error),
            Err(_) => None,
        }
    }

    /// A broker has answered.
    fn answered(&mut self) {
        if let Attempts::Never(_) = self.any {
            self.any = Attempts::Reached;
        }
    }

    /// A broker has ended a connection instead of answering: the error that is due, if one is. Where one has answered before, that is nothing to tell.
    fn cut_off(&mut self, now: Instant, error: &ClientError) -> Option<ClientError> {
        match self.any {
            Attempts::Never(_) => self.attempted(Role::Any, now, now, Err(error.clone())),
            Attempts::Reached | Attempts::Lost => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::net::testing::Log;

    const PATIENCE: Duration = Duration::from_secs(5);

    fn failure() -> Result<(), ClientError> {
        Err(ClientError::new(ErrorKind::Unreachable, "connecting", "refused"))
    }

    #[test]
    fn who_never_reached_a_broker_hears_of_it_every_few_seconds() {
        let start = Instant::now();
        let mut reach = Reach::new(PATIENCE, false);
        let mut heard = Vec::new();
        for second in 0..12 {
            let now = start + Duration::from_secs(second);
            if reach.attempted(Role::Any, now, now, failure()).is_some() {
                heard.push(second);
            }
        }
        assert_eq!(heard, [5, 10]);
    }

    #[test]
    fn who_is_refused_hears_of_it_at_once_and_then_every_few_seconds() {
        let start = Instant::now();
        let refused = || Err(ClientError::new(ErrorKind::Authentication, "connecting", "wrong password"));
        for reached in [false, true] {
            let mut reach = Reach::new(PATIENCE, false);
            if reached {
                reach.attempted(Role::Any, start, start, Ok(()));
                reach.answered();
            }
            let mut heard = Vec::new();
            for second in 0..12 {
                let now = start + Duration::from_secs(second);
                if reach.attempted(Role::Any, now, now, refused()).is_some() {
                    heard.push(second);
                }
            }
            assert_eq!(heard, if reached { vec![0] } else { vec![0, 5, 10] });
        }
    }

    // Mutation: client/src/cluster/reach.rs
    // - Role::Any if result.is_ok() && matches!(self.any, Attempts::Never(_)) => return None,
    // + Role::Any if false => return None,
    #[test]
    fn who_is_let_in_and_never_answered_hears_of_it_every_few_seconds() {
        let start = Instant::now();
        let mut reach = Reach::new(PATIENCE, false);
        let closed =
            ClientError::new(ErrorKind::Disconnected, "waiting for an answer", "the broker closed the connection");
        let mut heard = Vec::new();
        for second in 0..12 {
            let now = start + Duration::from_secs(second);
            assert!(reach.attempted(Role::Any, now, now, Ok(())).is_none());
            heard.extend(reach.cut_off(now, &closed).map(|_| second));
        }
        assert_eq!(heard, [5, 10]);
        reach.answered();
        assert!(reach.cut_off(start + Duration::from_secs(60), &closed).is_none());
    }

    #[test]
    fn one_long_attempt_counts_from_where_it_began() {
        let start = Instant::now();
        let ended = start + Duration::from_secs(10);
        assert!(Reach::new(PATIENCE, false).attempted(Role::Any, start, ended, failure()).is_some());
    }

    #[test]
    fn who_has_reached_a_broker_once_is_left_to_retry() {
        let start = Instant::now();
        let mut reach = Reach::new(PATIENCE, false);
        assert!(reach.attempted(Role::Any, start, start, Ok(())).is_none());
        reach.answered();
        for second in 0..600 {
            let now = start + Duration::from_secs(second);
            assert!(reach.attempted(Role::Any, now, now, failure()).is_none());
        }
    }

    // Mutation: client/src/cluster/reach.rs
    // - match self.repeats.is_news(now, &error.to_string()) {
    // + match self.repeats.is_news(now, &format!("{now:?}")) {
    #[test]
    fn the_log_hears_less_and_less_often_of_connections_that_are_made_and_lost_all_the_time() {
        let log = Log::listen();
        let start = Instant::now();
        let mut reach = Reach::new(PATIENCE, false);
        for second in 0..100 {
            let now = start + Duration::from_secs(second);
            reach.attempted(Role::Session(1), now, now, Ok(()));
            reach.attempted(Role::Session(1), now, now, failure());
        }
        let lines = log.lines();
        assert!(lines.len() == 2 && lines[0].contains("refused; trying again"), "{lines:?}");
    }

    #[test]
    fn who_may_not_look_for_other_brokers_hears_of_their_loss_once_a_spell() {
        let start = Instant::now();
        let mut reach = Reach::new(PATIENCE, true);
        for _ in 0..2 {
            assert!(reach.attempted(Role::Any, start, start, Ok(())).is_none());
            reach.answered();
            assert!(reach.attempted(Role::Session(1), start, start, failure()).is_none());
            let heard = (0..60).filter(|_| reach.attempted(Role::Any, start, start, failure()).is_some()).count();
            assert_eq!(heard, 1);
        }
    }
}
