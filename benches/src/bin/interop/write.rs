//! Records by our producer.

use std::collections::BTreeMap;
use std::path::Path;

use ackflow_client::producer::{DeliveryFuture, Producer, ProducerConfig, ProducerRecord};
use anyhow::{Context, bail};
use serde_json::Value;

use crate::lines::{Record, read, text};
use crate::transactions::Transactional;

pub(crate) async fn run(bootstrap: &str, script: &Path) -> anyhow::Result<()> {
    let mut writer: Option<Writer> = None;
    for step in read(script)? {
        let op = text(&step, "op")?;
        if op == "open" {
            if let Some(writer) = writer.take() {
                writer.close().await?;
            }
            writer = Some(Writer::open(bootstrap, &step).await?);
            continue;
        }
        let writer = writer.as_mut().context("the first step opens a producer")?;
        match (op, writer) {
            ("record", Writer::Plain(plain)) => plain.send(Record::parse(&step)?).await?,
            ("record", Writer::Transactional(transactional)) => transactional.append(Record::parse(&step)?)?,
            ("flush", Writer::Plain(plain)) => plain.flush().await?,
            ("flush", Writer::Transactional(transactional)) => transactional.flush().await?,
            ("begin", Writer::Transactional(_)) => {}
            ("commit", Writer::Transactional(transactional)) => transactional.end(true).await?,
            ("abort", Writer::Transactional(transactional)) => transactional.end(false).await?,
            _ => bail!("cannot do {step}"),
        }
    }
    match writer {
        Some(writer) => writer.close().await,
        None => Ok(()),
    }
}

enum Writer {
    Plain(Plain),
    Transactional(Transactional),
}

impl Writer {
    async fn open(bootstrap: &str, step: &Value) -> anyhow::Result<Self> {
        let (topic, compression) = (text(step, "topic")?, text(step, "compression")?);
        match step["transactional_id"].as_str() {
            Some(id) => {
                let transactional = Transactional::open(bootstrap, topic, id, compression.parse()?).await?;
                Ok(Self::Transactional(transactional))
            }
            None => Ok(Self::Plain(Plain::open(bootstrap, topic, compression, step["level"].as_i64())?)),
        }
    }

    async fn close(self) -> anyhow::Result<()> {
        match self {
            Self::Plain(mut plain) => {
                plain.flush().await?;
                Ok(plain.producer.close().await?)
            }
            Self::Transactional(mut transactional) => transactional.flush().await,
        }
    }
}

struct Plain {
    producer: Producer,
    topic: String,
    sent: Vec<DeliveryFuture>,
}

impl Plain {
    fn open(bootstrap: &str, topic: &str, compression: &str, level: Option<i64>) -> anyhow::Result<Self> {
        let settings = [
            ("bootstrap.servers", bootstrap),
            ("compression.type", compression),
            ("linger.ms", "1000"),
            ("batch.size", "900000"),
        ];
        let mut settings: BTreeMap<_, _> = settings.map(|(key, value)| (key.to_owned(), value.to_owned())).into();
        if let Some(level) = level {
            settings.insert(format!("compression.{compression}.level"), level.to_string());
        }
        let producer = Producer::new(ProducerConfig::from_properties(&settings)?)?;
        Ok(Self { producer, topic: topic.to_owned(), sent: Vec::new() })
    }

    async fn send(&mut self, record: Record) -> anyhow::Result<()> {
        let Record { partition, timestamp, key, value, headers } = record;
        let record = ProducerRecord {
            topic: self.topic.as_str().into(),
            partition: Some(partition),
            key,
            value,
            headers,
            timestamp: Some(timestamp),
        };
        self.sent.push(self.producer.send(record).await?);
        Ok(())
    }

    async fn flush(&mut self) -> anyhow::Result<()> {
        self.producer.flush().await?;
        for sent in self.sent.drain(..) {
            sent.await?;
        }
        Ok(())
    }
}
