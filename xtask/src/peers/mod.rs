//! Other Kafka clients, as programs: testdata/interop has their sources and says what they take and print.

mod franz_go;
mod java;
mod librdkafka;
mod produce;
mod programs;
mod share;

use std::ffi::OsString;
use std::process::Command;

pub use franz_go::franz_go;
pub use java::java;
pub use librdkafka::{librdkafka, librdkafka_consumer};
pub use produce::producers;
pub use share::{foreign_share_consumers, share_consumers};

/// A client that writes and reads records.
#[derive(Clone, Debug)]
pub struct Peer {
    /// Its name, such as `librdkafka`.
    pub name: &'static str,
    /// The program and the arguments that come first.
    words: Vec<OsString>,
}

impl Peer {
    /// Of a program and the arguments that come first.
    pub fn new(name: &'static str, words: impl IntoIterator<Item = impl Into<OsString>>) -> Self {
        Self { name, words: words.into_iter().map(Into::into).collect() }
    }

    /// A command line of it.
    pub fn command(&self) -> Command {
        let mut command = Command::new(&self.words[0]);
        command.args(&self.words[1..]);
        command
    }
}
