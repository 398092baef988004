//! Settings of groups.

use ackflow_protocol::messages::describe_configs::{
    DescribeConfigsRequest, DescribeConfigsResource, DescribeConfigsResourceResult,
};
use ackflow_protocol::messages::incremental_alter_configs::{
    AlterConfigsResource, AlterableConfig, IncrementalAlterConfigsRequest,
};
use ackflow_protocol::messages::list_config_resources::ListConfigResourcesRequest;
use ackflow_protocol::wire::ErrorCode;

use crate::broker::case::cases;
use crate::broker::lab::{GROUP_RESOURCE, Kind, Lab, Link, Outcome, Stop, join, random_uuid};

cases! {
    AdminAndOffsets;
    a_setting_of_a_group_is_told_as_it_was_set:
        "DescribeConfigs of a group tells a value that was set, as one of the group itself.",
        "KIP-848 and KIP-932, Group configuration";
    a_setting_that_was_not_set_is_told_by_its_default:
        "DescribeConfigs of a group that has no settings tells defaults: share.auto.offset.reset=latest, share.isolation.level=read_uncommitted.",
        "KIP-932, Group configuration";
    a_setting_that_is_taken_back_has_its_default_again:
        "IncrementalAlterConfigs with the operation DELETE takes a setting of a group back.",
        "KIP-339; KIP-932, Group configuration";
    a_setting_that_does_not_exist_is_refused:
        "A setting that groups do not have is refused with INVALID_CONFIG.",
        "KIP-848, Group configuration";
    a_change_that_is_only_checked_changes_nothing:
        "IncrementalAlterConfigs with validateOnly answers as usual and sets nothing.",
        "IncrementalAlterConfigsRequest schema";
    a_setting_that_is_named_twice_is_refused:
        "IncrementalAlterConfigs that names a setting of one resource twice is refused with INVALID_REQUEST.",
        "KIP-339";
    a_setting_without_a_value_is_refused:
        "IncrementalAlterConfigs with the operation SET and no value is refused with INVALID_REQUEST.",
        "KIP-339";
    a_list_operation_on_what_is_no_list_is_refused:
        "IncrementalAlterConfigs with the operation APPEND or SUBTRACT on a setting that is no list is refused with INVALID_CONFIG.",
        "KIP-339";
    settings_want_the_name_of_a_group:
        "IncrementalAlterConfigs and DescribeConfigs of the group with the empty name are refused with INVALID_REQUEST: there are no settings for all groups.",
        "KIP-848, Group configuration";
    settings_are_kept_for_groups_to_come:
        "A group that does not exist has the settings that were given to its name: a member that joins is told its heartbeat interval.",
        "KIP-848, Group configuration";
    groups_with_settings_are_listed:
        "ListConfigResources of the type GROUP names the groups that have settings of their own.",
        "KIP-1142";
}

const RESET: &str = "share.auto.offset.reset";
const SET: i8 = 0;
const DELETE: i8 = 1;
const APPEND: i8 = 2;
const SUBTRACT: i8 = 3;
/// DescribeConfigs: the value was set on the group itself.
const OF_THE_GROUP: i8 = 8;

async fn told(link: &mut Link, group: &str, name: &str) -> Outcome<DescribeConfigsResourceResult> {
    let resource = DescribeConfigsResource {
        resource_type: GROUP_RESOURCE,
        resource_name: group.to_owned(),
        configuration_keys: Some(vec![name.to_owned()]),
    };
    let request = DescribeConfigsRequest { resources: vec![resource], ..Default::default() };
    let result = link.call(&request).await?.results.pop().unwrap_or_default();
    let found = result.configs.into_iter().find(|config| config.name == name);
    found.ok_or_else(|| Stop::failed(format!("DescribeConfigs tells {name}"), format!("{:?}", result.error_code)))
}

