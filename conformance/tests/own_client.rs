//! This project's share consumer in every situation.

use ackflow_conformance::client::{Options, Selection, run};
use ackflow_conformance::{CaseReport, Format, Verdict};

const SHIM: &str = env!("CARGO_BIN_EXE_ackflow-conformance-shim");

#[tokio::test]
async fn our_share_consumer_passes_every_situation() {
    let report = run(&format!("exec '{SHIM}'"), &Options::default(), |_| {}).await.unwrap();
    let failed: Vec<String> =
        report.cases.iter().filter(|case| case.verdict != Verdict::Passed).map(CaseReport::to_line).collect();
    assert!(failed.is_empty(), "{}", failed.join("\n"));
    assert!(report.cases.len() >= 30, "{}", report.cases.len());
}

#[tokio::test]
async fn a_shim_that_is_none_is_no_verdict_on_the_client() {
    let options = Options::default();
    let error = run("echo hello; echo sorry >&2", &options, |_| {}).await.unwrap_err().to_string();
    assert!(error.contains("no JSON") && error.contains("hello"), "{error}");
    let error = run("no-such-shim", &options, |_| {}).await.unwrap_err().to_string();
    assert!(error.contains("not found") && error.contains("127"), "{error}");
}

#[tokio::test]
async fn a_client_that_ends_too_soon_fails_with_what_it_said() {
    let selection = Selection::new(&["a-commit-accepts-in-implicit-mode".to_owned()], &[]).unwrap();
    let options = Options { selection, ..Options::default() };
    // Bytes that are no text, and processes of its own that outlive the shell, are no reason to hang.
    let shim = r#"echo '{"event":"ready"}'; printf 'sorry \377\n' >&2; sleep 600 & read step; exit 3"#;
    let report = run(shim, &options, |_| {}).await.unwrap();
    let [case] = &report.cases[..] else { panic!("{:?}", report.cases) };
    assert_eq!(case.verdict, Verdict::Failed);
    assert!(case.got.contains("sorry"), "{}", case.got);
    let xml = report.to_text(Format::Junit);
    assert!(xml.contains("failures=\"1\"") && xml.contains("conformance.acknowledgement"), "{xml}");
    let json = report.to_text(Format::Json);
    assert!(json.contains("\"client\":{\"command\":\"echo '"), "{json}");
}

#[tokio::test]
async fn a_client_that_does_not_know_a_step_is_not_offered_that() {
    let selection = Selection::new(&["a-decision-in-implicit-mode-is-refused".to_owned()], &[]).unwrap();
    let options = Options { selection, ..Options::default() };
    let shim = r#"echo '{"event":"ready"}'; while read step; do echo '{"event":"unsupported","message":"no"}'; done"#;
    let report = run(shim, &options, |_| {}).await.unwrap();
    assert_eq!(report.cases[0].verdict, Verdict::NotOffered, "{:?}", report.cases);
}

#[test]
fn a_name_that_is_none_is_told_with_those_that_there_are() {
    let error = Selection::new(&[], &["leader".to_owned()]).unwrap_err().to_string();
    assert!(error.contains("there is no group \"leader\"; there is membership, sessions"), "{error}");
}
