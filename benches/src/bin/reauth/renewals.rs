//! Counts sessions that were renewed, by what the client logs of it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tracing::{Event, Level, Subscriber};
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::{Context, Layer, SubscriberExt};

/// Where the client renews sessions. It logs nothing else there at this level.
const PLACE: &str = "ackflow_client::net::sasl::renewal";

/// How many there were.
#[derive(Clone, Default)]
pub(crate) struct Renewals(Arc<AtomicU64>);

impl Renewals {
    pub(crate) fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

impl<S: Subscriber> Layer<S> for Renewals {
    fn on_event(&self, _: &Event<'_>, _: Context<'_, S>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// Counts from now on.
pub(crate) fn count() -> Renewals {
    let renewals = Renewals::default();
    let counted = renewals.clone().with_filter(Targets::new().with_target(PLACE, Level::DEBUG));
    // There is no other one: this is where the program begins.
    let _ = tracing::subscriber::set_global_default(tracing_subscriber::registry().with(counted));
    renewals
}
