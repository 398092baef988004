//! Capture files, pcap and pcapng, packet by packet.
//!
//! The headers and blocks are read by the crate `pcap-parser`. Around it stand a reader that holds one packet at a time and
//! never allocates on a length's word alone, errors that say where, and time stamps in each of the resolutions that pcapng
//! has (`pcap-parser` 0.17 takes neither powers of two nor offsets of big-endian files).

mod input;
mod pcap;
mod pcapng;

use std::fmt;
use std::io::{self, Read};

use input::Input;
use pcap::Pcap;
use pcapng::PcapNg;

/// The longest packet or block that is believed in: 16 MiB. Captures of loopback have up to 64 KiB, of cards that put
/// segments together a few times that.
const MAX_PACKET: usize = 16 << 20;

/// What a capture's packets begin with: Ethernet, IP and so on, by the numbers of tcpdump's list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LinkType(pub u16);

/// One captured packet.
#[derive(Clone, Copy)]
pub struct Packet<'a> {
    /// Its place in the file, from 1.
    pub number: u64,
    /// The byte of the file at which it is stored.
    pub offset: u64,
    /// What it begins with.
    pub link: LinkType,
    /// When it was captured, in nanoseconds since 1970; not all packets say so.
    pub time: Option<i64>,
    /// The bytes that were captured.
    pub data: &'a [u8],
    /// How many bytes it had on the wire.
    pub original_length: u32,
}

impl fmt::Debug for Packet<'_> {
    /// Shows how many bytes there are, and none of them: a packet may hold a password.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "Packet {} at byte {}: {} of {} bytes",
            self.number,
            self.offset,
            self.data.len(),
            self.original_length
        )
    }
}

/// The two formats of capture files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CaptureFormat {
    /// The older one, with one link type a file.
    Pcap,
    /// The newer one.
    PcapNg,
}

impl CaptureFormat {
    /// The format of a file that begins with `magic`, in either byte order and resolution.
    pub fn of(magic: [u8; 4]) -> Option<Self> {
        match magic {
            [0x0a, 0x0d, 0x0d, 0x0a] => Some(Self::PcapNg),
            [0xa1, 0xb2, 0xc3, 0xd4] | [0xd4, 0xc3, 0xb2, 0xa1] => Some(Self::Pcap),
            // Nanoseconds, and a variant of 1999 with longer packet headers.
            [0xa1, 0xb2, 0x3c, 0x4d] | [0x4d, 0x3c, 0xb2, 0xa1] | [0x34, 0xcd, 0xb2, 0xa1] => Some(Self::Pcap),
            _ => None,
        }
    }
}

/// Hands out the packets of a capture file. It holds one packet at a time, whatever the size of the file.
pub struct CaptureFile<R> {
    input: Input<R>,
    format: Format,
}

enum Format {
    Pcap(Pcap),
    PcapNg(PcapNg),
}

impl<R: Read> CaptureFile<R> {
    /// Reads the header of the file. Reads are small, so `reader` should have a buffer.
    ///
    /// # Errors
    /// [`FileError`] where the file is not of that format.
    pub fn open(reader: R, format: CaptureFormat) -> Result<Self, FileError> {
        let mut input = Input::new(reader);
        let format = match format {
            CaptureFormat::Pcap => Format::Pcap(Pcap::open(&mut input)?),
            CaptureFormat::PcapNg => Format::PcapNg(PcapNg::new()),
        };
        Ok(Self { input, format })
    }

    /// The next packet; `None` at the end of the file.
    ///
    /// # Errors
    /// [`FileError`], after which there is no next packet.
    pub fn next_packet(&mut self) -> Result<Option<Packet<'_>>, FileError> {
        match &mut self.format {
            Format::Pcap(pcap) => pcap.next(&mut self.input),
            Format::PcapNg(pcapng) => pcapng.next(&mut self.input),
        }
    }

    /// Blocks passed over so far because they are not what their type says.
    pub fn malformed_blocks(&self) -> u64 {
        match &self.format {
            Format::Pcap(_) => 0,
            Format::PcapNg(pcapng) => pcapng.malformed(),
        }
    }
}

/// Why a capture file cannot be read, or not further.
#[derive(Debug)]
pub struct FileError {
    offset: u64,
    problem: Problem,
}

#[derive(Debug, thiserror::Error)]
enum Problem {
    #[error("cannot be read: {0}")]
    Io(io::Error),
    #[error("does not begin with a whole {format} header")]
    Header { format: &'static str },
    #[error("ends inside packet {number}: {have} of its {needed} bytes are there. The capture was cut short")]
    CutShort { number: u64, needed: usize, have: usize },
    #[error("packet {number} says that it has {length} bytes, and no packet has so many. The file is damaged here")]
    Packet { number: u64, length: u64 },
    #[error("a block says that it has {length} bytes, allowed are 12 to 16777216. The file is damaged here")]
    Block { length: usize },
    #[error("one section describes more than {most} interfaces. The file is damaged")]
    Interfaces { most: usize },
}

impl FileError {
    fn new(offset: u64, problem: Problem) -> Self {
        Self { offset, problem }
    }

    fn io(offset: u64, error: io::Error) -> Self {
        Self::new(offset, Problem::Io(error))
    }

    /// The byte of the file at which it happened.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// True where the file just ends too early, as captures do that were stopped hard: what came before is whole.
    pub fn is_cut_short(&self) -> bool {
        matches!(self.problem, Problem::CutShort { .. })
    }
}

impl fmt::Display for FileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "byte {}: {}", self.offset, self.problem)
    }
}

impl std::error::Error for FileError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &self.problem {
            Problem::Io(error) => Some(error),
            _ => None,
        }
    }
}
