//! These start clusters of their own.

use std::time::{Duration, Instant};

use super::{Cluster, Options};

#[test]
#[ignore = "needs Java: cargo xtask kafka"]
fn real_kafka_broker_comes_back_after_kill() {
    let mut cluster =
        Cluster::start(&Options { brokers: 3, fast: true, heap: "500m".to_owned(), ..Options::default() }).unwrap();
    run(&cluster, &["--create", "--topic", "t", "--partitions", "1", "--replication-factor", "3"]);

    cluster.kill(2).unwrap();
    assert_eq!(cluster.process_ids().len(), 2);
    let in_sync = |cluster: &Cluster| {
        let described = run(cluster, &["--describe", "--topic", "t"]);
        described.split("Isr: ").nth(1).unwrap().split_whitespace().next().unwrap().split(',').count()
    };
    eventually("the killed broker leaves the in-sync replicas", || in_sync(&cluster) == 2);

    cluster.restart(2).unwrap();
    assert_eq!(cluster.process_ids().len(), 3);
    eventually("the broker is in sync again", || in_sync(&cluster) == 3);
    cluster.check().unwrap();
}

#[test]
#[ignore = "needs Java: cargo xtask kafka"]
fn real_kafka_start_error_shows_the_log() {
    let error = Cluster::start(&Options { heap: "1k".to_owned(), ..Options::default() }).unwrap_err();
    assert!(format!("{error:#}").contains("heap"), "{error:#}");
}

fn run(cluster: &Cluster, arguments: &[&str]) -> String {
    cluster.tools().run("TopicCommand", arguments).unwrap()
}

fn eventually(what: &str, mut check: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(30);
    while !check() {
        assert!(Instant::now() < deadline, "not within 30 s: {what}");
    }
}
