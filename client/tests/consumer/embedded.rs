//! The same on the embedded broker, which has to do what Kafka does.

use std::time::Duration;

use ackflow_client::consumer::Consumer;
use ackflow_testkit::EmbeddedBroker;
use ackflow_testkit::core::{FaultAction, FaultRule};

use crate::on_embedded::{choose, on_embedded};
use crate::{MOMENT, TIMEOUT, config, eventually, member, partition, produce, take, take_nothing, topic};

on_embedded! {
    1:
    producing::real_kafka_what_is_committed_counts_and_what_is_aborted_does_not as what_is_committed_counts_and_what_is_aborted_does_not;
    producing::real_kafka_a_second_producer_of_the_same_id_fences_the_first_and_aborts_what_it_left as a_second_producer_of_the_same_id_fences_the_first_and_aborts_what_it_left;
    producing::real_kafka_offsets_count_with_the_transaction as offsets_count_with_the_transaction;
    producing::real_kafka_records_are_sent_in_transactions_alone as records_are_sent_in_transactions_alone;
    producing::real_kafka_a_member_that_the_group_has_moved_on_from_cannot_commit_in_a_transaction as a_member_that_the_group_has_moved_on_from_cannot_commit_in_a_transaction;
    producing::real_kafka_a_record_that_is_refused_makes_the_transaction_abortable_and_the_next_one_is_well as a_record_that_is_refused_makes_the_transaction_abortable_and_the_next_one_is_well;
    passing_on::real_kafka_the_loop_of_the_readme_passes_on_each_record_once_though_a_transaction_is_aborted as the_loop_of_the_readme_passes_on_each_record_once_though_a_transaction_is_aborted;
    producing::real_kafka_closing_aborts_what_is_open as closing_aborts_what_is_open;
    commits::real_kafka_a_topic_that_is_deleted_holds_back_neither_commits_nor_closing as a_topic_that_is_deleted_holds_back_neither_commits_nor_closing;
    commits::real_kafka_who_goes_on_with_partitions_of_its_own_has_committed_what_it_read_as_a_member as who_goes_on_with_partitions_of_its_own_has_committed_what_it_read_as_a_member;
    refusals::real_kafka_a_group_of_another_type_is_named_with_the_remedy as a_group_of_another_type_is_named_with_the_remedy;
    refusals::real_kafka_a_partition_that_does_not_exist_is_named_and_the_others_are_read as a_partition_that_does_not_exist_is_named_and_the_others_are_read;
    commits::real_kafka_offsets_of_ones_own_are_kept_with_their_metadata_and_asynchronous_commits_tell_how_they_went as offsets_of_ones_own_are_kept_with_their_metadata_and_asynchronous_commits_tell_how_they_went;
    commits::real_kafka_what_earlier_polls_handed_out_is_committed_by_itself_and_the_rest_by_closing as what_earlier_polls_handed_out_is_committed_by_itself_and_the_rest_by_closing;
    commits::real_kafka_a_consumer_that_is_dropped_leaves_and_commits_nothing as a_consumer_that_is_dropped_leaves_and_commits_nothing;
    commits::real_kafka_partitions_of_ones_own_are_read_and_committed_without_a_membership as partitions_of_ones_own_are_read_and_committed_without_a_membership;
    groups::real_kafka_what_was_written_is_read_once_in_order_and_the_group_goes_on_where_it_was as what_was_written_is_read_once_in_order_and_the_group_goes_on_where_it_was;
    groups::real_kafka_a_pattern_is_evaluated_by_the_coordinator_and_takes_in_topics_that_come as a_pattern_is_evaluated_by_the_coordinator_and_takes_in_topics_that_come;
    groups::real_kafka_two_members_share_the_partitions_and_hear_of_it as two_members_share_the_partitions_and_hear_of_it;
    groups::real_kafka_a_member_that_is_fenced_loses_its_partitions_and_comes_back as a_member_that_is_fenced_loses_its_partitions_and_comes_back;
    groups::real_kafka_a_member_that_does_not_poll_leaves_and_comes_back_with_the_next_poll as a_member_that_does_not_poll_leaves_and_comes_back_with_the_next_poll;
    positions::real_kafka_seeks_go_where_they_say_and_positions_tell_it as seeks_go_where_they_say_and_positions_tell_it;
    positions::real_kafka_what_is_paused_is_not_handed_out_until_it_is_resumed as what_is_paused_is_not_handed_out_until_it_is_resumed;
    positions::real_kafka_ends_and_times_are_looked_up as ends_and_times_are_looked_up;
    positions::real_kafka_each_policy_begins_where_it_says as each_policy_begins_where_it_says;
    refusals::real_kafka_what_the_coordinator_refuses_ends_the_consumer_with_the_remedy as what_the_coordinator_refuses_ends_the_consumer_with_the_remedy;
    refusals::real_kafka_a_topic_that_does_not_exist_is_named_and_read_as_soon_as_it_does as a_topic_that_does_not_exist_is_named_and_read_as_soon_as_it_does;
    transactions::real_kafka_uncommitted_reading_has_everything_but_the_markers as uncommitted_reading_has_everything_but_the_markers;
    static_members::real_kafka_a_static_member_that_comes_back_has_its_partitions_and_nobody_else_got_them as a_static_member_that_comes_back_has_its_partitions_and_nobody_else_got_them;
    static_members::real_kafka_a_second_process_of_one_static_name_is_told_and_gets_the_place_once_it_is_free as a_second_process_of_one_static_name_is_told_and_gets_the_place_once_it_is_free;
}

