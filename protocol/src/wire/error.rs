//! Codec errors: which message, which field, which byte.

use std::fmt;
use std::ops::RangeInclusive;

use super::Message;

/// Bytes or JSON that are not the message they claim to be. The fault is the sender's.
#[derive(Debug, Clone, PartialEq)]
pub struct DecodeError(Box<Inner>);

#[derive(Debug, Clone, PartialEq)]
struct Inner {
    message: Option<(&'static str, i16)>,
    /// Innermost part first: it grows while the error travels outwards.
    path: Vec<Part>,
    /// `None` where it is not bytes that were read.
    offset: Option<usize>,
    kind: DecodeErrorKind,
}

#[derive(Debug, Clone, PartialEq)]
enum Part {
    Field(&'static str),
    Index(usize),
}

/// What is wrong with the bytes.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum DecodeErrorKind {
    /// The input ends inside a field.
    #[error("needs {needed} bytes, {left} are left")]
    Truncated {
        /// Bytes that the field needs.
        needed: usize,
        /// Bytes that are left.
        left: usize,
    },
    /// A length or count that no input of this size can hold.
    #[error("has length {length}, with {left} bytes left")]
    Length {
        /// The length as read.
        length: i64,
        /// Bytes that are left.
        left: usize,
    },
    /// An array whose elements would take more memory than a message of this size may; see [`Reader`](super::Reader).
    #[error(
        "has {count} elements that take {wanted} bytes of memory; {left} are left of {allowed}, which is what a message of this size may take"
    )]
    Memory {
        /// The number of elements.
        count: usize,
        /// Bytes that they take in memory.
        wanted: usize,
        /// Bytes that the arrays of the message may still take.
        left: usize,
        /// Bytes that they may take in all.
        allowed: usize,
    },
    /// A string longer than Kafka allows.
    #[error("is a string of {0} bytes, allowed are 32767")]
    LongString(usize),
    /// A version that is negative.
    #[error("is {0}, and no version is negative")]
    Version(i16),
    /// A version that the message does not have; nothing was read.
    #[error("has no version {version}; it has {first} to {last}")]
    UnknownVersion {
        /// The version asked for.
        version: i16,
        /// The oldest version.
        first: i16,
        /// The newest version.
        last: i16,
    },
    /// Null where the version does not allow it.
    #[error("is null, which this version does not allow")]
    Null,
    /// A varint of too many bytes, or one that overflows.
    #[error("holds a varint that is too long")]
    Varint,
    /// A string that is not UTF-8.
    #[error("is not valid UTF-8")]
    Utf8,
    /// A marker byte of a nullable struct that is neither -1 nor 1.
    #[error("has the null marker {0}, neither -1 nor 1")]
    Marker(i8),
    /// Tagged fields out of order, or one tag twice.
    #[error("has tag {tag} after tag {previous}")]
    TagOrder {
        /// The offending tag.
        tag: u32,
        /// The tag before it.
        previous: u32,
    },
    /// A tagged field longer or shorter than its declared size.
    #[error("takes {actual} bytes, its tag declares {declared}")]
    TagSize {
        /// The size declared.
        declared: usize,
        /// The size read.
        actual: usize,
    },
    /// Bytes left after the last field.
    #[error("is followed by {0} bytes that belong to no field")]
    Trailing(usize),
    /// A frame whose size is refused before anything is allocated.
    #[error("has size {size}, allowed are 1 to {limit}{hint}")]
    Frame {
        /// The size as read.
        size: i32,
        /// The largest size allowed.
        limit: usize,
        /// What the bytes look like instead (`""` where nothing fits).
        hint: &'static str,
    },
    /// A JSON value of the wrong type or out of range.
    #[error("is not {expected} in JSON")]
    Json {
        /// What it should be.
        expected: &'static str,
    },
    /// A JSON object without a field that the version has.
    #[error("is missing in JSON")]
    Missing,
    /// A field that the version has is missing, and one of a name much like it is there. Of strict reading alone.
    #[error("is missing in JSON; is it what {found:?} means?")]
    Misspelt {
        /// The name that is there.
        found: String,
    },
    /// A JSON object with a field that the message, or its version, does not have. Of strict reading alone.
    #[error("has the field {field:?}, which this version does not have{hint}")]
    UnknownField {
        /// The name of the field.
        field: String,
        /// What may be meant (`""` where nothing is near).
        hint: String,
    },
}

impl DecodeError {
    /// An error at byte `offset` of the input.
    pub fn new(kind: DecodeErrorKind, offset: usize) -> Self {
        Self(Box::new(Inner { message: None, path: Vec::new(), offset: Some(offset), kind }))
    }

    /// An error that is at no byte: of JSON, or of a version.
    pub fn without_offset(kind: DecodeErrorKind) -> Self {
        Self(Box::new(Inner { message: None, path: Vec::new(), offset: None, kind }))
    }

    /// `version` is none of the message's.
    #[cold]
    pub(super) fn unknown_version<M: Message>(version: i16) -> Self {
        let (first, last) = M::VERSIONS.into_inner();
        Self::without_offset(DecodeErrorKind::UnknownVersion { version, first, last }).in_message(M::NAME, version)
    }

