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

const fn value(key: ApiKey, direction: Direction, arrays: &'static [&'static str]) -> Field {
    Field { key, direction, arrays, name: "value", is_bytes: false }
}

/// Which values of configurations are passwords is the broker's knowledge, so none is shown. Salts are what guessing a
/// password starts from.
const FIELDS: &[Field] = &[
    bytes(ApiKey::SASL_AUTHENTICATE, Direction::Request, &[], "authBytes"),
    bytes(ApiKey::SASL_AUTHENTICATE, Direction::Response, &[], "authBytes"),
    bytes(ApiKey::ALTER_USER_SCRAM_CREDENTIALS, Direction::Request, &["upsertions"], "salt"),
    bytes(ApiKey::ALTER_USER_SCRAM_CREDENTIALS, Direction::Request, &["upsertions"], "saltedPassword"),
    value(ApiKey::CREATE_TOPICS, Direction::Request, &["topics", "configs"]),
    value(ApiKey::CREATE_TOPICS, Direction::Response, &["topics", "configs"]),
    value(ApiKey::DESCRIBE_CONFIGS, Direction::Response, &["results", "configs"]),
    value(ApiKey::DESCRIBE_CONFIGS, Direction::Response, &["results", "configs", "synonyms"]),
    value(ApiKey::ALTER_CONFIGS, Direction::Request, &["resources", "configs"]),
    value(ApiKey::INCREMENTAL_ALTER_CONFIGS, Direction::Request, &["resources", "configs"]),
];

/// The APIs whose messages hold no secret. Whatever is in neither list is shown by no field.
const HARMLESS: &[ApiKey] = &[
    ApiKey::ADD_OFFSETS_TO_TXN,
    ApiKey::ADD_PARTITIONS_TO_TXN,
    ApiKey::ALTER_PARTITION_REASSIGNMENTS,
    ApiKey::ALTER_SHARE_GROUP_OFFSETS,
    ApiKey::API_VERSIONS,
    ApiKey::CONSUMER_GROUP_DESCRIBE,
    ApiKey::CONSUMER_GROUP_HEARTBEAT,
    ApiKey::CREATE_ACLS,
    ApiKey::CREATE_PARTITIONS,
    ApiKey::DELETE_ACLS,
    ApiKey::DELETE_GROUPS,
    ApiKey::DELETE_RECORDS,
    ApiKey::DELETE_SHARE_GROUP_OFFSETS,
    ApiKey::DELETE_SHARE_GROUP_STATE,
    ApiKey::DELETE_TOPICS,
    ApiKey::DESCRIBE_ACLS,
    ApiKey::DESCRIBE_CLUSTER,
    ApiKey::DESCRIBE_GROUPS,
    ApiKey::DESCRIBE_PRODUCERS,
    ApiKey::DESCRIBE_SHARE_GROUP_OFFSETS,
    ApiKey::DESCRIBE_TOPIC_PARTITIONS,
    ApiKey::DESCRIBE_TRANSACTIONS,
    ApiKey::DESCRIBE_USER_SCRAM_CREDENTIALS,
    ApiKey::ELECT_LEADERS,
    ApiKey::END_TXN,
    ApiKey::FETCH,
    ApiKey::FIND_COORDINATOR,
    ApiKey::GET_TELEMETRY_SUBSCRIPTIONS,
    ApiKey::HEARTBEAT,
    ApiKey::INIT_PRODUCER_ID,
    ApiKey::INITIALIZE_SHARE_GROUP_STATE,
    ApiKey::JOIN_GROUP,
    ApiKey::LEAVE_GROUP,
    ApiKey::LIST_CONFIG_RESOURCES,
    ApiKey::LIST_GROUPS,
    ApiKey::LIST_OFFSETS,
    ApiKey::LIST_PARTITION_REASSIGNMENTS,
    ApiKey::LIST_TRANSACTIONS,
    ApiKey::METADATA,
    ApiKey::OFFSET_COMMIT,
    ApiKey::OFFSET_DELETE,
    ApiKey::OFFSET_FETCH,
    ApiKey::OFFSET_FOR_LEADER_EPOCH,
    ApiKey::PRODUCE,
    ApiKey::PUSH_TELEMETRY,
    ApiKey::READ_SHARE_GROUP_STATE,
    ApiKey::READ_SHARE_GROUP_STATE_SUMMARY,
    ApiKey::SASL_HANDSHAKE,
    ApiKey::SHARE_ACKNOWLEDGE,
    ApiKey::SHARE_FETCH,
    ApiKey::SHARE_GROUP_DESCRIBE,
    ApiKey::SHARE_GROUP_HEARTBEAT,
    ApiKey::SYNC_GROUP,
    ApiKey::TXN_OFFSET_COMMIT,
    ApiKey::UPDATE_FEATURES,
    ApiKey::WRITE_SHARE_GROUP_STATE,
    ApiKey::WRITE_TXN_MARKERS,
    // TxnShareAcknowledge, which is there with a feature alone.
    ApiKey(95),
];

