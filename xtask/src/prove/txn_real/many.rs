//! Ten thousand transactions by producers of one id, each killed at a random moment.

use std::ops::Range;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

use super::Stage;
use crate::interrupt;
use crate::prove::verdict::Verdict;
use crate::random::{self, Seeded};

const TRANSACTIONS: u64 = 10_000;
/// How long a producer lives, in ms.
const LIFE: Range<u64> = 300..2_500;
const LIMIT: Duration = Duration::from_secs(1_500);

pub(super) fn prove(stage: &mut Stage<'_>, verdict: &mut Verdict) -> Result<()> {
    let seed = random::seed();
    verdict.figure("seed", seed);
    let mut random = Seeded::new(seed);
    let (first, until) = (stage.next, stage.next + TRANSACTIONS);
    let began = Instant::now();
    let mut kills = 0;
    while stage.next < until {
        interrupt::check()?;
        ensure!(began.elapsed() < LIMIT, "{} of {TRANSACTIONS} transactions in {LIMIT:?}", stage.next - first);
        let journal = format!("many-{kills}");
        let mut process = stage.start("run", "many", &journal, &[&stage.next.to_string(), &until.to_string()])?;
        let life = Duration::from_millis(LIFE.start + random.u64() % (LIFE.end - LIFE.start));
        match process.wait(life) {
            Ok(exit) => {
                let told = stage.journal(&journal);
                let told = told.lines().rev().find(|line| line.starts_with("error")).unwrap_or("nothing");
                ensure!(exit.status.success(), "a producer ended with {}; it was told {told}", exit.status);
            }
            Err(_) => {
                process.kill()?;
                kills += 1;
            }
        }
        let text = stage.journal(&journal);
        if let Some(last) = stage.ledger.take(&text)? {
            stage.next = last + 1;
        }
    }
    let took = began.elapsed();
    verdict.figure("kills", kills);
    verdict.figure("transactions_a_second", format!("{:.0}", TRANSACTIONS as f64 / took.as_secs_f64()));
    verdict.require(kills >= 20, "producers were killed at least 20 times");

    let last = stage.number();
    super::states::follow(stage, "many", "many-last", last)?;
    let arguments = ["--describe", "--offsets", "--group", "transactors"];
    let told = stage.tools.run("consumer.group.ConsumerGroupCommand", &arguments)?;
    let line = told.lines().find(|line| line.contains("source")).context("the group has an offset")?;
    verdict.require(
        line.split_whitespace().any(|word| word == last.to_string()),
        format!("the group's offset is that of the last transaction, {last}: {line}"),
    );
    Ok(())
}