on_embedded! {
    3:
    commits::real_kafka_offsets_of_ones_own_are_kept_with_their_metadata_and_asynchronous_commits_tell_how_they_went as three_nodes_offsets_of_ones_own_are_kept_with_their_metadata_and_asynchronous_commits_tell_how_they_went;
    groups::real_kafka_what_was_written_is_read_once_in_order_and_the_group_goes_on_where_it_was as three_nodes_what_was_written_is_read_once_in_order_and_the_group_goes_on_where_it_was;
    groups::real_kafka_a_pattern_is_evaluated_by_the_coordinator_and_takes_in_topics_that_come as three_nodes_a_pattern_is_evaluated_by_the_coordinator_and_takes_in_topics_that_come;
    groups::real_kafka_two_members_share_the_partitions_and_hear_of_it as three_nodes_two_members_share_the_partitions_and_hear_of_it;
    positions::real_kafka_seeks_go_where_they_say_and_positions_tell_it as three_nodes_seeks_go_where_they_say_and_positions_tell_it;
    static_members::real_kafka_a_static_member_that_comes_back_has_its_partitions_and_nobody_else_got_them as three_nodes_a_static_member_that_comes_back_has_its_partitions_and_nobody_else_got_them;
}

on_embedded! {
    3, transactions 2:
    producing::real_kafka_what_is_committed_counts_and_what_is_aborted_does_not as three_nodes_what_is_committed_counts_and_what_is_aborted_does_not;
    producing::real_kafka_a_second_producer_of_the_same_id_fences_the_first_and_aborts_what_it_left as three_nodes_a_second_producer_of_the_same_id_fences_the_first_and_aborts_what_it_left;
    producing::real_kafka_offsets_count_with_the_transaction as three_nodes_offsets_count_with_the_transaction;
    producing::real_kafka_records_are_sent_in_transactions_alone as three_nodes_records_are_sent_in_transactions_alone;
    producing::real_kafka_a_member_that_the_group_has_moved_on_from_cannot_commit_in_a_transaction as three_nodes_a_member_that_the_group_has_moved_on_from_cannot_commit_in_a_transaction;
    producing::real_kafka_a_record_that_is_refused_makes_the_transaction_abortable_and_the_next_one_is_well as three_nodes_a_record_that_is_refused_makes_the_transaction_abortable_and_the_next_one_is_well;
    producing::real_kafka_closing_aborts_what_is_open as three_nodes_closing_aborts_what_is_open;
}

on_embedded! {
    1, transactions 1:
    producing::real_kafka_what_is_committed_counts_and_what_is_aborted_does_not as version_1_what_is_committed_counts_and_what_is_aborted_does_not;
    producing::real_kafka_a_second_producer_of_the_same_id_fences_the_first_and_aborts_what_it_left as version_1_a_second_producer_of_the_same_id_fences_the_first_and_aborts_what_it_left;
    producing::real_kafka_offsets_count_with_the_transaction as version_1_offsets_count_with_the_transaction;
    producing::real_kafka_records_are_sent_in_transactions_alone as version_1_records_are_sent_in_transactions_alone;
    producing::real_kafka_a_member_that_the_group_has_moved_on_from_cannot_commit_in_a_transaction as version_1_a_member_that_the_group_has_moved_on_from_cannot_commit_in_a_transaction;
    producing::real_kafka_a_record_that_is_refused_makes_the_transaction_abortable_and_the_next_one_is_well as version_1_a_record_that_is_refused_makes_the_transaction_abortable_and_the_next_one_is_well;
    producing::real_kafka_closing_aborts_what_is_open as version_1_closing_aborts_what_is_open;
}

