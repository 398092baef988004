//! `ackflow topics delete`.

use std::process::ExitCode;

use ackflow_protocol::wire::ErrorCode;

use super::named::Several;
use crate::common::Common;
use crate::table::{Column, Table, column};

const COLUMNS: &[Column] = &[column("TOPIC", "topic")];

#[derive(Debug, clap::Args)]
#[command(after_help = "Topics are listed that were deleted; with --json deleted is a list of objects.\n\n\
    Example: ackflow topics delete orders --if-exists --bootstrap-server localhost:9092")]
pub(crate) struct Args {
    #[command(flatten)]
    pub(super) common: Common,

    #[command(flatten)]
    topics: Several,

    /// A topic that does not exist is no error
    #[arg(long)]
    if_exists: bool,
}

pub(crate) async fn run(args: Args) -> anyhow::Result<ExitCode> {
    let (admin, mut report) = args.common.open()?;
    let mut table = Table::new(COLUMNS);
    for (name, result) in admin.delete_topics(args.topics.names()).await? {
        match result {
            Err(error) if args.if_exists && error.code() == Some(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION) => {}
            result => {
                if report.take(result).is_some() {
                    table.row([name.into()]);
                }
            }
        }
    }
    report.table("deleted", &table);
    report.finish()
}
