//! The scenarios, by what they disturb.

mod connections;
mod leaders;
mod old;
mod pace;
mod topics;

use std::pin::Pin;

use anyhow::{Context, Result};

use crate::cluster::Cluster;
use crate::ledger::Report;

type Run = fn(Cluster) -> Pin<Box<dyn Future<Output = Result<Report>>>>;

/// One situation.
pub(crate) struct Scenario {
    pub(crate) name: &'static str,
    pub(crate) what: &'static str,
    /// How many brokers it wants.
    pub(crate) brokers: usize,
    pub(crate) run: Run,
}

macro_rules! scenarios {
    ($($brokers:literal $module:ident::$name:ident $what:literal;)*) => {
        /// All of them.
        pub(crate) const SCENARIOS: &[Scenario] = &[$(
            Scenario {
                name: stringify!($name),
                what: $what,
                brokers: $brokers,
                run: |cluster| Box::pin($module::$name(cluster)),
            },
        )*];
    };
}

scenarios! {
    1 pace::record_limit "record_limit 10: no poll and no acquisition carries more";
    1 pace::release_one_in_seven "one record in seven is released at its first delivery";
    1 pace::pause "50 s without a poll, longer than the lock";
    1 pace::two_members "two members on one partition";
    1 connections::cut_when_committed "connections are cut while nothing waits to be acknowledged";
    1 connections::cut_with_pending "connections are cut while records are out, with a short lock";
    1 topics::transactions "committed and aborted transactions";
    1 topics::compression "each compression";
    1 topics::compacted "a compacted topic with gaps";
    1 topics::recreated "the topic is deleted and created again";
    1 topics::larger_than_a_fetch "records larger than fetch.max.bytes";
    3 leaders::moved "a leader is moved to another broker by reassignment";
    3 leaders::killed "a leader is killed";
}

/// The scenario of that name.
pub(crate) fn named(name: &str) -> Result<&'static Scenario> {
    let found = SCENARIOS.iter().find(|scenario| scenario.name == name);
    found.with_context(|| format!("there is no scenario `{name}`; --list names them"))
}
