//! Groups and transactional ids of a case, and their coordinators.

use ackflow_protocol::messages::describe_configs::{DescribeConfigsRequest, DescribeConfigsResource};
use ackflow_protocol::messages::describe_transactions::DescribeTransactionsRequest;
use ackflow_protocol::messages::find_coordinator::FindCoordinatorRequest;
use ackflow_protocol::messages::incremental_alter_configs::{
    AlterConfigsResource, AlterableConfig, IncrementalAlterConfigsRequest, IncrementalAlterConfigsResponse,
};

use ackflow_protocol::messages::offset_commit::{
    OffsetCommitRequest, OffsetCommitRequestPartition, OffsetCommitRequestTopic,
};
use ackflow_protocol::messages::share_group_describe::ShareGroupDescribeRequest;
use ackflow_protocol::wire::ErrorCode;

use super::{Lab, Link, Outcome, Topic};

/// A kind of coordinator, as FindCoordinator has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Group = 0,
    Transaction = 1,
}

/// The kind of resource that groups are, as IncrementalAlterConfigs has it.
pub(crate) const GROUP_RESOURCE: i8 = 32;

impl Lab {
    /// The name of a new group whose share partitions start at the first record, and whose coordinator is there.
    pub(crate) async fn group(&self) -> Outcome<String> {
        self.group_with(&[]).await
    }

    /// The same, with further settings.
    pub(crate) async fn group_with(&self, configs: &[(&str, &str)]) -> Outcome<String> {
        let group = self.group_at_latest();
        let mut all = vec![("share.auto.offset.reset", "earliest")];
        all.extend(self.patience().filter(|(name, _)| configs.iter().all(|(other, _)| other != name)));
        all.extend(configs);
        self.configure(&group, &all).await?;
        self.coordinator(Kind::Group, &group).await?;
        Ok(group)
    }

    /// The same, whose locks last as short as the broker allows.
    pub(crate) async fn group_of_short_locks(&self, configs: &[(&str, &str)]) -> Outcome<String> {
        let lock = self.target.waits.lock.as_millis().to_string();
        let mut all = vec![("share.record.lock.duration.ms", lock.as_str())];
        all.extend(configs);
        self.group_with(&all).await
    }

    /// Where members are put out soon by default, the setting that lets them be silent for as long as the broker allows: a busy machine may be late, and
    /// most cases are about something else.
    fn patience(&self) -> Option<(&'static str, &str)> {
        let settings = &self.target.settings;
        let default: u64 = settings.get("group.share.session.timeout.ms")?.parse().ok()?;
        let longest = settings.get("group.share.max.session.timeout.ms")?;
        (default < 20_000).then_some(("share.session.timeout.ms", longest))
    }

    /// The name of a new group that has no settings of its own.
    pub(crate) fn group_at_latest(&self) -> String {
        let group = self.unique("group");
        self.made().groups.push(group.clone());
        group
    }

    /// A group that is not a share group: it has committed an offset of the topic.
    pub(crate) async fn group_of_offsets(&self, topic: &Topic) -> Outcome<String> {
        let group = self.group_at_latest();
        let mut link = self.coordinator(Kind::Group, &group).await?.unrecorded();
        let partitions = vec![OffsetCommitRequestPartition { committed_offset: 0, ..Default::default() }];
        // Name and id: each version has a place for one of them.
        let topics = vec![OffsetCommitRequestTopic { name: topic.name.clone(), topic_id: topic.id, partitions }];
        let request = OffsetCommitRequest {
            group_id: group.clone(),
            generation_id_or_member_epoch: -1,
            topics,
            ..Default::default()
        };
        for partition in link.call(&request).await?.topics.iter().flat_map(|topic| &topic.partitions) {
            self.granted("OffsetCommit", partition.error_code, None)?;
        }
        Ok(group)
    }