/// Changes settings of a group: name, operation and value of each.
async fn change(
    link: &mut Link,
    group: &str,
    only_check: bool,
    changes: &[(&str, i8, Option<&str>)],
) -> Outcome<ErrorCode> {
    let config = |(name, config_operation, value): &(&str, i8, Option<&str>)| AlterableConfig {
        name: (*name).to_owned(),
        config_operation: *config_operation,
        value: value.map(str::to_owned),
    };
    let resource = AlterConfigsResource {
        resource_type: GROUP_RESOURCE,
        resource_name: group.to_owned(),
        configs: changes.iter().map(config).collect(),
    };
    let request = IncrementalAlterConfigsRequest { resources: vec![resource], validate_only: only_check };
    let result = link.call(&request).await?.responses.pop();
    result.map(|result| result.error_code).ok_or_else(|| Stop::failed("an answer for the group", "there is none"))
}

async fn a_setting_of_a_group_is_told_as_it_was_set(lab: &Lab) -> Outcome {
    let (group, mut link) = (lab.group_at_latest(), lab.link().await?);
    let code = change(&mut link, &group, false, &[(RESET, SET, Some("earliest"))]).await?;
    lab.check("the error of IncrementalAlterConfigs", code, ErrorCode::NONE)?;
    let config = settled(lab, &mut link, &group, "earliest").await?;
    lab.check("the source (8: the group itself)", config.config_source, OF_THE_GROUP)
}

/// Waits until a broker tells this value of `share.auto.offset.reset`: it learns of changes a moment after they are made.
async fn settled(lab: &Lab, link: &mut Link, group: &str, value: &str) -> Outcome<DescribeConfigsResourceResult> {
    lab.eventually(&format!("DescribeConfigs tells {RESET}={value}"), async || {
        let config = told(link, group, RESET).await?;
        Ok((config.value.as_deref() == Some(value)).then_some(config))
    })
    .await
}

async fn a_setting_that_was_not_set_is_told_by_its_default(lab: &Lab) -> Outcome {
    let (group, mut link) = (lab.group_at_latest(), lab.link().await?);
    for (name, default) in [(RESET, "latest"), ("share.isolation.level", "read_uncommitted")] {
        let config = told(&mut link, &group, name).await?;
        lab.check(name, config.value.as_deref(), Some(default))?;
        let source = config.config_source;
        lab.check_that("the source", source != OF_THE_GROUP, "anything but 8, the group itself", &source)?;
    }
    Ok(())
}

async fn a_setting_that_is_taken_back_has_its_default_again(lab: &Lab) -> Outcome {
    let (group, mut link) = (lab.group_at_latest(), lab.link().await?);
    lab.configure(&group, &[(RESET, "earliest")]).await?;
    settled(lab, &mut link, &group, "earliest").await?;
    let code = change(&mut link, &group, false, &[(RESET, DELETE, None)]).await?;
    lab.check("the error of IncrementalAlterConfigs", code, ErrorCode::NONE)?;
    settled(lab, &mut link, &group, "latest").await.map(drop)
}

async fn a_setting_that_does_not_exist_is_refused(lab: &Lab) -> Outcome {
    let (group, mut link) = (lab.group_at_latest(), lab.link().await?);
    let code = change(&mut link, &group, false, &[("share.no.such.setting", SET, Some("1"))]).await?;
    lab.check("the error", code, ErrorCode::INVALID_CONFIG)
}

async fn a_change_that_is_only_checked_changes_nothing(lab: &Lab) -> Outcome {
    let (group, mut link) = (lab.group_at_latest(), lab.link().await?);
    let code = change(&mut link, &group, true, &[(RESET, SET, Some("earliest"))]).await?;
    lab.check("the error of a change that is right", code, ErrorCode::NONE)?;
    let code = change(&mut link, &group, true, &[(RESET, SET, Some("nearest"))]).await?;
    lab.check("the error of a change that is wrong", code, ErrorCode::INVALID_CONFIG)?;
    // A change that is made is the proof that the one before would have been seen.
    lab.configure(&group, &[("share.isolation.level", "read_committed")]).await?;
    lab.eventually("DescribeConfigs tells another setting", async || {
        let config = told(&mut link, &group, "share.isolation.level").await?;
        Ok((config.value.as_deref() == Some("read_committed")).then_some(()))
    })
    .await?;
    let config = told(&mut link, &group, RESET).await?;
    lab.check(RESET, config.value.as_deref(), Some("latest"))
}

