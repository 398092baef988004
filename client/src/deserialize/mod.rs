//! From the bytes of keys and values to what they mean.
//!
//! A [`Deserializer`] makes a value of bytes, which it may borrow from: bytes and texts are lent out of the response that they came in, and
//! numbers are copied out, so that none of Kafka's own kinds costs an allocation. Nothing is deserialized before it is looked at.
//!
//! ```no_run
//! use std::time::Duration;
//!
//! use ackflow_client::deserialize::{IntegerDeserializer, StringDeserializer};
//! use ackflow_client::share::{ShareConsumer, ShareConsumerConfig};
//!
//! # async fn run() -> Result<(), ackflow_client::ClientError> {
//! let config = ShareConsumerConfig::builder("localhost:9092", "invoices").build()?;
//! let mut consumer = ShareConsumer::with_deserializers(config, StringDeserializer, IntegerDeserializer)?;
//! consumer.subscribe(["orders"])?;
//! for record in &consumer.poll(Duration::from_secs(1)).await? {
//!     match record {
//!         Ok(record) => println!("{:?} ordered {:?}", record.key, record.value),
//!         Err(error) => eprintln!("{error}"), // its record is released
//!     }
//! }
//! # Ok(())
//! # }
//! ```

mod builtin;

use std::any::type_name;
use std::borrow::Cow;
use std::fmt;

use ackflow_protocol::records::Headers;

pub use builtin::{
    BooleanDeserializer, ByteArrayDeserializer, DoubleDeserializer, FloatDeserializer, IntegerDeserializer,
    LongDeserializer, ShortDeserializer, StringDeserializer, StringLossyDeserializer, UuidDeserializer,
    VoidDeserializer,
};

/// Makes keys or values of bytes, as Kafka's `Deserializer` does. A null is none of its business: it stays `None`.
///
/// It is called when a record is looked at, and again when it is looked at again, on whatever thread does.
pub trait Deserializer: Send + Sync + 'static {
    /// What comes of the bytes; it may borrow from them.
    type Output<'a>;

    /// Makes a value of `data`, which is the key or value of a record of `topic` with these headers.
    ///
    /// # Errors
    /// [`DeserializeError`], which says what is wrong with the bytes. The record is then released, unless the application decides
    /// otherwise.
    fn deserialize<'a>(
        &self,
        topic: &str,
        headers: Headers<'a>,
        data: &'a [u8],
    ) -> Result<Self::Output<'a>, DeserializeError>;
}

/// Why bytes cannot be deserialized.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct DeserializeError(Cow<'static, str>);

impl DeserializeError {
    /// Because of `reason`, which reads well after "the value cannot be deserialized: ". It had better not hold the bytes themselves.
    pub fn new(reason: impl Into<Cow<'static, str>>) -> Self {
        Self(reason.into())
    }
}

/// A [`Deserializer`] of a function, such as one that parses JSON.
///
/// ```
/// use ackflow_client::deserialize::deserialize_with;
///
/// let owned = deserialize_with(|data: &[u8]| String::from_utf8(data.to_vec()));
/// # fn check(_: impl ackflow_client::deserialize::Deserializer) {}
/// # check(owned);
/// ```
pub fn deserialize_with<F, T, E>(function: F) -> FnDeserializer<F>
where
    F: Fn(&[u8]) -> Result<T, E> + Send + Sync + 'static,
    E: fmt::Display,
{
    FnDeserializer(function)
}

/// Made by [`deserialize_with`].
#[derive(Clone, Copy)]
pub struct FnDeserializer<F>(F);

impl<F> fmt::Debug for FnDeserializer<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("FnDeserializer")
    }
}

impl<F, T, E> Deserializer for FnDeserializer<F>
where
    F: Fn(&[u8]) -> Result<T, E> + Send + Sync + 'static,
    T: 'static,
    E: fmt::Display,
{
    type Output<'a> = T;

    fn deserialize<'a>(&self, _topic: &str, _headers: Headers<'a>, data: &'a [u8]) -> Result<T, DeserializeError> {
        (self.0)(data).map_err(|error| DeserializeError::new(error.to_string()))
    }
}

/// The deserializers of a consumer.
pub(crate) struct Deserializers<K, V> {
    pub(crate) key: K,
    pub(crate) value: V,
}

impl<K, V> fmt::Debug for Deserializers<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Deserializers<{}, {}>", type_name::<K>(), type_name::<V>())
    }
}

/// Keys and values as they are.
pub(crate) static BYTES: Deserializers<ByteArrayDeserializer, ByteArrayDeserializer> =
    Deserializers { key: ByteArrayDeserializer, value: ByteArrayDeserializer };

#[cfg(test)]
mod tests;
