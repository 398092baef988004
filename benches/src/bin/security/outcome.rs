//! What became of clients.

use serde_json::json;

/// Passwords, and where tokens begin: what no error may show.
const SECRETS: [&str; 6] = ["bob-secret", "alice-secret", "bobs-secret", "client-secret-of-me", "changeme", "eyJ"];

/// What became of one client.
pub(crate) struct Outcome {
    pub(crate) case: String,
    /// What should not be so.
    pub(crate) faults: Vec<String>,
    /// The error that it was told, after how many milliseconds.
    pub(crate) error: Option<String>,
    pub(crate) told_ms: Option<u128>,
    /// How often it tried in the time that it was watched.
    pub(crate) attempts: Option<usize>,
}

impl Outcome {
    pub(crate) fn print(&self) {
        let Self { case, faults, error, told_ms, attempts } = self;
        println!(
            "{}",
            json!({"case": case, "faults": faults, "error": error, "told_ms": told_ms, "attempts": attempts})
        );
    }
}

/// What is wrong with an error that should say `expected` and no secret.
pub(crate) fn faults_of(who: &str, error: &str, expected: &[&str]) -> Vec<String> {
    let missing = expected.iter().filter(|part| !error.contains(**part));
    let missing = missing.map(|part| format!("{who} is not told {part:?}: {error}"));
    let shown = SECRETS.iter().filter(|secret| error.contains(**secret));
    // What was shown once need not be shown again.
    missing.chain(shown.map(|_| format!("{who} is told a secret"))).collect()
}
