//! Kafka's jars, fetched from Maven once a version and kept in the cache.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};

use crate::cache;

/// The Kafka that the product is checked against unless another is asked for.
pub const DEFAULT_VERSION: &str = "4.4.0";

/// A folder of jars that holds the broker, the tools, Connect and a log binding.
#[derive(Clone, Debug)]
pub struct Libs {
    folder: PathBuf,
    /// A folder of classes beside them.
    classes: Option<PathBuf>,
}

impl Libs {
    /// The jars of a Kafka version, downloaded if the cache lacks them. Several processes may ask at once: one
    /// downloads, the others wait for it. A download that fails leaves nothing behind that looks complete.
    ///
    /// # Errors
    /// When Maven is missing or fails, with what it said.
    pub fn fetch(version: &str) -> Result<Self> {
        ensure!(
            !version.is_empty() && version.chars().all(|c| c.is_ascii_alphanumeric() || ".-".contains(c)),
            "`{version}` is no Kafka version"
        );
        let folder = cache::folder(&format!("kafka-{version}"), |partial| {
            download(version, partial)?;
            Ok(partial.join("libs"))
        })?;
        Ok(Self { folder, classes: None })
    }

    /// The same with a folder of classes on the class path.
    pub(super) fn with_classes(self, classes: PathBuf) -> Self {
        Self { classes: Some(classes), ..self }
    }

    /// The folder of the jars.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// A `java` command with the jars on its class path. `options` are the JVM's; the class or source file and
    /// its arguments are the caller's to add.
    pub fn java(&self, options: &[&str]) -> Command {
        let mut java = Command::new("java");
        let mut path = OsString::new();
        if let Some(classes) = &self.classes {
            path.push(classes);
            path.push(":");
        }
        path.push(self.folder.join("*"));
        java.args(options).arg("-cp").arg(path);
        java
    }

    /// A `java` command for a short-lived tool: quick to start, small, with warnings on standard error only.
    pub fn admin_java(&self) -> Command {
        self.java(&["-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"])
    }
}

fn download(version: &str, into: &Path) -> Result<()> {
    eprintln!("fetching Kafka {version} from Maven");
    fs::write(into.join("pom.xml"), pom(version))?;
    let output = Command::new("mvn")
        .args(["-q", "-B", "dependency:copy-dependencies", "-DoutputDirectory=libs"])
        .current_dir(into)
        .output()
        .context("cannot run `mvn`: Maven and Java 17 are needed to fetch Kafka")?;
    if !output.status.success() {
        bail!(
            "Maven could not fetch Kafka {version} ({}):\n{}{}",
            output.status,
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr)
        );
    }
    Ok(())
}

/// Kafka's jars bring log4j but no slf4j binding to it; without one a broker logs nothing, start-up errors included.
fn pom(version: &str) -> String {
    let artifacts = [
        ("org.apache.kafka", "kafka_2.13", version),
        ("org.apache.kafka", "kafka-tools", version),
        ("org.apache.kafka", "connect-runtime", version),
        ("org.apache.logging.log4j", "log4j-slf4j-impl", "2.25.5"),
    ];
    let dependencies: String = artifacts
        .iter()
        .map(|(group, artifact, version)| {
            format!(
                "<dependency><groupId>{group}</groupId><artifactId>{artifact}</artifactId><version>{version}</version></dependency>"
            )
        })
        .collect();
    format!(
        "<project xmlns=\"http://maven.apache.org/POM/4.0.0\"><modelVersion>4.0.0</modelVersion>\
         <groupId>ackflow</groupId><artifactId>kafka-libs</artifactId><version>1</version><packaging>pom</packaging>\
         <dependencies>{dependencies}</dependencies></project>"
    )
}
