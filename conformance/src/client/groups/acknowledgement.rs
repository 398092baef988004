//! Situations of acknowledgements.

use std::time::{Duration, Instant};

use ackflow_protocol::messages::share_acknowledge::ShareAcknowledgeRequest;
use ackflow_protocol::messages::share_fetch::ShareFetchRequest;
use ackflow_protocol::wire::{ApiKey, ErrorCode};
use ackflow_testkit::core::{FaultAction, FaultRule};

use crate::client::situation::situations;
use crate::client::stage::{Mode, Stage, TOPIC, offsets};
use crate::stop::Outcome;

situations! { Acknowledgement;
    the_next_poll_accepts_in_implicit_mode:
        "In implicit mode the next poll accepts what the last one has handed out, and nothing is accepted before.",
        "KafkaShareConsumer, implicit acknowledgement";
    a_commit_accepts_in_implicit_mode:
        "In implicit mode a commit accepts what the last poll has handed out, and returns once the broker has taken it.",
        "KafkaShareConsumer.commitSync";
    closing_does_not_accept_in_implicit_mode:
        "A consumer that is closed does not accept what its last poll has handed out: nobody has said that it was processed. The group delivers it again.",
        "KafkaShareConsumer 4.4.0, close: it makes no implicit acknowledgement";
    closing_sends_what_is_decided:
        "What the application has decided about and not committed is sent when the consumer is closed.",
        "KafkaShareConsumer.close: acknowledgements are committed if possible";
    each_record_gets_the_decision_about_it:
        "Records of one poll that are accepted, released and rejected each get their own type, 1, 2 and 3, and none another one.",
        "KIP-932, AcknowledgeType; ShareAcknowledgeRequest: AcknowledgeTypes";
    a_released_record_comes_again:
        "A record that is released is delivered again, to any member, with the next delivery count.",
        "KIP-932, AcknowledgeType.RELEASE";
    the_last_decision_about_a_record_counts:
        "Until it is sent, a decision can be replaced by another one about the same record; one is sent.",
        "KafkaShareConsumer.acknowledge, explicit acknowledgement";
    a_poll_with_undecided_records_is_refused:
        "In explicit mode a poll is refused while a record of the last one is undecided, and nothing is sent for that record.",
        "KIP-1222 and KafkaShareConsumer.poll: IllegalStateException in explicit mode";
    a_decision_in_implicit_mode_is_refused:
        "In implicit mode the application cannot decide about records.",
        "KafkaShareConsumer.acknowledge: IllegalStateException in implicit mode";
    ranges_of_one_request_are_in_order:
        "The ranges of a partition in one request are in ascending order and do not overlap, and have one type, or one for each offset.",
        "KIP-932, ShareAcknowledgeRequest: AcknowledgementBatches";
    a_refused_acknowledgement_is_told_and_not_repeated:
        "INVALID_RECORD_STATE of an acknowledgement is told to the application, and the acknowledgement is not sent again and again.",
        "KIP-932, INVALID_RECORD_STATE; KafkaShareConsumer.commitSync";
    an_acknowledgement_after_its_lock_is_told_as_failed:
        "When locks end before records are accepted, the commit tells of INVALID_RECORD_STATE, and the records come again with the next delivery count.",
        "KIP-932, acquisition locks";
    a_renewed_record_stays_held:
        "A record that is renewed is sent with the type 4 in a request with IsRenewAck that fetches nothing; it is handed out again by the next poll with the same delivery count, and can be accepted then.",
        "KIP-1222";
    an_acknowledgement_that_can_be_repeated_is:
        "An acknowledgement of a commit that is answered with an error that can pass, COORDINATOR_NOT_AVAILABLE, is sent again, and the commit works.",
        "KafkaShareConsumer.commitSync: retriable errors are retried until the timeout",
        note "A client that tells the application of the error instead leaves the record locked until its time is over.";
}

async fn types(stage: &Stage) -> Outcome<Vec<(i64, i8)>> {
    Ok(stage.requests().await?.acknowledged())
}

