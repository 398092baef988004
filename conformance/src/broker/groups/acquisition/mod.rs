//! Which records a fetch acquires.

mod answers;
mod records;
mod start;
mod waiting;

use crate::broker::case::cases;
use answers::*;
use records::*;
use start::*;
use waiting::*;

cases! {
    Acquisition;
    what_one_member_holds_no_other_gets:
        "A record that one member has acquired is not acquired by another while its lock lasts.",
        "KIP-932, In-flight records";
    two_members_get_different_records_of_a_partition:
        "Members of a group that fetch from one partition by turns get all its records, none of them twice.",
        "KIP-932, In-flight records";
    records_are_acquired_in_the_order_of_their_offsets:
        "Of records that are available the ones with the lowest offsets are acquired first.",
        "KIP-932, In-flight records";
    a_released_record_is_acquired_before_newer_ones:
        "A record that was released is acquired before records behind it.",
        "KIP-932, In-flight records";
    a_lock_that_runs_out_gives_the_record_to_another_member:
        "A record whose acquisition lock has run out is available again, to any member, without a request of its holder.",
        "KIP-932, Acquisition lock; share.record.lock.duration.ms";
    max_records_counts_over_all_partitions:
        "MaxRecords bounds what a fetch acquires in all partitions together, where batches of the log have one record.",
        "KIP-932, ShareFetch API; ShareFetchRequest.json, MaxRecords";
    a_fetch_for_no_records_acquires_none:
        "A fetch with MaxRecords 0 is answered at once, whatever it says of waiting, and acquires nothing.",
        "ShareFetchRequest.json, MaxRecords",
        note "This is how a client keeps a session going, and sends acknowledgements, while it wants no records.";
    a_fetch_for_no_bytes_acquires_nothing:
        "A fetch with MaxBytes 0 is answered at once, whatever it says of waiting, and acquires nothing.",
        "ShareFetchRequest.json, MaxBytes",
        note "A fetch with renewals has to ask for no bytes (KIP-1222).";
    a_small_batch_size_cuts_what_is_acquired_where_batches_begin:
        "With a BatchSize as small as the batches of the log, what is acquired is told in several ranges, each of which begins where a batch does.",
        "ShareFetchRequest.json, BatchSize";
    markers_of_transactions_can_be_acknowledged_as_gaps:
        "Where the offset of a control record is acquired, it can be acknowledged as a gap (type 0), and nothing is left to do then.",
        "KIP-932, Acknowledgement; ShareFetchRequest.json, AcknowledgeTypes",
        note "Kafka acquires the offsets of control records with their neighbours; a broker that leaves them out passes too.";
    a_group_starts_at_the_end_by_default:
        "A group that has not set share.auto.offset.reset gets no record that was written before it began.",
        "KIP-932, share.auto.offset.reset (default: latest)",
        note "In Kafka it begins with the first ShareFetch of a partition, not when its first member joins.";
    a_group_at_earliest_starts_with_the_first_record:
        "A group whose share.auto.offset.reset is earliest gets the records that were written before it began.",
        "KIP-932, share.auto.offset.reset";
    a_group_can_start_at_an_age:
        "A group whose share.auto.offset.reset is by_duration:PT1H starts with the first record whose timestamp is at most an hour old.",
        "KIP-932, share.auto.offset.reset; KIP-1106, by_duration";
    records_that_were_deleted_are_not_acquired:
        "When DeleteRecords moves the start of a log, a group goes on with the first record that is left.",
        "KIP-932, Share-partition start offset; KIP-107, DeleteRecords";
    a_fetch_waits_for_a_record_that_is_written:
        "A fetch that finds nothing is answered when a record is written, before MaxWaitMs is over.",
        "KIP-932, ShareFetch API; ShareFetchRequest.json, MaxWaitMs",
        note "Kafka 4.4.0 may answer without records in rare races with the write; then the next fetch has to have them, within the time.";
    a_fetch_that_finds_nothing_is_answered_when_its_wait_is_over:
        "A fetch that finds nothing is answered without records when MaxWaitMs is over, and not before.",
        "ShareFetchRequest.json, MaxWaitMs";
    a_fetch_waits_for_min_bytes:
        "A fetch is not answered before MinBytes are there to acquire, unless MaxWaitMs is over.",
        "ShareFetchRequest.json, MinBytes";
    a_fetch_that_waits_gets_what_is_released_meanwhile:
        "A fetch that waits while another member releases a record is answered with it, when MaxWaitMs is over at the latest.",
        "KIP-932, ShareFetch API; ShareFetchRequest.json, MaxWaitMs",
        note "Kafka 4.4.0 does not wake the fetch unless the start offset moves, and looks when MaxWaitMs is over; one that wakes it passes too.";
    the_records_of_an_answer_hold_what_was_acquired:
        "Each offset that was acquired lies in a batch of the answer's Records, which may hold more than that.",
        "ShareFetchResponse.json, Records and AcquiredRecords";
    an_answer_without_records_has_empty_records_not_null:
        "Records of a partition are never null in ShareFetch 1 and later: where nothing was acquired they are empty.",
        "ShareFetchResponse.json, Records (nullableVersions: 0)",
        note "A null makes Java's share consumer hang, since its decoder throws.";
    the_answer_tells_how_long_locks_last:
        "AcquisitionLockTimeoutMs of a ShareFetch answer is the group's share.record.lock.duration.ms.",
        "KIP-932, ShareFetch API; ShareFetchResponse.json, AcquisitionLockTimeoutMs";
    a_broker_that_does_not_lead_names_who_does:
        "A broker that does not lead a partition answers a fetch of it with NOT_LEADER_OR_FOLLOWER, and names the leader and its address.",
        "KIP-932, ShareFetch API; ShareFetchResponse.json, CurrentLeader and NodeEndpoints";
}
