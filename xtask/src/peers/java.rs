//! Kafka's own client.

use super::Peer;
use crate::kafka::Libs;
use crate::workspace;

/// Runs from source, with the jars of a Kafka.
pub fn java(libs: &Libs) -> Peer {
    let java = libs.java(&["-Xmx512m", "-XX:+UseSerialGC"]);
    let words = [java.get_program()].into_iter().chain(java.get_args()).map(ToOwned::to_owned);
    Peer::new("java", words.chain([workspace::root().join("testdata/interop/Peer.java").into()]))
}
