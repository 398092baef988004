//! Secrets: masked in every form that a frame may have, whether it can be read or not; and tokens that travel bare.

use ackflow_capture::{Encoded, Entry, Event, Expected, FrameStream, Style, encode, line};
use ackflow_protocol::messages::alter_configs as old_configs;
use ackflow_protocol::messages::alter_user_scram_credentials::{
    AlterUserScramCredentialsRequest, ScramCredentialUpsertion,
};
use ackflow_protocol::messages::incremental_alter_configs as configs;
use ackflow_protocol::messages::sasl_authenticate::{SaslAuthenticateRequest, SaslAuthenticateResponse};
use ackflow_protocol::messages::sasl_handshake::{SaslHandshakeRequest, SaslHandshakeResponse};
use ackflow_protocol::wire::{encode_request, encode_response};
use serde_json::{Value, json};

use crate::kafka::{entries, frame, header, metadata, metadata_response};
use crate::session::{Broker, Client, Talk};
use crate::{gist, lines};

const SECRET: &str = "secret-of-the-test";

fn masked(entries: &[Entry]) -> String {
    entries.iter().map(|entry| line(entry.clone(), Style::default()).to_string() + "\n").collect()
}

/// That no form of the secret is in a text: as it is, as base64 (which depends on where it begins), as hex.
fn assert_hidden(text: &str) {
    let base64 = ["c2VjcmV0LW9mLXRoZS10ZXN0", "NlY3JldC1vZi10aGUtdGVzd", "zZWNyZXQtb2YtdGhlLXRlc3"];
    let hex: String = SECRET.bytes().map(|byte| format!("{byte:02x}")).collect();
    for form in base64.into_iter().chain([SECRET, &hex]) {
        assert!(!text.contains(form), "{form} in {text}");
    }
}

fn talk_with_secrets() -> Talk {
    let login = SaslAuthenticateRequest { auth_bytes: format!("\0alice\0{SECRET}").into() };
    let answer = SaslAuthenticateResponse { auth_bytes: SECRET.into(), ..Default::default() };
    let credential = ScramCredentialUpsertion {
        name: "alice".into(),
        mechanism: 1,
        iterations: 4096,
        salt: SECRET.into(),
        salted_password: SECRET.into(),
    };
    let credentials = AlterUserScramCredentialsRequest { upsertions: vec![credential], ..Default::default() };
    let change = configs::AlterableConfig {
        name: "listener.name.x.ssl.key.password".into(),
        config_operation: 0,
        value: Some(SECRET.into()),
    };
    let resource = configs::AlterConfigsResource { configs: vec![change], ..Default::default() };
    let changes = configs::IncrementalAlterConfigsRequest { resources: vec![resource], ..Default::default() };
    let config = old_configs::AlterableConfig { name: "ssl.key.password".into(), value: Some(SECRET.into()) };
    let resource = old_configs::AlterConfigsResource { configs: vec![config], ..Default::default() };
    let old = old_configs::AlterConfigsRequest { resources: vec![resource], ..Default::default() };
    // One byte too many, one too few; a token of an API that is not read here; an answer to nothing.
    let broken = |bytes: Vec<u8>| frame(&[&bytes[4..], &[7]]);
    let login_bytes: Vec<u8> = encode_request(&login, 2, 2, Some("c")).unwrap().into();
    vec![
        (Client, metadata(1)),
        (Client, login_bytes.clone()),
        (Broker, encode_response(&answer, 2, 2).unwrap().into()),
        (Client, encode_request(&credentials, 0, 3, None).unwrap().into()),
        (Client, encode_request(&changes, 1, 4, None).unwrap().into()),
        (Client, encode_request(&old, 2, 5, None).unwrap().into()),
        (Client, broken(login_bytes)),
        (Client, frame(&[&header(39, 2, 6), SECRET.as_bytes()])),
        (Client, frame(&[&header(58, 0, 7), SECRET.as_bytes()])),
        (Broker, frame(&[&[0, 0, 0, 99], SECRET.as_bytes()])),
    ]
}

/// Messages with values of configurations, which are masked whether the broker calls them sensitive or not.
fn talk_about_configurations() -> Talk {
    let config = |sensitive: bool| json!({"name": "a.password", "value": SECRET, "readOnly": false, "configSource": 1, "isSensitive": sensitive});
    let described = |sensitive| {
        let mut config = config(sensitive);
        config["synonyms"] = json!([{"name": "a", "value": SECRET, "source": 1}]);
        config["configType"] = json!(0);
        config["documentation"] = json!("");
        config
    };
    let creation = json!({"timeoutMs": 1, "validateOnly": false, "topics": [{"name": "t", "numPartitions": 1,
        "replicationFactor": 1, "assignments": [], "configs": [{"name": "x.password", "value": SECRET}]}]});
    let created = json!({"throttleTimeMs": 0, "topics": [{"name": "t", "topicId": "AAAAAAAAAAAAAAAAAAAAAA", "errorCode": 0,
        "errorMessage": null, "numPartitions": 1, "replicationFactor": 1, "configs": [config(true), config(false)]}]});
    let question = json!({"includeSynonyms": true, "includeDocumentation": false,
        "resources": [{"resourceType": 2, "resourceName": "t", "configurationKeys": null}]});
    let description = json!({"throttleTimeMs": 0, "results": [{"errorCode": 0, "errorMessage": "", "resourceType": 2,
        "resourceName": "t", "configs": [described(true), described(false)]}]});
    [
        ("request", "CreateTopics", 7, 1, creation),
        ("response", "CreateTopics", 7, 1, created),
        ("request", "DescribeConfigs", 4, 2, question),
        ("response", "DescribeConfigs", 4, 2, description),
    ]
    .map(|(direction, api, version, id, body)| {
        let line = json!({"direction": direction, "api": api, "version": version, "correlationId": id, "body": body});
        let Ok(Encoded::Frame(bytes)) = encode(&line.to_string()) else { panic!("{line}") };
        (if direction == "request" { Client } else { Broker }, bytes.into())
    })
    .into()
}

