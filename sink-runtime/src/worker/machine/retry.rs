//! When to try again.

use std::time::{Duration, Instant};

use ackflow_protocol::random::SplitMix64;

/// How a call that may succeed later is tried again: after 300 ms, then twice as long each time up to a limit, and of that
/// between half and all, so that tasks that failed together do not come back together.
#[derive(Debug, Clone)]
pub(crate) struct RetryPolicy {
    /// `errors.retry.delay.max.ms`.
    pub(crate) delay_max: Duration,
    /// `share.retry.timeout.ms`; `None` is for ever.
    pub(crate) timeout: Option<Duration>,
}

const FIRST_DELAY: Duration = Duration::from_millis(300);

/// What is being tried again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum What {
    Start,
    Put,
    Commit,
}

/// A run of failures.
#[derive(Debug)]
pub(super) struct Retry {
    pub(super) what: What,
    pub(super) next: Instant,
    since: Instant,
    attempts: u32,
}

impl Retry {
    /// After another failure at `now`; `None` when it is time to give up.
    pub(super) fn after(
        earlier: Option<Self>,
        what: What,
        now: Instant,
        after: Option<Duration>,
        policy: &RetryPolicy,
        random: &mut SplitMix64,
    ) -> Option<Self> {
        let (since, attempts) = match earlier {
            Some(earlier) if earlier.what == what => (earlier.since, earlier.attempts),
            _ => (now, 0),
        };
        if policy.timeout.is_some_and(|timeout| now.duration_since(since) >= timeout) {
            return None;
        }
        let delay = match after {
            Some(after) => after.mul_f64(1.0 + random.unit() / 10.0),
            None => FIRST_DELAY
                .saturating_mul(1 << attempts.min(30))
                .min(policy.delay_max)
                .mul_f64(0.5 + random.unit() / 2.0),
        };
        Some(Self { what, next: now + delay, since, attempts: attempts + 1 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn policy(timeout: Option<u64>) -> RetryPolicy {
        RetryPolicy { delay_max: Duration::from_secs(60), timeout: timeout.map(Duration::from_secs) }
    }

    #[test]
    fn the_delay_doubles_up_to_its_limit_and_is_never_the_same_for_all() {
        let now = Instant::now();
        let mut random = SplitMix64::new(7);
        let mut retry = None;
        for attempt in 0..12 {
            let next = Retry::after(retry, What::Put, now, None, &policy(None), &mut random).unwrap();
            let full = Duration::from_millis(300 << attempt).min(Duration::from_secs(60));
            let delay = next.next - now;
            assert!(delay >= full / 2 && delay <= full, "attempt {attempt}: {delay:?}");
            retry = Some(next);
        }
    }

    #[test]
    fn the_task_may_say_how_long_to_wait() {
        let now = Instant::now();
        let after = Some(Duration::from_secs(20));
        let retry = Retry::after(None, What::Put, now, after, &policy(None), &mut SplitMix64::new(1)).unwrap();
        assert!(retry.next - now >= Duration::from_secs(20) && retry.next - now <= Duration::from_secs(22));
    }

    #[test]
    fn it_gives_up_when_its_time_is_over() {
        let now = Instant::now();
        let mut random = SplitMix64::new(1);
        let first = Retry::after(None, What::Put, now, None, &policy(Some(10)), &mut random);
        let second = Retry::after(first, What::Put, now + Duration::from_secs(9), None, &policy(Some(10)), &mut random);
        assert!(second.is_some());
        let late = now + Duration::from_secs(10);
        assert!(Retry::after(second, What::Put, late, None, &policy(Some(10)), &mut random).is_none());
    }
}
