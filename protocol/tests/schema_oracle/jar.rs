//! The schemas in the kafka-clients jar.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

use serde_json::Value;

use super::schema;

/// Names the folder of Kafka's jars, as `cargo xtask` keeps it.
const LIBS: &str = "ACKFLOW_KAFKA_LIBS";

/// The schemas with a valid version, by name. The JDK, which Kafka needs anyhow, takes them out of the jar.
pub(crate) fn schemas() -> BTreeMap<String, Value> {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let mut jar_tool = Command::new("jar");
    jar_tool.arg("--extract").arg("--file").arg(jar()).arg("common/message").current_dir(folder.path());
    let status = jar_tool.status().unwrap_or_else(|e| panic!("cannot run the JDK's `jar`: {e}"));
    assert!(status.success(), "`jar` could not read the kafka-clients jar");

    let files = fs::read_dir(folder.path().join("common/message")).expect("the jar holds schemas");
    let paths = files.map(|file| file.expect("the folder can be listed").path());
    let read = |path: PathBuf| schema::parse(&fs::read_to_string(path).expect("schemas are text"));
    let schemas = paths.filter(|path| path.extension().is_some_and(|end| end == "json")).map(read);
    let schemas = schemas.filter(|schema| schema::range(schema::text(schema, "validVersions")).is_some());
    schemas.map(|schema| (schema::text(&schema, "name").to_owned(), schema)).collect()
}

fn jar() -> PathBuf {
    let folder = std::env::var_os(LIBS)
        .unwrap_or_else(|| panic!("{LIBS} has to name the folder of Kafka's jars; `cargo xtask schemas` sets it"));
    let jars = fs::read_dir(&folder).unwrap_or_else(|e| panic!("cannot read {}: {e}", folder.display()));
    let mut jars = jars.filter_map(|entry| Some(entry.ok()?.path()));
    let clients = |path: &PathBuf| {
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        name.starts_with("kafka-clients-") && name.ends_with(".jar") && !name.contains("test")
    };
    jars.find(clients).unwrap_or_else(|| panic!("there is no kafka-clients jar in {}", folder.display()))
}