async fn the_next_poll_accepts_in_implicit_mode(stage: &Stage) -> Outcome {
    stage.broker().await?;
    stage.produce(TOPIC, 0, 0..3).await?;
    let mut client = stage.subscribed(Mode::Implicit, &[]).await?;
    client.first().await?;
    tokio::time::sleep(Duration::from_millis(500)).await;
    stage.expect_eq(types(stage).await?, [] as [(i64, i8); 0], "acknowledgements before the next poll")?;
    client.goes_on_until("a lag of 0", async || Ok(stage.lag().await? == Some(0))).await?;
    stage.expect_eq(types(stage).await?, [(0, 1), (1, 1), (2, 1)], "acknowledgements after it")
}

async fn a_commit_accepts_in_implicit_mode(stage: &Stage) -> Outcome {
    stage.broker().await?;
    stage.produce(TOPIC, 0, 0..3).await?;
    let mut client = stage.subscribed(Mode::Implicit, &[]).await?;
    client.first().await?;
    client.commits().await?;
    stage.expect_eq(stage.lag().await?, Some(0), "the lag when the commit returns")?;
    stage.expect_eq(types(stage).await?, [(0, 1), (1, 1), (2, 1)], "acknowledgements")
}

async fn closing_does_not_accept_in_implicit_mode(stage: &Stage) -> Outcome {
    stage.broker().await?;
    stage.produce(TOPIC, 0, 0..3).await?;
    let mut client = stage.subscribed(Mode::Implicit, &[]).await?;
    client.first().await?;
    client.close().await?;
    let accepted: Vec<_> = types(stage).await?.into_iter().filter(|(_, kind)| *kind == 1).collect();
    stage.expect_eq(accepted, [] as [(i64, i8); 0], "what is accepted")?;
    let mut next = stage.subscribed(Mode::Implicit, &[]).await?;
    stage.expect_eq(offsets(&next.first().await?), [0, 1, 2], "what another member gets")
}

async fn closing_sends_what_is_decided(stage: &Stage) -> Outcome {
    stage.broker().await?;
    stage.produce(TOPIC, 0, 0..4).await?;
    let mut client = stage.subscribed(Mode::Explicit, &[]).await?;
    client.first().await?;
    client.acknowledge("accept", 0, 1).await?;
    client.close().await?;
    let mut accepted = types(stage).await?;
    accepted.retain(|(_, kind)| *kind == 1);
    stage.expect_eq(accepted, [(0, 1), (1, 1)], "what is accepted")?;
    stage.lag_comes_to(2).await
}

async fn each_record_gets_the_decision_about_it(stage: &Stage) -> Outcome {
    stage.broker().await?;
    stage.produce(TOPIC, 0, 0..9).await?;
    let mut client = stage.subscribed(Mode::Explicit, &[]).await?;
    client.first().await?;
    client.acknowledge("accept", 0, 1).await?;
    client.acknowledge("release", 2, 2).await?;
    client.acknowledge("reject", 3, 5).await?;
    client.acknowledge("accept", 6, 6).await?;
    client.acknowledge("release", 7, 7).await?;
    client.acknowledge("accept", 8, 8).await?;
    client.commits().await?;
    let wanted = [(0, 1), (1, 1), (2, 2), (3, 3), (4, 3), (5, 3), (6, 1), (7, 2), (8, 1)];
    stage.expect_eq(types(stage).await?, wanted, "acknowledgements")?;
    stage.lag_comes_to(2).await
}

async fn a_released_record_comes_again(stage: &Stage) -> Outcome {
    stage.broker().await?;
    stage.produce(TOPIC, 0, 0..3).await?;
    let mut client = stage.subscribed(Mode::Explicit, &[]).await?;
    client.first().await?;
    client.acknowledge("accept", 0, 0).await?;
    client.acknowledge("release", 1, 1).await?;
    client.acknowledge("accept", 2, 2).await?;
    client.commits().await?;
    let again = client.first().await?;
    stage.expect_eq(offsets(&again), [1], "what comes again")?;
    stage.expect_eq(again[0].delivery_count, 2, "its delivery count")?;
    client.acknowledge_all("accept").await?;
    client.commits().await?;
    stage.lag_comes_to(0).await
}

