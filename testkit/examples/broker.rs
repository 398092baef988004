//! An embedded broker for any client, until Enter or the end of input:
//! `cargo run -p ackflow-testkit --example broker -- 127.0.0.1:9092 [--fast] [NAME=VALUE ...]`
//!
//! Names are those of broker settings, and of the features `share.version` and `transaction.version`.

use std::error::Error;
use std::io::Read;

use ackflow_testkit::EmbeddedBroker;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut builder = EmbeddedBroker::builder();
    for argument in std::env::args().skip(1) {
        builder = match argument.split_once('=') {
            _ if argument == "--fast" => builder.fast(),
            Some(("share.version", level)) => builder.share_version(level.parse()?),
            Some(("transaction.version", level)) => builder.transaction_version(level.parse()?),
            Some((name, value)) => builder.config(name, value),
            None => builder.listen(argument),
        };
    }
    let broker = builder.start().await?;
    println!("bootstrap.servers={}", broker.bootstrap_servers());
    tokio::task::spawn_blocking(|| std::io::stdin().read(&mut [0])).await??;
    broker.shutdown().await;
    Ok(())
}