async fn a_setting_that_is_named_twice_is_refused(lab: &Lab) -> Outcome {
    let (group, mut link) = (lab.group_at_latest(), lab.link().await?);
    let twice = [(RESET, SET, Some("earliest")), (RESET, SET, Some("latest"))];
    lab.check("the error", change(&mut link, &group, false, &twice).await?, ErrorCode::INVALID_REQUEST)
}

async fn a_setting_without_a_value_is_refused(lab: &Lab) -> Outcome {
    let (group, mut link) = (lab.group_at_latest(), lab.link().await?);
    let code = change(&mut link, &group, false, &[(RESET, SET, None)]).await?;
    lab.check("the error", code, ErrorCode::INVALID_REQUEST)
}

async fn a_list_operation_on_what_is_no_list_is_refused(lab: &Lab) -> Outcome {
    let (group, mut link) = (lab.group_at_latest(), lab.link().await?);
    for (name, operation) in [("APPEND", APPEND), ("SUBTRACT", SUBTRACT)] {
        let code = change(&mut link, &group, false, &[(RESET, operation, Some("earliest"))]).await?;
        lab.check(&format!("the error of {name}"), code, ErrorCode::INVALID_CONFIG)?;
    }
    Ok(())
}

async fn settings_want_the_name_of_a_group(lab: &Lab) -> Outcome {
    let mut link = lab.link().await?;
    let code = change(&mut link, "", false, &[(RESET, SET, Some("earliest"))]).await?;
    lab.check("the error of IncrementalAlterConfigs", code, ErrorCode::INVALID_REQUEST)?;
    let resource = DescribeConfigsResource { resource_type: GROUP_RESOURCE, ..Default::default() };
    let response = link.call(&DescribeConfigsRequest { resources: vec![resource], ..Default::default() }).await?;
    let codes: Vec<_> = response.results.iter().map(|result| result.error_code).collect();
    lab.check("the error of DescribeConfigs", codes, vec![ErrorCode::INVALID_REQUEST])
}

async fn settings_are_kept_for_groups_to_come(lab: &Lab) -> Outcome {
    let topic = lab.topic(1).await?;
    // Not the default, and within the bounds of the broker.
    let interval = lab.target.waits.heartbeat.as_millis() + 123;
    let interval = i32::try_from(interval).unwrap_or(i32::MAX);
    let group = lab.group_with(&[("share.heartbeat.interval.ms", &interval.to_string())]).await?;
    let mut link = lab.coordinator(Kind::Group, &group).await?;
    let member = random_uuid().to_string();
    lab.made_member(&group, &member);
    let joined = link.call(&join(&group, &member, &[&topic])).await?;
    lab.check("the error of the heartbeat", joined.error_code, ErrorCode::NONE)?;
    lab.check("the interval of heartbeats, in ms", joined.heartbeat_interval_ms, interval)
}

async fn groups_with_settings_are_listed(lab: &Lab) -> Outcome {
    let (with, without) = (lab.group().await?, lab.group_at_latest());
    let mut link = lab.link().await?;
    let request = ListConfigResourcesRequest { resource_types: vec![GROUP_RESOURCE] };
    let response = link.call(&request).await?;
    lab.check("the error", response.error_code, ErrorCode::NONE)?;
    let listed = |group: &str| response.config_resources.iter().any(|found| found.resource_name == group);
    lab.check("whether the group with settings is listed", listed(&with), true)?;
    lab.check("whether a group without settings is listed", listed(&without), false)
}
