//! `ackflow broker`: the embedded broker for any Kafka client.

use std::path::PathBuf;
use std::process::ExitCode;

use ackflow_testkit::EmbeddedBroker;
use anyhow::{Context, ensure};

use crate::connection::{key_value, read_properties};
use crate::numbers::within;
use crate::signals::Stop;
use crate::stderr::tell;
use crate::stdout::say;

/// The highest level of share.version that the embedded broker has.
const MAX_SHARE_VERSION: i16 = if cfg!(feature = "unstable-kip-1289") { 3 } else { 2 };

#[derive(Debug, clap::Args)]
#[command(after_help = "Example: ackflow broker --listen 127.0.0.1:9092 --config num.partitions=3\n\n\
    Everything is kept in memory and is gone when the broker ends.\n\n\
    With --listen SASL_SSL://127.0.0.1:9093 clients speak TLS and prove by PLAIN or SCRAM that they are one of --users; \
    --config ssl.keystore.location=FILE names certificate and key in PEM, else the broker makes them and --certificate says where it writes \
    what clients have to trust.")]
pub(crate) struct Args {
    /// The address to listen on, with SSL://, SASL_PLAINTEXT:// or SASL_SSL:// before it where clients speak so; port 0 takes a free one
    #[arg(long, value_name = "[PROTOCOL://]HOST:PORT", default_value = "127.0.0.1:9092")]
    listen: String,

    /// A properties file of those who may come in by SASL: NAME=PASSWORD
    #[arg(long, value_name = "FILE")]
    users: Option<PathBuf>,

    /// Where to write the broker's certificate, in PEM, for clients to trust
    #[arg(long, value_name = "FILE")]
    certificate: Option<PathBuf>,

    #[cfg_attr(not(feature = "unstable-kip-1289"), doc = "The finalized share.version: 0 switches share groups off")]
    #[cfg_attr(
        feature = "unstable-kip-1289",
        doc = "The finalized share.version: 0 switches share groups off, 3 adds acknowledgements in transactions (draft of KIP-1289)"
    )]
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = within::<i16>(0..=MAX_SHARE_VERSION), allow_negative_numbers = true)]
    share_version: i16,

    /// The finalized transaction.version: from 2 on writing adds partitions to a transaction (KIP-890)
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = within::<i16>(0..=2), allow_negative_numbers = true)]
    transaction_version: i16,

    /// So many brokers in one process, each on the port after the one before
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = within::<u16>(1..=100))]
    nodes: u16,

    /// Make waits short that tests would have to sit out: heartbeats, sessions, assignments, locks; --config wins
    #[arg(long)]
    fast: bool,

    /// A broker setting of Kafka's, such as num.partitions=3
    #[arg(long, value_name = "KEY=VALUE", value_parser = key_value)]
    config: Vec<(String, String)>,
}

pub(crate) async fn run(args: Args) -> anyhow::Result<ExitCode> {
    let asks_for_users = args.listen.to_ascii_uppercase().starts_with("SASL_");
    ensure!(
        asks_for_users == args.users.is_some(),
        "--listen {} and --users: with SASL_PLAINTEXT:// or SASL_SSL:// clients have to be one of --users, and elsewhere nobody asks who they are",
        args.listen,
    );
    let mut stop = Stop::listen()?;
    let mut builder = EmbeddedBroker::builder()
        .listen(&args.listen)
        .share_version(args.share_version)
        .transaction_version(args.transaction_version)
        .nodes(args.nodes);
    if args.fast {
        builder = builder.fast();
    }
    for (key, value) in &args.config {
        builder = builder.config(key, value);
    }
    if let Some(path) = &args.users {
        for (name, password) in read_properties("--users", path)?.0 {
            builder = builder.user(name, password);
        }
    }
    let broker = builder.start().await.with_context(|| format!("cannot start a broker on --listen {}", args.listen))?;
    if let Some(path) = &args.certificate {
        let certificate = broker.certificate().context("--certificate: without SSL in --listen there is none")?;
        std::fs::write(path, certificate).with_context(|| format!("cannot write --certificate {}", path.display()))?;
    }
    // Scripts read the address from the first line of stdout.
    say!("{}", broker.bootstrap_servers())?;
    tell!("ackflow: an embedded broker listens on {}; it keeps everything in memory", broker.bootstrap_servers());
    stop.requested().await;
    broker.shutdown().await;
    Ok(ExitCode::SUCCESS)
}
