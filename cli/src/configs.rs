//! Settings of a group or topic, shown and changed, as kafka-configs.sh does.

use std::collections::BTreeMap;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use ackflow_client::Admin;
use ackflow_client::admin::{ConfigChange, ConfigEntry, ConfigResource, ConfigSource, ResourceKind};
use ackflow_client::config::nearest;

use crate::connection::key_value;
use crate::report::Report;
use crate::table::{Cell, Column, Table, column, verbose};

const COLUMNS: &[Column] = &[
    column("CONFIG", "name"),
    column("VALUE", "value"),
    column("SOURCE", "source"),
    verbose("SENSITIVE", "sensitive"),
    verbose("READ-ONLY", "readOnly"),
];

/// What is to be changed, if anything.
#[derive(Debug, clap::Args)]
pub(crate) struct Changes {
    /// Give a setting a value; may be repeated
    #[arg(long, value_name = "KEY=VALUE", value_parser = key_value)]
    set: Vec<(String, String)>,

    /// Take a setting's own value away, so that the default holds again; may be repeated
    #[arg(long, value_name = "KEY")]
    unset: Vec<String>,

    /// Several --set as kafka-configs.sh takes them; a value with commas stands in square brackets
    #[arg(long, value_name = "KEY=VALUE,..", value_parser = key_values)]
    add_config: Vec<KeyValues>,

    /// Several --unset as kafka-configs.sh takes them
    #[arg(long, value_name = "KEY,..", value_delimiter = ',')]
    delete_config: Vec<String>,

    /// Show the settings that come from elsewhere too, such as the brokers' and Kafka's defaults
    #[arg(long)]
    all: bool,

    /// Let the broker check the changes, and make none
    #[arg(long)]
    dry_run: bool,
}

/// Settings and their values.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct KeyValues(Vec<(String, String)>);

/// Reads `k1=v1,k2=[v1,v2]`.
fn key_values(text: &str) -> Result<KeyValues, String> {
    let mut parts = vec![String::new()];
    let mut in_brackets = false;
    for c in text.chars() {
        match c {
            '[' => in_brackets = true,
            ']' => in_brackets = false,
            ',' if !in_brackets => parts.push(String::new()),
            c => parts.last_mut().expect("there is one from the start").push(c),
        }
    }
    Ok(KeyValues(parts.iter().map(|part| key_value(part)).collect::<Result<_, _>>()?))
}

impl Changes {
    /// What of it contradicts itself.
    pub(crate) fn contradiction(&self) -> Option<String> {
        let mut values = BTreeMap::new();
        for (key, value) in self.set() {
            if values.insert(key, value).is_some_and(|other| other != value) {
                return Some(format!("--set {key} (or --add-config) gives two values: give one of them"));
            }
        }
        let both = self.unset().find(|key| values.contains_key(&(*key).to_owned()))?;
        Some(format!(
            "--set {both} (or --add-config) and --unset {both} (or --delete-config) contradict each other: give one of them"
        ))
    }

    fn set(&self) -> impl Iterator<Item = &(String, String)> {
        self.set.iter().chain(self.add_config.iter().flat_map(|list| &list.0))
    }

    fn unset(&self) -> impl Iterator<Item = &str> {
        self.unset.iter().chain(&self.delete_config).map(|key| key.trim())
    }

    fn all(&self) -> BTreeMap<String, ConfigChange> {
        let unset = self.unset().map(|key| (key.to_owned(), ConfigChange::delete(key)));
        let set = self.set().map(|(key, value)| (key.clone(), ConfigChange::set(key, value)));
        unset.chain(set).collect()
    }
}

/// Changes settings if that is asked for, and shows how they are then.
pub(crate) async fn run(
    admin: &Admin,
    resource: ConfigResource,
    args: &Changes,
    mut report: Report,
) -> anyhow::Result<ExitCode> {
    let changes = args.all();
    let mut changed = false;
    for refusal in no_settings(admin, &resource, args).await {
        report.failed(refusal);
    }
    if !changes.is_empty() && !report.has_failed() {
        let keys: Vec<String> = changes.keys().cloned().collect();
        let changes = [(resource.clone(), changes.into_values().collect())];
        let results = match args.dry_run {
            true => admin.validate_configs(changes).await?,
            false => admin.alter_configs(changes).await?,
        };
        for result in results.into_values() {
            match result {
                Ok(()) => changed = true,
                Err(error) => report.failed(format!("{error}{}", suggestion(admin, &resource, &keys).await)),
            }
        }
        match (changed, args.dry_run) {
            (true, true) => report.remark(format!(
                "this is a dry run: the broker would take these changes of {resource}; without --dry-run they are made"
            )),
            (true, false) if !await_changes(admin, &resource, args).await? => {
                report.remark(format!("{resource} is changed; the broker that was asked has not heard of it yet"));
            }
            _ => {}
        }
    }
    let mut table = Table::new(COLUMNS);
    // How it is otherwise is no answer to a change that was refused.
    let shown = if report.has_failed() { None } else { Some(resource) };
    for (found, entries) in admin.describe_configs(shown).await? {
        for (name, entry) in report.take(entries).unwrap_or_default() {
            if args.all || is_own(found.kind, entry.source) {
                table.row(row(name, entry));
            }
        }
    }
    report.table("configs", &table);
    report.fact("changed", changed && !args.dry_run);
    report.finish()
}

