//! Settings of a group that have bounds.

use ackflow_protocol::wire::ErrorCode;

use crate::broker::case::cases;
use crate::broker::lab::{Lab, Outcome, Stop, set};

cases! {
    Limits;
    the_duration_of_locks_has_bounds:
        "share.record.lock.duration.ms of a group is taken between group.share.min.record.lock.duration.ms and group.share.max.record.lock.duration.ms, and \
         refused with INVALID_CONFIG outside.",
        "KIP-932, Group configuration";
    the_count_of_deliveries_has_bounds:
        "share.delivery.count.limit of a group is taken between group.share.min.delivery.count.limit and group.share.max.delivery.count.limit, and refused \
         with INVALID_CONFIG outside.",
        "KIP-1240";
    the_number_of_locks_has_bounds:
        "share.partition.max.record.locks of a group is taken between group.share.min.partition.max.record.locks and \
         group.share.max.partition.max.record.locks, and refused with INVALID_CONFIG outside.",
        "KIP-1240";
    the_timeout_of_members_has_bounds:
        "share.session.timeout.ms of a group is taken between group.share.min.session.timeout.ms and group.share.max.session.timeout.ms, and refused with \
         INVALID_CONFIG outside.",
        "KIP-932, Group configuration";
    the_interval_of_heartbeats_has_bounds:
        "share.heartbeat.interval.ms of a group is taken from group.share.min.heartbeat.interval.ms on, and refused with INVALID_CONFIG below that and above \
         group.share.max.heartbeat.interval.ms.",
        "KIP-932, Group configuration";
    heartbeats_come_more_than_once_a_session:
        "A group whose share.heartbeat.interval.ms would not be below its share.session.timeout.ms is refused with INVALID_CONFIG.",
        "KIP-932, Group configuration",
        note "Kafka compares them where one of them is set.";
    settings_of_words_take_only_those:
        "share.auto.offset.reset and share.isolation.level of a group take the words that they are documented with, and refuse others with INVALID_CONFIG.",
        "KIP-932, Group configuration";
    numbers_have_to_be_numbers:
        "A setting of a group that is a number refuses what is none with INVALID_CONFIG.",
        "KIP-932, Group configuration";
    what_is_refused_changes_nothing:
        "Of several settings of a group in one request of which one is refused none is taken.",
        "KIP-339";
}

/// A number of the broker's settings, or Kafka's default of it.
pub(super) fn number(lab: &Lab, name: &str, default: i64) -> i64 {
    lab.target.settings.get(name).and_then(|value| value.parse().ok()).unwrap_or(default)
}

/// Sets one setting of a group, and gives the error.
async fn code_of(lab: &Lab, group: &str, settings: &[(&str, &str)]) -> Outcome<ErrorCode> {
    let mut link = lab.link().await?;
    let done = set(&mut link, group, settings).await?.responses.pop();
    Ok(done.map_or(ErrorCode::NONE, |done| done.error_code))
}

/// Checks that a setting is taken at these values, and refused at those.
async fn bounded(lab: &Lab, name: &str, taken: &[i64], refused: &[i64]) -> Outcome {
    let group = lab.group_at_latest();
    for value in taken {
        let code = code_of(lab, &group, &[(name, &value.to_string())]).await?;
        lab.check(&format!("the error of {name}={value}"), code, ErrorCode::NONE)?;
    }
    for value in refused {
        let code = code_of(lab, &group, &[(name, &value.to_string())]).await?;
        lab.check(&format!("the error of {name}={value}"), code, ErrorCode::INVALID_CONFIG)?;
    }
    Ok(())
}

async fn the_duration_of_locks_has_bounds(lab: &Lab) -> Outcome {
    let least = number(lab, "group.share.min.record.lock.duration.ms", 15_000);
    let most = number(lab, "group.share.max.record.lock.duration.ms", 60_000);
    bounded(lab, "share.record.lock.duration.ms", &[least, most], &[least - 1, most + 1, 0, -1]).await
}

async fn the_count_of_deliveries_has_bounds(lab: &Lab) -> Outcome {
    let least = number(lab, "group.share.min.delivery.count.limit", 2);
    let most = number(lab, "group.share.max.delivery.count.limit", 10);
    bounded(lab, "share.delivery.count.limit", &[least, most], &[least - 1, most + 1, 0, -1]).await
}

