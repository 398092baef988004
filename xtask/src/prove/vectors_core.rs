//! The codec against Kafka's own classes, on messages that nobody has seen before.

use std::fs;
use std::path::Path;
use std::process::Output;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::Proof;
use super::support::ackflow::Ackflow;
use super::verdict::Verdict;
use crate::kafka::{DEFAULT_VERSION, Libs};
use crate::random;
use crate::vectors::Vectors;

pub(super) const PROOF: Proof = Proof {
    name: "vectors-core",
    shows: "random messages of Kafka's own classes pass in both directions, one with a changed byte fails",
    run,
};

/// How many of the vectors are damaged, each on its own.
const DAMAGED: usize = 20;

fn run() -> Result<Verdict> {
    prove(&["core"], 200)
}

/// Proves it for some APIs, with so many messages of each kind in each version.
pub(super) fn prove(apis: &[&str], a_version: u32) -> Result<Verdict> {
    let ackflow = Ackflow::build()?;
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("vectors.jsonl");
    let seed = (random::u64() >> 1).cast_signed();
    let apis = apis.iter().map(|api| (*api).to_owned()).collect();
    let vectors = Vectors { apis, count: a_version, seed };
    vectors.write_to(&Libs::fetch(DEFAULT_VERSION)?, &file)?;
    let lines: Vec<String> = fs::read_to_string(&file)?.lines().map(str::to_owned).collect();
    ensure!(!lines.is_empty(), "no vectors were written");

    let check = |file: &Path| -> Result<Output> {
        let mut check = ackflow.command(&["wire", "check"]);
        check.arg(file).output().context("cannot run ackflow wire check")
    };
    let whole = check(&file)?;
    let mut verdict = Verdict::default();
    verdict.figure("seed", seed);
    verdict.figure("vectors", lines.len());
    verdict.figure("a_version", a_version);
    verdict.figure("summary", format!("{:?}", last_line(&whole)));
    verdict.require(whole.status.success(), "every vector passes");
    verdict.require(last_line(&whole).contains(&lines.len().to_string()), "the summary counts every vector");

    let mut noticed = 0;
    for _ in 0..DAMAGED {
        let damaged = folder.path().join("damaged.jsonl");
        fs::write(&damaged, damage(&lines)?)?;
        noticed += usize::from(!check(&damaged)?.status.success());
    }
    verdict.figure("damaged", DAMAGED);
    verdict.figure("damaged_and_noticed", noticed);
    verdict.require(noticed == DAMAGED, "a vector with one byte changed fails");
    Ok(verdict)
}

fn last_line(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).lines().last().unwrap_or_default().to_owned()
}

/// A line with one byte of its message changed.
fn damage(lines: &[String]) -> Result<String> {
    let below = |limit: usize| (random::u64() % limit as u64) as usize;
    loop {
        let mut vector: Value = serde_json::from_str(&lines[below(lines.len())])?;
        let mut hex: Vec<u8> = vector["hex"].as_str().context("a vector has hex")?.into();
        if hex.is_empty() {
            // Some messages have no fields in some versions, and no bytes to change.
            continue;
        }
        let digit = below(hex.len());
        let old = char::from(hex[digit]).to_digit(16).context("hex has hex digits")?;
        let new = old ^ (1 + u32::try_from(below(15))?);
        hex[digit] = char::from_digit(new, 16).context("four bits are a hex digit")? as u8;
        vector["hex"] = String::from_utf8(hex)?.into();
        return Ok(format!("{vector}\n"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn damage_changes_one_digit() {
        let line = r#"{"api":"X","hex":"00ff10"}"#.to_owned();
        for _ in 0..50 {
            let damaged: Value = serde_json::from_str(&damage(std::slice::from_ref(&line)).unwrap()).unwrap();
            let hex = damaged["hex"].as_str().unwrap();
            assert_eq!(hex.len(), 6);
            assert_eq!(hex.bytes().zip(b"00ff10").filter(|(new, old)| new != *old).count(), 1, "{hex}");
        }
    }
}
