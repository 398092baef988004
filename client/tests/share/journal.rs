//! What the consumers of a test on a real Kafka said and heard last: a broker that the test did not write does not tell why it hangs.

use std::collections::{HashMap, VecDeque};
use std::io::{self, Write};
use std::sync::Mutex;

use tokio::runtime::{Handle, Id};
use tracing_subscriber::filter::LevelFilter;

/// How many lines are kept of each test.
const LINES: usize = 60;

/// By runtime, of which each test has its own.
static JOURNALS: Mutex<Option<HashMap<Id, VecDeque<String>>>> = Mutex::new(None);

/// Keeps journals from now on.
pub(crate) fn keep() {
    if JOURNALS.lock().unwrap().get_or_insert_default().is_empty() {
        // The first test of a process does it for all.
        let _ = tracing_subscriber::fmt()
            .with_ansi(false)
            .with_max_level(LevelFilter::TRACE)
            .with_writer(|| Line)
            .try_init();
    }
}

/// The last lines of this test's journal, where one is kept.
pub(crate) fn end() -> String {
    let journals = JOURNALS.lock().unwrap();
    let lines = journals.as_ref().and_then(|journals| journals.get(&Handle::current().id())).into_iter().flatten();
    lines.fold(String::new(), |text, line| text + "\n" + line)
}

struct Line;

impl Write for Line {
    fn write(&mut self, text: &[u8]) -> io::Result<usize> {
        if let (Ok(test), Some(journals)) = (Handle::try_current(), &mut *JOURNALS.lock().unwrap()) {
            let lines = journals.entry(test.id()).or_default();
            lines.push_back(String::from_utf8_lossy(text).trim_end().to_owned());
            if lines.len() > LINES {
                lines.pop_front();
            }
        }
        Ok(text.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
