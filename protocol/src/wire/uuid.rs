//! Kafka's uuids: topic ids, member ids, cluster ids.

use std::fmt;
use std::str::FromStr;

/// A 128-bit id, shown as Kafka shows it: 22 characters of URL-safe base64 without padding.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Uuid(pub [u8; 16]);

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

impl Uuid {
    /// The all-zero id, which stands for "none".
    pub const ZERO: Self = Self([0; 16]);

    /// True for [`Uuid::ZERO`].
    pub fn is_zero(self) -> bool {
        self == Self::ZERO
    }
}

impl fmt::Display for Uuid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let value = u128::from_be_bytes(self.0);
        let mut text = [0u8; 22];
        for (i, c) in text.iter_mut().enumerate() {
            // 22 groups of 6 bits are 132: the last group carries 4 bits and 4 zeros.
            let group = if i == 21 { (value << 4) as usize } else { (value >> (122 - 6 * i)) as usize };
            *c = ALPHABET[group & 63];
        }
        f.write_str(std::str::from_utf8(&text).unwrap_or_default())
    }
}

impl fmt::Debug for Uuid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Text that is not a Kafka uuid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a uuid: 22 characters of URL-safe base64 are expected")]
pub struct ParseUuidError(String);

impl FromStr for Uuid {
    type Err = ParseUuidError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let error = || ParseUuidError(text.chars().take(40).collect());
        let text = text.trim_end_matches('=').as_bytes();
        if text.len() != 22 {
            return Err(error());
        }
        let mut value = 0u128;
        for (i, c) in text.iter().enumerate() {
            let group = ALPHABET.iter().position(|a| a == c).ok_or_else(error)? as u128;
            value = if i == 21 { value << 2 | group >> 4 } else { value << 6 | group };
        }
        Ok(Self(value.to_be_bytes()))
    }
}