/// A member whose process dies: the broker hears nothing of it any more.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn partitions_of_a_member_that_is_killed_go_to_the_others_from_what_it_committed_on() {
    let broker = EmbeddedBroker::builder().fast().start().await.unwrap();
    choose(&broker);
    let (topic, group) = (topic("killed", 2).await, "group".to_owned());
    let mut victim = Consumer::new(config(&group).client_id("victim").build().unwrap()).unwrap();
    let mut other = member(&group);
    victim.subscribe([&topic]).unwrap();
    other.subscribe([&topic]).unwrap();
    eventually("one each", async || {
        let (one, two) = tokio::join!(victim.poll(MOMENT), other.poll(MOMENT));
        assert!(one.unwrap().is_empty() && two.unwrap().is_empty());
        (victim.assignment().len() == 1 && other.assignment().len() == 1).then_some(())
    })
    .await;
    let of = victim.assignment().first().unwrap().partition;
    produce(&topic, of, 0, 3).await;
    take(&mut victim, 3).await;
    victim.commit().await.unwrap();
    produce(&topic, of, 3, 2).await;
    take(&mut victim, 2).await;
    broker.add_fault(FaultRule::new(FaultAction::Ignore).client_id("victim")).await.unwrap();
    let taken = take(&mut other, 2).await;
    assert_eq!(taken.iter().map(|(index, offset, _)| (*index, *offset)).collect::<Vec<_>>(), [(of, 3), (of, 4)]);
    assert_eq!(other.assignment().len(), 2);
    other.commit().await.unwrap();
    // It comes to itself, and reads what is its own then.
    broker.clear_faults().await.unwrap();
    broker.disconnect_all().await.unwrap();
    eventually("one each again", async || {
        let (_, two) = tokio::join!(victim.poll(MOMENT), other.poll(MOMENT));
        assert!(two.unwrap().is_empty());
        (victim.assignment().len() == 1 && other.assignment().len() == 1).then_some(())
    })
    .await;
    take_nothing(&mut other).await;
    let kept = other.committed([partition(&topic, of)]).await.unwrap().remove(&partition(&topic, of)).unwrap();
    assert_eq!(kept.map(|kept| kept.offset), Some(5));
    victim.close(TIMEOUT).await.unwrap();
    other.close(TIMEOUT).await.unwrap();
}

/// Nodes die and come back, and leaders and coordinators move, while two members read and commit.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_lost_or_out_of_order_while_nodes_die_and_leaders_and_coordinators_move() {
    let broker = EmbeddedBroker::builder().fast().nodes(3).start().await.unwrap();
    choose(&broker);
    let (topic, group) = (topic("storm", 6).await, "group".to_owned());
    let (mut one, mut two) = (member(&group), member(&group));
    one.subscribe([&topic]).unwrap();
    two.subscribe([&topic]).unwrap();
    let mut seen = [0; 6];
    for round in 0..6 {
        for index in 0..6 {
            produce(&topic, index, round * 10, 10).await;
        }
        match round {
            1 => broker.move_leader(&topic, 0, 2).await.unwrap(),
            2 => broker.move_coordinator(&group, 3).await.unwrap(),
            3 => broker.kill_node(3, Duration::from_millis(100)).await.unwrap(),
            4 => broker.start_node(3).await.unwrap(),
            5 => broker.elect_preferred_leaders().await.unwrap(),
            _ => {}
        }
        let end = (round + 1) * 10;
        eventually("all records of the round", async || {
            let (first, second) = tokio::join!(one.poll(MOMENT), two.poll(MOMENT));
            for record in first.unwrap().iter().chain(&second.unwrap()) {
                let record = record.unwrap();
                let next = &mut seen[usize::try_from(record.partition).unwrap()];
                // What was not committed before its member lost it comes again, in order too.
                assert!(record.offset <= *next, "{} after {next} of partition {}", record.offset, record.partition);
                *next = record.offset.max(*next - 1) + 1;
            }
            let (first, second) = tokio::join!(one.commit(), two.commit());
            first.and(second).ok().filter(|_| seen.iter().all(|next| *next == end))
        })
        .await;
    }
    let all: Vec<_> = (0..6).map(|index| partition(&topic, index)).collect();
    let kept = one.committed(all).await.unwrap();
    assert!(kept.values().all(|kept| kept.as_ref().is_some_and(|kept| kept.offset == 60)), "{kept:?}");
    one.close(TIMEOUT).await.unwrap();
    two.close(TIMEOUT).await.unwrap();
}
