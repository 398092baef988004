//! What is decoded is encoded as the same bytes: all of Kafka's own vectors, and captures.

use std::path::PathBuf;

use ackflow_capture::{Content, EncodeStream, Encoded, Entry, Event, Expected, FrameStream, Style, encode, hex, line};
use ackflow_protocol::wire::ApiKey;
use serde_json::{Value, json};

use crate::decode;
use crate::session::{Session, pcap, talk};

/// The lines of Kafka's vectors that are requests or responses.
fn vectors() -> Vec<Value> {
    let files = ["core.jsonl", "rest.jsonl"].map(|name| {
        let path: PathBuf = [env!("CARGO_MANIFEST_DIR"), "../testdata/vectors", name].iter().collect();
        std::fs::read_to_string(path).unwrap()
    });
    let lines = files.iter().flat_map(|text| text.lines()).map(|line| serde_json::from_str::<Value>(line).unwrap());
    lines.filter(|line| line["kind"] == "request" || line["kind"] == "response").collect()
}

/// The frame of a vector, put together here: size, header, body.
fn frame(vector: &Value) -> (Expected, Vec<u8>) {
    let key = ApiKey(vector["key"].as_i64().unwrap() as i16);
    let version = vector["version"].as_i64().unwrap() as i16;
    let flexible = key.request_is_flexible(version);
    let tags: &[u8] = if flexible { &[0] } else { &[] };
    let body = hex::read(vector["hex"].as_str().unwrap()).unwrap();
    let (expected, header) = if vector["kind"] == "request" {
        let header = [&key.0.to_be_bytes()[..], &version.to_be_bytes(), &[0, 0, 0, 9, 0, 2, b'm', b'e'], tags].concat();
        (Expected::Requests, header)
    } else {
        let tags: &[u8] = if key == ApiKey::API_VERSIONS { &[] } else { tags };
        (Expected::Responses { key, version }, [&[0, 0, 0, 9], tags].concat())
    };
    let size = (header.len() + body.len()) as u32;
    (expected, [&size.to_be_bytes(), &header[..], &body].concat())
}

fn encoded(line: &Value) -> Vec<u8> {
    match encode(&line.to_string()) {
        Ok(Encoded::Frame(bytes)) => bytes.into(),
        other => panic!("{other:?} of {line}"),
    }
}

const SHOWN: Style = Style { records: true, secrets: true };

#[test]
fn every_vector_of_kafka_is_decoded_and_encoded_as_the_same_bytes() {
    let vectors = vectors();
    assert!(vectors.len() > 1_000, "{}", vectors.len());
    for vector in vectors {
        let (expected, bytes) = frame(&vector);
        let mut stream = FrameStream::new(&bytes[..], expected);
        let read = stream.next_frame().unwrap().unwrap();
        assert_eq!(stream.next_frame().unwrap(), None);
        let Content::Body { json, canonical } = &read.content else { panic!("{read:?} of {vector}") };
        assert!(canonical, "{vector}");
        assert_eq!((json, read.correlation_id), (&vector["json"], Some(9)));
        let line = line(Entry { peers: None, time: None, event: Event::Frame(read) }, SHOWN);
        assert_eq!(line["api"], vector["api"]);
        assert_eq!(encoded(&line), bytes, "{line}");
    }
}

#[test]
fn capture_is_encoded_as_the_frames_that_were_in_it() {
    let mut session = Session::new(50_000, [1, 2]);
    let mut segments = session.open();
    let talk = talk(7);
    segments.extend(session.say(&talk, 333));
    let lines = decode(&pcap(&segments)).into_iter().map(|entry| line(entry, SHOWN));
    let again: Vec<u8> = lines.flat_map(|line| encoded(&line)).collect();
    let sent: Vec<u8> = talk.into_iter().flat_map(|(_, bytes)| bytes).collect();
    assert_eq!(again, sent);
}

fn refusal(line: Value) -> String {
    encode(&line.to_string()).unwrap_err().to_string()
}

#[test]
fn line_by_hand_needs_no_more_than_what_it_says() {
    let by_hand = json!({"direction": "request", "api": "ListGroups", "version": 0, "body": {}});
    assert_eq!(encoded(&by_hand), [0, 0, 0, 10, 0, 16, 0, 0, 0, 0, 0, 0, 0xff, 0xff]);
    let by_key =
        json!({"direction": "response", "apiKey": 12, "version": 0, "correlationId": 5, "body": {"errorCode": 27}});
    assert_eq!(encoded(&by_key), [0, 0, 0, 6, 0, 0, 0, 5, 0, 27]);
}

