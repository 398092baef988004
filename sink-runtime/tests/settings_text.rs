//! Texts of settings that nobody would write: an answer or an error, never a panic. The fuzz target `text` asks the
//! same of more of them.

use ackflow_client::net::BootstrapServers;
use ackflow_sink_runtime::config::parse_properties;
use proptest::prelude::*;

/// Short pieces that mean something in one of the grammars, and any characters.
fn text() -> impl Strategy<Value = String> {
    let pieces =
        ["a", "1", ":", ",", "[", "]", "//", "=", " ", "\n", "\r\n", "\\", "\\u", "00e9", "d83d", "#", "!", "é"];
    let piece = prop_oneof![6 => prop::sample::select(pieces.to_vec()).prop_map(str::to_owned), 1 => any::<String>()];
    prop::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, ..ProptestConfig::default() })]

    #[test]
    fn bootstrap_servers_are_shown_as_they_are_read(text in text()) {
        if let Ok(servers) = BootstrapServers::parse(&text) {
            let again = BootstrapServers::parse(&servers.to_string());
            prop_assert!(again.is_ok_and(|again| again == servers), "{}", servers);
        }
    }

    #[test]
    fn properties_are_read_or_refused(text in text()) {
        if let Err(error) = parse_properties(&text) {
            prop_assert!((1..=text.lines().count()).contains(&error.line), "{}", error);
        }
    }
}
