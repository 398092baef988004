//! A client's certificate that is replaced on disk.

use ackflow_benches::secure::SecureCluster;
use ackflow_client::{Admin, ClientConfig};
use anyhow::{Context, Result};

/// Replaces it by one that nobody trusts, by half of one, and by the good one, which is encrypted now. Gives how often the next connection was made as it should be.
pub(crate) async fn replace(cluster: &SecureCluster) -> Result<u32> {
    let file = std::env::temp_dir().join(format!("ackflow-reauth-{}.pem", std::process::id()));
    let shown = file.display().to_string();
    let identity = [("ssl.keystore.location", &*shown), ("ssl.key.password", "changeit")];
    let read = |name: &str| std::fs::read(cluster.pem(name)).with_context(|| format!("cannot read {name}"));
    std::fs::write(&file, read("client.pem")?)?;
    let config = ClientConfig::from_properties(&cluster.properties("MTLS", &identity)?)?;
    let half = read("client.pem")?[..100].to_vec();
    let mut good = 0;
    for (certificate, expected) in [
        (read("client.pem")?, true),
        (read("stranger.pem")?, false),
        // What cannot be read changes nothing.
        (half, false),
        (read("encrypted.pem")?, true),
    ] {
        std::fs::write(&file, certificate)?;
        let entered = Admin::new(config.clone()).describe_cluster().await.is_ok();
        good += u32::from(entered == expected);
    }
    std::fs::remove_file(&file)?;
    Ok(good)
}