#[test]
fn line_that_is_no_frame_says_which_part_is_wrong() {
    let whole = json!({"direction": "request", "api": "Heartbeat", "apiKey": 12, "version": 0,
        "body": {"groupId": "g", "generationId": 1, "memberId": "m"}});
    assert_eq!(encoded(&whole).len(), 4 + 10 + 3 + 4 + 3);
    let with = |name: &str, value: Value| {
        let mut line = whole.clone();
        line[name] = value;
        refusal(line)
    };
    assert!(with("direction", json!("up")).starts_with("direction "));
    assert!(
        with("api", json!("hartbeat")).contains("\"hartbeat\"")
            && with("api", json!("hartbeat")).contains("Heartbeat?")
    );
    assert!(with("api", json!("HeartbeatRequest")).contains("did you mean Heartbeat?"));
    let unread = json!({"direction": "request", "api": "vote", "version": 0, "body": {}});
    assert_eq!(refusal(unread), "Vote is an API that ackflow does not read");
    assert!(with("api", json!(["Heartbeat"])).starts_with("api is neither a name nor a key"));
    assert!(with("apiKey", json!(13)).contains("apiKey 13 is LeaveGroup"));
    assert!(with("version", json!(99)).contains("no version 99; it has 0 to 4"));
    for (version, says) in [(json!("0"), "\"0\""), (json!(70_000), "70000"), (json!(1.5), "1.5")] {
        let says = format!("version is {says}, not a whole number of 16 bits; HeartbeatRequest has 0 to 4");
        assert_eq!(with("version", version), says);
    }
    let unversioned = refusal(json!({"direction": "request", "api": "Heartbeat", "body": {}}));
    assert_eq!(unversioned, "version is missing; HeartbeatRequest has 0 to 4");
    assert!(with("correlationId", json!(1u64 << 40)).starts_with("correlationId "));
    assert!(with("clientId", json!(7)).starts_with("clientId "));
    let missing = with("body", json!({"groupId": "g", "memberId": "m"}));
    assert!(missing.contains("body.generationId is missing") && missing.contains("HeartbeatRequest v0"), "{missing}");
    assert_eq!(with("body", json!([])), "body is not an object in JSON (HeartbeatRequest v0)");
    let wrong = with("body", json!({"groupId": 1, "generationId": 1, "memberId": "m"}));
    assert!(wrong.contains("body.groupId is not a string"), "{wrong}");

    assert!(encode("{").unwrap_err().to_string().contains("JSON"));
    assert!(refusal(json!({"direction": "request"})).contains("neither body nor hex"));
    assert!(refusal(json!({"hex": "00000002ff"})).contains("size 2, but 1 bytes follow"));
    assert!(refusal(json!({"hex": ""})).starts_with("hex has 0 bytes, and a frame begins with its size in 4"));
    assert!(refusal(json!({"hex": "ffff"})).starts_with("hex has 2 bytes"));
    assert!(refusal(json!({"hex": "ffffffff"})).contains("size -1, but 0 bytes follow"));
    assert!(with("hex", json!("0000000100")).starts_with("has both body and hex"));
    assert!(refusal(json!({"hex": "0000000100", "token": ""})).starts_with("has both hex and token"));
    let answer =
        json!({"direction": "response", "api": "Heartbeat", "version": 0, "clientId": "c", "body": {"errorCode": 0}});
    assert!(refusal(answer).starts_with("has clientId, which only requests have"));
    assert!(refusal(json!({"hex": "xy"})).contains("hexadecimal"));
    assert!(refusal(json!({"direction": "request", "version": 0, "body": {}})).starts_with("api is missing"));
}

#[test]
fn api_of_a_line_may_be_in_any_case_or_its_key() {
    let line = |api: Value| json!({"direction": "request", "api": api, "version": 0, "body": {}});
    for api in [json!("listgroups"), json!("LISTGROUPS"), json!("16"), json!(16)] {
        assert_eq!(encoded(&line(api)), encoded(&line(json!("ListGroups"))));
    }
    let mut both = line(json!("listGroups"));
    both["apiKey"] = json!(16);
    assert_eq!(encoded(&both), encoded(&line(json!("ListGroups"))));
}

#[test]
fn what_a_line_or_its_body_does_not_have_is_refused_with_what_may_be_meant() {
    let heartbeat = json!({"groupId": "g", "generationId": 1, "memberId": "m"});
    let whole = json!({"direction": "request", "api": "Heartbeat", "version": 0, "body": heartbeat});
    let with = |at: &str, name: &str, value: Value| {
        let mut line = whole.clone();
        line.pointer_mut(at).unwrap()[name] = value;
        refusal(line)
    };
    assert_eq!(
        with("", "corelationId", json!(5)),
        "has \"corelationId\", which is no part of a line; did you mean \"correlationId\"?"
    );
    assert!(with("", "groupId", json!("g")).contains("belongs into its body"));
    assert_eq!(
        with("/body", "memberld", json!("m")),
        "body has the field \"memberld\", which this version does not have; did you mean \"memberId\"? (HeartbeatRequest v0)"
    );
    // One that a later version has.
    let later = with("/body", "groupInstanceId", json!("i"));
    assert!(later.contains("\"groupInstanceId\", which this version does not have (H"), "{later}");
    let mut misspelt = whole.clone();
    misspelt["body"] = json!({"groupId": "g", "generationID": 1, "memberId": "m"});
    assert!(refusal(misspelt).starts_with("body.generationId is missing in JSON; is it what \"generationID\" means?"));

    // Inside an array, and a tagged field: one that the version has, and one of a version without any.
    let topics = |topic: Value| {
        json!({"direction": "request", "api": "Metadata", "version": 4, "body":
        {"topics": [{"name": "a"}, topic], "allowAutoTopicCreation": false}})
    };
    assert_eq!(encoded(&topics(json!({"name": "b"}))).len(), 4 + 10 + 4 + 3 + 3 + 1);
    let inside = refusal(topics(json!({"name": "b", "nmae": "c"})));
    assert!(inside.starts_with("body.topics[1] has the field \"nmae\""), "{inside}");
    let fetch = |version: i16, cluster: bool| {
        let mut body = json!({"maxWaitMs": 1, "minBytes": 1, "maxBytes": 1, "isolationLevel": 0, "sessionId": 0,
            "sessionEpoch": 0, "topics": [], "forgottenTopicsData": [], "rackId": ""});
        if version < 15 {
            body["replicaId"] = json!(-1);
        }
        if cluster {
            body["clusterId"] = json!("c");
        }
        json!({"direction": "request", "api": "Fetch", "version": version, "body": body})
    };
    assert_eq!(encoded(&fetch(12, true)).len(), encoded(&fetch(12, false)).len() + 4);
    assert!(encode(&fetch(11, false).to_string()).is_ok());
    assert!(refusal(fetch(11, true)).starts_with("body has the field \"clusterId\""));
}