async fn the_number_of_locks_has_bounds(lab: &Lab) -> Outcome {
    let least = number(lab, "group.share.min.partition.max.record.locks", 100);
    let most = number(lab, "group.share.max.partition.max.record.locks", 4000);
    bounded(lab, "share.partition.max.record.locks", &[least, most], &[least - 1, most + 1, 0, -1]).await
}

async fn the_timeout_of_members_has_bounds(lab: &Lab) -> Outcome {
    let least = number(lab, "group.share.min.session.timeout.ms", 45_000);
    let most = number(lab, "group.share.max.session.timeout.ms", 60_000);
    bounded(lab, "share.session.timeout.ms", &[least, most], &[least - 1, most + 1, 0, -1]).await
}

async fn the_interval_of_heartbeats_has_bounds(lab: &Lab) -> Outcome {
    let least = number(lab, "group.share.min.heartbeat.interval.ms", 5_000);
    let most = number(lab, "group.share.max.heartbeat.interval.ms", 15_000);
    bounded(lab, "share.heartbeat.interval.ms", &[least], &[least - 1, most + 1, 0, -1]).await
}

async fn heartbeats_come_more_than_once_a_session(lab: &Lab) -> Outcome {
    let longest = number(lab, "group.share.max.heartbeat.interval.ms", 15_000);
    let shortest = number(lab, "group.share.min.session.timeout.ms", 45_000);
    if longest < shortest {
        return Err(Stop::NotOffered(format!(
            "the broker's bounds keep every interval (at most {longest} ms) below every session (at least {shortest} ms)"
        )));
    }
    let (interval, session) = (longest.to_string(), shortest.to_string());
    let both = [("share.heartbeat.interval.ms", interval.as_str()), ("share.session.timeout.ms", session.as_str())];
    let code = code_of(lab, &lab.group_at_latest(), &both).await?;
    lab.check(
        &format!("the error of intervals of {longest} ms in sessions of {shortest} ms"),
        code,
        ErrorCode::INVALID_CONFIG,
    )
}

async fn settings_of_words_take_only_those(lab: &Lab) -> Outcome {
    let group = lab.group_at_latest();
    for (name, taken) in [
        ("share.auto.offset.reset", &["earliest", "latest", "by_duration:PT1H"][..]),
        ("share.isolation.level", &["read_committed", "read_uncommitted"]),
    ] {
        for value in taken {
            let code = code_of(lab, &group, &[(name, value)]).await?;
            lab.check(&format!("the error of {name}={value}"), code, ErrorCode::NONE)?;
        }
        for value in ["", "none", "by_duration:", "by_duration:an hour", "by_duration:-PT1H"] {
            let code = code_of(lab, &group, &[(name, value)]).await?;
            lab.check(&format!("the error of {name}={value:?}"), code, ErrorCode::INVALID_CONFIG)?;
        }
    }
    Ok(())
}

async fn numbers_have_to_be_numbers(lab: &Lab) -> Outcome {
    let group = lab.group_at_latest();
    for name in ["share.record.lock.duration.ms", "share.session.timeout.ms", "share.heartbeat.interval.ms"] {
        for value in ["", "many", "1.5", "99999999999999999999"] {
            let code = code_of(lab, &group, &[(name, value)]).await?;
            lab.check(&format!("the error of {name}={value:?}"), code, ErrorCode::INVALID_CONFIG)?;
        }
    }
    Ok(())
}

async fn what_is_refused_changes_nothing(lab: &Lab) -> Outcome {
    let group = lab.group_at_latest();
    let least = number(lab, "group.share.min.record.lock.duration.ms", 15_000);
    let (fine, short) = (least.to_string(), (least - 1).to_string());
    // One that every broker takes by itself, to be compared with.
    let before = [("share.isolation.level", "read_committed"), ("share.record.lock.duration.ms", fine.as_str())];
    lab.configure(&group, &before).await?;
    let mixed = [("share.isolation.level", "read_uncommitted"), ("share.record.lock.duration.ms", short.as_str())];
    let code = code_of(lab, &group, &mixed).await?;
    lab.check("the error of two settings of which one is refused", code, ErrorCode::INVALID_CONFIG)?;
    let told = lab.settings_of(&group, &["share.isolation.level"]).await?;
    lab.check("the other setting", told, vec![Some("read_committed".to_owned())])
}
