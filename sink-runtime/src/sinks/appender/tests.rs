use std::sync::{Mutex, mpsc};

use super::*;

/// Notes what it is told, and fails or waits as the test wants.
struct Fake {
    log: Arc<Mutex<Vec<String>>>,
    failing: Option<io::ErrorKind>,
    failing_commit: bool,
    /// Told when a commit began.
    began: mpsc::Sender<()>,
    /// Must be told before a commit ends.
    go_on: mpsc::Receiver<()>,
}

struct Bench {
    appender: Appender,
    log: Arc<Mutex<Vec<String>>>,
    began: mpsc::Receiver<()>,
    go_on: mpsc::Sender<()>,
}

impl Bench {
    fn new(failing: Option<io::ErrorKind>, failing_commit: bool) -> Self {
        let log = Arc::new(Mutex::new(Vec::new()));
        let ((began_sender, began), (go_on, go_on_receiver)) = (mpsc::channel(), mpsc::channel());
        let output = Fake { log: log.clone(), failing, failing_commit, began: began_sender, go_on: go_on_receiver };
        Self { appender: Appender::start(output).unwrap(), log, began, go_on }
    }

    fn append(&self, text: &str) -> tokio::task::JoinHandle<Result<Vec<u8>, SinkError>> {
        let (appender, bytes) = (self.appender.clone(), text.as_bytes().to_vec());
        tokio::spawn(async move { appender.append(bytes).await })
    }

    fn log(&self) -> Vec<String> {
        self.log.lock().unwrap().clone()
    }
}

impl Output for Fake {
    fn write(&mut self, block: &[u8]) -> io::Result<()> {
        self.log.lock().unwrap().push(String::from_utf8(block.to_vec()).unwrap());
        self.failing.take().map_or(Ok(()), |kind| Err(kind.into()))
    }

    fn commit(&mut self) -> io::Result<()> {
        self.began.send(()).unwrap();
        self.go_on.recv().unwrap();
        self.log.lock().unwrap().push("commit".to_owned());
        if self.failing_commit { Err(io::Error::other("disk on fire")) } else { Ok(()) }
    }

    fn name(&self) -> &str {
        "fake"
    }
}

#[tokio::test]
async fn blocks_that_wait_during_a_commit_share_the_next_one() {
    let bench = Bench::new(None, false);
    let first = bench.append("a");
    tokio::task::yield_now().await;
    bench.began.recv().unwrap();
    let others = ["b", "c", "d"].map(|text| bench.append(text));
    // They are in the queue once each has run up to its wait.
    for _ in 0..10 {
        tokio::task::yield_now().await;
    }
    bench.go_on.send(()).unwrap();
    bench.go_on.send(()).unwrap();
    assert_eq!(first.await.unwrap().unwrap(), b"a");
    for other in others {
        other.await.unwrap().unwrap();
    }
    assert_eq!(bench.log(), ["a", "commit", "b", "c", "d", "commit"]);
}

#[tokio::test]
async fn nobody_hears_of_success_before_the_commit() {
    let bench = Bench::new(None, false);
    let append = bench.append("a");
    tokio::task::yield_now().await;
    bench.began.recv().unwrap();
    assert!(!append.is_finished());
    bench.go_on.send(()).unwrap();
    append.await.unwrap().unwrap();
}

#[tokio::test]
async fn a_full_disk_is_worth_another_try_and_other_errors_are_not() {
    for (kind, is_retriable) in [(io::ErrorKind::StorageFull, true), (io::ErrorKind::BrokenPipe, false)] {
        let bench = Bench::new(Some(kind), false);
        let error = bench.append("a").await.unwrap().unwrap_err();
        assert_eq!(matches!(error, SinkError::Retriable { .. }), is_retriable, "{error}");
        assert!(error.to_string().starts_with("fake: cannot be written: "));
        // The writer goes on.
        bench.go_on.send(()).unwrap();
        bench.append("b").await.unwrap().unwrap();
        assert_eq!(bench.log(), ["a", "b", "commit"]);
    }
}

#[tokio::test]
async fn after_a_failed_commit_nothing_is_written_any_more() {
    let bench = Bench::new(None, true);
    bench.go_on.send(()).unwrap();
    let error = bench.append("a").await.unwrap().unwrap_err();
    assert_eq!(error.to_string(), "fake: cannot be made durable: disk on fire");
    assert!(matches!(error, SinkError::Fatal(_)));
    let error = bench.append("b").await.unwrap().unwrap_err();
    assert!(error.to_string().contains("earlier error"), "{error}");
    assert_eq!(bench.log(), ["a", "commit"]);
}
