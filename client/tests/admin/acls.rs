//! Rules of who may do what.

use ackflow_client::admin::{
    AclBinding, AclBindingFilter, AclOperation, AclPatternType, AclPermission, AclResourceType,
};
use ackflow_protocol::wire::ErrorCode;

use crate::{admin, eventually, unique};

#[tokio::test]
#[ignore = "needs a broker: cargo xtask kafka"]
async fn real_kafka_rules_are_created_described_and_deleted() {
    let admin = admin();
    let name = unique("ruled");
    let allowed = AclBinding::allow("User:alice", AclOperation::READ, AclResourceType::TOPIC, &name);
    let denied = AclBinding {
        pattern_type: AclPatternType::PREFIXED,
        resource_name: "ruled-".into(),
        host: "127.0.0.9".into(),
        operation: AclOperation::ALL,
        permission: AclPermission::DENY,
        principal: format!("User:{name}"),
        ..allowed.clone()
    };
    let created = admin.create_acls([allowed.clone(), denied.clone()]).await.unwrap();
    assert!(created.len() == 2 && created.values().all(Result::is_ok), "{created:?}");

    let about = AclBindingFilter::about(AclResourceType::TOPIC, &name);
    let described = eventually("both rules", async || {
        let described = admin.describe_acls(&about).await.unwrap();
        (described.contains(&allowed) && described.contains(&denied)).then_some(described)
    })
    .await;
    assert!(described.is_sorted());
    let of_principal = AclBindingFilter { principal: Some(denied.principal.clone()), ..AclBindingFilter::default() };
    assert_eq!(admin.describe_acls(&of_principal).await.unwrap(), std::slice::from_ref(&denied));

    let nothing = AclBindingFilter { host: Some("nowhere".into()), ..AclBindingFilter::default() };
    let filters = [allowed.to_filter(), of_principal.clone(), nothing.clone()];
    let deleted = admin.delete_acls(filters).await.unwrap();
    assert_eq!(deleted[&allowed.to_filter()].as_ref().unwrap().keys().collect::<Vec<_>>(), [&allowed]);
    assert_eq!(deleted[&of_principal].as_ref().unwrap().keys().collect::<Vec<_>>(), [&denied]);
    assert!(deleted[&nothing].as_ref().unwrap().is_empty());
    eventually("no rules", async || {
        let left = admin.describe_acls(&about).await.unwrap();
        (!left.contains(&allowed) && !left.contains(&denied)).then_some(())
    })
    .await;
}

#[tokio::test]
#[ignore = "needs a broker: cargo xtask kafka"]
async fn real_kafka_a_rule_that_makes_no_sense_is_refused_and_the_others_are_not() {
    let admin = admin();
    let good = AclBinding::allow("User:alice", AclOperation::DESCRIBE, AclResourceType::GROUP, unique("ruled"));
    let bad = AclBinding { principal: "alice".into(), ..good.clone() };
    let created = admin.create_acls([good.clone(), bad.clone()]).await.unwrap();
    assert!(created[&good].is_ok(), "{created:?}");
    let error = created[&bad].as_ref().unwrap_err();
    assert!(matches!(error.code(), Some(ErrorCode::INVALID_REQUEST | ErrorCode::UNKNOWN_SERVER_ERROR)), "{error}");
    assert!(error.to_string().contains("for alice from *"), "{error}");
    admin.delete_acls([good.to_filter()]).await.unwrap();
}
