//! What the consumers of a test said and heard last: a broker does not tell why it waits.

use std::collections::{HashMap, VecDeque};
use std::io::{self, Write};
use std::sync::{Mutex, Once};
use std::thread;

use tokio::runtime::{Handle, Id};
use tracing_subscriber::filter::LevelFilter;

/// How many lines are kept of each test.
const LINES: usize = 60;

/// By runtime, of which each test has its own.
static JOURNALS: Mutex<Option<HashMap<Id, VecDeque<String>>>> = Mutex::new(None);

/// Dropped by a test that panics, it prints the end of the test's journal.
pub(crate) struct Journal;

impl Journal {
    pub(crate) fn keep() -> Self {
        static KEPT: Once = Once::new();
        KEPT.call_once(|| {
            tracing_subscriber::fmt().with_ansi(false).with_max_level(LevelFilter::TRACE).with_writer(|| Line).init();
        });
        Self
    }
}

impl Drop for Journal {
    fn drop(&mut self) {
        let lines =
            JOURNALS.lock().unwrap().get_or_insert_default().remove(&Handle::current().id()).unwrap_or_default();
        if thread::panicking() {
            lines.iter().for_each(|line| println!("{line}"));
        }
    }
}

struct Line;

impl Write for Line {
    fn write(&mut self, text: &[u8]) -> io::Result<usize> {
        if let Ok(test) = Handle::try_current() {
            let mut journals = JOURNALS.lock().unwrap();
            let lines = journals.get_or_insert_default().entry(test.id()).or_default();
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
