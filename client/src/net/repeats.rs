//! What the log was told already: whatever is tried again and again fails again and again, mostly in the same words.

use std::time::{Duration, Instant};

/// The same is said again after this long, and then after twice as long each time,
const FIRST_PAUSE: Duration = Duration::from_secs(60);
/// up to this.
const LONGEST_PAUSE: Duration = Duration::from_secs(3600);
/// So many texts are known; of more, the one that was said first is forgotten.
const KNOWN: usize = 16;

/// Tells news from what was said before. Where all is well again a new one is begun with.
#[derive(Debug, Default)]
pub(crate) struct Repeats(Vec<Said>);

#[derive(Debug)]
struct Said {
    text: String,
    again: Instant,
    pause: Duration,
}

impl Repeats {
    /// Whether to say `text` at `now`: it was not said yet, or not for a while.
    pub(crate) fn is_news(&mut self, now: Instant, text: &str) -> bool {
        match self.0.iter_mut().find(|said| said.text == text) {
            Some(said) if now < said.again => false,
            Some(said) => {
                said.pause = (said.pause * 2).min(LONGEST_PAUSE);
                said.again = now + said.pause;
                true
            }
            None => {
                if self.0.len() == KNOWN {
                    self.0.remove(0);
                }
                self.0.push(Said { text: text.to_owned(), again: now + FIRST_PAUSE, pause: FIRST_PAUSE });
                true
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Mutation: client/src/net/repeats.rs
    // - said.pause = (said.pause * 2).min(LONGEST_PAUSE);
    // + said.pause *= 1;
    #[test]
    fn the_same_is_said_less_and_less_often_and_anything_else_at_once() {
        let start = Instant::now();
        let mut repeats = Repeats::default();
        let said: Vec<u64> = (0..20_000)
            .step_by(10)
            .filter(|second| repeats.is_news(start + Duration::from_secs(*second), "refused"))
            .collect();
        assert_eq!(said, [0, 60, 180, 420, 900, 1_860, 3_780, 7_380, 10_980, 14_580, 18_180]);
        let now = start + Duration::from_secs(20_000);
        assert!(
            repeats.is_news(now, "unreachable")
                && !repeats.is_news(now, "refused")
                && !repeats.is_news(now, "unreachable")
        );
        let mut repeats = Repeats::default();
        assert!(repeats.is_news(now, "refused"));
    }

    #[test]
    fn texts_that_are_always_others_take_no_more_and_no_more_room() {
        let (now, mut repeats) = (Instant::now(), Repeats::default());
        assert!((0..1_000).all(|number| repeats.is_news(now, &number.to_string())));
        assert_eq!(repeats.0.len(), KNOWN);
    }
}
