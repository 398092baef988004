//! `ackflow topics list`.

use std::process::ExitCode;

use crate::common::Common;
use crate::table::{Column, Table, column, verbose};

const COLUMNS: &[Column] = &[column("TOPIC", "topic"), verbose("ID", "id"), verbose("INTERNAL", "internal")];

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    ackflow topics list --bootstrap-server localhost:9092 --exclude-internal\n  \
    ackflow topics list --bootstrap-server localhost:9092 --json | jq -r '.topics[].topic'")]
pub(crate) struct Args {
    #[command(flatten)]
    pub(super) common: Common,

    /// Leave out Kafka's own topics, such as __share_group_state
    #[arg(long)]
    exclude_internal: bool,
}

pub(crate) async fn run(args: Args) -> anyhow::Result<ExitCode> {
    let (admin, mut report) = args.common.open()?;
    let mut table = Table::new(COLUMNS);
    for topic in admin.list_topics().await? {
        if !(args.exclude_internal && topic.internal) {
            table.row([topic.name.into(), topic.id.to_string().into(), topic.internal.into()]);
        }
    }
    report.table("topics", &table);
    report.finish()
}
