//! Texts: names, ids and test vectors.

use super::bounded;
use crate::messages::dynamic::Kind;
use crate::records::Compression;
use crate::text::jaas::LoginModule;
use crate::text::scram::{
    ClientFinal, ClientFirst, ServerFinal, ServerFirst, client_final, client_first_bare, server_first,
};
use crate::vectors::check_line;
use crate::wire::Uuid;

/// Target `text`: the input as a topic id, as a name of a compression or a kind, as a line of test vectors, as a login module, and as what
/// client and server say in SCRAM.
///
/// # Panics
/// Where a text that was read is written as one that reads as something else, or an error is about a place beyond the text.
pub fn text(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(bounded(data)) else { return };
    if let Ok(uuid) = text.parse::<Uuid>() {
        assert_eq!(uuid.to_string().parse(), Ok(uuid));
    }
    if let Ok(compression) = text.parse::<Compression>() {
        assert_eq!(compression.name(), text);
    }
    if let Ok(kind) = text.parse::<Kind>() {
        assert_eq!(kind.as_str(), text);
    }
    let _ = check_line(text);
    if let Err(error) = LoginModule::parse(text) {
        assert!(error.at <= text.len(), "{error}");
    }
    if let Some(first) = ServerFirst::parse(text) {
        let written = server_first(first.nonce, first.salt, first.iterations);
        assert_eq!(ServerFirst::parse(&written), Some(first));
    }
    let _ = ServerFinal::parse(text);
    if let Some(first) = ClientFirst::parse(text) {
        let written = format!("n,,{}", client_first_bare(&first.user, first.nonce));
        let read = ClientFirst::parse(&written).expect("what was written is a message");
        assert_eq!((read.user, read.nonce), (first.user, first.nonce));
    }
    if let Some(last) = ClientFinal::parse(text) {
        assert_eq!(client_final(last.without_proof, last.proof), text);
    }
}
