//! What there is: topics page by page, and what has settings of its own.

use ackflow_protocol::messages::describe_topic_partitions::{Cursor, DescribeTopicPartitionsRequest, TopicRequest};
use ackflow_protocol::messages::incremental_alter_configs::{
    AlterConfigsResource, AlterableConfig, IncrementalAlterConfigsRequest,
};
use ackflow_protocol::messages::list_config_resources::ListConfigResourcesRequest;
use ackflow_protocol::wire::{ErrorCode, Uuid};

use super::support::{eventually, unique};
use super::{Broker, Log};

/// Asks for topics, and says what came of each and where to go on.
async fn page(broker: &Broker, topics: &[&str], limit: i32, cursor: Option<(&str, i32)>) -> String {
    let request = DescribeTopicPartitionsRequest {
        topics: topics.iter().map(|name| TopicRequest { name: (*name).to_owned() }).collect(),
        response_partition_limit: limit,
        cursor: cursor.map(|(topic, partition)| Cursor { topic_name: topic.to_owned(), partition_index: partition }),
    };
    let Ok(response) = broker.connection.call(&request, super::TIMEOUT).await else { return "no answer".to_owned() };
    let mut text = Vec::new();
    for topic in &response.topics {
        let id = if topic.topic_id == Uuid::ZERO { "no id" } else { "its id" };
        let name = topic.name.as_deref().unwrap_or("null");
        let code = topic.error_code.name().unwrap_or("?");
        let mut said = format!("{name} {code} {id} o{}", topic.topic_authorized_operations);
        for partition in &topic.partitions {
            said.push_str(&format!(
                " {}:{} e{} {}/{}/{:?}/{:?}/{}",
                partition.partition_index,
                partition.error_code.name().unwrap_or("?"),
                partition.leader_epoch,
                partition.replica_nodes.len(),
                partition.isr_nodes.len(),
                partition.eligible_leader_replicas,
                partition.last_known_elr,
                partition.offline_replicas.len(),
            ));
        }
        text.push(said);
    }
    if let Some(cursor) = &response.next_cursor {
        text.push(format!("next {} {}", cursor.topic_name, cursor.partition_index));
    }
    text.join("; ")
}

pub(super) async fn topics_are_described_in_pages(broker: &Broker) {
    let mut log = Log::default();
    let ((one, _), (two, _)) = (broker.topic(2).await, broker.topic(2).await);
    let (one, two) = if one < two { (one, two) } else { (two, one) };
    let hide = |text: String| text.replace(&one, "ONE").replace(&two, "TWO");
    let both = [two.as_str(), one.as_str()];
    log.say("both", hide(page(broker, &both, 100, None).await));
    log.say("unknown", page(broker, &["no-such-topic"], 100, None).await);
    log.say("invalid", page(broker, &["no such topic"], 100, None).await);
    log.say("twice", hide(page(broker, &[&one, &one], 1, None).await));
    log.say("the first", hide(page(broker, &both, 1, None).await));
    log.say("the second", hide(page(broker, &both, 1, Some((&one, 1))).await));
    log.say("two", hide(page(broker, &both, 2, Some((&one, 1))).await));
    log.say("one topic", hide(page(broker, &both, 2, None).await));
    log.say("behind the end of a topic", hide(page(broker, &both, 1, Some((&one, 7))).await));
    log.say("from a topic that was not asked for", hide(page(broker, &[&two], 2, Some((&one, 1))).await));
    log.say("behind all", hide(page(broker, &both, 1, Some(("zzz", 0))).await));
    log.say("no partitions", hide(page(broker, &both, 0, None).await));
    log.say("less than none", hide(page(broker, &both, -1, None).await));
    log.say("an odd cursor", hide(page(broker, &both, 4, Some((&one, -1))).await));
    assert_eq!(
        log.0,
        "both: ONE NONE its id o3576 0:NONE e0 1/1/Some([])/Some([])/0 1:NONE e0 1/1/Some([])/Some([])/0; TWO NONE its id o3576 0:NONE e0 1/1/Some([])/Some([])/0 1:NONE e0 1/1/Some([])/Some([])/0
unknown: no-such-topic UNKNOWN_TOPIC_OR_PARTITION no id o3576
invalid: no such topic INVALID_TOPIC_EXCEPTION no id o3576
twice: ONE NONE its id o3576 0:NONE e0 1/1/Some([])/Some([])/0; next ONE 1
the first: ONE NONE its id o3576 0:NONE e0 1/1/Some([])/Some([])/0; next ONE 1
the second: ONE NONE its id o3576 1:NONE e0 1/1/Some([])/Some([])/0; next TWO 0
two: ONE NONE its id o3576 1:NONE e0 1/1/Some([])/Some([])/0; TWO NONE its id o3576 0:NONE e0 1/1/Some([])/Some([])/0; next TWO 1
one topic: ONE NONE its id o3576 0:NONE e0 1/1/Some([])/Some([])/0 1:NONE e0 1/1/Some([])/Some([])/0; next TWO 0
behind the end of a topic: ONE NONE its id o3576; TWO NONE its id o3576 0:NONE e0 1/1/Some([])/Some([])/0; next TWO 1
from a topic that was not asked for: TWO INVALID_REQUEST no id o-2147483648
behind all: TWO INVALID_REQUEST no id o-2147483648; ONE INVALID_REQUEST no id o-2147483648
no partitions: ONE NONE its id o3576 0:NONE e0 1/1/Some([])/Some([])/0; next ONE 1
less than none: ONE NONE its id o3576 0:NONE e0 1/1/Some([])/Some([])/0; next ONE 1
an odd cursor: TWO INVALID_REQUEST no id o-2147483648; ONE INVALID_REQUEST no id o-2147483648
"
    );
}

