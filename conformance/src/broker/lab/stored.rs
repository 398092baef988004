//! What is in a log.

use ackflow_protocol::messages::fetch::{FetchPartition, FetchRequest, FetchTopic};
use ackflow_protocol::records::Batches;

use super::{Lab, Outcome, Stop, Topic};

/// A record of a log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Stored {
    pub(crate) key: Option<String>,
    pub(crate) value: Option<String>,
    pub(crate) headers: Vec<(String, String)>,
}

impl Stored {
    /// The value of a header.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }
}

/// What a case writes is far smaller.
const MOST: usize = 1 << 20;

impl Lab {
    /// The first MiB of records of a partition.
    pub(crate) async fn stored(&self, topic: &Topic, partition: i32) -> Outcome<Vec<Stored>> {
        let asked = FetchPartition { partition, partition_max_bytes: MOST as i32, ..Default::default() };
        let topics = vec![FetchTopic { topic: topic.name.clone(), topic_id: topic.id, partitions: vec![asked] }];
        let request = FetchRequest { max_bytes: MOST as i32, topics, ..Default::default() };
        let response = self.leader(topic, partition).await?.unrecorded().call(&request).await?;
        let found = response.responses.into_iter().flat_map(|topic| topic.partitions).next();
        let found = found.ok_or_else(|| Stop::failed("Fetch answers for the partition", "it does not"))?;
        self.granted("Fetch", found.error_code, None)?;
        let mut stored = Vec::new();
        for batch in Batches::new(found.records.unwrap_or_default()) {
            let batch = batch.and_then(|batch| batch.decompress(MOST));
            let batch = batch.map_err(|error| Stop::failed("a batch that can be read", error.to_string()))?;
            for record in batch.records() {
                let record = record.map_err(|error| Stop::failed("a record that can be read", error.to_string()))?;
                let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
                let headers = record.headers().map_while(Result::ok);
                stored.push(Stored {
                    key: record.key.map(text),
                    value: record.value.map(text),
                    headers: headers
                        .map(|header| (header.key_str().into_owned(), text(header.value.unwrap_or_default())))
                        .collect(),
                });
            }
        }
        Ok(stored)
    }
}
