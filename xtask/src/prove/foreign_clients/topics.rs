//! TopicCommand.

use anyhow::Result;

use super::stage::Stage;

const TOPICS: &str = "TopicCommand";

pub(super) fn topics(stage: &mut Stage) -> Result<()> {
    let settings = ["--config", "retention.ms=3600000", "--config", "cleanup.policy=compact"];
    stage.asks(TOPICS, &[&["--create", "--topic", "topics", "--partitions", "3"], &settings[..]].concat())?;
    stage.refused(TOPICS, &["--create", "--topic", "topics", "--partitions", "3"])?;
    stage.refused(TOPICS, &["--create", "--topic", "to pics"])?;
    stage.refused(TOPICS, &["--create", "--topic", "odd", "--config", "retention.ms=long"])?;
    stage.refused(TOPICS, &["--create", "--topic", "odd", "--config", "no.such.setting=1"])?;
    stage.refused(TOPICS, &["--create", "--topic", "many", "--replication-factor", "3"])?;
    stage.asks(TOPICS, &["--describe", "--topic", "topics"])?;
    stage.asks(TOPICS, &["--alter", "--topic", "topics", "--partitions", "5"])?;
    stage.refused(TOPICS, &["--alter", "--topic", "topics", "--partitions", "5"])?;
    stage.asks(TOPICS, &["--create", "--topic", "gone"])?;
    stage.asks(TOPICS, &["--list", "--exclude-internal"])?;
    stage.asks(TOPICS, &["--describe", "--exclude-internal"])?;
    stage.asks(TOPICS, &["--delete", "--topic", "gone"])?;
    stage.refused(TOPICS, &["--delete", "--topic", "gone"])?;
    stage.refused(TOPICS, &["--describe", "--topic", "gone"])?;
    stage.asks(TOPICS, &["--list", "--exclude-internal"])?;
    Ok(())
}
