//! SCRAM credentials.

use std::collections::BTreeMap;

use ackflow_client::admin::{ScramCredentialChange, ScramMechanism};
use ackflow_protocol::wire::ErrorCode;

use crate::{admin, eventually, unique};

#[tokio::test]
#[ignore = "needs a broker: cargo xtask kafka"]
async fn real_kafka_scram_credentials_are_made_described_and_deleted() {
    let admin = admin();
    let user = unique("user");
    let describe = async || admin.describe_user_scram_credentials([&user]).await.unwrap().remove(&user).unwrap();
    assert_eq!(describe().await.unwrap_err().code(), Some(ErrorCode::RESOURCE_NOT_FOUND));

    let changes = [
        ScramCredentialChange::upsert(&user, ScramMechanism::SHA_256, "secret"),
        ScramCredentialChange::upsert(&user, ScramMechanism::SHA_512, "secret").iterations(8192),
    ];
    admin.alter_user_scram_credentials(changes).await.unwrap().remove(&user).unwrap().unwrap();
    let both = BTreeMap::from([(ScramMechanism::SHA_256, 4096), (ScramMechanism::SHA_512, 8192)]);
    eventually("both credentials", async || (describe().await.ok()? == both).then_some(())).await;
    let all = admin.describe_user_scram_credentials::<&str>([]).await.unwrap();
    assert_eq!(all[&user].as_ref().unwrap(), &both);

    let few = [ScramCredentialChange::upsert(&user, ScramMechanism::SHA_256, "secret").iterations(1000)];
    let error = admin.alter_user_scram_credentials(few).await.unwrap().remove(&user).unwrap().unwrap_err();
    assert_eq!(error.code(), Some(ErrorCode::UNACCEPTABLE_CREDENTIAL));
    assert!(error.to_string().contains("4096 to 16384"), "{error}");

    for mechanism in [ScramMechanism::SHA_256, ScramMechanism::SHA_512] {
        let delete = [ScramCredentialChange::delete(&user, mechanism)];
        assert!(admin.alter_user_scram_credentials(delete).await.unwrap()[&user].is_ok());
    }
    eventually("no credentials", async || describe().await.err()).await;
}
