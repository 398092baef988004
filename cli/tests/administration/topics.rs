//! Topics on the embedded broker.

use serde_json::json;

use crate::{cells, embedded, failure};

#[tokio::test(flavor = "multi_thread")]
async fn topics_are_created_described_grown_and_deleted() {
    let (_broker, site) = embedded().await;
    let created =
        site.json("topics create u v --partitions 3 --replication-factor 1 --config retention.ms=60000").await;
    assert_eq!((&created["created"][0]["topic"], &created["created"][1]["topic"]), (&json!("u"), &json!("v")));
    assert_eq!(
        (&created["created"][0]["partitions"], &created["created"][0]["replicationFactor"]),
        (&json!(3), &json!(1))
    );
    assert_eq!(site.table("topics list").await, "TOPIC\nt\nu\nv\n");

    let tables = site.table("topics describe --topic u").await;
    let (topics, partitions) = tables.split_once("\n\n").unwrap();
    assert_eq!(cells(topics)[0], ["TOPIC", "ID", "#PARTITIONS", "REPLICATION-FACTOR", "CONFIGS"]);
    assert_eq!(cells(topics)[1][2..], ["3", "1", "retention.ms=60000"]);
    assert_eq!(cells(topics)[1][1], created["created"][0]["id"]);
    assert_eq!(cells(partitions)[0], ["TOPIC", "PARTITION", "LEADER", "REPLICAS", "ISR"]);
    assert_eq!(cells(partitions)[3], ["u", "2", "1", "1", "1"]);

    let json = site.json("topics describe").await;
    assert_eq!(json["topics"].as_array().unwrap().len(), 3);
    assert_eq!(json["topics"][1]["configs"], json!({ "retention.ms": "60000" }));
    let partition = json!({ "topic": "t", "partition": 0, "leader": 1, "replicas": [1], "isr": [1], "leaderEpoch": 0 });
    assert_eq!(json["partitions"][0], partition);
    for words in ["--under-replicated-partitions", "--unavailable-partitions"] {
        let json = site.json(&format!("topics describe {words}")).await;
        assert_eq!((&json["partitions"], json.get("topics")), (&json!([]), None));
    }
    let overrides = site.json("topics describe --topics-with-overrides").await;
    assert_eq!((overrides["topics"].as_array().unwrap().len(), overrides.get("partitions")), (2, None));

    let (_, remarks) = site.table_and_remarks("topics partitions u --partitions 5 --dry-run").await;
    assert!(remarks.contains("nothing was changed"), "{remarks}");
    assert_eq!(cells(&site.table("topics partitions u --partitions 5").await)[1], ["u", "3", "5"]);
    assert_eq!(site.json("topics describe u").await["topics"][0]["partitions"], json!(5));

    assert_eq!(site.json("topics delete u v").await["deleted"], json!([{ "topic": "u" }, { "topic": "v" }]));
    assert_eq!(site.table("topics list").await, "TOPIC\nt\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_exists_or_does_not_is_no_error_where_that_is_said() {
    let (_broker, site) = embedded().await;
    let (table, remarks) = site.table_and_remarks("topics create t u --if-not-exists").await;
    assert!(remarks.contains("topic t exists") && table.lines().count() == 2, "{table}{remarks}");
    assert_eq!(site.json("topics delete u gone --if-exists").await["deleted"], json!([{ "topic": "u" }]));
    assert_eq!(site.json("topics describe t gone --if-exists").await["topics"].as_array().unwrap().len(), 1);
    assert_eq!(site.json("topics partitions gone --partitions 3 --if-exists").await["topics"], json!([]));
    let (_, remarks) = site.table_and_remarks("topics create later --dry-run").await;
    assert!(remarks.contains("nothing was created"), "{remarks}");
    assert_eq!(site.table("topics list").await, "TOPIC\nt\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn settings_of_a_topic_are_set_shown_and_unset() {
    let (_broker, site) = embedded().await;
    let json = site.json("topics configs t --set retention.ms=1000 --set cleanup.policy=compact,delete").await;
    let values: Vec<_> = json["configs"].as_array().unwrap().iter().map(|config| config["value"].clone()).collect();
    assert_eq!(values, [json!("compact,delete"), json!("1000")]);
    assert_eq!(cells(&site.table("topics configs t --unset retention.ms").await)[1][0], "cleanup.policy");
    assert!(site.table("topics configs t --all").await.contains("DEFAULT_CONFIG"));
    let output = site.run("topics configs t --set retention.mss=1 --json").await;
    let stderr = failure(1, &output);
    assert!(stderr.contains("did you mean retention.ms?"), "{stderr}");
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&json["changed"], &json["configs"]), (&json!(false), &json!([])));
}