async fn the_last_decision_about_a_record_counts(stage: &Stage) -> Outcome {
    stage.broker().await?;
    stage.produce(TOPIC, 0, 0..2).await?;
    let mut client = stage.subscribed(Mode::Explicit, &[]).await?;
    client.first().await?;
    client.acknowledge_all("accept").await?;
    client.acknowledge("reject", 1, 1).await?;
    client.commits().await?;
    stage.expect_eq(types(stage).await?, [(0, 1), (1, 3)], "acknowledgements")
}

async fn a_poll_with_undecided_records_is_refused(stage: &Stage) -> Outcome {
    stage.broker().await?;
    stage.produce(TOPIC, 0, 0..3).await?;
    let mut client = stage.subscribed(Mode::Explicit, &[]).await?;
    client.first().await?;
    client.acknowledge("accept", 0, 1).await?;
    let refused = client.poll(Duration::from_millis(300)).await?;
    let is_misuse = refused.as_ref().is_err_and(|error| error.is_misuse);
    stage.expect(is_misuse, "a poll that is refused as misuse", || format!("{refused:?}"))?;
    let sent: Vec<_> = types(stage).await?.into_iter().filter(|(offset, _)| *offset == 2).collect();
    stage.expect_eq(sent, [] as [(i64, i8); 0], "acknowledgements of the undecided record")?;
    client.acknowledge("accept", 2, 2).await?;
    client.commits().await?;
    stage.lag_comes_to(0).await
}

async fn a_decision_in_implicit_mode_is_refused(stage: &Stage) -> Outcome {
    stage.broker().await?;
    stage.produce(TOPIC, 0, 0..3).await?;
    let mut client = stage.subscribed(Mode::Implicit, &[]).await?;
    client.first().await?;
    let refused = client.may_acknowledge("release", 0, 0).await?;
    let is_misuse = refused.as_ref().is_some_and(|error| error.is_misuse);
    stage.expect(is_misuse, "a decision that is refused as misuse", || format!("{refused:?}"))
}

async fn ranges_of_one_request_are_in_order(stage: &Stage) -> Outcome {
    stage.broker().await?;
    for batch in 0..5 {
        stage.produce(TOPIC, 0, batch * 20..(batch + 1) * 20).await?;
    }
    let mut client = stage.subscribed(Mode::Explicit, &[]).await?;
    while client.seen.len() < 100 {
        let polled = offsets(&client.first().await?);
        // Backwards, and not the same for all.
        for offset in polled.into_iter().rev() {
            let decision = if offset % 3 == 0 || offset > 60 { "accept" } else { "reject" };
            client.acknowledge(decision, offset, offset).await?;
        }
    }
    client.commits().await?;
    let requests = stage.requests().await?;
    let mut lists: Vec<Vec<_>> = Vec::new();
    for sent in requests.of::<ShareFetchRequest>() {
        let partitions = sent.body.topics.into_iter().flat_map(|topic| topic.partitions);
        lists.extend(partitions.map(|asked| {
            let ranges = asked.acknowledgement_batches.into_iter();
            ranges.map(|range| (range.first_offset, range.last_offset, range.acknowledge_types.len())).collect()
        }));
    }
    for sent in requests.of::<ShareAcknowledgeRequest>() {
        let partitions = sent.body.topics.into_iter().flat_map(|topic| topic.partitions);
        lists.extend(partitions.map(|asked| {
            let ranges = asked.acknowledgement_batches.into_iter();
            ranges.map(|range| (range.first_offset, range.last_offset, range.acknowledge_types.len())).collect()
        }));
    }
    for list in &lists {
        let ordered = list.windows(2).all(|pair| pair[0].1 < pair[1].0);
        let sized = list.iter().all(|(first, last, types)| {
            let count = usize::try_from(last - first + 1).unwrap_or_default();
            first <= last && (*types == 1 || *types == count)
        });
        stage.expect(ordered && sized, "ranges in order, with one type or one an offset", || format!("{list:?}"))?;
    }
    stage.expect_eq(requests.acknowledged().len(), 100, "offsets that are acknowledged, each once")
}

