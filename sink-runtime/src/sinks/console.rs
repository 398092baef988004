//! The standard output as an appender's output.

use std::io::{self, Write};

use super::appender::Output;

pub(super) struct Console;

impl Output for Console {
    fn write(&mut self, block: &[u8]) -> io::Result<()> {
        io::stdout().lock().write_all(block)
    }

    fn commit(&mut self) -> io::Result<()> {
        io::stdout().lock().flush()
    }

    fn name(&self) -> &str {
        "standard output"
    }
}
