//! Tests of a real Kafka that run on the embedded broker too.

use std::cell::RefCell;

use ackflow_testkit::EmbeddedBroker;

thread_local! {
    /// The broker of the test that this thread runs.
    static SERVERS: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// The brokers of this test: the embedded ones, or those that `ACKFLOW_BOOTSTRAP` names.
pub(crate) fn servers() -> String {
    let named = || std::env::var("ACKFLOW_BOOTSTRAP").expect("ACKFLOW_BOOTSTRAP has to name a Kafka");
    SERVERS.with_borrow(Clone::clone).unwrap_or_else(named)
}

/// Has this thread's test use an embedded broker.
pub(crate) fn choose(broker: &EmbeddedBroker) {
    SERVERS.set(Some(broker.bootstrap_servers()));
}

/// Runs a case on an embedded broker of so many nodes and with such transactions, which runs in threads of its own.
pub(crate) fn run(nodes: u16, transaction_version: i16, case: fn()) {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let broker = runtime
        .block_on(EmbeddedBroker::builder().fast().nodes(nodes).transaction_version(transaction_version).start())
        .unwrap();
    choose(&broker);
    case();
    runtime.block_on(broker.shutdown());
}

/// Makes a test on so many nodes of each case; and with transactions of this version, where one is named.
macro_rules! on_embedded {
    ($nodes:literal: $($rest:tt)*) => {
        crate::on_embedded::on_embedded! { $nodes, transactions 2: $($rest)* }
    };
    ($nodes:literal, transactions $version:literal: $($module:ident::$case:ident as $name:ident;)*) => {
        $(
            #[test]
            fn $name() {
                crate::on_embedded::run($nodes, $version, crate::$module::$case);
            }
        )*
    };
}
pub(crate) use on_embedded;
