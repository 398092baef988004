//! Who may do what, and with which password.

use std::collections::BTreeMap;

use ackflow_client::admin::{
    AclBinding, AclBindingFilter, AclOperation, AclResourceType, Admin, ScramCredentialChange, ScramMechanism,
};
use anyhow::{Result, bail};
use serde_json::Value;

use crate::{all, done, number};

pub(crate) async fn call(admin: &Admin, call: &str, arguments: &[&str]) -> Result<Option<Value>> {
    Ok(Some(match (call, arguments) {
        ("create_acls", [principal, topic]) => {
            let rule = AclBinding::allow(*principal, AclOperation::READ, AclResourceType::TOPIC, *topic);
            done(admin.create_acls([rule]).await?)?
        }
        ("describe_acls", [topic]) => {
            let rules = admin.describe_acls(&AclBindingFilter::about(AclResourceType::TOPIC, *topic)).await?;
            rules.into_iter().map(|rule| Value::from(rule.to_string())).collect()
        }
        ("delete_acls", [topic]) => {
            let filter = AclBindingFilter::about(AclResourceType::TOPIC, *topic);
            let mut deleted = BTreeMap::new();
            for (_, rules) in admin.delete_acls([filter]).await? {
                deleted.extend(rules?);
            }
            done(deleted)?
        }
        ("describe_user_scram_credentials", users) => {
            let named =
                |(mechanism, iterations): (ScramMechanism, u32)| (name(mechanism).to_owned(), iterations.into());
            let credentials = |of_user: BTreeMap<_, _>| Value::Object(of_user.into_iter().map(named).collect());
            all(admin.describe_user_scram_credentials(users.iter().copied()).await?, credentials)?
        }
        ("alter_user_scram_credentials", [user, scram, password, iterations]) => {
            let change =
                ScramCredentialChange::upsert(*user, mechanism(scram)?, *password).iterations(number(iterations)?);
            done(admin.alter_user_scram_credentials([change]).await?)?
        }
        ("alter_user_scram_credentials", [user, scram]) => {
            let change = ScramCredentialChange::delete(*user, mechanism(scram)?);
            done(admin.alter_user_scram_credentials([change]).await?)?
        }
        _ => return Ok(None),
    }))
}

fn mechanism(name: &str) -> Result<ScramMechanism> {
    match name {
        "SCRAM-SHA-256" => Ok(ScramMechanism::SHA_256),
        "SCRAM-SHA-512" => Ok(ScramMechanism::SHA_512),
        other => bail!("there is no mechanism {other}"),
    }
}

fn name(mechanism: ScramMechanism) -> &'static str {
    match mechanism {
        ScramMechanism::SHA_256 => "SCRAM-SHA-256",
        ScramMechanism::SHA_512 => "SCRAM-SHA-512",
        _ => "another mechanism",
    }
}
