//! Static members (KIP-345).

use ackflow_client::ErrorKind;
use ackflow_client::consumer::Consumer;

use crate::*;

fn named(group: &str, instance: &str) -> Consumer {
    Consumer::new(config(group).group_instance_id(instance).build().unwrap()).unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs a broker: cargo xtask kafka"]
pub(crate) async fn real_kafka_a_static_member_that_comes_back_has_its_partitions_and_nobody_else_got_them() {
    let (topic, group) = (topic("static", 2).await, unique("group"));
    let (mut one, mut two, heard) = (named(&group, "one"), named(&group, "two"), Journal::default());
    two.set_rebalance_listener(heard.clone());
    one.subscribe([&topic]).unwrap();
    two.subscribe([&topic]).unwrap();
    eventually("one each", async || {
        let (a, b) = tokio::join!(one.poll(MOMENT), two.poll(MOMENT));
        assert!(a.unwrap().is_empty() && b.unwrap().is_empty());
        (one.assignment().len() == 1 && two.assignment().len() == 1).then_some(())
    })
    .await;
    let had = one.assignment();
    one.close(TIMEOUT).await.unwrap();
    take_nothing(&mut two).await;
    assert_eq!(two.assignment().len(), 1, "the place is kept");
    let mut one = named(&group, "one");
    one.subscribe([&topic]).unwrap();
    eventually("the same partition", async || {
        one.poll(MOMENT).await.unwrap();
        (one.assignment() == had).then_some(())
    })
    .await;
    assert_eq!(two.assignment().len(), 1);
    one.close(TIMEOUT).await.unwrap();
    two.close(TIMEOUT).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs a broker: cargo xtask kafka"]
pub(crate) async fn real_kafka_a_second_process_of_one_static_name_is_told_and_gets_the_place_once_it_is_free() {
    let (topic, group) = (topic("twice", 1).await, unique("group"));
    let (mut first, mut second) = (named(&group, "one"), named(&group, "one"));
    first.subscribe([&topic]).unwrap();
    eventually("the partition", async || {
        first.poll(MOMENT).await.unwrap();
        (!first.assignment().is_empty()).then_some(())
    })
    .await;
    second.subscribe([&topic]).unwrap();
    let error = eventually("the error", async || second.poll(MOMENT).await.err()).await;
    assert!(error.to_string().contains("group.instance.id"), "{error}");
    assert_ne!(error.kind(), ErrorKind::Fenced);
    first.poll(MOMENT).await.unwrap();
    first.close(TIMEOUT).await.unwrap();
    eventually("the place", async || {
        second.poll(MOMENT).await.unwrap();
        (!second.assignment().is_empty()).then_some(())
    })
    .await;
    second.close(TIMEOUT).await.unwrap();
}
