//! The grammars of settings: lists of bootstrap servers, and .properties files.

#![no_main]

use ackflow_client::net::BootstrapServers;
use ackflow_sink_runtime::config::parse_properties;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    if let Ok(servers) = BootstrapServers::parse(text) {
        assert!(BootstrapServers::parse(&servers.to_string()).is_ok_and(|again| again == servers), "{servers}");
    }
    let _ = parse_properties(text);
});
