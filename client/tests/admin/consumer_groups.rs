//! Consumer groups of both protocols, and their offsets.

use ackflow_client::ErrorKind;
use ackflow_client::admin::{CommittedOffset, RecordsToDelete};
use ackflow_protocol::wire::ErrorCode;

use crate::members::Membership;
use crate::{admin, eventually, partition, produce, topic, unique};

#[tokio::test]
#[ignore = "needs a broker: cargo xtask kafka"]
pub(crate) async fn real_kafka_groups_of_both_protocols_are_described_with_their_members() {
    let admin = admin();
    let name = topic(&admin, "described", 1).await;
    let (new, classic, nobody) = (unique("new"), unique("classic"), unique("nobody"));
    let member = Membership::join(&new, &name).await;
    let classic_member = Membership::join_classic(&classic, &name).await;

    let mut epoch = member.epoch;
    let (described, mut results) = eventually("the assignment", async || {
        epoch = member.heartbeat(epoch).await;
        let mut results = admin.describe_consumer_groups([&new, &classic, &nobody]).await;
        let described = results.remove(&new).unwrap().unwrap();
        let is_assigned = described.members.iter().any(|member| !member.target_assignment.is_empty());
        is_assigned.then_some((described, results))
    })
    .await;
    assert!(!described.classic && described.epoch.is_some() && described.assignor == "uniform", "{described:?}");
    let [only] = &described.members[..] else { panic!("{described:?}") };
    assert_eq!((&only.subscribed[..], &only.target_assignment[..]), (&[name.clone()][..], &[partition(&name, 0)][..]));
    assert_eq!((only.member_id.as_str(), only.client_id.as_str()), ("member-of-the-test", "ackflow"));

    let described = results.remove(&classic).unwrap().unwrap();
    assert_eq!((described.classic, described.state.as_str(), described.assignor.as_str()), (true, "Stable", "range"));
    let [only] = &described.members[..] else { panic!("{described:?}") };
    assert_eq!((&only.subscribed[..], &only.assignment[..]), (&[name.clone()][..], &[partition(&name, 0)][..]));

    let error = results.remove(&nobody).unwrap().unwrap_err();
    assert_eq!(error.code(), Some(ErrorCode::GROUP_ID_NOT_FOUND));
    assert!(error.to_string().contains(&nobody), "{error}");

    let mut deleted = admin.delete_groups([&new, &classic, &nobody]).await;
    for group in [&new, &classic] {
        let error = deleted.remove(group).unwrap().unwrap_err();
        assert_eq!(error.code(), Some(ErrorCode::NON_EMPTY_GROUP));
        assert!(error.to_string().contains("stop the members"), "{error}");
    }
    assert_eq!(deleted[&nobody].as_ref().unwrap_err().code(), Some(ErrorCode::GROUP_ID_NOT_FOUND));
    member.leave().await;
    classic_member.leave_classic().await;
    let deleted = admin.delete_groups([&new, &classic]).await;
    assert!(deleted.values().all(Result::is_ok), "{deleted:?}");
    let listed = admin.list_groups(&[]).await.unwrap();
    assert!(listed.iter().all(|group| group.group_id != new && group.group_id != classic));
}

#[tokio::test]
#[ignore = "needs a broker: cargo xtask kafka"]
pub(crate) async fn real_kafka_offsets_of_a_consumer_group_are_set_listed_and_deleted() {
    let admin = admin();
    let name = topic(&admin, "committed", 3).await;
    produce(&name, 5).await;
    let group = unique("committed");
    assert!(admin.list_consumer_group_offsets(&group).await.unwrap().is_empty());

    let noted = CommittedOffset { offset: 2, leader_epoch: Some(0), metadata: "noted".into() };
    let offsets =
        [(partition(&name, 0), noted.clone()), (partition(&name, 1), 0.into()), (partition(&name, 9), 1.into())];
    let set = admin.alter_consumer_group_offsets(&group, offsets).await.unwrap();
    assert!(set[&partition(&name, 0)].is_ok() && set[&partition(&name, 1)].is_ok(), "{set:?}");
    let unknown = set[&partition(&name, 9)].as_ref().unwrap_err();
    assert_eq!(unknown.code(), Some(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION));

    // The broker would take each for the end of what was committed, and say that all is well.
    let below = [(partition(&name, 0), -1), (partition(&name, 1), -7)];
    let refused = admin.alter_consumer_group_offsets(&group, below).await.unwrap();
    assert!(refused.values().all(|result| result.as_ref().unwrap_err().kind() == ErrorKind::Invalid), "{refused:?}");

    let listed = admin.list_consumer_group_offsets(&group).await.unwrap();
    assert_eq!(listed.len(), 2);
    assert_eq!(listed[&partition(&name, 0)], noted);
    let lags = admin.consumer_group_lag(&group).await.unwrap();
    let lag = lags[&partition(&name, 0)].as_ref().unwrap();
    assert_eq!((lag.end, lag.lag, lag.committed.offset), (5, 3, 2));
    assert_eq!(lags[&partition(&name, 1)].as_ref().unwrap().lag, 0);

    // Records that are gone are still counted, as Kafka's own tool does.
    admin.delete_records([(partition(&name, 0), RecordsToDelete::All)]).await;
    assert_eq!(admin.consumer_group_lag(&group).await.unwrap()[&partition(&name, 0)].as_ref().unwrap().lag, 3);

    let deleted = admin.delete_consumer_group_offsets(&group, [partition(&name, 0)]).await.unwrap();
    assert!(deleted[&partition(&name, 0)].is_ok(), "{deleted:?}");
    let listed = admin.list_consumer_group_offsets(&group).await.unwrap();
    assert_eq!(listed.into_keys().collect::<Vec<_>>(), [partition(&name, 1)]);

    assert!(admin.delete_groups([&group]).await[&group].is_ok());
    let error = admin.delete_consumer_group_offsets(&group, [partition(&name, 0)]).await.unwrap_err();
    assert_eq!(error.code(), Some(ErrorCode::GROUP_ID_NOT_FOUND));
}

#[tokio::test]
#[ignore = "needs a broker: cargo xtask kafka"]
pub(crate) async fn real_kafka_offsets_of_a_group_with_members_are_its_members() {
    let admin = admin();
    let name = topic(&admin, "members-offsets", 1).await;
    let group = unique("members-offsets");
    let member = Membership::join_classic(&group, &name).await;
    let set = admin.alter_consumer_group_offsets(&group, [(partition(&name, 0), 0)]).await.unwrap();
    let error = set[&partition(&name, 0)].as_ref().unwrap_err();
    assert_eq!(error.code(), Some(ErrorCode::UNKNOWN_MEMBER_ID));
    assert!(error.to_string().contains("stop the members"), "{error}");
    let deleted = admin.delete_consumer_group_offsets(&group, [partition(&name, 0)]).await.unwrap();
    let error = deleted[&partition(&name, 0)].as_ref().unwrap_err();
    assert_eq!(error.code(), Some(ErrorCode::GROUP_SUBSCRIBED_TO_TOPIC));
    member.leave_classic().await;
    assert!(admin.delete_groups([&group]).await[&group].is_ok());
}
