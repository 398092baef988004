//! Test vectors of the wire codec, written by Kafka's own classes (testdata/gen/Vectors.java).

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, Result};

use crate::kafka::{DEFAULT_VERSION, Libs};
use crate::process::Process;
use crate::workspace;

/// The APIs whose vectors are checked in as testdata/vectors/core.jsonl.
pub const CORE: &[&str] = &[
    "ApiVersions",
    "Metadata",
    "FindCoordinator",
    "ShareGroupHeartbeat",
    "ShareFetch",
    "ShareAcknowledge",
    "ShareGroupDescribe",
    "DescribeShareGroupOffsets",
    "Produce",
    "InitProducerId",
    "CreateTopics",
    "DeleteTopics",
    "IncrementalAlterConfigs",
    "DescribeConfigs",
    "ListGroups",
    "DescribeCluster",
    "RequestHeader",
    "ResponseHeader",
];

/// The other APIs of the codec, and structs inside other messages and in records. Their vectors are checked in as
/// testdata/vectors/rest.jsonl.
pub const REST: &[&str] = &[
    "Fetch",
    "ListOffsets",
    "OffsetCommit",
    "OffsetFetch",
    "JoinGroup",
    "Heartbeat",
    "LeaveGroup",
    "SyncGroup",
    "DescribeGroups",
    "SaslHandshake",
    "DeleteRecords",
    "OffsetForLeaderEpoch",
    "AddPartitionsToTxn",
    "AddOffsetsToTxn",
    "EndTxn",
    "WriteTxnMarkers",
    "TxnOffsetCommit",
    "DescribeAcls",
    "CreateAcls",
    "DeleteAcls",
    "AlterConfigs",
    "SaslAuthenticate",
    "CreatePartitions",
    "DeleteGroups",
    "ElectLeaders",
    "AlterPartitionReassignments",
    "ListPartitionReassignments",
    "OffsetDelete",
    "DescribeUserScramCredentials",
    "AlterUserScramCredentials",
    "DescribeProducers",
    "DescribeTransactions",
    "ListTransactions",
    "ConsumerGroupHeartbeat",
    "ConsumerGroupDescribe",
    "GetTelemetrySubscriptions",
    "PushTelemetry",
    "ListConfigResources",
    "DescribeTopicPartitions",
    "InitializeShareGroupState",
    "ReadShareGroupState",
    "WriteShareGroupState",
    "DeleteShareGroupState",
    "ReadShareGroupStateSummary",
    "AlterShareGroupOffsets",
    "DeleteShareGroupOffsets",
    "UpdateFeatures",
    "ConsumerProtocolSubscription",
    "ConsumerProtocolAssignment",
    "ControlRecordTypeSchema",
    "EndTxnMarker",
];

/// 200 messages of every API and version of 4.4.0 take 6 s.
const TIME_LIMIT: Duration = Duration::from_secs(600);

/// Write random messages as Kafka's own classes encode them, one JSON line a message.
///
/// testdata/vectors/core.jsonl is the output of
/// `cargo xtask vectors --count 3 --out testdata/vectors/core.jsonl`, and rest.jsonl of
/// `cargo xtask vectors --api rest --count 2 --out testdata/vectors/rest.jsonl`.
#[derive(clap::Args)]
pub struct Arguments {
    /// APIs by name, separated by commas; `core` and `rest`: those that are checked in; `all`: all that Kafka has.
    #[arg(long, default_value = "core", value_delimiter = ',')]
    api: Vec<String>,
    /// Messages for each API, kind and version.
    #[arg(long, default_value_t = 200)]
    count: u32,
    /// Same seed, same messages.
    #[arg(long, default_value_t = 1)]
    seed: i64,
    /// Where to write; standard output by default.
    #[arg(long)]
    out: Option<PathBuf>,
    /// The Kafka version whose classes write.
    #[arg(long, default_value = DEFAULT_VERSION)]
    kafka: String,
    /// Only list the APIs with their keys and versions.
    #[arg(long)]
    list: bool,
}

/// Runs it.
///
/// # Errors
/// When Kafka cannot be fetched, an API is not known, or the output cannot be written.
pub fn run(arguments: &Arguments) -> Result<()> {
    let libs = Libs::fetch(&arguments.kafka)?;
    if arguments.list {
        return java(&libs, &["--list".to_owned()], Stdio::inherit());
    }
    let vectors = Vectors { apis: arguments.api.clone(), count: arguments.count, seed: arguments.seed };
    match &arguments.out {
        Some(file) => vectors.write_to(&libs, file),
        None => java(&libs, &vectors.arguments(), Stdio::inherit()),
    }
}

/// What to draw.
#[derive(Clone, Debug)]
pub struct Vectors {
    /// APIs by name, or `core`, `rest`, `all`.
    pub apis: Vec<String>,
    /// Messages for each API, kind and version.
    pub count: u32,
    /// Same seed, same messages.
    pub seed: i64,
}

impl Vectors {
    /// Writes the vectors to a file, which appears only when all are written.
    ///
    /// # Errors
    /// As [`run`].
    pub fn write_to(&self, libs: &Libs, file: &Path) -> Result<()> {
        let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let partial = tempfile::Builder::new()
            .permissions(std::os::unix::fs::PermissionsExt::from_mode(0o644))
            .tempfile_in(folder)
            .with_context(|| format!("cannot write to {}", folder.display()))?;
        let output: File = partial.as_file().try_clone()?;
        java(libs, &self.arguments(), output.into())?;
        partial.persist(file).with_context(|| format!("cannot write {}", file.display()))?;
        Ok(())
    }

    fn arguments(&self) -> Vec<String> {
        let named = |apis: &[&str]| apis.iter().map(|api| (*api).to_owned()).collect();
        let apis = self.apis.iter().flat_map(|api| match api.as_str() {
            "core" => named(CORE),
            "rest" => named(REST),
            _ => vec![api.clone()],
        });
        [self.seed.to_string(), self.count.to_string()].into_iter().chain(apis).collect()
    }
}

fn java(libs: &Libs, arguments: &[String], output: Stdio) -> Result<()> {
    let mut java = libs.admin_java();
    java.arg(workspace::root().join("testdata/gen/Vectors.java")).args(arguments).stdout(output);
    Process::start("Vectors.java", &mut java)?.success(TIME_LIMIT)?;
    Ok(())
}
