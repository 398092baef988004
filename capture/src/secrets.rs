//! Which fields hold secrets, and what stands in their place.

use ackflow_protocol::wire::ApiKey;
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde_json::Value;

use crate::kafka::message::Direction;

/// What a masked value begins with.
const MASK: &str = "<masked: ";

/// A field that holds a secret: the arrays that lead to it, and its name.
struct Field {
    key: ApiKey,
    direction: Direction,
    arrays: &'static [&'static str],
    name: &'static str,
    /// Bytes are base64 in JSON.
    is_bytes: bool,
}

const fn bytes(key: ApiKey, direction: Direction, arrays: &'static [&'static str], name: &'static str) -> Field {
    Field { key, direction, arrays, name, is_bytes: true }
}

/// Which values of configurations are passwords is the broker's knowledge, so none is shown. Salts are what guessing a
/// password starts from.
const FIELDS: [Field; 6] = [
    bytes(ApiKey::SASL_AUTHENTICATE, Direction::Request, &[], "authBytes"),
    bytes(ApiKey::SASL_AUTHENTICATE, Direction::Response, &[], "authBytes"),
    bytes(ApiKey::ALTER_USER_SCRAM_CREDENTIALS, Direction::Request, &["upsertions"], "salt"),
    bytes(ApiKey::ALTER_USER_SCRAM_CREDENTIALS, Direction::Request, &["upsertions"], "saltedPassword"),
    Field {
        key: ApiKey::ALTER_CONFIGS,
        direction: Direction::Request,
        arrays: &["resources", "configs"],
        name: "value",
        is_bytes: false,
    },
    Field {
        key: ApiKey::INCREMENTAL_ALTER_CONFIGS,
        direction: Direction::Request,
        arrays: &["resources", "configs"],
        name: "value",
        is_bytes: false,
    },
];

/// APIs that the codec does not have, with secrets in them: tokens, and requests inside of others.
const UNREADABLE: [ApiKey; 5] = [
    ApiKey::CREATE_DELEGATION_TOKEN,
    ApiKey::RENEW_DELEGATION_TOKEN,
    ApiKey::EXPIRE_DELEGATION_TOKEN,
    ApiKey::DESCRIBE_DELEGATION_TOKEN,
    ApiKey::ENVELOPE,
];

/// Whether frames of an API may hold secrets.
pub(crate) fn may_be_in(key: ApiKey) -> bool {
    UNREADABLE.contains(&key) || FIELDS.iter().any(|field| field.key == key)
}

/// Masks the secrets of a message.
pub(crate) fn mask(key: ApiKey, direction: Direction, body: &mut Value) {
    for field in FIELDS.iter().filter(|field| field.key == key && field.direction == direction) {
        field.each(body, field.arrays, &mut |secret| {
            let Value::String(text) = secret else { return };
            let decoded = || BASE64_STANDARD.decode(&*text).map_or(text.len(), |bytes| bytes.len());
            *text = masked(if field.is_bytes { decoded() } else { text.len() });
        });
    }
}

/// The name of a field whose secret is masked, if there is one.
pub(crate) fn masked_field(key: ApiKey, direction: Direction, body: &mut Value) -> Option<&'static str> {
    let mut found = None;
    for field in FIELDS.iter().filter(|field| field.key == key && field.direction == direction) {
        field.each(body, field.arrays, &mut |secret| {
            if secret.as_str().is_some_and(is_masked) {
                found = Some(field.name);
            }
        });
    }
    found
}

/// What stands for a secret of so many bytes.
pub(crate) fn masked(length: usize) -> String {
    format!("{MASK}{length} bytes>")
}

pub(crate) fn is_masked(text: &str) -> bool {
    text.starts_with(MASK)
}

impl Field {
    fn each(&self, value: &mut Value, arrays: &[&str], act: &mut dyn FnMut(&mut Value)) {
        match arrays {
            [] => {
                if let Some(secret) = value.get_mut(self.name) {
                    act(secret);
                }
            }
            [array, rest @ ..] => {
                for element in value.get_mut(*array).and_then(Value::as_array_mut).into_iter().flatten() {
                    self.each(element, rest, act);
                }
            }
        }
    }
}
