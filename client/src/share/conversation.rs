//! What a share consumer says to brokers and hears from them, for whoever traces it (level TRACE). What records hold is not in it.

use std::fmt;

use ackflow_protocol::machine::{ClientResponse, RequestFailure};
use ackflow_protocol::messages::share_fetch::{PartitionData, ShareFetchResponse};

/// An answer, or why there is none.
pub(super) struct Heard<'a>(pub(super) &'a Result<ClientResponse, RequestFailure>);

impl fmt::Debug for Heard<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Ok(ClientResponse::ShareFetch(response)) => fetched(response, f),
            Ok(response) => response.fmt(f),
            Err(failure) => failure.fmt(f),
        }
    }
}

fn fetched(response: &ShareFetchResponse, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    write!(f, "ShareFetch({:?}", response.error_code)?;
    for topic in &response.responses {
        for partition in &topic.partitions {
            let PartitionData {
                partition_index, error_code, acknowledge_error_code, acquired_records, records, ..
            } = partition;
            write!(
                f,
                "; {}-{partition_index}: {error_code:?}, acknowledged {acknowledge_error_code:?}",
                topic.topic_id
            )?;
            for range in acquired_records {
                write!(f, ", {}..={} for the {}. time", range.first_offset, range.last_offset, range.delivery_count)?;
            }
            write!(f, ", {} bytes", records.as_ref().map_or(0, bytes::Bytes::len))?;
        }
    }
    f.write_str(")")
}
