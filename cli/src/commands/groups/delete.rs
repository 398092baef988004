//! `ackflow groups delete`.

use std::process::ExitCode;

use super::named::Several;
use crate::common::Common;
use crate::table::{Column, Table, column};

const COLUMNS: &[Column] = &[column("GROUP", "group")];

#[derive(Debug, clap::Args)]
#[command(after_help = "Groups are listed that were deleted; with --json deleted is a list of objects.\n\n\
    Example: ackflow groups delete orders audit --bootstrap-server localhost:9092")]
pub(crate) struct Args {
    #[command(flatten)]
    pub(super) common: Common,

    #[command(flatten)]
    groups: Several,
}

pub(crate) async fn run(args: Args) -> anyhow::Result<ExitCode> {
    let (admin, mut report) = args.common.open()?;
    let mut table = Table::new(COLUMNS);
    for (group, result) in admin.delete_groups(args.groups.names(&admin).await?).await {
        if report.take(result).is_some() {
            table.row([group.into()]);
        }
    }
    report.table("deleted", &table);
    report.finish()
}
