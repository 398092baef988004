//! Figures and what was wrong with them.

use std::fmt;

/// The outcome of a proof: it holds when nothing that was required is missing.
#[derive(Default)]
pub(super) struct Verdict {
    figures: Vec<String>,
    failures: Vec<String>,
}

impl Verdict {
    /// Adds a figure.
    pub(super) fn figure(&mut self, name: &str, value: impl fmt::Display) {
        self.figures.push(format!("{name}={value}"));
    }

    /// The claim does not hold unless `condition` is true.
    pub(super) fn require(&mut self, condition: bool, what: impl Into<String>) {
        if !condition {
            self.failures.push(what.into());
        }
    }

    pub(super) fn holds(&self) -> bool {
        self.failures.is_empty()
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.figures.join(" "))?;
        if !self.failures.is_empty() {
            write!(f, "; not so: {}", self.failures.join("; "))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_failure_is_enough_and_is_named() {
        let mut verdict = Verdict::default();
        verdict.figure("records", 7);
        verdict.require(true, "records come");
        assert!(verdict.holds());
        verdict.require(false, "no record is lost");
        assert!(!verdict.holds());
        assert_eq!(verdict.to_string(), "records=7; not so: no record is lost");
    }
}
