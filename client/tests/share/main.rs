//! Share consumers against brokers: each case runs on the embedded broker, alone and of three nodes, and on the real Kafka that `ACKFLOW_BOOTSTRAP` names
//! (`cargo xtask kafka --fast -- cargo test -p ackflow-client -- --ignored real_kafka_`).

#![expect(clippy::unwrap_used, reason = "a test fails where it unwraps nothing")]

mod cluster;
mod compacted;
mod dead_letters;
mod deliveries;
mod embedded_nodes;
mod embedded_only;
mod failover;
mod handlers;
mod journal;
mod membership;
mod modes;
mod old_brokers;
mod rebootstrap;
mod renewal;
mod subscriptions;
#[path = "../support/mod.rs"]
mod support;
mod throttling;
mod unreadable;

/// Makes three tests of each case.
macro_rules! cases {
    ($($module:ident::$case:ident;)*) => {
        mod embedded {
            $(
                #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                async fn $case() {
                    crate::cluster::within_a_minute(crate::$module::$case(crate::cluster::Cluster::embedded().await)).await;
                }
            )*
        }

        mod three_nodes {
            $(
                #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                async fn $case() {
                    crate::cluster::within_a_minute(crate::$module::$case(crate::cluster::Cluster::three_nodes().await)).await;
                }
            )*
        }

        mod real_kafka_ {
            $(
                #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                #[ignore = "needs a real Kafka"]
                async fn $case() {
                    crate::cluster::within_a_minute(crate::$module::$case(crate::cluster::Cluster::real().await)).await;
                }
            )*
        }
    };
}

cases! {
    modes::implicit_mode_consumes_everything_once_and_leaves_no_lag;
    modes::implicit_closing_does_not_accept_the_last_poll;
    modes::explicit_released_records_come_again_and_rejected_ones_do_not;
    modes::commits_whose_future_is_dropped_are_sent_all_the_same;
    modes::the_callback_hears_of_every_acknowledgement_once;
    modes::row_62_records_survive_polls_that_are_dropped;
    modes::record_limit_never_acquires_more_than_a_poll_may_have;
    renewal::renewed_records_are_handed_out_again_and_kept_beyond_their_lock;
    renewal::deliveries_are_kept_by_renewing_them;
    renewal::deliveries_that_are_held_keep_their_locks_by_themselves;
    renewal::what_was_handed_out_is_held_until_the_limit_where_that_is_configured;
    renewal::a_group_that_does_not_allow_renewals_is_named_once_and_loses_nothing_else;
    renewal::records_whose_lock_ends_are_delivered_to_others;
    renewal::row_31_records_that_wait_too_long_for_a_poll_are_not_handed_out;
    deliveries::deliveries_settle_from_many_tasks_in_any_order;
    deliveries::released_records_are_delivered_up_to_the_limit_of_the_group;
    deliveries::a_split_delivery_settles_in_halves;
    deliveries::settling_after_closing_fails_and_the_records_come_again;
    deliveries::a_batch_larger_than_a_poll_comes_in_slices;
    dead_letters::what_a_group_gives_up_is_in_its_dead_letter_queue_with_why;
    handlers::deliveries_come_as_a_stream;
    handlers::each_outcome_does_with_its_record_what_it_says;
    handlers::a_record_that_waits_to_be_tried_again_keeps_its_lock;
    handlers::a_record_whose_lock_is_renewed_no_more_is_released_and_comes_again;
    handlers::no_more_handlers_run_than_allowed;
    handlers::a_slow_record_holds_back_no_other;
    handlers::handlers_that_work_longer_than_a_poll_may_stay_away_are_no_absence;
    handlers::an_end_lets_handlers_finish_and_gives_everything_else_back;
    handlers::handling_that_is_dropped_settles_what_is_done_and_gives_everything_else_back;
    handlers::handling_ends_at_the_first_error_where_that_is_asked_for;
    handlers::handling_can_be_spawned;
    unreadable::typed_keys_and_values_are_lent;
    unreadable::row_15_a_record_that_is_refused_comes_again_up_to_the_limit_and_no_other_does;
    deliveries::row_17_a_member_that_dies_costs_its_records_a_delivery_and_the_limit_ends_them;
    deliveries::row_18_what_other_tasks_have_decided_goes_out_before_the_member_leaves;
    deliveries::row_32_a_record_larger_than_a_fetch_comes_and_one_larger_than_a_frame_is_one_error;
    membership::two_members_share_one_partition;
    membership::a_consumer_that_is_dropped_gives_its_records_back_at_once;
    membership::a_consumer_can_leave_and_subscribe_again;
    membership::row_35_a_member_that_does_not_poll_leaves_and_comes_back_with_its_next_poll;
    membership::a_member_that_comes_back_under_its_id_takes_the_place_of_its_dead_self_at_once;
    membership::of_two_that_live_under_one_id_the_older_stops_with_an_error_and_disturbs_the_other_no_more;
    subscriptions::a_pattern_means_the_topics_that_match_as_they_come_and_go;
    subscriptions::a_pattern_that_matches_nothing_waits_for_what_does;
    subscriptions::a_list_that_changes_gives_back_what_waits_and_brings_what_is_new;
    subscriptions::lists_that_change_all_the_time_lose_nothing;
    membership::an_unknown_topic_is_named_and_served_once_it_exists;
    membership::a_topic_may_be_created_by_subscribing_to_it_where_that_is_allowed;
}
