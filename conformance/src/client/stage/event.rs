//! What a shim tells: one JSON object a line.

use serde_json::Value;

/// An answer to a step, or what is told besides.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Event {
    Ready,
    Subscribed,
    Records(Vec<Record>),
    Acknowledged,
    Committed(Vec<Settled>),
    Closed,
    /// The client has no such thing.
    Unsupported(String),
    /// The step failed.
    Error(Refusal),
    /// Not an answer: acknowledgements have ended.
    Settled(Settled),
}

/// A record as the application sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Record {
    pub(crate) topic: String,
    pub(crate) partition: i64,
    pub(crate) offset: i64,
    pub(crate) delivery_count: i64,
    /// `None` is null.
    pub(crate) value: Option<String>,
}

/// How acknowledgements ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Settled {
    pub(crate) topic: String,
    pub(crate) partition: i64,
    /// Kafka's name of the error, where there is one.
    pub(crate) code: Option<String>,
}

/// An error that the application sees.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Refusal {
    /// Whether the call was not allowed, such as a poll with undecided records.
    pub(crate) is_misuse: bool,
    /// Kafka's name of the error, where it has one.
    pub(crate) code: Option<String>,
    pub(crate) message: String,
}

impl Event {
    /// Reads a line.
    ///
    /// # Errors
    /// What is wrong with it.
    pub(super) fn read(line: &str) -> Result<Self, String> {
        let value: Value = serde_json::from_str(line).map_err(|error| format!("no JSON ({error}): {line}"))?;
        Self::of(&value).ok_or_else(|| format!("no event that docs/conformance-shim.md knows: {line}"))
    }

    fn of(value: &Value) -> Option<Self> {
        Some(match value["event"].as_str()? {
            "ready" => Self::Ready,
            "subscribed" => Self::Subscribed,
            "records" => Self::Records(value["records"].as_array()?.iter().map(record).collect::<Option<_>>()?),
            "acknowledged" => Self::Acknowledged,
            "committed" => Self::Committed(value["results"].as_array()?.iter().map(settled).collect::<Option<_>>()?),
            "closed" => Self::Closed,
            "unsupported" => Self::Unsupported(value["message"].as_str().unwrap_or_default().to_owned()),
            "error" => Self::Error(Refusal {
                is_misuse: value["kind"] == "misuse",
                code: value["code"].as_str().map(str::to_owned),
                message: value["message"].as_str()?.to_owned(),
            }),
            "settled" => Self::Settled(settled(value)?),
            _ => return None,
        })
    }
}

fn record(value: &Value) -> Option<Record> {
    Some(Record {
        topic: value["topic"].as_str()?.to_owned(),
        partition: value["partition"].as_i64()?,
        offset: value["offset"].as_i64()?,
        delivery_count: value["deliveryCount"].as_i64()?,
        value: value["value"].as_str().map(str::to_owned),
    })
}

fn settled(value: &Value) -> Option<Settled> {
    Some(Settled {
        topic: value["topic"].as_str()?.to_owned(),
        partition: value["partition"].as_i64()?,
        code: value["code"].as_str().map(str::to_owned),
    })
}

/// The offsets of records, as they came.
pub(crate) fn offsets(records: &[Record]) -> Vec<i64> {
    records.iter().map(|record| record.offset).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_read_as_they_are_documented() {
        let line =
            r#"{"event":"records","records":[{"topic":"t","partition":0,"offset":7,"deliveryCount":1,"value":null}]}"#;
        let record = Record { topic: "t".into(), partition: 0, offset: 7, delivery_count: 1, value: None };
        assert_eq!(Event::read(line), Ok(Event::Records(vec![record])));
        let line = r#"{"event":"settled","topic":"t","partition":0,"code":"INVALID_RECORD_STATE"}"#;
        let code = Some("INVALID_RECORD_STATE".to_owned());
        assert_eq!(Event::read(line), Ok(Event::Settled(Settled { topic: "t".into(), partition: 0, code })));
        for wrong in ["hello", "{}", r#"{"event":"nap"}"#, r#"{"event":"records"}"#] {
            assert!(Event::read(wrong).is_err(), "{wrong}");
        }
    }
}
