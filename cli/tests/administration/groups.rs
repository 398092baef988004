//! Groups on the embedded broker, which has share groups.

use std::time::Duration;

use ackflow_client::share::{OwnedShareConsumer, ShareConsumerConfig};
use serde_json::json;

use crate::{cells, embedded, records};

#[tokio::test(flavor = "multi_thread")]
async fn share_group_is_listed_described_and_its_lag_told() {
    let (broker, site) = embedded().await;
    site.produce("t", &records(5)).await;
    site.consume("t", "g", 2).await;

    assert_eq!(site.table("groups list").await, "GROUP  TYPE   PROTOCOL  STATE\ng      share  share     Empty\n");
    for words in ["groups describe g", "groups describe --group g", "groups describe --all-groups --offsets"] {
        let described = site.table(words).await;
        let expected = [
            vec!["GROUP", "TOPIC", "PARTITION", "START-OFFSET", "LAG"],
            vec!["g", "t", "0", "2", "3"],
            vec!["g", "t", "1", "0", "0"],
        ];
        // Of partition 1 the group may have read nothing yet.
        let unread = [&expected[..2], &[vec!["g", "t", "1", "-", "-"]]].concat();
        let shown = cells(&described);
        assert!(shown == expected || shown == unread, "{described}");
    }
    let json = site.json("groups describe g").await;
    let first = &json["offsets"][0];
    let expected = json!({ "group": "g", "type": "share", "topic": "t", "partition": 0, "leaderEpoch": 0, "startOffset": 2, "lag": 3 });
    assert_eq!(*first, expected);
    assert!(json.get("members").is_none() && json.get("groups").is_none(), "{json}");

    let lags = site.json("groups lag g").await;
    let lag = &lags["lags"][0];
    assert_eq!(
        (&lag["group"], &lag["topic"], &lag["partitions"], &lag["lag"]),
        (&json!("g"), &json!("t"), &json!(2), &json!(3))
    );
    let total = site.json("groups lag --all-groups --total").await;
    assert_eq!((total["lags"].as_array().unwrap().len(), &total["lags"][0]["lag"]), (1, &json!(3)));
    assert_eq!(broker.group_lag("g", "t", 0).await.unwrap(), Some(3));
}

#[tokio::test(flavor = "multi_thread")]
async fn members_and_state_are_shown_where_they_are_asked_for() {
    let (_broker, site) = embedded().await;
    let config = ShareConsumerConfig::builder(&site.servers, "g").build().unwrap();
    let mut consumer = OwnedShareConsumer::new(config).unwrap();
    consumer.subscribe(["t"]).unwrap();
    while consumer.assignment().is_empty() {
        consumer.poll(Duration::from_millis(20)).await.unwrap();
    }
    let json = site.json("groups describe g --members --state").await;
    let state = &json["groups"][0];
    assert_eq!((&state["group"], &state["type"], &state["members"]), (&json!("g"), &json!("share"), &json!(1)));
    assert_eq!((&state["state"], &state["assignor"]), (&json!("Stable"), &json!("simple")));
    let member = &json["members"][0];
    assert_eq!(member["assignment"], json!([{ "topic": "t", "partitions": [0, 1] }]));
    assert_eq!((&member["subscribedTopics"], &member["partitions"]), (&json!(["t"]), &json!(2)));
    assert!(json.get("offsets").is_none(), "{json}");

    let tables = site.table("groups describe g --members --state").await;
    let (states, members) = tables.split_once("\n\n").unwrap();
    assert_eq!(cells(states)[1], ["g", "share", "Stable", "1", "1"]);
    let member = &cells(members)[1];
    assert_eq!((member[0], member[member.len() - 1]), ("g", "t:0,1"));
    assert!(site.table("groups describe g --members --verbose").await.contains("MEMBER-EPOCH"));

    assert_eq!(site.json("groups list --state stable --type share").await["groups"].as_array().unwrap().len(), 1);
    assert_eq!(site.json("groups list --state empty,dead").await["groups"], json!([]));
    assert_eq!(site.json("groups list --type consumer,classic").await["groups"], json!([]));
    consumer.close(Duration::from_secs(10)).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn settings_of_a_group_are_set_shown_and_unset() {
    let (_broker, site) = embedded().await;
    assert_eq!(site.table("groups configs new").await, "CONFIG  VALUE  SOURCE\n");
    let set = "groups configs new --set share.auto.offset.reset=earliest --add-config share.delivery.count.limit=7,share.isolation.level=[read_committed]";
    let table = site.table(set).await;
    let expected = [
        ["CONFIG", "VALUE", "SOURCE"],
        ["share.auto.offset.reset", "earliest", "DYNAMIC_GROUP_CONFIG"],
        ["share.delivery.count.limit", "7", "DYNAMIC_GROUP_CONFIG"],
        ["share.isolation.level", "read_committed", "DYNAMIC_GROUP_CONFIG"],
    ];
    assert_eq!(cells(&table), expected);
    let (_, remarks) = site.table_and_remarks("groups configs new --unset share.isolation.level --dry-run").await;
    assert!(remarks.contains("dry run"), "{remarks}");
    let json =
        site.json("groups configs new --unset share.isolation.level --delete-config share.delivery.count.limit").await;
    assert_eq!(json["changed"], json!(true));
    let left = json!([{ "name": "share.auto.offset.reset", "value": "earliest", "source": "DYNAMIC_GROUP_CONFIG",
        "sensitive": false, "readOnly": false }]);
    assert_eq!(json["configs"], left);
    let all = site.json("groups configs --group new --all").await;
    let limit = all["configs"].as_array().unwrap().iter().find(|config| config["name"] == "share.delivery.count.limit");
    assert_eq!(limit.unwrap()["value"], json!("5"));
    assert_eq!(all["changed"], json!(false));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_setting_that_there_is_not_cannot_be_unset_and_nothing_is_changed_with_it() {
    let (_broker, site) = embedded().await;
    site.table("groups configs g --set share.delivery.count.limit=7").await;
    for (unset, expected) in [
        (
            "--unset share.delivery.count.limit --unset nosuch",
            "nosuch is no setting of group g, and nothing was changed; --all",
        ),
        ("--delete-config share.delivery.count.limt", "did you mean share.delivery.count.limit?"),
        ("--unset nosuch --dry-run", "nosuch is no setting of group g"),
    ] {
        let output = site.run(&format!("groups configs g {unset}")).await;
        let stderr = crate::failure(1, &output);
        assert!(stderr.contains(expected), "{expected}: {stderr}");
    }
    let left = site.table("groups configs g").await;
    assert_eq!(cells(&left)[1][..2], ["share.delivery.count.limit", "7"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_found_is_shown_beside_what_was_not() {
    let (_broker, site) = embedded().await;
    site.produce("t", &records(1)).await;
    site.consume("t", "g", 1).await;
    let output = site.run("groups lag g gone --json").await;
    let stderr = crate::failure(1, &output);
    assert!(stderr.contains("there is no group gone"), "{stderr}");
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(json["lags"][0]["group"], json!("g"));
    assert!(json["errors"][0].as_str().unwrap().contains("there is no group gone"), "{json}");
    // Nothing was found: a heading alone would look as though there were nothing.
    assert!(site.run("groups describe gone").await.stdout.is_empty());
}