async fn a_refused_acknowledgement_is_told_and_not_repeated(stage: &Stage) -> Outcome {
    stage.broker().await?;
    stage.produce(TOPIC, 0, 0..3).await?;
    let mut client = stage.subscribed(Mode::Explicit, &[]).await?;
    client.first().await?;
    client.acknowledge_all("accept").await?;
    let code = ErrorCode::INVALID_RECORD_STATE;
    stage.fault(FaultRule::new(FaultAction::RefuseAcknowledgements(code))).await?;
    let committed = client.commit().await?;
    stage.expect_eq(committed, ["INVALID_RECORD_STATE"], "what the commit tells")?;
    let begin = Instant::now();
    client.goes_on_for(Duration::from_secs(2)).await?;
    let repeated = stage.requests().await?.since(begin).acknowledged();
    stage.expect(repeated.len() <= 3, "the acknowledgements at most once more", || format!("{repeated:?}"))
}

async fn an_acknowledgement_after_its_lock_is_told_as_failed(stage: &Stage) -> Outcome {
    let broker = stage.broker().await?;
    stage.produce(TOPIC, 0, 0..3).await?;
    let mut client = stage.subscribed(Mode::Explicit, &[]).await?;
    client.first().await?;
    broker.expire_locks(crate::client::stage::GROUP).await?;
    client.acknowledge_all("accept").await?;
    let committed = client.commit().await?;
    stage.expect_eq(committed, ["INVALID_RECORD_STATE"], "what the commit tells")?;
    let again = client.first().await?;
    stage.expect_eq(again.iter().map(|record| record.delivery_count).collect::<Vec<_>>(), [2; 3], "deliveries")?;
    client.acknowledge_all("accept").await?;
    client.commits().await?;
    stage.lag_comes_to(0).await
}

async fn a_renewed_record_stays_held(stage: &Stage) -> Outcome {
    stage.broker().await?;
    stage.produce(TOPIC, 0, 0..2).await?;
    let mut client = stage.subscribed(Mode::Explicit, &[]).await?;
    client.first().await?;
    client.acknowledge("renew", 0, 0).await?;
    client.acknowledge("accept", 1, 1).await?;
    let again = client.first().await?;
    stage.expect_eq(offsets(&again), [0], "what the next poll hands out")?;
    stage.expect_eq(again[0].delivery_count, 1, "its delivery count")?;
    let requests = stage.requests().await?;
    let fetches = requests.of::<ShareFetchRequest>();
    let renewing = fetches.iter().filter(|sent| sent.body.is_renew_ack);
    let asks =
        renewing.map(|sent| sent.body.max_records + sent.body.max_bytes + sent.body.min_bytes + sent.body.max_wait_ms);
    let by_fetch = asks.collect::<Vec<_>>();
    let by_acknowledge = requests.of::<ShareAcknowledgeRequest>().iter().filter(|sent| sent.body.is_renew_ack).count();
    stage.expect(
        by_fetch.len() + by_acknowledge > 0 && by_fetch.iter().all(|asked| *asked == 0),
        "a request with IsRenewAck that fetches nothing",
        || format!("ShareFetch {by_fetch:?}, ShareAcknowledge {by_acknowledge}"),
    )?;
    client.acknowledge_all("accept").await?;
    client.commits().await?;
    stage.expect_eq(types(stage).await?, [(0, 1), (0, 4), (1, 1)], "acknowledgements")?;
    stage.lag_comes_to(0).await
}

async fn an_acknowledgement_that_can_be_repeated_is(stage: &Stage) -> Outcome {
    stage.broker().await?;
    stage.produce(TOPIC, 0, 0..3).await?;
    let mut client = stage.subscribed(Mode::Explicit, &[]).await?;
    client.first().await?;
    client.acknowledge_all("accept").await?;
    let rule = FaultRule::new(FaultAction::RefusePartitions(ErrorCode::COORDINATOR_NOT_AVAILABLE));
    stage.fault(rule.api(ApiKey::SHARE_ACKNOWLEDGE).times(1)).await?;
    client.commits().await?;
    stage.lag_comes_to(0).await
}
