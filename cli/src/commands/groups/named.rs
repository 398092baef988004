//! Which groups a command is about: named behind it, as here, or by `--group`, as in Kafka's tools.

use std::collections::BTreeSet;

use ackflow_client::Admin;

use super::kind::Kind;
use crate::report::Report;

/// One group.
#[derive(Debug, clap::Args)]
#[group(required = true, multiple = false)]
pub(crate) struct One {
    /// The group
    #[arg(value_name = "GROUP")]
    named: Option<String>,

    /// The same, as Kafka's tools name it
    #[arg(long = "group", value_name = "GROUP")]
    group: Option<String>,
}

impl One {
    pub(crate) fn id(&self) -> &str {
        self.named.as_deref().or(self.group.as_deref()).unwrap_or_default()
    }
}

/// Several groups, or all of them.
#[derive(Debug, clap::Args)]
#[group(required = true, multiple = true)]
pub(crate) struct Several {
    /// The groups
    #[arg(value_name = "GROUP", conflicts_with = "all_groups")]
    named: Vec<String>,

    /// The same, as Kafka's tools name them; may be repeated
    #[arg(long = "group", value_name = "GROUP", conflicts_with = "all_groups")]
    group: Vec<String>,

    /// All groups of the cluster
    #[arg(long)]
    all_groups: bool,
}

impl Several {
    /// The groups with their kinds, by id. One that does not exist, or whose kind does not say where its offsets are, is a failure in the report.
    pub(crate) async fn find(&self, admin: &Admin, report: &mut Report) -> anyhow::Result<Vec<(String, Kind)>> {
        let listed = admin.list_groups(&[]).await?;
        if self.all_groups {
            let mut found = Vec::new();
            for group in listed {
                match Kind::of(&group) {
                    Ok(kind) => found.push((group.group_id, kind)),
                    Err(reason) => report.remark(format!("left out: {reason}")),
                }
            }
            return Ok(found);
        }
        let names: BTreeSet<&String> = self.named.iter().chain(&self.group).collect();
        let mut found = Vec::new();
        for name in names {
            let kind = match listed.iter().find(|group| group.group_id == *name) {
                Some(group) => Kind::of(group),
                None => Kind::unlisted(admin, name).await.ok_or_else(|| not_there(name)),
            };
            found.extend(report.take(kind).map(|kind| (name.clone(), kind)));
        }
        Ok(found)
    }

    /// The names as they were given, or of all groups.
    pub(crate) async fn names(&self, admin: &Admin) -> anyhow::Result<BTreeSet<String>> {
        if self.all_groups {
            return Ok(admin.list_groups(&[]).await?.into_iter().map(|group| group.group_id).collect());
        }
        Ok(self.named.iter().chain(&self.group).cloned().collect())
    }
}

/// What to say about a group that is not listed.
pub(crate) fn not_there(group: &str) -> String {
    format!("there is no group {group}; `ackflow groups list` names those that this client may see")
}
