//! Groups on a real Kafka: what is shown is what Kafka's tools show, and what is changed they see.

use std::process::{Child, Stdio};
use std::time::Duration;

use ackflow_client::share::{OwnedShareConsumer, ShareConsumerConfig};
use serde_json::json;

use crate::kafka::{columns, eventually, new_topic, run_tool, site, tool, unique};
use crate::{Site, text};

const SHARE: &str = "consumer.group.ShareGroupCommand";
const CONSUMER: &str = "consumer.group.ConsumerGroupCommand";

/// A topic of two partitions with ten records each, of the seconds 1 to 20 of 1970, in turns.
async fn topic(site: &Site) -> String {
    let topic = new_topic(site, "cli").await;
    let lines: String = (0..20)
        .map(|i| format!("{{\"partition\":{},\"value\":\"{i}\",\"timestamp\":{}}}\n", i % 2, (i + 1) * 1000))
        .collect();
    site.produce(&topic, &lines).await;
    topic
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a broker: cargo xtask kafka"]
async fn real_kafka_share_group_is_shown_as_kafkas_tool_shows_it() {
    let site = site();
    let (topic, group) = (topic(&site).await, unique("cli-share"));
    site.consume(&topic, &group, 3).await;
    let ours = site.table(&format!("groups describe {group} --verbose")).await;
    let kafkas = run_tool(SHARE, &format!("--describe --group {group} --verbose")).await;
    let headings = ["GROUP", "TOPIC", "PARTITION", "LEADER-EPOCH", "START-OFFSET", "LAG"];
    assert_eq!(columns(&ours, &headings), columns(&kafkas, &headings));

    let config = ShareConsumerConfig::builder(&site.servers, &group).build().unwrap();
    let mut consumer = OwnedShareConsumer::new(config).unwrap();
    consumer.subscribe([&topic]).unwrap();
    while consumer.assignment().len() < 2 {
        drop(consumer.poll(Duration::from_millis(20)).await.unwrap());
    }
    let ours = site.table(&format!("groups describe {group} --members")).await;
    let kafkas = run_tool(SHARE, &format!("--describe --group {group} --members")).await;
    let headings = ["GROUP", "CONSUMER-ID", "HOST", "CLIENT-ID", "#PARTITIONS", "ASSIGNMENT"];
    assert_eq!(columns(&ours, &headings), columns(&kafkas, &headings));
    assert_eq!(columns(&ours, &["ASSIGNMENT"]), [[format!("{topic}:0,1")]]);

    // A member would not notice that its offsets are others: dry run and execution are refused alike.
    for how in ["", "--execute"] {
        let error = site.error(&format!("groups offsets {group} --all-topics --to-latest {how}")).await;
        assert!(error.contains(&group) && error.contains("stop its members first"), "{error}");
    }
    let error = site.error(&format!("groups delete-offsets {group} --topic {topic}")).await;
    assert!(error.contains("NON_EMPTY_GROUP") && error.contains("stop the members"), "{error}");
    let error = site.error(&format!("groups delete {group}")).await;
    assert!(error.contains("NON_EMPTY_GROUP") && error.contains("stop the members"), "{error}");
    consumer.close(Duration::from_secs(10)).await.unwrap();
    assert_eq!(site.json(&format!("groups delete {group}")).await["deleted"], json!([{ "group": group }]));
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a broker: cargo xtask kafka"]
async fn real_kafka_offsets_of_a_share_group_are_planned_and_set_as_kafkas_tool_does() {
    let site = site();
    let (topic, group) = (topic(&site).await, unique("cli-share"));
    let created =
        site.json(&format!("groups offsets {group} --type share --topic {topic} --to-offset 7 --execute")).await;
    assert_eq!((&created["executed"], &created["offsets"][1]["newOffset"]), (&json!(true), &json!(7)));
    let shown = ["TOPIC", "PARTITION", "START-OFFSET", "LAG"];
    let described = run_tool(SHARE, &format!("--describe --group {group}")).await;
    let expected: Vec<_> = ["0", "1"].map(|partition| [&topic, partition, "7", "3"].map(str::to_owned).to_vec()).into();
    assert_eq!(columns(&described, &shown), expected);

    // The dry run is Kafka's, and changes nothing.
    for target in ["--to-latest", "--to-current", "--to-datetime 1970-01-01T00:00:10.000"] {
        let words = format!("{group} --all-topics {target}");
        let (ours, remarks) = site.table_and_remarks(&format!("groups offsets {words}")).await;
        assert!(remarks.contains("dry run") && remarks.contains("--execute"), "{remarks}");
        let kafkas = run_tool(SHARE, &format!("--reset-offsets --dry-run --group {words}")).await;
        let headings = ["GROUP", "TOPIC", "PARTITION", "NEW-OFFSET"];
        assert_eq!(columns(&ours, &headings), columns(&kafkas, &headings), "{target}");
    }
    let json = site.json(&format!("groups describe {group}")).await;
    assert_eq!((&json["offsets"][0]["startOffset"], &json["offsets"][1]["startOffset"]), (&json!(7), &json!(7)));

    // One partition alone, beyond its end: its end is taken.
    let (_, remarks) =
        site.table_and_remarks(&format!("groups offsets {group} --topic {topic}:1 --to-offset 99 --execute")).await;
    assert!(remarks.contains(&format!("{topic}-1 has offsets 0 to 10: 10 is taken")), "{remarks}");
    let described = run_tool(SHARE, &format!("--describe --group {group}")).await;
    assert_eq!(columns(&described, &["PARTITION", "START-OFFSET", "LAG"]), [["0", "7", "3"], ["1", "10", "0"]]);
    assert_eq!(site.json(&format!("groups lag {group}")).await["lags"][0]["lag"], json!(3));
    let back = site.json(&format!("groups offsets {group} --topic {topic} --by-duration P30000D --execute")).await;
    assert_eq!((&back["offsets"][0]["currentOffset"], &back["offsets"][0]["newOffset"]), (&json!(7), &json!(0)));

    // What is written to a file can be set from it, by Kafka's tool and ours; and what Kafka's writes.
    let dir = tempfile::TempDir::new().unwrap();
    let file = dir.path().join("offsets.csv");
    let words = format!("{group} --all-topics --to-offset 3 --export");
    let (ours, _) = site.table_and_remarks(&format!("groups offsets {words}")).await;
    assert_eq!(ours, format!("{topic},0,3\n{topic},1,3\n"));
    let kafkas = run_tool(SHARE, &format!("--reset-offsets --dry-run --group {words}")).await;
    std::fs::write(&file, &kafkas).unwrap();
    let set = site.json(&format!("groups offsets {group} --from-file {} --execute", file.display())).await;
    assert_eq!((&set["offsets"][0]["newOffset"], &set["offsets"][1]["newOffset"]), (&json!(3), &json!(3)), "{kafkas}");
    std::fs::write(&file, &ours).unwrap();
    run_tool(SHARE, &format!("--reset-offsets --execute --group {group} --from-file {}", file.display())).await;

    let deleted = site.json(&format!("groups delete-offsets {group} --topic {topic}")).await;
    assert_eq!(deleted["deleted"], json!([{ "group": group, "topic": topic, "partition": null }]));
    let error = site.error(&format!("groups offsets {group} --all-topics --to-earliest")).await;
    assert!(error.contains("has no offsets; name topics by --topic"), "{error}");
    site.json(&format!("groups delete --group {group}")).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a broker: cargo xtask kafka"]
async fn real_kafka_consumer_group_is_shown_and_reset_as_kafkas_tool_does() {
    let site = site();
    let (topic, group) = (topic(&site).await, unique("cli-consumer"));
    let created =
        site.json(&format!("groups offsets {group} --type consumer --topic {topic} --to-offset 4 --execute")).await;
    assert_eq!(created["offsets"][0]["type"], json!("consumer"));
    let headings =
        ["GROUP", "TOPIC", "PARTITION", "CURRENT-OFFSET", "LOG-END-OFFSET", "LAG", "CONSUMER-ID", "HOST", "CLIENT-ID"];
    let ours = site.table(&format!("groups describe {group}")).await;
    let kafkas = run_tool(CONSUMER, &format!("--describe --group {group}")).await;
    assert_eq!(columns(&ours, &headings), columns(&kafkas, &headings));
    assert_eq!(columns(&ours, &["LAG"]), [["6"], ["6"]]);

    let planned = ["GROUP", "TOPIC", "PARTITION", "NEW-OFFSET"];
    for target in [
        "--to-earliest",
        "--shift-by -3",
        "--shift-by 100",
        "--to-datetime 1970-01-01T00:00:10.000",
        "--to-datetime 2100-01-01T00:00:00.000",
        "--by-duration P20000D",
    ] {
        let words = format!("{group} --all-topics {target}");
        let (ours, _) = site.table_and_remarks(&format!("groups offsets {words}")).await;
        let kafkas = run_tool(CONSUMER, &format!("--reset-offsets --dry-run --group {words}")).await;
        assert_eq!(columns(&ours, &planned), columns(&kafkas, &planned), "{target}");
    }
    site.json(&format!("groups offsets {group} --topic {topic}:1 --to-latest --execute")).await;
    let kafkas = run_tool(CONSUMER, &format!("--describe --group {group}")).await;
    assert_eq!(columns(&kafkas, &["PARTITION", "CURRENT-OFFSET", "LAG"]), [["0", "4", "6"], ["1", "10", "0"]]);
    assert_eq!(site.json(&format!("groups lag {group} --total")).await["lags"][0]["lag"], json!(6));

    let error = site.error(&format!("groups delete-offsets {group} --topic {topic}:5")).await;
    assert!(error.contains(&format!("group {group} has no offset in it")), "{error}");
    let deleted = site.json(&format!("groups delete-offsets {group} --topic {topic}:0")).await;
    assert_eq!(deleted["deleted"], json!([{ "group": group, "topic": topic, "partition": 0 }]));
    let error = site.error(&format!("groups offsets {group} --topic {topic} --shift-by 1")).await;
    assert!(error.contains("has no offset in") && error.contains("nothing was changed"), "{error}");
    site.json(&format!("groups delete {group}")).await;
}

/// Kafka's console consumer in a group, which ends when this is dropped.
struct Consumer(Child);

impl Consumer {
    fn start(topic: &str, group: &str, properties: &[&str]) -> Self {
        let properties: String = properties.iter().map(|property| format!(" --consumer-property {property}")).collect();
        let words = format!("--topic {topic} --group {group} --from-beginning{properties}");
        let mut tool = tool("consumer.ConsoleConsumer", &words);
        Self(tool.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap())
    }

    /// Runs a command until its tables are as they are expected.
    async fn until(&mut self, site: &Site, words: &str, expected: impl Fn(&str) -> bool) -> String {
        loop {
            let output = site.run(words).await;
            let tables = text(&output.stdout);
            if output.status.success() && expected(&tables) {
                return tables;
            }
            assert!(self.0.try_wait().unwrap().is_none(), "the consumer has ended: {tables}{}", text(&output.stderr));
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    }
}

impl Drop for Consumer {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

const POSITIONS: [&str; 8] =
    ["TOPIC", "PARTITION", "CURRENT-OFFSET", "LOG-END-OFFSET", "LAG", "CONSUMER-ID", "HOST", "CLIENT-ID"];

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a broker: cargo xtask kafka"]
async fn real_kafka_members_of_consumer_groups_are_shown_and_keep_their_offsets() {
    let site = site();
    let topic = topic(&site).await;
    for protocol in ["consumer", "classic"] {
        let group = unique("cli-live");
        let mut consumer = Consumer::start(&topic, &group, &[&format!("group.protocol={protocol}")]);
        let words = format!("groups describe {group} --members --state --offsets --verbose");
        // All is read and committed: Kafka's tool sees the same.
        let assigned = format!("{topic}:0,1");
        let settled = |tables: &str| tables.contains(&assigned) && columns(tables, &["LAG"]) == [["0"], ["0"]];
        let tables = consumer.until(&site, &words, settled).await;
        assert_eq!(columns(&tables, &["TYPE", "#MEMBERS"]), [[protocol, "1"]]);
        let kafkas = run_tool(CONSUMER, &format!("--describe --group {group}")).await;
        assert_eq!(columns(&tables, &POSITIONS), columns(&kafkas, &POSITIONS));
        let error = site.error(&format!("groups offsets {group} --all-topics --to-earliest --execute")).await;
        assert!(error.contains("client console-consumer") && error.contains("stop its members first"), "{error}");
        let listed = site.json(&format!("groups list --type {protocol} --state stable")).await;
        assert!(listed["groups"].as_array().unwrap().iter().any(|listed| listed["group"] == group), "{listed}");
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a broker: cargo xtask kafka"]
async fn real_kafka_partitions_of_a_member_are_shown_before_it_has_committed() {
    let site = site();
    let (topic, group) = (topic(&site).await, unique("cli-uncommitted"));
    let properties = ["group.protocol=consumer", "enable.auto.commit=false"];
    let mut consumer = Consumer::start(&topic, &group, &properties);
    let tables = consumer.until(&site, &format!("groups describe {group}"), |tables| tables.lines().count() == 3).await;
    let kafkas = run_tool(CONSUMER, &format!("--describe --group {group}")).await;
    assert_eq!(columns(&tables, &POSITIONS), columns(&kafkas, &POSITIONS));
    assert_eq!(columns(&tables, &["CURRENT-OFFSET", "LOG-END-OFFSET", "LAG"]), [["-", "10", "-"], ["-", "10", "-"]]);
    let lag = site.json(&format!("groups lag {group}")).await;
    let expected =
        json!([{ "group": group, "type": "consumer", "topic": topic, "partitions": 2, "lag": null, "unknown": 2 }]);
    assert_eq!(lag["lags"], expected);
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a broker: cargo xtask kafka"]
async fn real_kafka_settings_of_a_group_are_those_that_kafkas_tool_sees() {
    let site = site();
    let group = unique("cli-configs");
    site.table(&format!(
        "groups configs {group} --set share.auto.offset.reset=earliest --add-config share.delivery.count.limit=7"
    ))
    .await;
    let kafkas = run_tool("ConfigCommand", &format!("--describe --entity-type groups --entity-name {group}")).await;
    assert!(
        kafkas.contains("share.auto.offset.reset=earliest") && kafkas.contains("share.delivery.count.limit=7"),
        "{kafkas}"
    );
    run_tool(
        "ConfigCommand",
        &format!(
            "--alter --entity-type groups --entity-name {group} --add-config share.isolation.level=read_committed"
        ),
    )
    .await;
    site.json(&format!("groups configs {group} --unset share.delivery.count.limit")).await;
    let settled = |json: &str| json.contains("share.isolation.level") && !json.contains("share.delivery.count.limit");
    let json = eventually(&site, &format!("groups configs {group} --json"), settled).await;
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    let names: Vec<_> =
        json["configs"].as_array().unwrap().iter().map(|config| config["name"].as_str().unwrap()).collect();
    assert!(names.contains(&"share.isolation.level") && names.contains(&"share.auto.offset.reset"), "{json}");
    // Kafka understands them, and writes them in its own way.
    let words =
        format!("groups configs {group} --set share.delivery.count.limit=07 --set share.renew.acknowledge.enable=TRUE");
    assert_eq!(site.json(&words).await["changed"], json!(true));
    let error = site.error(&format!("groups configs {group} --set share.auto.offset.resett=earliest")).await;
    assert!(error.contains("did you mean share.auto.offset.reset?"), "{error}");
    let error = site.error(&format!("groups configs {group} --set share.delivery.count.limit=1")).await;
    assert!(error.contains("share.delivery.count.limit"), "{error}");
}
