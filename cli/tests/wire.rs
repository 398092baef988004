//! `ackflow wire` as a user runs it: files, pipes, messages, exit codes.

#![expect(clippy::unwrap_used, reason = "helpers of tests may panic like tests")]

use std::io::{BufRead, BufReader, Read, Write};
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value, json};
use tempfile::TempDir;

fn ackflow(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ackflow"));
    command.arg("wire").args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Runs a command with `stdin`.
fn run(args: &[&str], stdin: &[u8]) -> Output {
    let mut child = ackflow(args).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let stdin = stdin.to_vec();
    // A command that refuses its input does not read it all.
    let writer = std::thread::spawn(move || drop(input.write_all(&stdin)));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    output
}

fn stdout(output: &Output) -> &str {
    std::str::from_utf8(&output.stdout).unwrap()
}

fn stderr(output: &Output) -> &str {
    std::str::from_utf8(&output.stderr).unwrap()
}

/// The lines of a command that succeeds.
fn lines(args: &[&str], stdin: &[u8]) -> Vec<Value> {
    let output = run(args, stdin);
    assert!(output.status.success(), "{}", stderr(&output));
    stdout(&output).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The one message of a command that could not run.
fn error(args: &[&str], stdin: &[u8]) -> String {
    failure(2, args, stdin)
}

/// The one message of a command that ends with `code`.
fn failure(code: i32, args: &[&str], stdin: &[u8]) -> String {
    let output = run(args, stdin);
    assert_eq!(output.status.code(), Some(code), "{}{}", stdout(&output), stderr(&output));
    let message = stderr(&output).to_owned();
    assert!(!message.contains("panicked"), "{message}");
    message
}

fn capture() -> (String, Vec<u8>) {
    let path: PathBuf = [env!("CARGO_MANIFEST_DIR"), "../testdata/captures/share-group.pcap"].iter().collect();
    let bytes = std::fs::read(&path).unwrap();
    (path.display().to_string(), bytes)
}

const LIST_GROUPS: &str = "0000000a0010000000000001ffff";

#[test]
fn capture_is_decoded_from_file_and_stdin_and_encoded_again() {
    let (path, bytes) = capture();
    let output = run(&["decode", "--show-secrets", &path], b"");
    assert!(output.status.success());
    assert!(stderr(&output).contains("259 packets, 11 connections, 114 frames, 0 of them not readable"));
    assert!(stderr(&output).contains(" is a broker: 114 frames"), "{}", stderr(&output));
    assert_eq!(stdout(&output).lines().count(), 114);
    let first = stdout(&output).lines().next().unwrap();
    let begin = "{\"connection\":\"127.0.0.1:53406 -> 127.0.0.1:30724\",\"time\":\"2026-11-29T23:52:";
    assert!(first.starts_with(begin), "{first}");
    assert_eq!(run(&["decode", "--show-secrets", "-"], &bytes).stdout, output.stdout);
    assert_eq!(run(&["decode", "--show-secrets", "--format", "pcap", &path], b"").stdout, output.stdout);

    // All frames as bytes, as hexadecimal text, and both decoded again: a request at a time they say themselves what they are.
    let requests: String =
        stdout(&output).lines().filter(|line| line.contains("\"request\"")).map(|line| format!("{line}\n")).collect();
    let frames = run(&["encode", "-"], requests.as_bytes());
    assert!(frames.status.success(), "{}", stderr(&frames));
    let hex = run(&["encode", "--hex", "-"], requests.as_bytes());
    assert_eq!(stdout(&hex).lines().count(), 57);
    let bodies = |lines: &[Value]| lines.iter().map(|line| line["body"].clone()).collect::<Vec<_>>();
    let expected: Vec<Value> = requests.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    for again in [&frames.stdout, &hex.stdout] {
        assert_eq!(bodies(&lines(&["decode", "--show-secrets", "-"], again)), bodies(&expected));
    }
}

#[test]
fn lines_of_a_capture_come_while_it_is_being_made() {
    let (_, bytes) = capture();
    let mut child = ackflow(&["decode", "-"]).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let mut out = BufReader::new(child.stdout.take().unwrap());
    // The first request is in the fourth packet.
    stdin.write_all(&bytes[..600]).unwrap();
    let mut line = String::new();
    out.read_line(&mut line).unwrap();
    assert!(line.contains("ApiVersions"), "{line}");
    stdin.write_all(&bytes[600..]).unwrap();
    drop(stdin);
    let mut rest = String::new();
    out.read_to_string(&mut rest).unwrap();
    assert_eq!(rest.lines().count(), 113);
    assert!(child.wait().unwrap().success());
}

#[test]
fn reader_that_has_enough_is_no_error() {
    let (path, bytes) = capture();
    for args in [&["decode", &path][..], &["decode", "-"]] {
        let mut child = ackflow(args).spawn().unwrap();
        drop(child.stdout.take());
        drop(child.stdin.take().unwrap().write_all(&bytes));
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{}", stderr(&output));
    }
}

#[test]
fn stderr_that_is_closed_or_full_changes_no_exit_code() {
    let (path, bytes) = capture();
    let short = format!("{LIST_GROUPS}0000");
    let cases: [(i32, &[&str], &[u8]); 5] = [
        (0, &["decode", &path], b""),
        (1, &["decode", "-"], &bytes[..bytes.len() - 30]),
        (1, &["decode", "-"], short.as_bytes()),
        (1, &["encode", "--hex", "-"], b"{}"),
        (2, &["check", "no/such/file"], b""),
    ];
    for (code, args, stdin) in cases {
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let (reader, closed) = std::io::pipe().unwrap();
        drop(reader);
        for stderr in [Stdio::from(full), Stdio::from(closed)] {
            let mut child = ackflow(args).stdout(Stdio::null()).stderr(stderr).spawn().unwrap();
            drop(child.stdin.take().unwrap().write_all(stdin));
            assert_eq!(child.wait().unwrap().code(), Some(code), "{args:?}");
        }
    }
}

#[test]
fn port_records_and_pretty_choose_what_is_shown() {
    let (path, _) = capture();
    assert_eq!(lines(&["decode", "--port", "30724", &path], b"").len(), 114);
    let other = run(&["decode", "--port", "9092", "--port", "9093", &path], b"");
    assert_eq!(stdout(&other), "");
    assert!(stderr(&other).contains("259 packets of other ports than [9092, 9093]"), "{}", stderr(&other));
    let records = run(&["decode", "--records", &path], b"");
    assert_eq!(stdout(&records).matches("\"value\":\"order-20\"").count(), 2);
    let pretty = run(&["decode", "--pretty", &path], b"");
    assert!(stdout(&pretty).starts_with("{\n  \"connection\": "));
    let masked = lines(&["decode", &path], b"").iter().filter(|line| line.to_string().contains("<masked: ")).count();
    assert_eq!(masked, 1);
}

#[test]
fn frame_as_hexadecimal_text_may_have_its_size_and_white_space() {
    let expected = json!({"direction": "request", "apiKey": 16, "api": "ListGroups", "version": 0, "correlationId": 1,
        "clientId": null, "body": {}});
    let spaced = "0x0000 000A\n00 10 00 00\t00000001 ffff\n";
    let twice = format!("{LIST_GROUPS}\n{LIST_GROUPS}");
    let pairs: Vec<&str> = (0..LIST_GROUPS.len()).step_by(2).map(|at| &LIST_GROUPS[at..at + 2]).collect();
    let (colons, marked) = (pairs.join(":"), format!("\u{feff}{LIST_GROUPS}"));
    let prefixed = format!("0x{}", pairs.join(", 0x"));
    let forms = [(spaced, 1), (&colons, 1), (&marked, 1), (&prefixed, 1), (&twice, 2)];
    for (text, count) in [(LIST_GROUPS, 1), (&LIST_GROUPS[8..], 1)].into_iter().chain(forms) {
        assert_eq!(lines(&["decode", "-"], text.as_bytes()), vec![expected.clone(); count]);
    }
    let heartbeat = lines(&["decode", "--api", "Heartbeat", "--api-version", "0", "-"], b"00000005001b");
    assert_eq!(heartbeat[0]["body"], json!({"errorCode": 27}));
    assert_eq!((&heartbeat[0]["direction"], &heartbeat[0]["correlationId"]), (&json!("response"), &json!(5)));
}

#[test]
fn frame_in_hexadecimal_text_is_shown_whatever_follows_it() {
    let ends = [
        (&LIST_GROUPS[..12], "byte 14: ends inside a frame: 2 of 10 bytes"),
        (&LIST_GROUPS[..26], "byte 14: ends inside a frame: 9 of 10 bytes"),
        ("00", "byte 14: ends inside a frame: 1 of 4 bytes"),
    ];
    for (second, says) in ends {
        let output = run(&["decode", "-"], format!("{LIST_GROUPS}{second}").as_bytes());
        assert_eq!(output.status.code(), Some(1));
        let shown = stdout(&output);
        assert!(!shown.contains("error") && shown.lines().all(|line| line.contains("ListGroups")), "{shown}");
        assert!(!shown.is_empty() && stderr(&output).contains(says), "{}", stderr(&output));
    }
}

#[test]
fn frames_in_hexadecimal_text_are_found_behind_one_that_cannot_be_read() {
    let output = run(&["decode", "-"], format!("0000000a00c8000000000001ffff{LIST_GROUPS}00").as_bytes());
    let shown: Vec<&str> = stdout(&output).lines().collect();
    assert_eq!((output.status.code(), shown.len()), (Some(1), 2));
    assert!(shown[0].contains("API key 200") && shown[1].contains("ListGroups"), "{shown:?}");
    assert!(stderr(&output).contains("byte 28: ends inside a frame: 1 of 4 bytes"), "{}", stderr(&output));
}

#[test]
fn size_that_is_wrong_in_hexadecimal_text_is_named() {
    let wrong = |size: i32, frame: &str| failure(1, &["decode", "-"], format!("{size:08x}{frame}").as_bytes());
    for size in [-1, 0, 9, 4_096, i32::MAX] {
        let says = format!("byte 0: the size says {size}, 10 bytes follow");
        assert!(wrong(size, &LIST_GROUPS[8..]).contains(&says), "{}", wrong(size, &LIST_GROUPS[8..]));
    }
    // Also before what cannot be read.
    assert!(wrong(i32::MAX, "00c8000000000001ffff").contains("the size says 2147483647, 10 bytes follow"));
    let args = ["decode", "--api", "Heartbeat", "--api-version", "0", "-"];
    assert!(failure(1, &args, b"ffffffff00000005001b").contains("the size says -1, 6 bytes follow"));
}

#[test]
fn responses_as_frames_need_their_api() {
    let line = |id| json!({"direction": "response", "api": "Heartbeat", "version": 0, "correlationId": id, "body": {"errorCode": 0}});
    let frames = run(&["encode", "-"], format!("{}\n\n{}\n", line(1), line(2)).as_bytes()).stdout;
    assert_eq!(frames, [0, 0, 0, 6, 0, 0, 0, 1, 0, 0, 0, 0, 0, 6, 0, 0, 0, 2, 0, 0]);
    let args = ["decode", "--api", "Heartbeat", "--api-version", "0", "-"];
    assert_eq!(lines(&args, &frames).iter().map(|line| line["correlationId"].clone()).collect::<Vec<_>>(), [1, 2]);
    assert!(error(&["decode", "--api", "Hartbeat", "--api-version", "0", "-"], &frames).contains("Hartbeat"));
    assert!(error(&["decode", "--api", "Heartbeat", "--api-version", "9", "-"], &frames).contains("it has 0 to 4"));
}

#[test]
fn frame_that_cannot_be_read_is_told_and_the_next_is_shown() {
    let text = format!("0000000a00c8000000000001ffff {LIST_GROUPS}");
    let output = run(&["decode", "-"], text.as_bytes());
    assert_eq!(output.status.code(), Some(1));
    let lines: Vec<Value> = stdout(&output).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(lines[0]["error"].as_str().unwrap().contains("API key 200"), "{}", lines[0]);
    assert_eq!(lines[0]["hex"], "<masked: 10 bytes>");
    assert_eq!(lines[1]["api"], "ListGroups");
    let shown = run(&["decode", "--show-secrets", "-"], text.as_bytes());
    assert!(stdout(&shown).contains("\"hex\":\"0000000a00c8000000000001ffff\""), "{}", stdout(&shown));
}

#[test]
fn input_that_is_something_else_is_named_with_what_helps() {
    let dir = TempDir::new().unwrap();
    let file = dir.path().join("input");
    let path = file.to_str().unwrap();
    let fails = |code: i32, bytes: &[u8]| {
        std::fs::write(&file, bytes).unwrap();
        let message = failure(code, &["decode", path], b"");
        assert!(message.contains(path), "{message}");
        message
    };
    // Nothing of it can be read, or not all of it.
    let (refused, broken) = (|bytes: &[u8]| fails(2, bytes), |bytes: &[u8]| fails(1, bytes));
    assert!(refused(b"").contains("is empty"));
    assert!(refused(&[0x1f, 0x8b, 8, 0, 0]).contains("gunzip"));
    assert!(refused(&[0x28, 0xb5, 0x2f, 0xfd, 0]).contains("unzstd"));
    assert!(refused(b"{\"api\":\"Metadata\"}").contains("wire encode"));
    let http = broken(b"HTTP/1.1 200 OK\r\n");
    assert_eq!(http.matches("HTTP").count(), 1, "{http}");
    assert!(refused(b" \n\t\n").contains("is empty"));
    let dump = b"00000000  00 00 00 0a 00 10 00 00  00 00 00 01 ff ff        |..............|\n";
    assert!(refused(dump).contains("xxd -p"));
    assert!(refused(b"00000000: 0000 000a 0010 0000 0000 0001 ffff       ..............\n").contains("xxd -p"));
    let cut = broken(&LIST_GROUPS.as_bytes()[..26]);
    assert!(cut.contains("byte 0: the size says 10, 9 bytes follow"), "{cut}");
    assert!(refused(b"00 00 zz").contains("'z' is no digit"));
    assert!(refused(b"00 00 0").contains("half a byte"));
    assert!(broken(&[0, 0, 0, 9, 0]).contains("byte 0: ends inside a frame: 1 of 9 bytes"));
    let damaged = [&capture().1[..32], &[0xff; 20]].concat();
    assert!(broken(&damaged).contains("byte 24: packet 1 says that it has 4294967295 bytes"), "{}", broken(&damaged));
    assert!(refused(&capture().1[..20]).contains("whole pcap header"));
    assert!(error(&["decode", "no/such/file"], b"").contains("no/such/file"));

    let (path, bytes) = capture();
    assert!(error(&["decode", "--api", "Metadata", "--api-version", "12", &path], b"").contains("leave it out"));
    assert!(error(&["decode", "--port", "9092", "-"], LIST_GROUPS.as_bytes()).contains("--port"));
    // A capture that was stopped hard is good up to there.
    let cut = run(&["decode", "-"], &bytes[..bytes.len() - 30]);
    assert_eq!((cut.status.code(), stdout(&cut).lines().count()), (Some(1), 114));
    assert!(stderr(&cut).contains("ends inside packet 259") && stderr(&cut).contains("cut short"), "{}", stderr(&cut));
}

#[test]
fn exit_code_tells_whether_all_was_read() {
    let (path, bytes) = capture();
    let code = |args: &[&str], stdin: &[u8]| run(args, stdin).status.code();
    assert_eq!(code(&["decode", &path], b""), Some(0));
    // Connections of other ports are not asked for.
    assert_eq!(code(&["decode", "--port", "9092", &path], b""), Some(0));
    // A packet is lost: the bytes of what was in it are missing.
    let mut packets = bytes[..24].to_vec();
    let (mut at, mut longest) = (24, 24..24);
    while at < bytes.len() {
        let length = u32::from_le_bytes(bytes[at + 8..at + 12].try_into().unwrap()) as usize + 16;
        longest = if length > longest.len() { at..at + length } else { longest };
        at += length;
    }
    packets.extend_from_slice(&bytes[24..longest.start]);
    packets.extend_from_slice(&bytes[longest.end..]);
    let lost = run(&["decode", "-"], &packets);
    assert_eq!(lost.status.code(), Some(1), "{}", stderr(&lost));
    assert!(stderr(&lost).contains("258 packets") && !stderr(&lost).contains(" 0 bytes not in the capture"));

    assert_eq!(code(&["decode", "-"], format!("{LIST_GROUPS}0000").as_bytes()), Some(1));
    assert_eq!(code(&["decode", "no/such/file"], b""), Some(2));
    assert_eq!(code(&["decode", "--no-such-option", "-"], b""), Some(2));
    assert_eq!(code(&["encode", "--hex", "no/such/file"], b""), Some(2));
    assert_eq!(code(&["check", "-"], b""), Some(2));
    assert_eq!(code(&["decode", "-"], b""), Some(2));
    assert_eq!((code(&["encode", "-"], b""), code(&["encode", "-"], b"\n")), (Some(0), Some(0)));
}

/// Leaves `kept` bytes of each packet of a capture that `is_cut` chooses by its place and length.
fn cut(bytes: &[u8], kept: usize, is_cut: impl Fn(usize, usize) -> bool) -> Vec<u8> {
    let (mut file, mut at, mut place) = (bytes[..24].to_vec(), 24, 0);
    while at < bytes.len() {
        let length = u32::from_le_bytes(bytes[at + 8..at + 12].try_into().unwrap()) as usize;
        let left = if is_cut(place, length) { length.min(kept) } else { length };
        file.extend_from_slice(&bytes[at..at + 8]);
        file.extend_from_slice(&(left as u32).to_le_bytes());
        file.extend_from_slice(&bytes[at + 12..at + 16 + left]);
        (at, place) = (at + 16 + length, place + 1);
    }
    file
}

#[test]
fn packets_that_are_not_there_in_full_are_told_and_make_the_exit_code() {
    let (_, bytes) = capture();
    let longest = |_, length| length > 500;
    for (file, says) in [
        // Some packets; what follows shows how much is missing.
        (cut(&bytes, 400, longest), "at least "),
        // No Kafka is found in them, or not even TCP.
        (cut(&bytes, 66, |_, _| true), "the ends of "),
        (cut(&bytes, 40, |_, _| true), "the ends of 259 packets"),
    ] {
        let output = run(&["decode", "-"], &file);
        let message = stderr(&output);
        assert_eq!(output.status.code(), Some(1), "{message}");
        assert!(message.contains("packets are not there in full") && message.contains(says), "{message}");
        assert!(!message.contains(" 0 bytes not in the capture"), "{message}");
    }
    // Connections of other ports are not asked for.
    assert_eq!(run(&["decode", "--port", "9092", "-"], &cut(&bytes, 400, longest)).status.code(), Some(0));
    // Nothing follows the second request of a connection, which is cut.
    let output = run(&["decode", "-"], &cut(&bytes[..1666], 90, |place, _| place == 7));
    assert!(
        stderr(&output).contains("1 of them not readable; 0 bytes skipped, at least 8 bytes not in"),
        "{}",
        stderr(&output)
    );
}

#[test]
fn batch_that_cannot_be_read_makes_the_exit_code_where_records_are_asked_for() {
    let (path, _) = capture();
    let shown = lines(&["decode", "--records", &path], b"");
    let mut line = shown.into_iter().find(|line| line["api"] == "Produce" && line["direction"] == "request").unwrap();
    let records = line.pointer_mut("/body/topicData/0/partitionData/0/records").unwrap();
    let good = BASE64_STANDARD.decode(records.as_str().unwrap()).unwrap();
    let codes = |records: &[u8]| {
        let mut line = line.clone();
        line["body"]["topicData"][0]["partitionData"][0]["records"] = BASE64_STANDARD.encode(records).into();
        let frame = run(&["encode", "-"], line.to_string().as_bytes()).stdout;
        [&["decode", "-"][..], &["decode", "--records", "-"]].map(|args| run(args, &frame).status.code().unwrap())
    };
    assert_eq!(codes(&good), [0, 0]);
    // A broker cuts what it gives at a byte.
    assert_eq!(codes(&good[..good.len() - 1]), [0, 0]);
    let with = |at: usize, byte: u8| [&good[..at], &[byte], &good[at + 1..]].concat();
    let last = good.len() - 1;
    // Length, format, checksum, codec, record.
    for damaged in [with(11, 3), with(16, 1), with(17, !good[17]), with(22, 7), with(last, !good[last])] {
        assert_eq!(codes(&damaged), [0, 1]);
    }
}

#[test]
fn encode_names_the_line_that_is_wrong() {
    let good = "{\"direction\":\"request\",\"api\":\"ListGroups\",\"version\":0,\"body\":{}}";
    let message = failure(1, &["encode", "--hex", "-"], format!("{good}\n{{\"body\":{{}}}}\n").as_bytes());
    assert!(message.contains("stdin:2: direction"), "{message}");
    let skipped = run(&["encode", "--hex", "-"], b"{\"skipped\":7,\"reason\":\"x\"}\n");
    assert!(skipped.status.success() && skipped.stdout.is_empty());
    assert!(stderr(&skipped).contains("passed over 1 line"), "{}", stderr(&skipped));
}

#[test]
fn encode_reads_what_decode_shows_pretty_and_tells_what_is_lost() {
    let (path, _) = capture();
    let shown = |more: &[&str]| run(&[&["decode", "--show-secrets", "--records"], more, &[&path]].concat(), b"").stdout;
    let (plain, pretty) = (run(&["encode", "-"], &shown(&[])), run(&["encode", "-"], &shown(&["--pretty"])));
    assert!(plain.status.success() && pretty.status.success(), "{}", stderr(&pretty));
    assert!(plain.stdout.len() > 10_000 && plain.stdout == pretty.stdout);
    // A tagged field that is not known here.
    let line = lines(
        &["decode", "--api", "Heartbeat", "--api-version", "4", "-"],
        b"00000001000000000000000109 0107".as_ref(),
    );
    let again = run(&["encode", "--hex", "-"], line[0].to_string().as_bytes());
    assert!(again.status.success() && stderr(&again).contains("1 frames have other bytes"), "{}", stderr(&again));
}

#[test]
fn api_is_found_by_its_key_and_by_its_name_in_any_case() {
    for api in ["12", "Heartbeat", "heartbeat", "HEARTBEAT"] {
        let shown = lines(&["decode", "--api", api, "--api-version", "0", "-"], b"00000005001b");
        assert_eq!(shown[0]["body"], json!({"errorCode": 27}));
    }
    let refused = |api| error(&["decode", "--api", api, "--api-version", "0", "-"], b"00000005001b");
    assert!(refused("Hartbeat").contains("did you mean Heartbeat?"), "{}", refused("Hartbeat"));
    assert!(refused("metadataresponse").contains("did you mean Metadata?"), "{}", refused("metadataresponse"));
    assert!(refused("nothing").contains("such as Metadata"), "{}", refused("nothing"));
    assert!(refused("999").contains("999"));
    assert!(refused("52").contains("Vote"));
}

#[test]
fn check_sums_up_by_api() {
    let vectors = [
        json!({"api": "ListGroups", "kind": "request", "version": 0, "key": 16, "json": {}, "hex": ""}),
        json!({"api": "Heartbeat", "kind": "response", "version": 0, "key": 12, "json": {"errorCode": 1}, "hex": "0001"}),
        json!({"api": "Heartbeat", "kind": "response", "version": 4, "key": 12, "json": {"throttleTimeMs": 0, "errorCode": 1},
            "hex": "00000000000200"}),
    ];
    let text: String = vectors.iter().map(|vector| format!("{vector}\n")).collect();
    let output = run(&["check", "-"], text.as_bytes());
    assert_eq!(output.status.code(), Some(1));
    let rows: Vec<Vec<&str>> = stdout(&output).lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(rows[0], ["API", "versions", "passed", "failed"]);
    assert_eq!(rows[1], ["Heartbeat", "0-4", "1", "1"]);
    assert_eq!(rows[2], ["ListGroups", "0", "1", "0"]);
    assert_eq!(stdout(&output).lines().last(), Some("2 passed, 1 failed"));
    assert!(stderr(&output).contains("stdin:3: ") && stderr(&output).contains("errorCode"), "{}", stderr(&output));
}

#[test]
fn check_passes_over_blank_lines_and_says_what_reads_a_file_that_is_no_text() {
    let line = json!({"api": "ListGroups", "kind": "request", "version": 0, "key": 16, "json": {}, "hex": ""});
    let output = run(&["check", "-"], format!("\n{line}\r\n \t\n{line}\n\n").as_bytes());
    assert!(output.status.success() && stdout(&output).ends_with("\n2 passed, 0 failed\n"), "{}", stdout(&output));
    assert!(error(&["check", "-"], b"\n \n").contains("no line to check"));
    let frame = b"\0\0\0\x0b\0\x10\0\0\0\0\0\x01\0\x01c";
    for file in [&capture().1, &frame[..]] {
        let message = error(&["check", "-"], file);
        assert!(message.contains("stdin:1: is not text") && message.contains("wire decode"), "{message}");
    }
}

#[test]
fn check_has_its_exit_code_also_where_nobody_reads_the_summary() {
    let good = json!({"api": "ListGroups", "kind": "request", "version": 0, "key": 16, "json": {}, "hex": ""});
    for (line, code) in [(good.to_string(), 0), ("{}".to_owned(), 1)] {
        let mut child = ackflow(&["check", "-"]).spawn().unwrap();
        drop(child.stdout.take());
        child.stdin.take().unwrap().write_all(line.as_bytes()).unwrap();
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(code), "{}", stderr(&output));
    }
}

#[test]
fn check_shows_no_secret_of_a_line_that_fails() {
    let vectors = [
        json!({"api": "SaslAuthenticate", "kind": "request", "version": 0, "key": 36, "json": {"authBytes": "YWxpY2U="},
            "hex": "00000003626f62"}),
        json!({"api": "AlterConfigs", "kind": "request", "version": 0, "key": 33, "json": {"resources": [{"resourceType": 2,
            "resourceName": "t", "configs": [{"name": "password", "value": "alice"}]}], "validateOnly": false},
            "hex": "000000000000"}),
        json!({"api": "Heartbeat", "kind": "response", "version": 0, "key": 12, "json": {"errorCode": 77}, "hex": "0001"}),
    ];
    let text: String = vectors.iter().map(|vector| format!("{vector}\n")).collect();
    let message = failure(1, &["check", "-"], text.as_bytes());
    assert!(message.contains("SaslAuthenticateRequest v0: authBytes differs"), "{message}");
    assert!(!message.contains("YWxpY2U") && !message.contains("Ym9i") && !message.contains("alice"), "{message}");
    assert!(message.contains("errorCode is 1 in the bytes and 77 in the JSON"), "{message}");
}
