//! ConfigCommand.

use anyhow::Result;

use super::stage::Stage;

const CONFIGS: &str = "ConfigCommand";

pub(super) fn configs(stage: &mut Stage) -> Result<()> {
    let topic = ["--entity-type", "topics", "--entity-name", "topics"];
    stage.asks(CONFIGS, &[&["--describe", "--all"], &topic[..]].concat())?;
    let add =
        ["--add-config", "max.message.bytes=2000,cleanup.policy=[compact,delete]", "--delete-config", "retention.ms"];
    stage.asks(CONFIGS, &[&["--alter"], &topic[..], &add].concat())?;
    for wrong in ["cleanup.policy=forget", "no.such.setting=1"] {
        stage.refused(CONFIGS, &[&["--alter"], &topic[..], &["--add-config", wrong]].concat())?;
    }
    stage.asks(CONFIGS, &[&["--describe"], &topic[..]].concat())?;

    let group = ["--entity-type", "groups", "--entity-name", "configured"];
    let add = [
        "--add-config",
        "share.auto.offset.reset=earliest,share.delivery.count.limit=3,consumer.heartbeat.interval.ms=6000",
    ];
    stage.asks(CONFIGS, &[&["--alter"], &group[..], &add].concat())?;
    for wrong in ["share.delivery.count.limit=1000", "share.auto.offset.reset=somewhere"] {
        stage.refused(CONFIGS, &[&["--alter"], &group[..], &["--add-config", wrong]].concat())?;
    }
    stage.asks(CONFIGS, &[&["--describe"], &group[..]].concat())?;
    stage.asks(CONFIGS, &[&["--alter"], &group[..], &["--delete-config", "share.delivery.count.limit"]].concat())?;
    stage.asks(CONFIGS, &["--describe", "--entity-type", "groups"])?;
    stage.asks(CONFIGS, &["--describe", "--entity-type", "client-metrics"])?;
    stage.asks(CONFIGS, &["--describe", "--entity-type", "brokers", "--entity-name", "1"])?;
    stage.asks(CONFIGS, &["--describe", "--entity-type", "brokers", "--entity-default"])?;
    Ok(())
}
