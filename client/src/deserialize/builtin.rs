//! Kafka's own deserializers, by Kafka's names.

use std::borrow::Cow;

use ackflow_protocol::records::Headers;

use super::{DeserializeError, Deserializer};

/// Defines a deserializer: its documentation, name, output, and the function that makes the output of the bytes.
macro_rules! deserializers {
    ($($(#[$doc:meta])* $name:ident => $output:ty, $function:expr;)*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
        pub struct $name;

        impl Deserializer for $name {
            type Output<'a> = $output;

            #[inline]
            fn deserialize<'a>(
                &self,
                _topic: &str,
                _headers: Headers<'a>,
                data: &'a [u8],
            ) -> Result<$output, DeserializeError> {
                $function(data)
            }
        }
    )*};
}

deserializers! {
    /// The bytes themselves, lent: what Kafka has ByteArrayDeserializer, BytesDeserializer and ByteBufferDeserializer for. It never fails.
    ByteArrayDeserializer => &'a [u8], Ok;

    /// UTF-8, lent. Malformed bytes are an error, where Kafka's StringDeserializer puts U+FFFD in their place; for that there is
    /// [`StringLossyDeserializer`].
    StringDeserializer => &'a str, |data| {
        std::str::from_utf8(data)
            .map_err(|error| DeserializeError::new(format!("not UTF-8 from byte {} on", error.valid_up_to())))
    };

    /// UTF-8 as Kafka's StringDeserializer reads it: malformed bytes become U+FFFD, and only then does it allocate. It never fails.
    StringLossyDeserializer => Cow<'a, str>, |data| Ok(String::from_utf8_lossy(data));

    /// Two bytes, the highest first.
    ShortDeserializer => i16, |data| fixed(data, "ShortDeserializer").map(i16::from_be_bytes);

    /// Four bytes, the highest first.
    IntegerDeserializer => i32, |data| fixed(data, "IntegerDeserializer").map(i32::from_be_bytes);

    /// Eight bytes, the highest first.
    LongDeserializer => i64, |data| fixed(data, "LongDeserializer").map(i64::from_be_bytes);

    /// Four bytes of IEEE 754, the highest first.
    FloatDeserializer => f32, |data| fixed(data, "FloatDeserializer").map(f32::from_be_bytes);

    /// Eight bytes of IEEE 754, the highest first.
    DoubleDeserializer => f64, |data| fixed(data, "DoubleDeserializer").map(f64::from_be_bytes);

    /// One byte: 0 is false and 1 is true (KIP-907).
    BooleanDeserializer => bool, |data| match fixed(data, "BooleanDeserializer")? {
        [0] => Ok(false),
        [1] => Ok(true),
        [byte] => Err(DeserializeError::new(format!("unexpected byte {byte} received by BooleanDeserializer"))),
    };

    /// A UUID in its text form, as a number: the first digit of the text is the highest of the number.
    UuidDeserializer => u128, uuid;

    /// Nothing but null.
    VoidDeserializer => (), |_| Err(DeserializeError::new("data is not null for VoidDeserializer"));
}

/// All bytes, where there are as many as it takes.
fn fixed<const N: usize>(data: &[u8], name: &'static str) -> Result<[u8; N], DeserializeError> {
    data.try_into()
        .map_err(|_| DeserializeError::new(format!("size of data received by {name} is {}, not {N}", data.len())))
}

/// `8-4-4-4-12` hexadecimal digits, in upper or lower case.
fn uuid(data: &[u8]) -> Result<u128, DeserializeError> {
    let malformed = || DeserializeError::new("not the text of a UUID");
    if data.len() != 36 {
        return Err(malformed());
    }
    let mut uuid = 0;
    for (at, byte) in data.iter().enumerate() {
        match (at, byte) {
            (8 | 13 | 18 | 23, b'-') => {}
            (8 | 13 | 18 | 23, _) => return Err(malformed()),
            (_, digit) => {
                let digit = char::from(*digit).to_digit(16).ok_or_else(malformed)?;
                uuid = uuid << 4 | u128::from(digit);
            }
        }
    }
    Ok(uuid)
}
