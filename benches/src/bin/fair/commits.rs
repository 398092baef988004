//! Commits beside full fetches ahead.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use tokio::time::sleep;

use crate::stage::{commit, member, prepare};

const TOPIC: &str = "commits";
const GROUP: &str = "commits-group";

/// What the work on a poll takes: of so many records a second a whole second's worth is fetched ahead.
const WORK: Duration = Duration::from_millis(10);
const POLL: u32 = 500;

/// How long each commit took, sorted.
pub(crate) async fn measure(bootstrap: &str, period: Duration) -> Result<Vec<Duration>> {
    // More than it can take.
    let records = usize::try_from(period.as_millis() / WORK.as_millis() * u128::from(POLL))?;
    prepare(bootstrap, TOPIC, GROUP, records).await?;
    let mut consumer = member(bootstrap, TOPIC, GROUP, POLL)?;
    let (mut commits, mut taken) = (Vec::new(), 0);
    let mut begun = None;
    while begun.is_none_or(|begun: Instant| begun.elapsed() < period) {
        let got = consumer.poll(Duration::from_secs(10)).await?.len();
        taken += got;
        ensure!(begun.is_none() || got > 0, "nothing came in 10 s after {taken} of {records} records");
        if got > 0 {
            sleep(WORK).await;
            let took = commit(&mut consumer).await?;
            // The first one stands for what comes once only.
            commits.extend(begun.is_some().then_some(took));
            begun.get_or_insert_with(Instant::now);
        }
    }
    consumer.close(Duration::from_secs(30)).await?;
    ensure!(commits.len() >= 100, "{} commits are too few for a percentile", commits.len());
    commits.sort_unstable();
    Ok(commits)
}
