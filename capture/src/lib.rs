//! Kafka's conversations out of captures and streams of frames, as JSON, and the way back. `ackflow wire` is its face.
//!
//! A capture file goes through four layers, each of which knows nothing of the next: packets ([`CaptureFile`]), TCP
//! segments ([`segment()`]), the streams of connections, and the frames in them, where responses are paired with their
//! requests by correlation id. Each [`Entry`] that comes out becomes a [`line`](line()) of JSON.
//!
//! Nothing here trusts what it reads: whatever is in a capture, nothing panics, and memory is bounded by what a connection
//! may hold back (16 MiB behind a hole, one frame of at most 100 MiB) and what all may hold together (256 MiB).
//!
//! ```
//! use ackflow_capture::{Capture, CaptureFormat, Style, line};
//!
//! # let file: &[u8] = include_bytes!("../tests/data/empty.pcap");
//! let mut capture = Capture::open(file, CaptureFormat::Pcap, [9092])?;
//! let mut print = |entry| println!("{}", line(entry, Style::default()));
//! while capture.next_packet(&mut print)? {}
//! capture.end(&mut print);
//! println!("{} frames", capture.summary().frames);
//! # Ok::<(), ackflow_capture::FileError>(())
//! ```

mod api;
mod capture;
mod encode;
mod file;
mod frames;
#[cfg(feature = "fuzzing")]
pub mod fuzzing;
pub mod hex;
mod kafka;
mod line;
mod objects;
mod packet;
mod records;
mod secrets;
mod summary;
mod tcp;

pub use api::{NameError, api, codec};
pub use capture::Capture;
pub use encode::{EncodeStream, Encoded, LineError, encode};
pub use file::{CaptureFile, CaptureFormat, FileError, LinkType, Packet};
pub use frames::{Expected, FrameStream, StreamError};
pub use kafka::conversation::Event;
pub use kafka::framer::Skipped;
pub use kafka::message::{Content, Direction, Fault, Frame};
pub use line::{Style, line};
pub use packet::{NoSegment, Segment, segment};
pub use records::lacks_records;
pub use secrets::is_secret;
pub use summary::Summary;
pub use tcp::{Entry, Peers};
