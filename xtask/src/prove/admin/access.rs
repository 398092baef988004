//! Rules and SCRAM credentials, beside AclCommand and ConfigCommand.

use std::collections::BTreeSet;

use anyhow::{Result, ensure};

use super::stage::{Stage, text};
use super::topics::strings;

pub(super) fn rules(stage: &mut Stage) -> Result<()> {
    stage.done("create_acls", &["User:alice", "ruled"])?;
    let list = ["--list", "--topic", "ruled", "--resource-pattern-type", "match"];
    let alice = "(principal=User:alice, host=*, operation=READ, permissionType=ALLOW)";
    stage.shows("AclCommand", &list, &["name=ruled, patternType=LITERAL", alice])?;
    let deny = ["--add", "--deny-principal", "User:bob", "--deny-host", "127.0.0.9", "--operation", "Write"];
    let prefixed = ["--topic", "rul", "--resource-pattern-type", "prefixed"];
    stage.tool("AclCommand", &[&deny[..], &prefixed[..]].concat())?;
    let both: BTreeSet<String> = [
        "ALLOW READ on TOPIC ruled (LITERAL) for User:alice from *",
        "DENY WRITE on TOPIC rul (PREFIXED) for User:bob from 127.0.0.9",
    ]
    .map(str::to_owned)
    .into();
    stage.says("describe_acls", &["ruled"], "both rules", |rules| strings(rules) == both)?;
    let deleted = stage.ours("delete_acls", &["ruled"])?;
    ensure!(deleted.as_object().is_some_and(|rules| rules.len() == 2), "{deleted}");
    stage.hides("AclCommand", &list, "principal=")
}

pub(super) fn credentials(stage: &mut Stage) -> Result<()> {
    let of = ["--entity-type", "users", "--entity-name", "alice"];
    let describe = [&["--describe"], &of[..]].concat();
    stage.done("alter_user_scram_credentials", &["alice", "SCRAM-SHA-256", "secret", "4096"])?;
    stage.shows("ConfigCommand", &describe, &["SCRAM-SHA-256=iterations=4096"])?;
    let add = "SCRAM-SHA-512=[iterations=8192,password=secret]";
    stage.tool("ConfigCommand", &[&["--alter"], &of[..], &["--add-config", add]].concat())?;
    let has_both = |all: &serde_json::Value| {
        text(&all["alice"]["SCRAM-SHA-256"]) == "4096" && text(&all["alice"]["SCRAM-SHA-512"]) == "8192"
    };
    stage.says("describe_user_scram_credentials", &["alice"], "both credentials", has_both)?;
    stage.says("describe_user_scram_credentials", &[], "both credentials", has_both)?;
    stage.done("alter_user_scram_credentials", &["alice", "SCRAM-SHA-256"])?;
    stage.hides("ConfigCommand", &describe, "SCRAM-SHA-256")?;
    stage.shows("ConfigCommand", &describe, &["SCRAM-SHA-512=iterations=8192"])
}
