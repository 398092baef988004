//! A report as JUnit writes it: a suite a group, a test case a case, one that is not offered as skipped.

use std::fmt::{self, Write};

use super::{CaseReport, Report, Subject, Verdict};

pub(super) fn report(report: &Report) -> String {
    let mut xml = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    // Everything into a String can be written.
    let _ = write(&mut xml, report);
    xml
}

fn write(xml: &mut String, report: &Report) -> fmt::Result {
    let all: Vec<_> = report.cases.iter().collect();
    let subject = match &report.subject {
        Subject::Broker(info) => &info.bootstrap_servers,
        Subject::Client { command } => command,
    };
    writeln!(xml, "<testsuites name=\"conformance of {}\" {}>", escaped(subject), numbers(&all))?;
    for cases in all.chunk_by(|one, next| one.group == next.group) {
        writeln!(xml, "  <testsuite name=\"{}\" {}>", cases[0].group, numbers(cases))?;
        cases.iter().try_for_each(|case| write_case(xml, case))?;
        writeln!(xml, "  </testsuite>")?;
    }
    writeln!(xml, "</testsuites>")
}

fn write_case(xml: &mut String, case: &CaseReport) -> fmt::Result {
    let (group, time) = (case.group, case.took.as_secs_f64());
    write!(xml, "    <testcase classname=\"conformance.{group}\" name=\"{}\" time=\"{time:.3}\"", case.name)?;
    match case.verdict {
        Verdict::Passed => writeln!(xml, "/>"),
        Verdict::NotOffered => writeln!(xml, "><skipped message=\"{}\"/></testcase>", escaped(&case.got)),
        Verdict::Failed => {
            let message = escaped(&case.expected);
            writeln!(xml, "><failure message=\"{message}\">{}</failure></testcase>", escaped(&case.to_line()))
        }
    }
}

fn numbers(cases: &[&CaseReport]) -> String {
    let count = |verdict| cases.iter().filter(|case| case.verdict == verdict).count();
    let time: f64 = cases.iter().map(|case| case.took.as_secs_f64()).sum();
    let (failed, skipped) = (count(Verdict::Failed), count(Verdict::NotOffered));
    format!("tests=\"{}\" failures=\"{failed}\" skipped=\"{skipped}\" time=\"{time:.3}\"", cases.len())
}

/// Text as it may stand in XML, between quotes too. Control characters may not at all.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\n' => escaped.push_str("&#10;"),
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => escaped.push('\u{fffd}'),
            c => escaped.push(c),
        }
    }
    escaped
}