/// Whether it is known which fields of an API are secret.
fn is_known(key: ApiKey) -> bool {
    HARMLESS.contains(&key) || FIELDS.iter().any(|field| field.key == key)
}

/// Whether a message may hold secrets in a field at `path`, such as `topics[0].configs[1].value`: in itself, in a part of it, or
/// because nobody has said where they are. With an empty path, anywhere.
pub fn is_secret(key: ApiKey, direction: Direction, path: &str) -> bool {
    // Without the places in arrays.
    let steps: Vec<&str> =
        path.split('.').filter_map(|step| step.split('[').next()).filter(|s| !s.is_empty()).collect();
    let is_near = |field: &Field| field.arrays.iter().chain([&field.name]).zip(&steps).all(|(a, b)| a == b);
    !is_known(key) || FIELDS.iter().any(|field| field.key == key && field.direction == direction && is_near(field))
}

/// Masks the secrets of a message; all of it where nobody has said which they are.
pub(crate) fn mask(key: ApiKey, direction: Direction, length: usize, body: &mut Value) {
    if !is_known(key) {
        *body = masked(length).into();
    }
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
    let mut found = body.as_str().is_some_and(is_masked).then_some("message");
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

#[cfg(test)]
mod tests {
    use ackflow_protocol::for_each_api;
    use ackflow_protocol::wire::Message;
    use serde_json::json;

    use super::*;

    macro_rules! keys {
        ($($name:ident($request:ty, $response:ty)),* $(,)?) => { [$(<$request>::KEY),*] };
    }

    #[test]
    fn of_each_api_that_is_read_it_is_known_which_fields_are_secret() {
        for key in for_each_api!(keys) {
            let said = (HARMLESS.contains(&key), FIELDS.iter().any(|field| field.key == key));
            assert!(said.0 != said.1, "{:?}: name its secrets in FIELDS, or the API in HARMLESS", key.name());
        }
    }

    #[test]
    fn secret_is_found_by_its_path_and_by_what_leads_to_it() {
        let configs = |path| is_secret(ApiKey::DESCRIBE_CONFIGS, Direction::Response, path);
        for path in
            ["results[3].configs[0].value", "results[0].configs[1].synonyms[2].value", "results", "results[1]", ""]
        {
            assert!(configs(path), "{path}");
        }
        for path in ["results[3].configs[0].name", "results[0].errorCode", "throttleTimeMs"] {
            assert!(!configs(path), "{path}");
        }
        assert!(!is_secret(ApiKey::DESCRIBE_CONFIGS, Direction::Request, "resources"));
        assert!(is_secret(ApiKey::SASL_AUTHENTICATE, Direction::Request, "authBytes"));
        assert!(is_secret(ApiKey::CREATE_DELEGATION_TOKEN, Direction::Response, "errorCode"));
        assert!(!is_secret(ApiKey::METADATA, Direction::Response, ""));
    }

    #[test]
    fn message_of_an_api_of_which_nobody_said_it_is_masked_whole() {
        let mut body = json!({"hmac": "c2VjcmV0"});
        mask(ApiKey::CREATE_DELEGATION_TOKEN, Direction::Response, 30, &mut body);
        assert_eq!(body, "<masked: 30 bytes>");
        assert!(masked_field(ApiKey::CREATE_DELEGATION_TOKEN, Direction::Response, &mut body).is_some());
    }
}
