//! `ackflow groups list`.

use std::process::ExitCode;

use ackflow_client::admin::GroupListing;
use clap::ValueEnum;

use crate::common::Common;
use crate::table::{Column, Table, column};

const COLUMNS: &[Column] =
    &[column("GROUP", "group"), column("TYPE", "type"), column("PROTOCOL", "protocol"), column("STATE", "state")];

/// The states that groups of one kind or another have.
const STATES: &[&str] = &[
    "Assigning",
    "CompletingRebalance",
    "Dead",
    "Empty",
    "NotReady",
    "PreparingRebalance",
    "Reconciling",
    "Stable",
    "Unknown",
];

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    ackflow groups list --bootstrap-server localhost:9092 --type share\n  \
    ackflow groups list --bootstrap-server localhost:9092 --state empty,dead --json")]
pub(crate) struct Args {
    #[command(flatten)]
    pub(super) common: Common,

    /// Groups of these types alone
    #[arg(long = "type", value_name = "TYPE,..", value_enum, value_delimiter = ',', ignore_case = true)]
    types: Vec<GroupType>,

    /// Groups in these states alone, such as Stable or Empty
    #[arg(long = "state", value_name = "STATE,..", value_delimiter = ',', value_parser = state)]
    states: Vec<&'static str>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum GroupType {
    Share,
    Consumer,
    Classic,
    Streams,
}

impl GroupType {
    fn name(self) -> &'static str {
        match self {
            Self::Share => "share",
            Self::Consumer => "consumer",
            Self::Classic => "classic",
            Self::Streams => "streams",
        }
    }
}

/// A state as Kafka spells it.
fn state(text: &str) -> Result<&'static str, String> {
    let found = STATES.iter().find(|state| state.eq_ignore_ascii_case(text.trim())).copied();
    found.ok_or_else(|| format!("there is no such state: use one of {}", STATES.join(", ")))
}

pub(crate) async fn run(args: Args) -> anyhow::Result<ExitCode> {
    let (admin, mut report) = args.common.open()?;
    let types: Vec<_> = args.types.iter().map(|wanted| wanted.name()).collect();
    let mut table = Table::new(COLUMNS);
    for GroupListing { group_id, group_type, state, protocol } in admin.list_groups(&types).await? {
        if args.states.is_empty() || args.states.iter().any(|wanted| wanted.eq_ignore_ascii_case(&state)) {
            table.row([group_id.into(), group_type.into(), protocol.into(), state.into()]);
        }
    }
    report.table("groups", &table);
    report.finish()
}
