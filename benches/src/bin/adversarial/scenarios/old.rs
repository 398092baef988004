//! What a broker of before Kafka 4.2 does not know.

use std::cell::Cell;

use ackflow_client::ErrorKind;
use ackflow_client::share::{AckType, AcquireMode, ShareConsumer, ShareRecord};
use anyhow::{Result, ensure};

use crate::ledger::{Ledger, Report};
use crate::member::{self, COMMIT, POLL};
use crate::stage::{RECORDS, Stage};

/// How many polls an error may take.
const PATIENCE: usize = 60;

/// `record_limit` and renewals are refused, each with an error that names what was asked for, the broker, its version and the one that it takes.
/// No record is acquired for nothing, lost, or delivered again because of that.
pub(crate) async fn refuses_by_name(stage: &Stage) -> Result<Report> {
    let mut limited = stage.member(|config| config.acquire_mode(AcquireMode::RecordLimit).max_poll_records(10))?;
    let record_limit = refusal(&mut limited).await?;
    limited.close(COMMIT).await?;

    let mut consumer = stage.member(|config| config.max_poll_records(100))?;
    let mut held = 0;
    while held == 0 {
        held = consumer.poll(POLL).await?.len();
    }
    consumer.acknowledge_all(AckType::Renew)?;
    let renewal = refusal(&mut consumer).await?;
    let results = consumer.commit_sync(COMMIT).await?;
    ensure!(results.first_error().is_some(), "a commit tells that the renewals failed");

    // The same records again, held as before, and then all others.
    let (mut ledger, deliveries) = (Ledger::default(), Cell::new(0));
    let accept = |record: &ShareRecord<'_>| {
        deliveries.set(deliveries.get().max(record.delivery_count));
        AckType::Accept
    };
    let again = member::poll(&mut consumer, &mut ledger, accept).await?;
    let handed_again = again.len();
    again.commit(&mut consumer, &mut ledger, &stage.topic).await?;
    member::consume_until(&mut consumer, &mut ledger, &stage.topic, RECORDS, accept).await?;
    member::finish(consumer, &mut ledger, &stage.topic, RECORDS).await?;

    let mut report = stage.judge(ledger).await?;
    report.require(handed_again == held, format!("{held} records are held through the refusal, not {handed_again}"));
    report.require(deliveries.get() == 1, format!("each record takes one delivery, not {}", deliveries.get()));
    let asked =
        [(&record_limit, "share.acquire.mode=record_limit", "ShareFetch"), (&renewal, "RENEW", "ShareAcknowledge")];
    for (error, setting, api) in asked {
        let version = format!("{api} version 2 (Kafka 4.2 or later)");
        let is_named = error.contains(setting) && error.contains(&version) && error.contains("no more than version 1");
        let names_broker = stage.cluster.addresses().any(|address| error.contains(address));
        report.require(is_named && names_broker, format!("{setting} is refused by name: {error}"));
    }
    report.note("refused", vec![record_limit, renewal]);
    Ok(report)
}

/// The error that a poll gives, which does not end the consumer.
async fn refusal(consumer: &mut ShareConsumer) -> Result<String> {
    for _ in 0..PATIENCE {
        match consumer.poll(POLL).await {
            Ok(records) => ensure!(records.is_empty(), "{} records came in spite of what was asked for", records.len()),
            Err(error) => {
                ensure!(error.kind() == ErrorKind::UnsupportedVersion, "another error came: {error}");
                ensure!(consumer.failure().is_none(), "the consumer has ended: {error}");
                return Ok(error.to_string());
            }
        }
    }
    anyhow::bail!("no error came in {PATIENCE} polls")
}