#[test]
fn name_that_stands_twice_is_refused() {
    let line = r#"{"direction":"request","api":"ListGroups","version":0,"version":1,"body":{}}"#;
    let refused = encode(line).unwrap_err().to_string();
    assert!(refused.contains("\"version\" is there twice at line 1 column"), "{refused}");
    let body = r#"{"direction":"response","api":"Heartbeat","version":0,"body":{"errorCode":1,"errorCode":2}}"#;
    assert!(encode(body).unwrap_err().to_string().contains("\"errorCode\" is there twice"));
}

#[test]
fn lines_of_a_stream_may_be_objects_of_several_lines_and_have_their_number() {
    let line = |id| json!({"direction": "response", "api": "Heartbeat", "version": 0, "correlationId": id, "body": {"errorCode": 0}});
    let text = format!("\n{:#}\n{}{}\n\n{{\"body\":\n{{}}}}", line(1), line(2), line(3));
    let mut stream = EncodeStream::new(text.as_bytes());
    let mut next = || stream.next_line().map(|(number, encoded)| (number, encoded.map_err(|error| error.to_string())));
    for (number, id) in [(2, 1), (11, 2), (11, 3)] {
        assert_eq!(next(), Some((number, Ok(Encoded::Frame(encoded(&line(id)).into())))));
    }
    let (number, error) = next().unwrap();
    assert_eq!((number, error.unwrap_err().starts_with("direction ")), (13, true));
    assert_eq!(next(), None);
    let two = format!("{}{}", line(1), line(2));
    assert!(encode(&two).unwrap_err().to_string().contains("followed by"));
    assert!(encode(" ").unwrap_err().to_string().contains("empty"));
    assert!(encode("[1]").unwrap_err().to_string().contains("is not a JSON object"));
}

#[test]
fn frame_with_unknown_tagged_fields_has_a_note_and_encode_tells_that_they_are_lost() {
    // Heartbeat v4 with a tag 9 of one byte.
    let mut bytes = encoded(&json!({"direction": "response", "api": "Heartbeat", "version": 4,
        "body": {"throttleTimeMs": 0, "errorCode": 0}}));
    let plain = bytes.clone();
    bytes.pop();
    bytes.extend([1, 9, 1, 7]);
    bytes[3] += 3;
    let expected = Expected::Responses { key: ApiKey::HEARTBEAT, version: 4 };
    let read = FrameStream::new(&bytes[..], expected).next_frame().unwrap().unwrap();
    let line = line(Entry { peers: None, time: None, event: Event::Frame(read) }, SHOWN);
    assert!(line["note"].as_str().unwrap().contains("tagged fields that are not known"), "{line}");
    assert_eq!(encode(&line.to_string()), Ok(Encoded::Other(plain.into())));
}

#[test]
fn stream_says_where_it_stops_being_frames() {
    let heartbeat = encoded(&json!({"direction": "request", "api": "ListGroups", "version": 0, "body": {}}));
    let end_of = |rest: &[u8]| {
        let bytes = [&heartbeat[..], rest].concat();
        let mut stream = FrameStream::new(&bytes[..], Expected::Requests);
        assert!(stream.next_frame().unwrap().is_some());
        stream.next_frame().map(|frame| frame.is_some()).map_err(|error| error.to_string())
    };
    assert_eq!(end_of(b""), Ok(false));
    let error = end_of(b"GET / HTTP/1.1").unwrap_err();
    assert!(error.starts_with("byte 14: ") && error.contains("HTTP"), "{error}");
    let error = end_of(&[0, 0, 0, 9, 1, 2]).unwrap_err();
    assert!(error.contains("ends inside a frame: 2 of 9 bytes"), "{error}");
    let error = end_of(&[0, 0]).unwrap_err();
    assert!(error.contains("2 of 4 bytes"), "{error}");
}