/// Waits for the broker that shows settings to hear of changes, and with a group for all brokers: a group that begins on one which has not heard of a
/// change begins with what held before. False where that takes too long, or the broker understands a value in a way that is not known here.
async fn await_changes(admin: &Admin, resource: &ConfigResource, args: &Changes) -> anyhow::Result<bool> {
    let changes = args.all();
    let set: BTreeMap<&str, &str> = args.set().map(|(key, value)| (key.as_str(), value.as_str())).collect();
    let started = Instant::now();
    while started.elapsed() < HEARD_WITHIN {
        let mut described = admin.describe_configs([resource.clone()]).await?;
        let entries = described.remove(resource).transpose()?.unwrap_or_default();
        let own = |key: &str| entries.get(key).filter(|entry| is_own(resource.kind, entry.source));
        let is_known = |key: &str| match (set.get(key), own(key)) {
            // What is sensitive is never shown.
            (Some(value), Some(entry)) => entry.sensitive || entry.says(value),
            (wanted, own) => wanted.is_none() && own.is_none(),
        };
        if changes.keys().all(|key| is_known(key)) {
            if resource.kind == ResourceKind::Group {
                // As this broker writes them, which may be in other words than they were given in.
                let values: Vec<_> = set.keys().filter_map(|key| Some((*key, own(key)?.value.as_deref()?))).collect();
                admin.await_configs(resource, &values).await?;
            }
            return Ok(true);
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    Ok(false)
}

/// How long a broker may take to hear of a change before it is shown without.
const HEARD_WITHIN: Duration = Duration::from_secs(10);

/// Whether a value was set for the resource itself.
pub(crate) fn is_own(kind: ResourceKind, source: ConfigSource) -> bool {
    match kind {
        ResourceKind::Topic => source == ConfigSource::TOPIC,
        ResourceKind::Group => source == ConfigSource::GROUP,
        ResourceKind::Broker | ResourceKind::BrokerLogger | ResourceKind::ClientMetrics => true,
    }
}

/// A refusal of each setting to be unset that the resource cannot have: a broker takes that for done.
async fn no_settings(admin: &Admin, resource: &ConfigResource, args: &Changes) -> Vec<String> {
    if args.unset().next().is_none() {
        return Vec::new();
    }
    let known = match admin.describe_configs([resource.clone()]).await.map(|mut described| described.remove(resource)) {
        Ok(Some(Ok(known))) if !known.is_empty() => known,
        // What there is to have is not known, and the change itself tells why.
        _ => return Vec::new(),
    };
    let unknown = args.unset().filter(|key| !known.contains_key(*key));
    let refusal = |key: &str| {
        let remedy = match nearest(key, known.keys().map(String::as_str)) {
            Some(meant) => format!("did you mean {meant}?"),
            None => "--all shows those that there are".to_owned(),
        };
        format!("{key} is no setting of {resource}, and nothing was changed; {remedy}")
    };
    unknown.map(refusal).collect()
}

/// The setting that may have been meant by one that there is not.
async fn suggestion(admin: &Admin, resource: &ConfigResource, keys: &[String]) -> String {
    let Ok(mut described) = admin.describe_configs([resource.clone()]).await else { return String::new() };
    let Some(Ok(known)) = described.remove(resource) else { return String::new() };
    let unknown = keys.iter().filter(|key| !known.contains_key(*key));
    let meant = unknown.filter_map(|key| nearest(key, known.keys().map(String::as_str)));
    meant.map(|key| format!("; did you mean {key}?")).collect()
}

fn row(name: String, entry: ConfigEntry) -> [Cell; 5] {
    let value = match entry.sensitive {
        true => Cell::with_text(serde_json::Value::Null, "<sensitive>"),
        false => entry.value.into(),
    };
    [name.into(), value, source(entry.source).into(), entry.sensitive.into(), entry.read_only.into()]
}

/// Where a value comes from, in Kafka's words.
fn source(source: ConfigSource) -> String {
    let name = match source {
        ConfigSource::TOPIC => "DYNAMIC_TOPIC_CONFIG",
        ConfigSource::DYNAMIC_BROKER => "DYNAMIC_BROKER_CONFIG",
        ConfigSource::DYNAMIC_DEFAULT_BROKER => "DYNAMIC_DEFAULT_BROKER_CONFIG",
        ConfigSource::STATIC_BROKER => "STATIC_BROKER_CONFIG",
        ConfigSource::DEFAULT => "DEFAULT_CONFIG",
        ConfigSource::DYNAMIC_BROKER_LOGGER => "DYNAMIC_BROKER_LOGGER_CONFIG",
        ConfigSource::CLIENT_METRICS => "DYNAMIC_CLIENT_METRICS_CONFIG",
        ConfigSource::GROUP => "DYNAMIC_GROUP_CONFIG",
        ConfigSource(other) => return format!("source {other}"),
    };
    name.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_settings_are_those_of_kafka_configs() {
        let pairs = |pairs: &[(&str, &str)]| {
            Ok(KeyValues(pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()))
        };
        assert_eq!(key_values("a=1"), pairs(&[("a", "1")]));
        assert_eq!(key_values("a=1, b=[x,y],c="), pairs(&[("a", "1"), ("b", "x,y"), ("c", "")]));
        for wrong in ["", "a", "a=1,", "=1", "a=1,b"] {
            assert!(key_values(wrong).is_err(), "{wrong}");
        }
    }
}
