//! How hard a codec tries.

use std::ops::RangeInclusive;

use super::Compression;

/// How hard a codec tries to make its input small (`compression.gzip.level`, `compression.lz4.level`,
/// `compression.zstd.level`). The default is Kafka's for each codec.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CompressionLevel(Option<i32>);

/// Kafka's values for `compression.gzip.level`; -1 stands for the default.
const GZIP: RangeInclusive<i32> = 1..=9;
const GZIP_DEFAULT: i32 = 6;
/// Kafka's default for `compression.lz4.level`, by which its client takes the fast compressor, as we do always.
const LZ4_DEFAULT: i32 = 9;
const LZ4: RangeInclusive<i32> = 1..=17;
/// Kafka's values for `compression.zstd.level`.
const ZSTD: RangeInclusive<i32> = -131_072..=22;
const ZSTD_DEFAULT: i32 = 3;

/// A level that a codec does not have here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum LevelError {
    /// Kafka does not have it either.
    #[error("{codec} has levels {} to {}", .levels.0, .levels.1)]
    OutOfRange {
        /// The codec.
        codec: Compression,
        /// The lowest and the highest level.
        levels: (i32, i32),
    },
    /// The codec has one level here.
    #[error("{codec} is written at one level alone here, which is Kafka's default ({default})")]
    OneLevel {
        /// The codec.
        codec: Compression,
        /// That level.
        default: i32,
    },
    /// The codec has no levels.
    #[error("{codec} has no levels")]
    NoLevels {
        /// The codec.
        codec: Compression,
    },
}

impl CompressionLevel {
    /// A level of `codec` by Kafka's number: -1 or 1 to 9 for gzip, 1 to 17 for LZ4, -131072 to 22 for zstd.
    ///
    /// # Errors
    /// Where Kafka has no such level, and where it has one that cannot be written here: any but 9 for LZ4.
    pub fn new(codec: Compression, level: i32) -> Result<Self, LevelError> {
        let within = |levels: RangeInclusive<i32>| match levels.contains(&level) {
            true => Ok(Self(Some(level))),
            false => Err(LevelError::OutOfRange { codec, levels: (*levels.start(), *levels.end()) }),
        };
        match codec {
            Compression::None | Compression::Snappy => Err(LevelError::NoLevels { codec }),
            Compression::Gzip if level == -1 => Ok(Self(None)),
            Compression::Gzip => within(GZIP),
            Compression::Lz4 => match within(LZ4)? {
                _ if level != LZ4_DEFAULT => Err(LevelError::OneLevel { codec, default: LZ4_DEFAULT }),
                level => Ok(level),
            },
            Compression::Zstd => within(ZSTD),
        }
    }

    pub(super) fn of_gzip(self) -> u32 {
        self.0.filter(|level| GZIP.contains(level)).unwrap_or(GZIP_DEFAULT).unsigned_abs()
    }

    pub(super) fn of_zstd(self) -> i32 {
        self.0.filter(|level| ZSTD.contains(level)).unwrap_or(ZSTD_DEFAULT)
    }
}
