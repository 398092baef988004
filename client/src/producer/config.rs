//! What a producer is configured with.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::time::Duration;

use ackflow_protocol::records::{Compression, CompressionLevel, LevelError};

use crate::config::{ClientConfig, IGNORED_CLIENT_KEYS, Properties, outside};
use crate::error::ClientError;

/// The settings of a producer, with Kafka's defaults. Each field names the property that sets it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ProducerConfig {
    /// What all clients have.
    pub client: ClientConfig,
    /// `acks`: who has to have the records before the broker confirms them.
    pub acks: Acks,
    /// `enable.idempotence`: whether the broker recognises records that come twice and keeps those of a partition in
    /// order. Needs `acks=all`.
    pub idempotence: bool,
    /// `batch.size`: bytes of records, uncompressed, above which a batch is full.
    pub batch_size: usize,
    /// `linger.ms`: how long a batch that is not full waits for more records.
    pub linger: Duration,
    /// `compression.type`.
    pub compression: Compression,
    /// `compression.gzip.level`, `compression.lz4.level`, `compression.zstd.level`: that of `compression`. LZ4 has its default alone.
    pub compression_level: CompressionLevel,
    /// `buffer.memory`: bytes of records that may wait to be confirmed; above that, sending waits.
    pub buffer_memory: usize,
    /// `max.block.ms`: how long sending waits for room and for metadata.
    pub max_block: Duration,
    /// `max.request.size`: the largest request, and the largest record.
    pub max_request_size: usize,
    /// `max.in.flight.requests.per.connection`: how many requests to one broker may be without an answer.
    pub max_in_flight: usize,
    /// `retries`: how often a batch is sent again. `delivery.timeout` ends it before.
    pub retries: u32,
    /// `delivery.timeout.ms`: how long after its first record a batch is failed if it is not confirmed.
    pub delivery_timeout: Duration,
    /// `transactional.id`: names the producer over restarts, so that what an earlier one has left is aborted. With it, records are sent in transactions
    /// alone ([`Producer::begin_transaction`](super::Producer::begin_transaction)).
    pub transactional_id: Option<String>,
    /// `transaction.timeout.ms`: the coordinator aborts a transaction that takes longer.
    pub transaction_timeout: Duration,
    /// `partitioner.adaptive.partitioning.enable`: of the records without a key, brokers that are slow get fewer.
    pub adaptive_partitioning: bool,
    /// `partitioner.ignore.keys`: spread records that have a key as if they had none.
    pub ignore_keys: bool,
}

/// Who has to have the records before the broker confirms them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Acks {
    /// Every replica that is in sync.
    All,
    /// The leader alone: records are lost with it.
    Leader,
}

/// Keys of Kafka's producer that mean nothing to this one.
const IGNORED_KEYS: &[&str] = &[
    "interceptor.classes",
    "key.serializer",
    "metadata.max.idle.ms",
    "partitioner.availability.timeout.ms",
    "value.serializer",
];

/// As many as a broker remembers a producer's batches.
const MAX_IN_FLIGHT: usize = 5;

/// Bytes or a count, as far as Kafka's integers reach.
const SIZE: RangeInclusive<usize> = 0..=i32::MAX as usize;
const REQUEST_SIZE: RangeInclusive<usize> = 1..=i32::MAX as usize;
const BUFFER_MEMORY: RangeInclusive<usize> = 1..=1 << 40;
const IN_FLIGHT: RangeInclusive<usize> = 1..=1000;

/// The longest time, in ms.
const MILLIS: u64 = i32::MAX as u64;

impl ProducerConfig {
    /// Kafka's defaults, with these bootstrap servers.
    ///
    /// # Errors
    /// [`ErrorKind::Config`](crate::ErrorKind::Config) where `bootstrap_servers` holds no addresses.
    pub fn new(bootstrap_servers: &str) -> Result<Self, ClientError> {
        Ok(Self::with(ClientConfig::new(bootstrap_servers)?))
    }

    /// Kafka's defaults, with these settings of the client.
    pub fn with(client: ClientConfig) -> Self {
        Self {
            client,
            acks: Acks::All,
            idempotence: true,
            batch_size: 16 << 10,
            linger: Duration::from_millis(5),
            compression: Compression::None,
            compression_level: CompressionLevel::default(),
            buffer_memory: 32 << 20,
            max_block: Duration::from_secs(60),
            max_request_size: 1 << 20,
            max_in_flight: MAX_IN_FLIGHT,
            retries: i32::MAX as u32,
            delivery_timeout: Duration::from_secs(120),
            transactional_id: None,
            transaction_timeout: Duration::from_secs(60),
            adaptive_partitioning: true,
            ignore_keys: false,
        }
    }

