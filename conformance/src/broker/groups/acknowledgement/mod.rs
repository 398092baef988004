//! Accepting, releasing and rejecting.

mod carriers;
mod malformed;
mod outcomes;
mod state;

use crate::broker::case::cases;
use carriers::*;
use malformed::*;
use outcomes::*;
use state::*;

cases! {
    Acknowledgement;
    accepted_records_do_not_come_again:
        "A record that was accepted (type 1) is not acquired again, not even when the session that held it ends.",
        "KIP-932, Acknowledgement";
    released_records_come_again:
        "A record that was released (type 2) is acquired again, with a delivery count one higher.",
        "KIP-932, Acknowledgement";
    rejected_records_do_not_come_again:
        "A record that was rejected (type 3) is not acquired again, not even when the session that held it ends.",
        "KIP-932, Acknowledgement";
    gaps_do_not_come_again:
        "An offset that was acknowledged as a gap (type 0) is not acquired again.",
        "KIP-932, Acknowledgement; ShareAcknowledgeRequest.json, AcknowledgeTypes";
    one_type_counts_for_a_whole_range:
        "One acknowledge type counts for all offsets of its batch, and for no others.",
        "ShareAcknowledgeRequest.json, AcknowledgeTypes";
    one_type_an_offset_is_applied_offset_by_offset:
        "As many acknowledge types as a batch has offsets are applied one by one.",
        "ShareAcknowledgeRequest.json, AcknowledgeTypes";
    batches_of_a_partition_are_applied_each:
        "A request may have several batches for one partition, with gaps between them; offsets in a gap stay as they are.",
        "ShareAcknowledgeRequest.json, AcknowledgementBatches";
    records_are_acknowledged_in_pieces_and_in_any_order:
        "What was acquired together may be acknowledged in pieces, later offsets first.",
        "KIP-932, Acknowledgement";
    records_of_several_fetches_are_acknowledged_by_one_batch:
        "A batch of acknowledgements may span records that were acquired by several fetches.",
        "KIP-932, Acknowledgement";
    several_partitions_are_acknowledged_by_one_request:
        "A request may acknowledge records of several partitions, each of which is answered.",
        "ShareAcknowledgeResponse.json, Partitions";
    acknowledgements_ride_on_a_fetch:
        "ShareFetch takes acknowledgements as ShareAcknowledge does, and answers each partition's by AcknowledgeErrorCode.",
        "KIP-932, ShareFetch API; ShareFetchResponse.json, AcknowledgeErrorCode";
    acknowledgements_of_a_fetch_are_done_before_it_fetches:
        "Acknowledgements that ride on a fetch are done first: what they release may be acquired by the same fetch.",
        "KIP-932, ShareFetch API";
    a_refused_acknowledgement_does_not_keep_a_fetch_from_its_records:
        "The errors of fetching and acknowledging are told apart: a fetch whose acknowledgements are refused acquires records all the same.",
        "ShareFetchResponse.json, ErrorCode and AcknowledgeErrorCode";
    the_last_fetch_of_a_session_may_acknowledge:
        "Acknowledgements of the ShareFetch that closes a session (epoch -1) are done; what else the session held is released.",
        "KIP-932, Share sessions";
    the_last_acknowledgement_of_a_session_is_done:
        "Acknowledgements of the ShareAcknowledge that closes a session (epoch -1) are done; what else the session held is released.",
        "KIP-932, Share sessions";
    a_partition_that_left_the_session_can_be_acknowledged:
        "Records of a partition that the session has forgotten meanwhile can still be acknowledged.",
        "KIP-932, Share sessions";
    an_acknowledgement_counts_in_the_session_of_fetches:
        "ShareAcknowledge and ShareFetch have one sequence of session epochs.",
        "KIP-932, Share sessions";
    a_record_that_has_ended_is_not_acknowledged_again:
        "A record above the start offset that was accepted already is answered INVALID_RECORD_STATE.",
        "KIP-932, Acknowledgement";
    what_lies_below_the_start_stays_as_it_is:
        "Acknowledging offsets below the start offset again changes nothing, whatever the type.",
        "KIP-932, Share-partition start offset",
        note "Kafka 4.4.0 answers without an error; INVALID_RECORD_STATE passes too.";
    a_record_that_was_released_is_not_accepted:
        "A record that its member has released, and not acquired again, is answered INVALID_RECORD_STATE.",
        "KIP-932, Acknowledgement";
    records_of_another_member_are_not_acknowledged:
        "A record that another member holds is answered INVALID_RECORD_STATE, and stays with its holder.",
        "KIP-932, Acknowledgement";
    records_whose_lock_ran_out_are_not_acknowledged:
        "A record whose lock has run out is answered INVALID_RECORD_STATE, and is left to the member that holds it now.",
        "KIP-932, Acquisition lock";
    records_of_a_session_that_ended_are_not_acknowledged:
        "A record that was acquired in a session that has ended is answered INVALID_RECORD_STATE in the member's next session.",
        "KIP-932, Share sessions";
    offsets_that_were_never_acquired_are_not_acknowledged:
        "A batch that reaches beyond what was acquired is refused as a whole.",
        "KIP-932, Acknowledgement",
        note "Kafka 4.4.0 answers INVALID_REQUEST; INVALID_RECORD_STATE passes too.";
    one_bad_batch_takes_those_of_its_partition_down:
        "The acknowledgements of a partition in a request are done all or none: where one is refused, the others' records stay as they are.",
        "KIP-932, Acknowledgement";
    one_bad_partition_takes_no_other_down:
        "Where the acknowledgements of one partition are refused, those of others in the same request are done.",
        "ShareAcknowledgeResponse.json, ErrorCode of partitions";
    acknowledgements_for_an_unknown_topic_are_refused:
        "Acknowledgements for a topic id that does not exist are answered with an error, and records of other topics stay as they are.",
        "ShareAcknowledgeResponse.json, ErrorCode",
        note "UNKNOWN_TOPIC_ID of the partition would say what is wrong; Kafka 4.4.0 answers the whole request with UNKNOWN_SERVER_ERROR.";
    an_unknown_partition_is_named_by_its_own_error:
        "Acknowledgements for a partition that its topic does not have are answered UNKNOWN_TOPIC_OR_PARTITION.",
        "ShareAcknowledgeResponse.json, ErrorCode of partitions";
    the_answer_to_an_acknowledgement_tells_how_long_locks_last:
        "AcquisitionLockTimeoutMs of a ShareAcknowledge answer is the group's share.record.lock.duration.ms, since version 2.",
        "KIP-1222; ShareAcknowledgeResponse.json, AcquisitionLockTimeoutMs";
}
