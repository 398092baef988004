//! What libFuzzer says of a run.

use std::fmt;
use std::path::PathBuf;
use std::process::ExitStatus;

/// How a run ended.
#[derive(Debug)]
pub(super) struct Outcome {
    pub(super) exit: ExitStatus,
    /// Where its whole output is.
    pub(super) log: PathBuf,
    pub(super) told: Told,
}

/// What a run said of itself.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Told {
    pub(super) executions: u64,
    /// How long it ran, in seconds; 0 where it did not come to its end.
    pub(super) seconds: u64,
    /// Places in the code that the seeds reach.
    pub(super) seeds_cover: u64,
    /// Those that are reached in the end.
    pub(super) covers: u64,
    /// Inputs that each reach something that no other does.
    pub(super) corpus: u64,
    /// The most memory it had resident, in MiB.
    pub(super) peak_rss: u64,
    /// What its slowest input took, in seconds.
    pub(super) slowest: u64,
    /// The file with the input that broke a promise.
    pub(super) failing_input: Option<PathBuf>,
    /// Why it ended before its time.
    pub(super) complaint: Option<String>,
}

impl Told {
    /// Reads the output of a run that has ended.
    pub(super) fn read(output: &str) -> Self {
        let mut told = Self::default();
        let mut lines = output.lines();
        while let Some(line) = lines.next() {
            if is_status(line) {
                let number = |name| number_after(line, name).unwrap_or_default();
                (told.covers, told.corpus) = (number("cov: "), number("corp: "));
                if line.contains("\tINITED ") {
                    told.seeds_cover = told.covers;
                }
            } else if let Some((_, path)) = line.split_once("Test unit written to ") {
                told.failing_input = Some(path.into());
            } else if line.contains(" panicked at ") {
                // The reason stands in the next line.
                told.complaint = Some(format!("{line} {}", lines.next().unwrap_or_default()));
            } else if line.contains("ERROR: ") {
                told.complaint.get_or_insert_with(|| line.to_owned());
            } else if line.starts_with("Done ") {
                told.seconds = number_after(line, " runs in ").unwrap_or_default();
            }
            for (name, number) in [
                ("stat::number_of_executed_units:", &mut told.executions),
                ("stat::peak_rss_mb:", &mut told.peak_rss),
                ("stat::slowest_unit_time_sec:", &mut told.slowest),
            ] {
                *number = number_after(line, name).unwrap_or(*number);
            }
        }
        told
    }
}

/// The last line about coverage in the output of a run, without its tabs.
pub(super) fn progress(output: &str) -> Option<String> {
    let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
    output.lines().rfind(|line| is_status(line)).map(words)
}

/// `#2048 pulse  cov: 1234 ft: 5678 corp: 90/12Kb exec/s: 1024 rss: 99Mb`
fn is_status(line: &str) -> bool {
    line.starts_with('#') && line.contains(" cov: ")
}

/// The number behind a name, which may have something behind it.
fn number_after(line: &str, name: &str) -> Option<u64> {
    let (_, rest) = line.split_once(name)?;
    let rest = rest.trim_start();
    rest[..rest.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(rest.len())].parse().ok()
}

impl Told {
    /// Executions, places reached, inputs kept, memory.
    pub(super) fn figures(&self) -> String {
        let Self { executions, covers, corpus, peak_rss, .. } = self;
        format!("{executions}x/cov{covers}/corpus{corpus}/{peak_rss}MiB")
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Told { executions, seconds, seeds_cover, covers, corpus, peak_rss, slowest, .. } = &self.told;
        let rate = executions / (*seconds).max(1);
        write!(f, "{executions} executions in {seconds} s ({rate}/s), coverage {covers} of {seeds_cover} by seeds, ")?;
        write!(f, "{corpus} inputs kept, peak {peak_rss} MiB, slowest {slowest} s")?;
        if !self.exit.success() {
            let complaint = self.told.complaint.as_deref().unwrap_or("no reason given");
            write!(f, "; FAILED ({}): {complaint}", self.exit)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SEEDS: &str = "\
INFO: seed corpus: files: 61 min: 1b max: 900b total: 30000b rss: 40Mb
#62	INITED cov: 1200 ft: 3000 corp: 50/20Kb exec/s: 0 rss: 60Mb
#70	NEW    cov: 1201 ft: 3001 corp: 51/21Kb lim: 900 exec/s: 0 rss: 61Mb L: 3/900 MS: 1 EraseBytes-
";

    #[test]
    fn run_to_the_end_tells_all_its_figures() {
        let end = "\
#90000	DONE   cov: 1300 ft: 4000 corp: 99/21Kb lim: 900 exec/s: 1500 rss: 80Mb
Done 90000 runs in 601 second(s)
stat::number_of_executed_units: 90000
stat::average_exec_per_sec:     149
stat::new_units_added:          300
stat::slowest_unit_time_sec:    2
stat::peak_rss_mb:              81
";
        let told = Told::read(&format!("{SEEDS}{end}"));
        let expected = Told {
            executions: 90_000,
            seconds: 601,
            seeds_cover: 1_200,
            covers: 1_300,
            corpus: 99,
            peak_rss: 81,
            slowest: 2,
            failing_input: None,
            complaint: None,
        };
        assert_eq!(told, expected);
    }

    #[test]
    fn input_that_broke_a_promise_is_named_with_the_promise() {
        let end = "\
thread '<unnamed>' (12) panicked at protocol/src/fuzzing/session.rs:12:9:
18000000 bytes held, 16777216 are allowed
==7== ERROR: libFuzzer: deadly signal
SUMMARY: libFuzzer: deadly signal
artifact_prefix='fuzz/artifacts/session/'; Test unit written to fuzz/artifacts/session/crash-1
";
        let told = Told::read(&format!("{SEEDS}{end}"));
        assert_eq!(told.failing_input, Some("fuzz/artifacts/session/crash-1".into()));
        let complaint = told.complaint.unwrap();
        assert!(complaint.contains("session.rs:12") && complaint.contains("18000000 bytes held"), "{complaint}");
        assert_eq!(told.seconds, 0);
    }

    #[test]
    fn hang_and_large_allocation_are_named_too() {
        let told = Told::read("==7== ERROR: libFuzzer: out-of-memory (malloc(17000000))\n    #0 0x12 in a\n");
        assert_eq!(told.complaint.unwrap(), "==7== ERROR: libFuzzer: out-of-memory (malloc(17000000))");
        let told = Told::read("==7== ERROR: libFuzzer: timeout after 10 seconds\n");
        assert_eq!(told.complaint.unwrap(), "==7== ERROR: libFuzzer: timeout after 10 seconds");
    }

    #[test]
    fn progress_is_the_last_line_about_coverage() {
        assert!(progress(SEEDS).unwrap().starts_with("#70 NEW cov: 1201 ft: 3001"));
        assert_eq!(progress("INFO: Running with entropic power schedule"), None);
    }
}