    /// A connection to the coordinator of a group or a transactional id.
    pub(crate) async fn coordinator(&self, kind: Kind, key: &str) -> Outcome<Link> {
        let mut any = self.link().await?.unrecorded();
        let request = FindCoordinatorRequest {
            key_type: kind as i8,
            coordinator_keys: vec![key.to_owned()],
            ..Default::default()
        };
        let found = self.eventually("a coordinator", async || {
            let coordinator = any.call(&request).await?.coordinators.pop();
            Ok(coordinator.filter(|found| found.error_code.is_none() && found.node_id >= 0))
        });
        let mut coordinator = self.link_to(found.await?.node_id).await?.unrecorded();
        self.eventually("a coordinator that has read what it keeps", async || {
            let code = match kind {
                Kind::Group => probe_group(&mut coordinator, key).await?,
                Kind::Transaction => probe_transaction(&mut coordinator, key).await?,
            };
            Ok((!code.is_some_and(ErrorCode::is_retriable)).then_some(()))
        })
        .await?;
        Ok(coordinator.recorded(&self.record))
    }

    /// Settings of a group, as a broker tells them.
    pub(crate) async fn settings_of(&self, name: &str, settings: &[&str]) -> Outcome<Vec<Option<String>>> {
        let asked = DescribeConfigsResource {
            resource_type: GROUP_RESOURCE,
            resource_name: name.to_owned(),
            configuration_keys: Some(settings.iter().map(|name| (*name).to_owned()).collect()),
        };
        let request = DescribeConfigsRequest { resources: vec![asked], ..Default::default() };
        let told = self.link().await?.call(&request).await?.results.pop().unwrap_or_default().configs;
        let value =
            |name: &&str| told.iter().find(|config| config.name == **name).and_then(|config| config.value.clone());
        Ok(settings.iter().map(value).collect())
    }

    /// Sets settings of a group, until every broker knows them.
    pub(crate) async fn configure(&self, name: &str, configs: &[(&str, &str)]) -> Outcome {
        // Who reads the report wants to know them.
        let mut link = self.link().await?;
        for done in set(&mut link, name, configs).await?.responses {
            self.granted("IncrementalAlterConfigs", done.error_code, done.error_message.as_deref())?;
        }
        let asked = DescribeConfigsResource {
            resource_type: GROUP_RESOURCE,
            resource_name: name.to_owned(),
            configuration_keys: Some(configs.iter().map(|(name, _)| (*name).to_owned()).collect()),
        };
        let request = DescribeConfigsRequest { resources: vec![asked], ..Default::default() };
        for node in &self.target.info.nodes {
            let mut link = self.link_to(*node).await?.unrecorded();
            self.eventually("settings that were set are known to every broker", async || {
                let told = link.call(&request).await?.results.pop().unwrap_or_default().configs;
                let known = |(name, value): &(&str, &str)| {
                    told.iter().any(|config| config.name == *name && config.value.as_deref() == Some(*value))
                };
                Ok(configs.iter().all(known).then_some(()))
            })
            .await?;
        }
        Ok(())
    }
}

/// What the coordinator of a group says of it, where the broker can be asked.
async fn probe_group(link: &mut Link, group: &str) -> Outcome<Option<ErrorCode>> {
    let request = ShareGroupDescribeRequest { group_ids: vec![group.to_owned()], ..Default::default() };
    match link.newest::<ShareGroupDescribeRequest>() {
        Ok(_) => Ok(link.call(&request).await?.groups.pop().map(|group| group.error_code)),
        Err(_) => Ok(None),
    }
}

/// What the coordinator of a transactional id says of it, where the broker can be asked.
async fn probe_transaction(link: &mut Link, id: &str) -> Outcome<Option<ErrorCode>> {
    let request = DescribeTransactionsRequest { transactional_ids: vec![id.to_owned()] };
    match link.newest::<DescribeTransactionsRequest>() {
        Ok(_) => Ok(link.call(&request).await?.transaction_states.pop().map(|state| state.error_code)),
        Err(_) => Ok(None),
    }
}

/// Asks for settings of a group, whatever comes of it.
pub(crate) async fn set(
    link: &mut Link,
    name: &str,
    configs: &[(&str, &str)],
) -> Outcome<IncrementalAlterConfigsResponse> {
    let config = |(name, value): &(&str, &str)| AlterableConfig {
        name: (*name).to_owned(),
        config_operation: 0,
        value: Some((*value).to_owned()),
    };
    let resource = AlterConfigsResource {
        resource_type: GROUP_RESOURCE,
        resource_name: name.to_owned(),
        configs: configs.iter().map(config).collect(),
    };
    link.call(&IncrementalAlterConfigsRequest { resources: vec![resource], validate_only: false }).await
}
