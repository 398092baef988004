//! How much one fetch gives.

use ackflow_protocol::messages::share_fetch::{ShareFetchRequest, ShareFetchResponse};
use ackflow_protocol::records::BatchOptions;
use ackflow_protocol::wire::ErrorCode;

use crate::broker::case::cases;
use crate::broker::lab::{ACCEPT, Lab, Member, Outcome, Session, Topic, acquired, batch, partitions};

cases! {
    Limits;
    max_records_bounds_what_is_acquired:
        "A fetch acquires no more records than MaxRecords says, where batches of producers are not larger than that.",
        "KIP-932, ShareFetch API; ShareFetchRequest.json: MaxRecords",
        note "In batch_optimized mode a batch is acquired as a whole (KIP-1206); here each batch has one record.";
    max_records_of_0_acquires_nothing:
        "A fetch with MaxRecords 0 acquires nothing and is answered at once, whatever there is and however long it may wait.",
        "KIP-932, ShareFetch API";
    max_bytes_bounds_what_is_sent:
        "A fetch is answered with no more bytes of records than MaxBytes says, where the first batch has fewer.",
        "KIP-932, ShareFetch API; ShareFetchRequest.json: MaxBytes";
    a_batch_larger_than_max_bytes_comes_whole:
        "A batch that is larger than MaxBytes comes whole where it is the first that there is, so that the group goes on.",
        "KIP-74, which KIP-932 takes over";
    max_bytes_of_0_acquires_nothing:
        "A fetch with MaxBytes 0 acquires nothing and is answered at once.",
        "KIP-932, ShareFetch API";
    locks_of_a_partition_are_counted:
        "While a group holds share.partition.max.record.locks records of a partition, no more are acquired from it, by whichever member.",
        "KIP-932, In-flight records; KIP-1240";
    locks_of_what_is_done_make_room:
        "Records at the start of a partition's locks that are acknowledged make room for as many others.",
        "KIP-932, In-flight records; KIP-1240";
    locks_are_counted_for_each_partition:
        "A partition whose locks are all taken keeps nobody from another partition.",
        "KIP-932, In-flight records";
}

/// A topic of one partition, a member, and a session that is open and has found nothing yet.
async fn ready(lab: &Lab, group: String) -> Outcome<(Topic, Member, Session)> {
    let topic = lab.topic(1).await?;
    let member = lab.member(&group, &[&topic]).await?;
    let mut session = lab.session(&member, &[&topic]).await?;
    // A partition may be ready only at the second fetch.
    session.fetch().await?;
    session.fetch().await?;
    Ok((topic, member, session))
}

/// Fetches until there is something.
async fn some(lab: &Lab, session: &mut Session, with: impl Fn(&mut ShareFetchRequest)) -> Outcome<ShareFetchResponse> {
    lab.eventually("records are acquired", async || {
        let mut request = session.request();
        with(&mut request);
        let response = session.fetch_as(&request).await?;
        Ok((!acquired(&response)?.is_empty()).then_some(response))
    })
    .await
}

fn count(response: &ShareFetchResponse) -> i64 {
    let ranges = partitions(response).flat_map(|partition| &partition.acquired_records);
    ranges.map(|range| range.last_offset - range.first_offset + 1).sum()
}

fn bytes(response: &ShareFetchResponse) -> usize {
    partitions(response).filter_map(|partition| partition.records.as_ref()).map(|records| records.len()).sum()
}

async fn max_records_bounds_what_is_acquired(lab: &Lab) -> Outcome {
    let (topic, _member, mut session) = ready(lab, lab.group().await?).await?;
    lab.produce_one_by_one(&topic, 0, 20).await?;
    let mut left = 20;
    while left > 0 {
        let got = count(&some(lab, &mut session, |request| request.max_records = 6).await?);
        lab.check_that("how many records a fetch of 6 acquires", (1..=6).contains(&got), "1 to 6", &got)?;
        left -= got;
    }
    lab.check("how many are left", left, 0)
}

/// Checks that a fetch that asks for nothing gets nothing, at once, and leaves the records to the next one.
async fn nothing(lab: &Lab, what: &str, with: impl Fn(&mut ShareFetchRequest)) -> Outcome {
    let (topic, _member, mut session) = ready(lab, lab.group().await?).await?;
    lab.produce(&topic, 0, 3).await?;
    let wait = std::time::Duration::from_secs(20);
    let mut request = ShareFetchRequest { max_wait_ms: 20_000, min_bytes: 1, ..session.request() };
    with(&mut request);
    let began = std::time::Instant::now();
    let response = session.fetch_as(&request).await?;
    lab.check(&format!("what a fetch of {what} acquires"), acquired(&response)?, Vec::new())?;
    let took = began.elapsed();
    lab.check_that("how long it takes", took < wait / 2, "far less than MaxWaitMs, 20 s", &took)?;
    let counts: Vec<_> = session.acquire(3).await?.iter().map(|range| range.delivery_count).collect();
    let first = counts.iter().all(|count| *count == 1);
    lab.check_that("the delivery counts of the records then", first, "1 each", &counts)
}

async fn max_records_of_0_acquires_nothing(lab: &Lab) -> Outcome {
    nothing(lab, "0 records", |request| request.max_records = 0).await
}

async fn max_bytes_of_0_acquires_nothing(lab: &Lab) -> Outcome {
    nothing(lab, "0 bytes", |request| request.max_bytes = 0).await
}

