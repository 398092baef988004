//! An embedded broker on a free port, with the short waits of tests; ended by a signal: `cargo run -p ackflow-testkit --example broker`.

use ackflow_testkit::EmbeddedBroker;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let broker = EmbeddedBroker::builder().fast().start().await?;
    println!("{}", broker.bootstrap_servers());
    std::future::pending::<()>().await;
    Ok(())
}
