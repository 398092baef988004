//! Records of every kind, from a seed.

use serde_json::{Value, json};

use super::shown::{Shown, base64};
use crate::random::Seeded;

/// A record to be written.
#[derive(Clone, Debug)]
pub(super) struct Record {
    pub(super) partition: i32,
    pub(super) timestamp: i64,
    pub(super) key: Option<Vec<u8>>,
    pub(super) value: Option<Vec<u8>>,
    pub(super) headers: Vec<(String, Option<Vec<u8>>)>,
}

impl Record {
    /// As readers print it, unless the broker sets the time.
    pub(super) fn shown(&self) -> Shown {
        let bytes = |bytes: &Option<Vec<u8>>| bytes.as_deref().map(base64);
        Shown {
            timestamp: self.timestamp,
            timestamp_type: "CreateTime".to_owned(),
            key: bytes(&self.key),
            value: bytes(&self.value),
            headers: self.headers.iter().map(|(key, value)| (key.clone(), bytes(value))).collect(),
        }
    }

    /// As scripts have it.
    pub(super) fn to_json(&self) -> Value {
        let shown = self.shown();
        json!({
            "op": "record",
            "partition": self.partition,
            "timestamp": self.timestamp,
            "key": shown.key,
            "value": shown.value,
            "headers": shown.headers,
        })
    }
}

/// Draws records.
pub(super) struct Content {
    random: Seeded,
    /// Timestamps lie around this one, in milliseconds since 1970.
    around: i64,
    drawn: usize,
}

/// Kinds of keys, values and headers have no common factor, so that every combination comes.
const KEYS: usize = 4;
const VALUES: usize = 5;
const HEADERS: usize = 7;
/// As many records have every combination of them.
pub(super) const COMBINATIONS: usize = KEYS * VALUES * HEADERS;

impl Content {
    pub(super) fn new(random: Seeded, around: i64) -> Self {
        Self { random, around, drawn: 0 }
    }

    /// The next record.
    pub(super) fn record(&mut self, partition: i32) -> Record {
        self.drawn += 1;
        Record { partition, timestamp: self.timestamp(), key: self.key(), value: self.value(), headers: self.headers() }
    }

    /// A record for a compacted topic, which wants keys; many are the same.
    pub(super) fn keyed(&mut self, partition: i32) -> Record {
        let key = match self.random.below(4) {
            0 => format!("once-{}", self.drawn).into_bytes(),
            _ => format!("again-{}", self.random.below(10)).into_bytes(),
        };
        let key = if self.drawn.is_multiple_of(29) { Vec::new() } else { key };
        Record { key: Some(key), ..self.record(partition) }
    }

    /// A record too large for the blocks of most codecs and for several of one fetch.
    pub(super) fn large(&mut self, partition: i32) -> Record {
        let size = 120_000 + self.random.below(60_000);
        Record { value: Some(self.text(size)), ..self.record(partition) }
    }

    /// Times go back as often as forth; some lie far from the others, more than 2^31 ms. None is 0, which stands for now in
    /// librdkafka.
    fn timestamp(&mut self) -> i64 {
        match self.random.below(12) {
            0 => 1 + self.random.below(1000) as i64,
            1 => self.around - (1 << 33),
            _ => self.around - self.random.below(100_000) as i64,
        }
    }

    fn key(&mut self) -> Option<Vec<u8>> {
        match self.drawn % KEYS {
            0 => None,
            1 => Some(Vec::new()),
            2 => Some(self.bytes(20)),
            _ => Some(format!("schlüssel-{}", self.drawn).into_bytes()),
        }
    }

    fn value(&mut self) -> Option<Vec<u8>> {
        match self.drawn % VALUES {
            0 => None,
            1 => Some(Vec::new()),
            2 => Some(self.bytes(300)),
            3 => Some(vec![0; self.random.below(2000)]),
            _ => {
                let size = self.random.below(3000);
                Some(self.text(size))
            }
        }
    }

    fn headers(&mut self) -> Vec<(String, Option<Vec<u8>>)> {
        let header = |key: &str, value: Option<&[u8]>| (key.to_owned(), value.map(<[u8]>::to_vec));
        match self.drawn % HEADERS {
            0 => vec![header("h", None)],
            1 => vec![header("h", Some(b""))],
            2 => vec![header("again", Some(b"1")), header("other", None), header("again", Some(b"2"))],
            3 => vec![header("", Some(b"of an empty key")), header("größe", Some(&self.bytes(40)))],
            4 => (0..150).map(|i| header(&format!("h{i}"), Some(&[i]))).collect(),
            _ => Vec::new(),
        }
    }

    fn bytes(&mut self, at_most: usize) -> Vec<u8> {
        let size = self.random.below(at_most) + 1;
        self.random.bytes(size)
    }

    /// Words, which compress.
    fn text(&mut self, size: usize) -> Vec<u8> {
        const WORDS: [&str; 8] = ["offset ", "acquire ", "lock ", "gap ", "batch ", "größe ", "\n", "0123456789"];
        let mut text = Vec::new();
        while text.len() < size {
            text.extend_from_slice(WORDS[self.random.below(WORDS.len())].as_bytes());
        }
        text.truncate(size);
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_gives_the_same_records_of_every_kind() {
        let draw = || {
            let mut content = Content::new(Seeded::new(7), 1 << 40);
            (0..COMBINATIONS).map(|_| content.record(0)).collect::<Vec<_>>()
        };
        let records = draw();
        let same = draw();
        assert!(records.iter().zip(&same).all(|(a, b)| a.to_json() == b.to_json()));
        let any = |what: fn(&Record) -> bool| records.iter().any(what);
        assert!(any(|r| r.key.is_none() && r.value.is_none() && r.headers.is_empty()));
        assert!(any(|r| r.key.as_ref().is_some_and(Vec::is_empty) && r.value.as_ref().is_some_and(Vec::is_empty)));
        assert!(any(|r| r.headers.len() == 150) && any(|r| r.headers.iter().any(|(_, value)| value.is_none())));
        assert!(records.windows(2).any(|pair| pair[1].timestamp < pair[0].timestamp));
        assert!(records.iter().all(|r| r.timestamp > 0));
    }
}