    /// What is wrong.
    pub fn kind(&self) -> &DecodeErrorKind {
        &self.0.kind
    }

    /// The byte of the input at which reading stopped; `None` where the input was JSON, or nothing was read.
    pub fn offset(&self) -> Option<usize> {
        self.0.offset
    }

    /// The field, such as `responses[0].partitions[3].records`.
    pub fn path(&self) -> String {
        let mut path = String::new();
        for part in self.0.path.iter().rev() {
            match part {
                Part::Field(name) => {
                    if !path.is_empty() {
                        path.push('.');
                    }
                    path.push_str(name);
                }
                Part::Index(i) => path.push_str(&format!("[{i}]")),
            }
        }
        path
    }

    /// Adds the field that the error happened in; an empty name (an array element) adds nothing.
    #[must_use]
    pub fn in_field(mut self, name: &'static str) -> Self {
        if !name.is_empty() {
            self.0.path.push(Part::Field(name));
        }
        self
    }

    /// Adds the index of the array element that the error happened in.
    #[must_use]
    pub fn at_index(mut self, index: usize) -> Self {
        self.0.path.push(Part::Index(index));
        self
    }

    /// Names the message and its version.
    #[must_use]
    pub fn in_message(mut self, name: &'static str, version: i16) -> Self {
        self.0.message = Some((name, version));
        self
    }

    /// Counts the byte from `bytes` further in front: those of a header, of a frame's size.
    #[must_use]
    pub fn behind(mut self, bytes: usize) -> Self {
        self.0.offset = self.0.offset.map(|offset| offset + bytes);
        self
    }
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.0.message, &self.0.kind) {
            (Some((name, _)), kind @ DecodeErrorKind::UnknownVersion { .. }) => return write!(f, "{name} {kind}"),
            (Some((name, version)), _) => write!(f, "{name} v{version}: ")?,
            (None, _) => {}
        }
        let path = self.path();
        let path = if path.is_empty() { "the message" } else { &path };
        write!(f, "{path} {}", self.0.kind)?;
        match self.0.offset {
            Some(offset) => write!(f, " (byte {offset})"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for DecodeError {}

/// A message that its version cannot express. The fault is the caller's.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{}{field} {kind}", .message.map(|(name, version)| format!("{name} v{version}: ")).unwrap_or_default())]
pub struct EncodeError {
    message: Option<(&'static str, i16)>,
    field: &'static str,
    kind: EncodeErrorKind,
}

/// Why a message cannot be written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EncodeErrorKind {
    /// The field holds what the version lacks.
    #[error("is set, but this version does not have it")]
    Unsupported,
    /// The field is null in a version in which it must not be.
    #[error("is null, which this version does not allow")]
    Null,
    /// The length in bytes or elements does not fit its field.
    #[error("has length {0}, more than the wire can say")]
    TooLong(usize),
    /// The JSON of the message takes more memory than it may, in bytes.
    #[error(
        "makes the JSON larger than {0} bytes in memory; the message is well-formed, and can be shown as hexadecimal digits"
    )]
    TooMuchJson(usize),
    /// A version that the message does not have.
    #[error("has no version {version}; it has {first} to {last}")]
    UnknownVersion {
        /// The version asked for.
        version: i16,
        /// The oldest version.
        first: i16,
        /// The newest version.
        last: i16,
    },
}

impl EncodeError {
    /// `field` is set, but the version does not have it.
    pub fn unsupported(field: &'static str) -> Self {
        Self { message: None, field, kind: EncodeErrorKind::Unsupported }
    }

    /// `field` is null where the version does not allow it.
    pub fn null(field: &'static str) -> Self {
        Self { message: None, field, kind: EncodeErrorKind::Null }
    }

    /// `field` is longer than its length field can say.
    pub fn too_long(field: &'static str, length: usize) -> Self {
        Self { message: None, field, kind: EncodeErrorKind::TooLong(length) }
    }

    /// With `field` the JSON takes more than `limit` bytes.
    #[cfg(feature = "json")]
    pub(crate) fn too_much_json(field: &'static str, limit: usize) -> Self {
        Self { message: None, field, kind: EncodeErrorKind::TooMuchJson(limit) }
    }

    /// `version` is none of those of the message `name`.
    #[cold]
    pub(crate) fn unknown_version(name: &'static str, version: i16, versions: RangeInclusive<i16>) -> Self {
        let (first, last) = versions.into_inner();
        Self { message: None, field: name, kind: EncodeErrorKind::UnknownVersion { version, first, last } }
    }

    /// What is wrong.
    pub fn kind(&self) -> &EncodeErrorKind {
        &self.kind
    }

    /// The field that cannot be written; the message where it has no such version.
    pub fn field(&self) -> &'static str {
        self.field
    }

    /// Names the message and its version.
    #[must_use]
    pub fn in_message(mut self, name: &'static str, version: i16) -> Self {
        self.message = Some((name, version));
        self
    }
}
