//! The grammars of texts, of all crates.

use ackflow_client::net::BootstrapServers;
use ackflow_protocol::fuzzing;
use ackflow_sink_runtime::config::parse_properties;

/// Target `text`: the input as each of them.
///
/// # Panics
/// As [`fuzzing::text`]; and where bootstrap servers that were read are shown as others, or an error in a .properties file
/// names a line that is not there.
pub(crate) fn text(data: &[u8]) {
    fuzzing::text(data);
    let Ok(text) = std::str::from_utf8(data) else { return };
    if let Ok(servers) = BootstrapServers::parse(text) {
        assert!(BootstrapServers::parse(&servers.to_string()).is_ok_and(|again| again == servers), "{servers}");
    }
    if let Err(error) = parse_properties(text) {
        assert!((1..=text.lines().count()).contains(&error.line), "{error}");
    }
}
