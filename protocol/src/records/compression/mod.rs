//! The codecs of record batches, all in pure Rust.

mod gzip;
mod level;
mod lz4;
mod output;
mod snappy;
mod zstd;

use std::{fmt, str::FromStr};

pub use level::{CompressionLevel, LevelError};
use output::Output;

/// How the records of a batch are compressed (`compression.type`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Compression {
    /// Not at all.
    #[default]
    None,
    /// RFC 1952; several members are read as one stream.
    Gzip,
    /// Snappy: written in the block format of the Java library that Kafka uses (snappy-java, also called xerial), read
    /// in that and raw.
    Snappy,
    /// One LZ4 frame of independent 64 KiB blocks.
    Lz4,
    /// RFC 8878; one frame is written, any number are read.
    Zstd,
}

impl Compression {
    /// Every codec, in the order of their ids.
    pub const ALL: [Self; 5] = [Self::None, Self::Gzip, Self::Snappy, Self::Lz4, Self::Zstd];

    /// The codec with this id in the attributes of a batch.
    pub fn from_id(id: u8) -> Option<Self> {
        Self::ALL.get(usize::from(id)).copied()
    }

    /// The id in the attributes of a batch: 0 to 4.
    pub fn id(self) -> u8 {
        self as u8
    }

    /// Kafka's name, as in `compression.type`.
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Gzip => "gzip",
            Self::Snappy => "snappy",
            Self::Lz4 => "lz4",
            Self::Zstd => "zstd",
        }
    }

    /// Compresses `input` at the codec's default level and appends the result to `out`.
    pub fn compress(self, input: &[u8], out: &mut Vec<u8>) {
        self.compress_at(CompressionLevel::default(), input, out);
    }

    /// Compresses `input` and appends the result to `out`. A level that is of another codec, and that this one does not
    /// have, is the default.
    pub fn compress_at(self, level: CompressionLevel, input: &[u8], out: &mut Vec<u8>) {
        match self {
            Self::None => out.extend_from_slice(input),
            Self::Gzip => gzip::compress(level.of_gzip(), input, out),
            Self::Snappy => snappy::compress(input, out),
            Self::Lz4 => lz4::compress(input, out),
            Self::Zstd => zstd::compress(level.of_zstd(), input, out),
        }
    }

    /// Inflates `input`, to at most `limit` bytes, and holds at most 16 MiB more than that at any time. Memory is taken
    /// as output comes, not by the sizes that the input claims; of zstd, which is written straight into the output,
    /// 8 MiB at most before any has come, and of Snappy what its blocks say, if so many bytes can become that. Output
    /// that is larger than two thirds of the limit may be inflated twice, gzip and LZ4 to learn its size first.
    ///
    /// # Errors
    /// When the codec refuses the input, when the input ends too early or goes on too long, and when the limit is
    /// passed.
    pub fn decompress(self, input: &[u8], limit: usize) -> Result<Vec<u8>, DecompressError> {
        let mut out = Output::new(limit);
        let done = match self {
            Self::None => out.expect(input.len()).and_then(|()| out.extend(input)),
            Self::Gzip => gzip::decompress(input, &mut out),
            Self::Snappy => snappy::decompress(input, &mut out),
            Self::Lz4 => lz4::decompress(input, &mut out),
            Self::Zstd => zstd::decompress(input, &mut out),
        };
        match done {
            Ok(()) => Ok(out.bytes),
            Err(Fault::TooLarge) => Err(DecompressError::TooLarge { limit }),
            Err(Fault::Corrupt(reason)) => Err(DecompressError::Corrupt { codec: self, reason }),
        }
    }
}

impl fmt::Display for Compression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Compression {
    type Err = UnknownCompression;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        let known = Self::ALL.into_iter().find(|codec| codec.name() == name);
        known.ok_or_else(|| UnknownCompression { name: name.to_owned() })
    }
}

/// A name that is no codec.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{name}` is no compression type; use none, gzip, snappy, lz4 or zstd")]
pub struct UnknownCompression {
    /// What was given.
    pub name: String,
}

/// Why compressed data could not be inflated.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DecompressError {
    /// More than the limit would come out.
    #[error("more than {limit} bytes come out")]
    TooLarge {
        /// The limit that was given, in bytes.
        limit: usize,
    },
    /// The codec refused the input.
    #[error("{codec}: {reason}")]
    Corrupt {
        /// The codec.
        codec: Compression,
        /// What it says.
        reason: String,
    },
}

/// What the codecs report to [`Compression::decompress`], which knows the rest.
#[derive(Debug)]
enum Fault {
    TooLarge,
    Corrupt(String),
}

impl Fault {
    fn corrupt(reason: impl fmt::Display) -> Self {
        Self::Corrupt(reason.to_string())
    }
}
