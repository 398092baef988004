//! From the packets of a file to what was said in them.

use std::io::Read;

use crate::file::{CaptureFile, CaptureFormat, FileError};
use crate::packet::{NoSegment, segment};
use crate::summary::Summary;
use crate::tcp::{Connections, Entry, Limits};

/// Reads a capture file packet by packet.
pub struct Capture<R> {
    file: CaptureFile<R>,
    connections: Connections,
    summary: Summary,
}

impl<R: Read> Capture<R> {
    /// Of the file's connections, those to or from `ports` are looked at; all, if there is none. A port that is given is
    /// taken for a broker's. Reads are small, so `reader` should have a buffer.
    ///
    /// # Errors
    /// [`FileError`] where the file is not of that format.
    pub fn open(reader: R, format: CaptureFormat, ports: impl IntoIterator<Item = u16>) -> Result<Self, FileError> {
        let file = CaptureFile::open(reader, format)?;
        Ok(Self { file, connections: Connections::new(ports, Limits::default()), summary: Summary::default() })
    }

    /// Reads the next packet, and gives `out` what it completed. `false` at the end of the file.
    ///
    /// # Errors
    /// [`FileError`], after which there is no next packet; what came before is still to be [ended](Self::end).
    pub fn next_packet(&mut self, out: &mut impl FnMut(Entry)) -> Result<bool, FileError> {
        let Some(packet) = self.file.next_packet()? else { return Ok(false) };
        self.summary.packets += 1;
        match segment(&packet) {
            Ok(segment) => self.connections.segment(&segment, packet.time, &mut self.summary, out),
            Err(other) => {
                // Cut in its headers it may have been anybody's.
                let is_cut = other == NoSegment::Malformed && packet.data.len() < packet.original_length as usize;
                self.summary.cut += u64::from(is_cut);
                *self.summary.no_segment.entry(other).or_default() += 1;
            }
        }
        Ok(true)
    }

    /// Ends all connections, and gives `out` what is left of them.
    pub fn end(&mut self, out: &mut impl FnMut(Entry)) {
        self.connections.end(&mut self.summary, out);
        self.summary.malformed_blocks = self.file.malformed_blocks();
    }

    /// What there was so far.
    pub fn summary(&self) -> &Summary {
        &self.summary
    }
}