/// Batches of one record of so many bytes.
async fn produce_large(lab: &Lab, topic: &Topic, count: usize, size: usize) -> Outcome {
    for _ in 0..count {
        lab.produce_batch(topic, 0, batch(["v".repeat(size)], BatchOptions::default())).await?;
    }
    Ok(())
}

async fn max_bytes_bounds_what_is_sent(lab: &Lab) -> Outcome {
    let (topic, _member, mut session) = ready(lab, lab.group().await?).await?;
    produce_large(lab, &topic, 10, 1000).await?;
    let response = some(lab, &mut session, |request| request.max_bytes = 3500).await?;
    let size = bytes(&response);
    lab.check_that("the bytes of a fetch of 3500", (1..=3500).contains(&size), "1 to 3500", &size)?;
    let got = count(&response);
    lab.check_that("how many records of 1000 bytes they have", (1..=3).contains(&got), "1 to 3", &got)
}

async fn a_batch_larger_than_max_bytes_comes_whole(lab: &Lab) -> Outcome {
    let (topic, _member, mut session) = ready(lab, lab.group().await?).await?;
    produce_large(lab, &topic, 2, 5000).await?;
    for offset in 0..2 {
        let response = some(lab, &mut session, |request| request.max_bytes = 100).await?;
        let ranges = partitions(&response).flat_map(|partition| &partition.acquired_records);
        let ranges: Vec<_> = ranges.map(|range| (range.first_offset, range.last_offset)).collect();
        lab.check("the offsets of a fetch of 100 bytes", ranges, vec![(offset, offset)])?;
        let size = bytes(&response);
        lab.check_that("its bytes", size > 5000, "those of a record of 5000", &size)?;
    }
    Ok(())
}

/// As many locks as the broker lets a group have at least.
fn fewest_locks(lab: &Lab) -> i64 {
    super::settings::number(lab, "group.share.min.partition.max.record.locks", 100)
}

/// A group whose partitions have as few locks as may be, and for how long they last, by which a fetch tells that the settings are in force.
async fn few_locks(lab: &Lab) -> Outcome<(String, i32)> {
    let longest = super::settings::number(lab, "group.share.max.record.lock.duration.ms", 60_000);
    let settings = [
        ("share.partition.max.record.locks", fewest_locks(lab).to_string()),
        ("share.record.lock.duration.ms", longest.to_string()),
    ];
    let settings: Vec<_> = settings.iter().map(|(name, value)| (*name, value.as_str())).collect();
    Ok((lab.group_with(&settings).await?, i32::try_from(longest).unwrap_or(i32::MAX)))
}

/// Waits until the settings of the group are in force, and acquires what it is allowed to: all locks of a partition with more records than that.
async fn all_locks(lab: &Lab, topic: &Topic, session: &mut Session, lock: i32) -> Outcome {
    lab.eventually("the settings of the group are in force", async || {
        let response = session.fetch_as(&ShareFetchRequest { max_records: 0, ..session.request() }).await?;
        Ok((response.acquisition_lock_timeout_ms == lock).then_some(()))
    })
    .await?;
    let locks = fewest_locks(lab);
    lab.produce_one_by_one(topic, 0, locks as usize + 20).await?;
    let mut held = 0;
    while held < locks {
        // One batch has one record, so that no fetch goes beyond the limit to the end of a batch.
        held += count(&some(lab, session, |_| ()).await?);
    }
    lab.check("how many records are acquired before no more are", held, locks)?;
    lab.check("what the next fetch acquires", session.fetch().await?, Vec::new())
}

async fn locks_of_a_partition_are_counted(lab: &Lab) -> Outcome {
    let (group, lock) = few_locks(lab).await?;
    let (topic, _member, mut session) = ready(lab, group.clone()).await?;
    let beside = lab.member_beside(&group, &[&topic]).await?;
    all_locks(lab, &topic, &mut session, lock).await?;
    let mut other = lab.session(&beside, &[&topic]).await?;
    for _ in 0..3 {
        lab.check("what another member's fetch acquires", other.fetch().await?, Vec::new())?;
    }
    Ok(())
}

async fn locks_of_what_is_done_make_room(lab: &Lab) -> Outcome {
    let (group, lock) = few_locks(lab).await?;
    let (topic, _member, mut session) = ready(lab, group).await?;
    all_locks(lab, &topic, &mut session, lock).await?;
    let taken = session.acknowledge(&topic, 0, &[(0, 9, &[ACCEPT])]).await?;
    lab.check("the error of an acknowledgement of the first ten", taken, ErrorCode::NONE)?;
    let count: i64 = session.acquire(10).await?.iter().map(|range| range.last - range.first + 1).sum();
    lab.check("how many records are acquired then", count, 10)?;
    lab.check("what the next fetch acquires", session.fetch().await?, Vec::new())
}

async fn locks_are_counted_for_each_partition(lab: &Lab) -> Outcome {
    let (group, lock) = few_locks(lab).await?;
    let full = lab.topic(1).await?;
    let free = lab.topic_beside(&full).await?;
    let member = lab.member(&group, &[&full, &free]).await?;
    let mut session = lab.session(&member, &[&full]).await?;
    session.fetch().await?;
    all_locks(lab, &full, &mut session, lock).await?;
    lab.produce(&free, 0, 3).await?;
    let adding = lab.session(&member, &[&free]).await?.request().topics;
    session.fetch_as(&ShareFetchRequest { topics: adding, max_records: 0, ..session.request() }).await?;
    let count: i64 = session.acquire(3).await?.iter().map(|range| range.last - range.first + 1).sum();
    lab.check("how many records of the other partition are acquired", count, 3)
}