    /// Reads Kafka's producer properties.
    ///
    /// # Errors
    /// [`ErrorKind::Config`](crate::ErrorKind::Config), which names the key, the value and the remedy.
    pub fn from_properties(values: &BTreeMap<String, String>) -> Result<Self, ClientError> {
        let mut p = Properties::new(values);
        let mut config = Self::with(ClientConfig::read(&mut p)?);
        let is_set = |key: &str| values.contains_key(key);

        config.acks = match p.get("acks") {
            None | Some("all" | "-1") => Acks::All,
            Some("1") => Acks::Leader,
            Some("0") => {
                let reason = "a producer that waits for no answer cannot hold back and loses records without notice";
                return Err(ClientError::config("acks", "0", reason, "use all or 1"));
            }
            Some(other) => {
                return Err(ClientError::config("acks", other, "not a value of this setting", "use all or 1"));
            }
        };
        p.number("batch.size", SIZE, &mut config.batch_size)?;
        p.millis("linger.ms", 0..=MILLIS, &mut config.linger)?;
        if let Some(name) = p.get("compression.type") {
            config.compression = name.parse().map_err(|_| {
                let remedy = "use none, gzip, snappy, lz4 or zstd";
                ClientError::config("compression.type", name, "not a value of this setting", remedy)
            })?;
        }
        config.compression_level = compression_level(&mut p, config.compression)?;
        p.number("buffer.memory", BUFFER_MEMORY, &mut config.buffer_memory)?;
        p.millis("max.block.ms", 0..=MILLIS, &mut config.max_block)?;
        p.number("max.request.size", REQUEST_SIZE, &mut config.max_request_size)?;
        p.number("max.in.flight.requests.per.connection", IN_FLIGHT, &mut config.max_in_flight)?;
        p.number("retries", 0..=i32::MAX as u32, &mut config.retries)?;
        // As in Kafka: off by itself where another setting rules it out, an error where both are asked for.
        config.idempotence = config.acks == Acks::All && config.max_in_flight <= MAX_IN_FLIGHT && config.retries > 0;
        p.boolean("enable.idempotence", &mut config.idempotence)?;
        p.millis("delivery.timeout.ms", 1..=MILLIS, &mut config.delivery_timeout)?;
        p.boolean("partitioner.adaptive.partitioning.enable", &mut config.adaptive_partitioning)?;
        p.boolean("partitioner.ignore.keys", &mut config.ignore_keys)?;
        config.transactional_id = p.get("transactional.id").map(str::to_owned);
        p.millis("transaction.timeout.ms", 1..=MILLIS, &mut config.transaction_timeout)?;
        if let Some(class) = p.get("partitioner.class") {
            let reason = "partitioners of Java classes cannot be run here";
            return Err(ClientError::config("partitioner.class", class, reason, "give each record its partition"));
        }
        if !is_set("delivery.timeout.ms") {
            let least = config.linger + config.client.net.request_timeout;
            config.delivery_timeout = config.delivery_timeout.max(least).min(Duration::from_millis(MILLIS));
        }
        p.finish(&[IGNORED_CLIENT_KEYS, IGNORED_KEYS].concat())?;
        config.check()?;
        Ok(config)
    }

