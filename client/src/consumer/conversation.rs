//! What a consumer says to brokers and hears from them, for whoever traces it (level TRACE). What records hold is not in it.

use std::fmt;

use ackflow_protocol::machine::RequestFailure;
use ackflow_protocol::machine::consumer::ConsumerResponse;
use ackflow_protocol::messages::fetch::FetchResponse;

/// An answer, or why there is none.
pub(super) struct Heard<'a>(pub(super) &'a Result<ConsumerResponse, RequestFailure>);

impl fmt::Debug for Heard<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Ok(ConsumerResponse::Fetch(response)) => fetched(response, f),
            Ok(response) => response.fmt(f),
            Err(failure) => failure.fmt(f),
        }
    }
}

fn fetched(response: &FetchResponse, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    write!(f, "Fetch({:?}, session {}", response.error_code, response.session_id)?;
    for topic in &response.responses {
        for partition in &topic.partitions {
            let (index, code, end) = (partition.partition_index, partition.error_code, partition.high_watermark);
            let bytes = partition.records.as_ref().map_or(0, bytes::Bytes::len);
            write!(f, "; {}-{index}: {code:?}, {bytes} bytes, up to {end}", topic.topic_id)?;
        }
    }
    f.write_str(")")
}
