//! A slow and a fast member on one partition.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use tokio::sync::oneshot;
use tokio::sync::oneshot::error::TryRecvError;
use tokio::time::sleep;

use crate::stage::{commit, member, prepare};

const TOPIC: &str = "fair";
const GROUP: &str = "fair-group";

/// What a record costs each of them.
const SLOW: Duration = Duration::from_millis(10);
const FAST: Duration = Duration::from_micros(50);
/// How many records of a poll the slow one works on before it accepts them.
const SLOW_POLL: u32 = 50;
const FAST_POLL: u32 = 500;

/// How long the fast member waited for each of its polls, sorted, while records waited all the time; and how many records each took.
pub(crate) async fn measure(bootstrap: &str, period: Duration) -> Result<(Vec<Duration>, usize, usize)> {
    // More than both can take.
    let records = 2 * usize::try_from(period.as_micros() / FAST.as_micros())?;
    prepare(bootstrap, TOPIC, GROUP, records).await?;
    let (end, ended) = oneshot::channel();
    let (begin, begun) = oneshot::channel();
    let mut slow = member(bootstrap, TOPIC, GROUP, SLOW_POLL)?;
    let slow = tokio::spawn(async move {
        let (mut begin, mut ended) = (Some(begin), ended);
        let mut taken = 0;
        while matches!(ended.try_recv(), Err(TryRecvError::Empty)) {
            let got = slow.poll(Duration::from_secs(1)).await?.len();
            sleep(SLOW * u32::try_from(got)?).await;
            commit(&mut slow).await?;
            taken += got;
            if let Some(begin) = begin.take_if(|_| taken > 0) {
                begin.send(()).ok().context("nobody waits for the slow member")?;
            }
        }
        slow.close(Duration::from_secs(30)).await?;
        anyhow::Ok(taken)
    });
    // It has its records first.
    begun.await?;

    let mut fast = member(bootstrap, TOPIC, GROUP, FAST_POLL)?;
    while fast.poll(Duration::from_secs(1)).await?.is_empty() {}
    let begun = Instant::now();
    let (mut waits, mut taken) = (Vec::new(), 0);
    while begun.elapsed() < period {
        let asked = Instant::now();
        let got = loop {
            match fast.poll(Duration::from_secs(60)).await?.len() {
                0 => ensure!(asked.elapsed() < period, "nothing came for {:?}", asked.elapsed()),
                got => break got,
            }
        };
        waits.push(asked.elapsed());
        sleep(FAST * u32::try_from(got)?).await;
        taken += got;
    }
    end.send(()).ok().context("the slow member has ended")?;
    let slow = slow.await??;
    fast.close(Duration::from_secs(30)).await?;
    ensure!(slow + taken < records, "all {records} records are taken, so that there was nothing to wait for");
    waits.sort_unstable();
    Ok((waits, slow, taken))
}