    /// Checks what no field can say alone, and that each has a value that its property could have.
    pub(super) fn check(&self) -> Result<(), ClientError> {
        let refuse = |key: &str, value: String, reason: &str, remedy: &'static str| {
            Err(ClientError::config(key, &value, reason, remedy))
        };
        self.check_bounds()?;
        if self.idempotence && self.acks != Acks::All {
            let remedy = "use acks=all, or enable.idempotence=false";
            return refuse("acks", "1".into(), "an idempotent producer needs acks=all", remedy);
        }
        if self.idempotence && self.max_in_flight > MAX_IN_FLIGHT {
            let (key, value) = ("max.in.flight.requests.per.connection", self.max_in_flight.to_string());
            let remedy = "use at most 5, or enable.idempotence=false";
            return refuse(key, value, "a broker keeps the order of 5 batches at most", remedy);
        }
        if self.idempotence && self.retries == 0 {
            let remedy = "remove it, or use enable.idempotence=false";
            return refuse("retries", "0".into(), "an idempotent producer has to try again", remedy);
        }
        if let Some(id) = &self.transactional_id {
            if id.is_empty() {
                return refuse(
                    "transactional.id",
                    id.clone(),
                    "an id has to be something",
                    "name the producer, or remove it",
                );
            }
            if !self.idempotence {
                let remedy = "remove transactional.id, or what turns idempotence off: acks, retries or max.in.flight.requests.per.connection";
                return refuse(
                    "enable.idempotence",
                    "false".into(),
                    "transactions need an idempotent producer",
                    remedy,
                );
            }
        }
        let least = self.linger.saturating_add(self.client.net.request_timeout);
        if self.delivery_timeout < least.min(Duration::from_millis(MILLIS)) {
            return refuse(
                "delivery.timeout.ms",
                self.delivery_timeout.as_millis().to_string(),
                "less than linger.ms and request.timeout.ms together",
                "raise it, or lower request.timeout.ms",
            );
        }
        Ok(())
    }

    /// The bounds that [`from_properties`](Self::from_properties) has: fields are public.
    fn check_bounds(&self) -> Result<(), ClientError> {
        for (key, value, range) in [
            ("batch.size", self.batch_size, SIZE),
            ("buffer.memory", self.buffer_memory, BUFFER_MEMORY),
            ("max.request.size", self.max_request_size, REQUEST_SIZE),
            ("max.in.flight.requests.per.connection", self.max_in_flight, IN_FLIGHT),
            ("retries", usize::try_from(self.retries).unwrap_or(usize::MAX), SIZE),
        ] {
            if !range.contains(&value) {
                return Err(outside(key, &value.to_string(), &range));
            }
        }
        for (key, value, least) in [
            ("linger.ms", self.linger, 0),
            ("max.block.ms", self.max_block, 0),
            ("delivery.timeout.ms", self.delivery_timeout, 1),
            ("transaction.timeout.ms", self.transaction_timeout, 1),
            ("request.timeout.ms", self.client.net.request_timeout, 1),
        ] {
            let millis = value.as_millis();
            if !(least..=u128::from(MILLIS)).contains(&millis) {
                let remedy = format!("give a time from {least} to {MILLIS} ms");
                return Err(ClientError::config(key, &millis.to_string(), "not a time that is allowed here", remedy));
            }
        }
        Ok(())
    }
}

