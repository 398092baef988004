use std::{
    env, fs,
    io::Write,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use super::{output::FileOutput, *};
use crate::sinks::appender::Output;

fn values(path: &Path) -> ConfigValues {
    let entries = [("file".to_owned(), path.display().to_string())].into();
    FileSink::json_lines().config.parse(entries).unwrap()
}

fn open(path: &Path) -> Result<FileOutput, SinkError> {
    FileOutput::open(path, Format::Json)
}

#[track_caller]
fn refused(path: &Path, parts: &[&str]) {
    let error = FileSink::json_lines().start(&values(path)).err().unwrap();
    assert!(matches!(error, SinkError::Config(_)));
    let message = error.to_string();
    assert!(message.starts_with(&format!("file = {}: ", path.display())), "{message}");
    for part in parts {
        assert!(message.contains(part), "{part:?} is not in {message}");
    }
}

#[test]
fn a_path_that_cannot_be_written_names_key_value_and_remedy() {
    let directory = tempfile::tempdir().unwrap();
    refused(&directory.path().join("missing/records.jsonl"), &["cannot be written", "a directory that exists"]);
    refused(directory.path(), &["cannot be written"]);
    refused(Path::new("/dev/null"), &["is no regular file", "connector.class=stdout"]);
}

#[test]
fn a_file_is_appended_to() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("records.jsonl");
    for block in ["{\"topic\":1}\n", "{\"topic\":2}\n{\"topic\":3}\n"] {
        let mut output = open(&path).unwrap();
        output.write(block.as_bytes()).unwrap();
        output.commit().unwrap();
    }
    assert_eq!(fs::read_to_string(&path).unwrap(), "{\"topic\":1}\n{\"topic\":2}\n{\"topic\":3}\n");
}

#[test]
fn a_file_has_one_writer() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("records.jsonl");
    let output = open(&path).unwrap();
    refused(&path, &["in use by another writer", "its own file"]);
    drop(output);
    assert!(open(&path).is_ok());
}

#[test]
fn a_torn_last_line_is_cut_off() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("records.jsonl");
    let whole = "{\"topic\":\"t\"}\n";
    let long = format!("{{\"topic\":\"{}", "x".repeat(300_000));
    for torn in ["{", "{\"topic\":\"t", "{\"topic\":\"t\"}", &long] {
        for start in ["", whole] {
            fs::write(&path, format!("{start}{torn}")).unwrap();
            let mut output = open(&path).unwrap();
            output.write(whole.as_bytes()).unwrap();
            drop(output);
            assert_eq!(fs::read_to_string(&path).unwrap(), format!("{start}{whole}"));
        }
    }
}

#[test]
fn what_others_have_written_is_not_cut() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("notes.txt");
    fs::write(&path, "my only copy").unwrap();
    refused(&path, &["does not end in a record", "line break"]);
    assert_eq!(fs::read_to_string(&path).unwrap(), "my only copy");
}

#[test]
fn plain_lines_are_appended_to_whatever_is_there_and_begin_a_line() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("values.txt");
    let append = |line: &str| {
        let mut output = FileOutput::open(&path, Format::Plain).unwrap();
        output.write(line.as_bytes()).unwrap();
        output.commit().unwrap();
    };
    fs::write(&path, "somebody's only copy").unwrap();
    append("first\n");
    append("second\n");
    assert_eq!(fs::read_to_string(&path).unwrap(), "somebody's only copy\nfirst\nsecond\n");
    // A part of a record, from a writer that was killed: the record comes again, and is whole.
    fs::write(&path, "first\nsec").unwrap();
    append("second\n");
    assert_eq!(fs::read_to_string(&path).unwrap(), "first\nsec\nsecond\n");
}

#[test]
fn what_fails_half_way_is_taken_back_behind_a_line_that_was_ended() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("values.txt");
    fs::write(&path, "kept").unwrap();
    let mut output = FileOutput::open(&path, Format::Plain).unwrap();
    // As a write leaves it that fails and cannot be taken back at once.
    output.file.write_all(b"par").unwrap();
    output.torn = true;
    output.write(b"part\n").unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), "kept\npart\n");
}

const VICTIM: &str = "ACKFLOW_FILE_SINK_VICTIM";

/// Not a test but the victim of [`a_killed_writer_leaves_lines_that_are_whole`]: it appends until it is killed.
#[test]
#[ignore = "only runs as a child of another test"]
fn appends_until_it_is_killed() {
    let Ok(path) = env::var(VICTIM) else { return };
    let mut output = open(Path::new(&path)).unwrap();
    let line = format!("{{\"topic\":\"{}\"}}\n", "x".repeat(1_000));
    // Not a multiple of any page size: a block rarely ends where the system's writes do.
    let block = line.repeat(777);
    loop {
        output.write(block.as_bytes()).unwrap();
        output.commit().unwrap();
    }
}

#[test]
fn a_killed_writer_leaves_lines_that_are_whole_after_the_next_start() {
    struct Killed(Child);
    impl Drop for Killed {
        fn drop(&mut self) {
            let _ = self.0.kill();
            let _ = self.0.wait();
        }
    }
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("records.jsonl");
    for round in 1..=5 {
        let arguments = ["--exact", "sinks::file::tests::appends_until_it_is_killed", "--ignored"];
        let mut command = Command::new(env::current_exe().unwrap());
        command.args(arguments).env(VICTIM, &path).stdout(Stdio::null()).stderr(Stdio::null());
        let before = fs::metadata(&path).map_or(0, |metadata| metadata.len());
        let victim = Killed(command.spawn().unwrap());
        let deadline = Instant::now() + Duration::from_secs(20);
        while fs::metadata(&path).map_or(0, |metadata| metadata.len()) < before + 2_000_000 {
            assert!(Instant::now() < deadline, "round {round}: the victim writes nothing");
            std::thread::yield_now();
        }
        drop(victim);
        drop(open(&path).unwrap());
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.ends_with('\n') && text.len() as u64 >= before);
        assert!(text.lines().all(|line| serde_json::from_str::<serde_json::Value>(line).is_ok()));
    }
}
