//! Record batches, format version 2 (magic 2): reading without copying, and writing.
//!
//! A fetch response carries, per partition, one `records` field: batches one after the other. [`Batches`] walks it and
//! gives a [`RecordBatch`] each, whose header is parsed once and whose body stays where it is. [`RecordBatch::records`]
//! then lends the records: no heap allocation and no atomic a record. What must outlive the batch becomes an
//! [`OwnedRecord`].
//!
//! ```
//! use ackflow_protocol::records::{BatchBuilder, BatchOptions, Batches, DEFAULT_DECOMPRESSION_LIMIT};
//!
//! let mut builder = BatchBuilder::new(BatchOptions::default());
//! builder.try_append(1_000, None, Some(b"hello"), [])?;
//! let field = builder.build()?;
//!
//! for batch in Batches::new(field) {
//!     let batch = batch?;
//!     batch.verify_crc()?;
//!     let batch = batch.decompress(DEFAULT_DECOMPRESSION_LIMIT)?;
//!     for record in batch.records() {
//!         assert_eq!(record?.value, Some(&b"hello"[..]));
//!     }
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Formats: <https://kafka.apache.org/documentation/#messageformat>.

mod append;
mod batch;
mod batches;
mod builder;
mod compaction;
mod compression;
pub mod control;
mod crc;
mod error;
mod header;
mod headers;
mod owned;
mod record;
mod rewrite;
mod usual;
#[cfg(any(feature = "arbitrary", feature = "fuzzing", feature = "proptest"))]
pub(crate) mod valid;
mod varint;

#[cfg(test)]
mod tests;

pub use batch::{DEFAULT_DECOMPRESSION_LIMIT, RecordBatch};
pub use batches::Batches;
pub use builder::{BatchBuilder, BatchOptions, BuildError};
pub use compaction::retain_records;
pub use compression::{Compression, CompressionLevel, DecompressError, LevelError, UnknownCompression};
pub use crc::crc32c;
pub use error::{BatchError, RecordFault};
pub use header::{BATCH_OVERHEAD, TimestampType};
pub use headers::{Header, Headers};
pub use owned::OwnedRecord;
pub use record::{Record, RecordCursor, Records};
pub use rewrite::{assign_append_time, assign_offsets, assign_sequence};