/// The level of the codec that is used. Those of the others have to be levels of Kafka's.
fn compression_level(p: &mut Properties<'_>, used: Compression) -> Result<CompressionLevel, ClientError> {
    let mut chosen = CompressionLevel::default();
    for (codec, key) in [
        (Compression::Gzip, "compression.gzip.level"),
        (Compression::Lz4, "compression.lz4.level"),
        (Compression::Zstd, "compression.zstd.level"),
    ] {
        let Some(value) = p.get(key) else {
            continue;
        };
        let refuse =
            |reason: &str| Err(ClientError::config(key, value, reason, "remove it, or give a level that there is"));
        let Ok(level) = value.parse() else {
            return refuse("not a number");
        };
        match CompressionLevel::new(codec, level) {
            Ok(level) if codec == used => chosen = level,
            Ok(_) => {}
            Err(LevelError::OneLevel { .. }) if codec != used => {}
            Err(error) => return refuse(&error.to_string()),
        }
    }
    Ok(chosen)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(pairs: &[(&str, &str)]) -> Result<ProducerConfig, ClientError> {
        let servers = [("bootstrap.servers", "a:1")];
        let pairs = servers.iter().chain(pairs);
        ProducerConfig::from_properties(&pairs.map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect())
    }

    #[test]
    fn kafkas_keys_are_read() {
        let config = read(&[
            ("acks", "1"),
            ("linger.ms", "20"),
            ("batch.size", "65536"),
            ("compression.type", "zstd"),
            ("partitioner.adaptive.partitioning.enable", "false"),
            ("key.serializer", "org.apache.kafka.common.serialization.StringSerializer"),
        ])
        .unwrap();
        assert_eq!((config.acks, config.idempotence), (Acks::Leader, false));
        assert_eq!((config.linger, config.batch_size), (Duration::from_millis(20), 65536));
        assert_eq!(config.compression, Compression::Zstd);
        let default = read(&[]).unwrap();
        assert!(default.idempotence && default.adaptive_partitioning && !config.adaptive_partitioning);
        // The default gives way where nobody asked for it.
        let slow = read(&[("request.timeout.ms", "300000")]).unwrap();
        assert_eq!(slow.delivery_timeout, Duration::from_millis(300_005));
    }

    #[test]
    fn what_cannot_work_is_refused_by_name() {
        for (pairs, expected) in [
            (&[("acks", "0")][..], "acks=0"),
            (&[("acks", "1"), ("enable.idempotence", "true")], "acks=1"),
            (&[("max.in.flight.requests.per.connection", "6"), ("enable.idempotence", "true")], "per.connection=6"),
            (&[("retries", "0"), ("enable.idempotence", "true")], "retries=0"),
            (&[("compression.type", "brotli")], "compression.type=brotli"),
            (&[("delivery.timeout.ms", "1000")], "delivery.timeout.ms=1000"),
            (&[("transactional.id", "")], "transactional.id="),
            (&[("transactional.id", "t"), ("acks", "1")], "enable.idempotence=false"),
            (&[("linger.msec", "1")], "did you mean linger.ms?"),
        ] {
            let error = read(pairs).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }

    // Mutation: client/src/producer/config.rs
    // - self.check_bounds()?;
    // + let _ = self.check_bounds();
    #[test]
    fn fields_have_the_bounds_of_their_properties() {
        type Change = fn(&mut ProducerConfig);
        let cases: &[(&str, Change)] = &[
            ("delivery.timeout.ms=18446744073709551615999", |config| config.delivery_timeout = Duration::MAX),
            ("delivery.timeout.ms=0", |config| config.delivery_timeout = Duration::ZERO),
            ("linger.ms=18446744073709551615999", |config| config.linger = Duration::MAX),
            ("max.block.ms=2147483648", |config| config.max_block = Duration::from_millis(1 << 31)),
            ("request.timeout.ms=18446744073709551615999", |config| config.client.net.request_timeout = Duration::MAX),
            ("buffer.memory=18446744073709551615", |config| config.buffer_memory = usize::MAX),
            ("buffer.memory=0", |config| config.buffer_memory = 0),
            ("batch.size=18446744073709551615", |config| config.batch_size = usize::MAX),
            ("max.request.size=0", |config| config.max_request_size = 0),
            ("max.in.flight.requests.per.connection=0", |config| config.max_in_flight = 0),
            ("retries=4294967295", |config| config.retries = u32::MAX),
            ("transaction.timeout.ms=0", |config| config.transaction_timeout = Duration::from_micros(999)),
        ];
        for (expected, change) in cases {
            let mut config = ProducerConfig::new("a:1").unwrap();
            change(&mut config);
            let error = config.check().unwrap_err().to_string();
            assert!(error.contains(expected) && error.contains("give a "), "{error}");
        }
        // As in Kafka, the default grows no further.
        let longest = read(&[("linger.ms", "2147483647")]).unwrap();
        assert_eq!(longest.delivery_timeout, Duration::from_millis(MILLIS));
        let mut config = ProducerConfig::new("a:1").unwrap();
        config.delivery_timeout = Duration::from_millis(MILLIS);
        (config.batch_size, config.linger) = (0, Duration::ZERO);
        config.check().unwrap();
    }

    #[test]
    fn levels_are_taken_where_there_are_such_and_refused_by_name_elsewhere() {
        let level = |codec, level| CompressionLevel::new(codec, level).unwrap();
        let of = |kind, key, value| read(&[("compression.type", kind), (key, value)]);
        let taken = |kind, key, value| of(kind, key, value).unwrap().compression_level;
        assert_eq!(taken("gzip", "compression.gzip.level", "9"), level(Compression::Gzip, 9));
        assert_eq!(taken("zstd", "compression.zstd.level", "-7"), level(Compression::Zstd, -7));
        assert_eq!(taken("lz4", "compression.lz4.level", "9"), level(Compression::Lz4, 9));
        // Of codecs that are not used.
        assert_eq!(taken("gzip", "compression.lz4.level", "12"), CompressionLevel::default());
        assert_eq!(taken("none", "compression.gzip.level", "9"), CompressionLevel::default());
        for (kind, key, value, reason) in [
            ("lz4", "compression.lz4.level", "12", "one level alone"),
            ("gzip", "compression.lz4.level", "18", "levels 1 to 17"),
            ("gzip", "compression.gzip.level", "0", "levels 1 to 9"),
            ("zstd", "compression.zstd.level", "best", "not a number"),
        ] {
            let error = of(kind, key, value).unwrap_err().to_string();
            assert!(error.contains(&format!("{key}={value}")) && error.contains(reason), "{error}");
        }
    }
}
