//! What no request of a share session may say, whatever the cluster makes of it.

use ackflow_protocol::machine::ClientRequest;

/// Acknowledged offsets, and the types of the acknowledgements.
type Batch<'a> = (i64, i64, &'a [i8]);

const RENEW: i8 = 4;

/// What is wrong with a request, if anything is.
pub(crate) fn broken(request: &ClientRequest) -> Option<&'static str> {
    match request {
        ClientRequest::ShareFetch(request) => {
            let partitions = || request.topics.iter().flat_map(|topic| &topic.partitions);
            if request.share_session_epoch == 0 && partitions().any(|p| !p.acknowledgement_batches.is_empty()) {
                return Some("acknowledgements travel with the fetch that opens a session");
            }
            if !request.is_renew_ack && request.max_records == 0 && request.max_wait_ms > 0 {
                return Some("a fetch for nothing waits");
            }
            partitions().find_map(|partition| {
                let batches = partition.acknowledgement_batches.iter();
                let batches = batches.map(|batch| (batch.first_offset, batch.last_offset, &*batch.acknowledge_types));
                broken_batches(batches, request.is_renew_ack)
            })
        }
        ClientRequest::ShareAcknowledge(request) => {
            if request.share_session_epoch == 0 {
                return Some("an acknowledgement opens a session");
            }
            request.topics.iter().flat_map(|topic| &topic.partitions).find_map(|partition| {
                let batches = partition.acknowledgement_batches.iter();
                let batches = batches.map(|batch| (batch.first_offset, batch.last_offset, &*batch.acknowledge_types));
                broken_batches(batches, request.is_renew_ack)
            })
        }
        _ => None,
    }
}

fn broken_batches<'a>(batches: impl Iterator<Item = Batch<'a>>, renews: bool) -> Option<&'static str> {
    let mut before = -1;
    for (first, last, types) in batches {
        if first <= before || last < first {
            return Some("acknowledged offsets do not ascend");
        }
        if types.len() != 1 && types.len() as i64 != last - first + 1 {
            return Some("there is not one type for all offsets, nor one for each");
        }
        if !renews && types.contains(&RENEW) {
            return Some("a request renews locks and does not say so");
        }
        before = last;
    }
    None
}
