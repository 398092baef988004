//! The cluster, its features, and what its brokers support.

use ackflow_client::admin::{Admin, Broker, ClusterDescription, FeatureUpdate, UpgradeType};
use anyhow::{Result, bail};
use serde_json::{Map, Value, json};

use crate::{done, number, outcomes};

pub(crate) async fn call(admin: &Admin, call: &str, arguments: &[&str]) -> Result<Option<Value>> {
    Ok(Some(match (call, arguments) {
        ("describe_cluster", []) => described(admin.describe_cluster().await?),
        ("describe_cluster_and_fenced", []) => described(admin.describe_cluster_and_fenced().await?),
        ("features", []) => {
            Value::Object(admin.features().await?.into_iter().map(|(name, level)| (name, level.into())).collect())
        }
        ("describe_features", []) => {
            let features = admin.describe_features().await?;
            let supported = features.supported.into_iter();
            let supported: Map<_, _> =
                supported.map(|(name, range)| (name, json!([range.start(), range.end()]))).collect();
            json!({ "finalized": features.finalized, "epoch": features.epoch, "supported": supported })
        }
        ("update_features", [name, level, kind]) => {
            done(admin.update_features([(*name, update(level, kind)?)]).await?)?
        }
        ("validate_features", [name, level, kind]) => {
            outcomes(admin.validate_features([(*name, update(level, kind)?)]).await?)
        }
        ("api_versions", [node]) => {
            let apis = admin.api_versions(number(node)?).await?.into_iter().map(|(api, support)| {
                let name = api.name().map_or_else(|| format!("UNKNOWN({})", api.0), str::to_owned);
                let (from, to) = support.offered.into_inner();
                (name, json!({ "key": api.0, "from": from, "to": to, "used": support.used }))
            });
            Value::Object(apis.collect())
        }
        _ => return Ok(None),
    }))
}

fn update(level: &str, kind: &str) -> Result<FeatureUpdate> {
    let upgrade_type = match kind {
        "upgrade" => UpgradeType::Upgrade,
        "downgrade" => UpgradeType::SafeDowngrade,
        "unsafe" => UpgradeType::UnsafeDowngrade,
        other => bail!("{other} is no way to change a feature"),
    };
    Ok(FeatureUpdate { level: number(level)?, upgrade_type })
}

fn described(cluster: ClusterDescription) -> Value {
    let broker = |broker: Broker| json!({ "id": broker.id, "host": broker.host, "port": broker.port, "rack": broker.rack, "fenced": broker.fenced });
    json!({
        "cluster_id": cluster.cluster_id,
        "controller": cluster.controller,
        "brokers": cluster.brokers.into_iter().map(broker).collect::<Vec<_>>(),
    })
}