pub(super) async fn what_has_settings_is_listed(broker: &Broker) {
    let mut log = Log::default();
    let (name, _) = broker.topic(1).await;
    let group = unique("listed");
    let setting = AlterableConfig {
        name: "share.auto.offset.reset".to_owned(),
        config_operation: 0,
        value: Some("earliest".to_owned()),
    };
    let resource = AlterConfigsResource { resource_type: 32, resource_name: group.clone(), configs: vec![setting] };
    let request = IncrementalAlterConfigsRequest { resources: vec![resource], validate_only: false };
    assert!(broker.call(&request).await.responses[0].error_code.is_none());
    let list = async |types: &[i8]| {
        let response = broker.call(&ListConfigResourcesRequest { resource_types: types.to_vec() }).await;
        let mut found: Vec<_> =
            response.config_resources.into_iter().map(|found| (found.resource_type, found.resource_name)).collect();
        found.sort();
        (response.error_code, found)
    };
    let of = |found: &(ErrorCode, Vec<(i8, String)>)| {
        let ours = |(kind, n): &&(i8, String)| !matches!(kind, 2 | 32) || *n == name || *n == group;
        let text = found.1.iter().filter(ours).map(|(kind, n)| format!("{kind} {n}")).collect::<Vec<_>>().join(", ");
        format!("{} {text}", found.0.name().unwrap_or("?")).replace(&name, "TOPIC").replace(&group, "GROUP")
    };
    eventually("the group", async || list(&[32]).await.1.iter().any(|(_, n)| *n == group).then_some(())).await;
    for (what, types) in [
        ("topics", &[2][..]),
        ("brokers", &[4]),
        ("loggers", &[8]),
        ("metrics", &[16]),
        ("groups", &[32]),
        ("two kinds", &[32, 2, 2]),
        ("all", &[]),
        ("unknown", &[7]),
        ("one is unknown", &[2, 0]),
    ] {
        log.say(what, of(&list(types).await));
    }
    let old = broker.call_version(0, &ListConfigResourcesRequest::default()).await;
    log.say("of old", format!("{} {}", old.error_code.name().unwrap_or("?"), old.config_resources.len()));
    assert_eq!(
        log.0,
        "topics: NONE 2 TOPIC
brokers: NONE 4 1
loggers: NONE 8 1
metrics: NONE 
groups: NONE 32 GROUP
two kinds: NONE 2 TOPIC, 32 GROUP
all: NONE 2 TOPIC, 4 1, 8 1, 32 GROUP
unknown: UNSUPPORTED_VERSION 
one is unknown: UNSUPPORTED_VERSION 
of old: NONE 0
"
    );
}