#[test]
fn values_of_configurations_are_masked_in_every_message() {
    let entries = entries(&talk_about_configurations());
    assert!(lines(&entries).iter().all(|line| line.get("body").is_some()));
    let text = masked(&entries);
    assert_hidden(&text);
    let masks = text.lines().map(|line| line.matches("\"value\":\"<masked: 18 bytes>\"").count());
    assert_eq!(masks.collect::<Vec<_>>(), [1, 2, 0, 4]);
    assert!(text.contains("a.password"), "{text}");
}

/// What a stream of frames is decoded to, each frame without its size.
fn stream(frames: &[Vec<u8>]) -> Vec<Entry> {
    let bytes: Vec<u8> = frames.iter().flat_map(|bytes| frame(&[bytes])).collect();
    let mut stream = FrameStream::new(&bytes[..], Expected::Requests);
    let next = || stream.next_frame().unwrap().map(|read| Entry { peers: None, time: None, event: Event::Frame(read) });
    std::iter::from_fn(next).collect()
}

#[test]
fn bytes_that_were_not_read_as_a_message_are_never_shown() {
    let login = SaslAuthenticateRequest { auth_bytes: format!("\0alice\0{SECRET}").into() };
    let login: Vec<u8> = encode_request(&login, 2, 2, Some("c")).unwrap().into();
    let creation = &talk_about_configurations()[0].1[4..];
    let frames = [
        // The size, taken for an API because the last byte is missing.
        login[..login.len() - 1].to_vec(),
        // A frame that swallowed the next.
        [&metadata(1)[4..], &login].concat(),
        // A topic too few bytes, and too many.
        creation[..creation.len() - 3].to_vec(),
        [creation, &[0]].concat(),
        // Tokens that no handshake announced; the second one's user looks like an API that there is.
        format!("\0alice\0{SECRET}").into_bytes(),
        format!("\0A\0{SECRET}").into_bytes(),
        format!("n,,\x01auth=Bearer {SECRET}\x01\x01").into_bytes(),
    ];
    let entries = stream(&frames);
    let text = masked(&entries);
    assert_hidden(&text);
    for (line, bytes) in text.lines().zip(&frames) {
        let line: Value = serde_json::from_str(line).unwrap();
        assert_eq!(line["hex"], format!("<masked: {} bytes>", bytes.len()), "{line}");
    }
    // Nor are the first letters, where a request has its correlation id.
    assert_eq!(text.matches("correlationId").count(), 3, "{text}");
    for (line, bytes) in lines(&entries).iter().zip(&frames) {
        assert_eq!(encode(&line.to_string()), Ok(Encoded::Frame(frame(&[bytes]).into())), "{line}");
    }
}

#[test]
fn secrets_are_masked_unless_they_are_asked_for() {
    let talk = talk_with_secrets();
    let entries = entries(&talk);
    assert_eq!(entries.len(), talk.len());
    let text = masked(&entries);
    assert_hidden(&text);
    assert_hidden(&format!("{entries:?}"));
    assert!(text.contains("listener.name.x.ssl.key.password") && text.contains("<masked: 18 bytes>"), "{text}");
    for line in text.lines().skip(1) {
        assert!(line.contains("<masked: "), "{line}");
        let refusal = encode(line).unwrap_err().to_string();
        assert!(refusal.contains("masked") && refusal.contains("--show-secrets"), "{refusal}");
    }
    for (line, (_, bytes)) in lines(&entries).iter().zip(&talk) {
        assert_eq!(encode(&line.to_string()), Ok(Encoded::Frame(bytes.clone().into())), "{line}");
    }
}

fn handshake(version: i16, correlation_id: i32) -> Talk {
    let request = SaslHandshakeRequest { mechanism: "PLAIN".into() };
    let response = SaslHandshakeResponse { mechanisms: vec!["PLAIN".into()], ..Default::default() };
    vec![
        (Client, encode_request(&request, version, correlation_id, Some("c")).unwrap().into()),
        (Broker, encode_response(&response, version, correlation_id).unwrap().into()),
    ]
}

#[test]
fn tokens_that_travel_bare_are_told_from_requests() {
    let token = format!("\0alice\0{SECRET}");
    let mut talk = handshake(0, 1);
    talk.extend([
        (Client, frame(&[token.as_bytes()])),
        // The broker's token may be empty.
        (Broker, frame(&[])),
        (Client, metadata(2)),
        (Broker, metadata_response(2)),
    ]);
    let entries = entries(&talk);
    let said = ["request SaslHandshake 1", "response SaslHandshake 1", "request token", "response token"];
    assert_eq!(gist(&entries), [&said[..], &["request Metadata 2", "response Metadata 2"]].concat());
    assert_hidden(&masked(&entries));
    let shown = lines(&entries);
    assert_eq!(shown[2]["sasl"], "PLAIN");
    for (line, (_, bytes)) in shown.iter().zip(&talk) {
        assert_eq!(encode(&line.to_string()), Ok(Encoded::Frame(bytes.clone().into())), "{line}");
    }
}

#[test]
fn refused_handshake_is_followed_by_requests() {
    let mut talk = handshake(0, 1);
    talk.extend(handshake(1, 2));
    talk.extend([(Client, metadata(3)), (Broker, metadata_response(3))]);
    assert!(gist(&entries(&talk)).ends_with(&["request Metadata 3".into(), "response Metadata 3".into()]));
}
