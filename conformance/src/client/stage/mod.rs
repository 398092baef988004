//! What a situation works with: a broker, clients under test, and what they have sent.

mod client;
mod event;
mod record;
mod requests;
mod shim;

use std::cell::{OnceCell, RefCell};
use std::rc::Rc;
use std::time::{Duration, Instant};

use ackflow_protocol::wire::{ApiKey, ErrorCode, Request};
use ackflow_testkit::core::{FaultAction, FaultId, FaultRule};
use ackflow_testkit::{BrokerError, EmbeddedBroker, EmbeddedBrokerBuilder};

use crate::stop::{Outcome, Stop};
pub(crate) use client::{Client, Mode};
pub(crate) use event::offsets;
pub(crate) use record::{Told, Written};
pub(crate) use requests::{Received, Requests};
use shim::Shim;

/// The topic of most situations.
pub(crate) const TOPIC: &str = "orders";
/// The group of all situations. It starts at the first record.
pub(crate) const GROUP: &str = "billing";
/// How long a situation waits for what a client does in its own time.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// The place of one situation.
#[derive(Debug)]
pub(crate) struct Stage {
    command: String,
    began: Instant,
    broker: OnceCell<EmbeddedBroker>,
    requests: RefCell<Requests>,
    told: Rc<Told>,
}

impl Stage {
    pub(crate) fn new(command: String) -> Self {
        let began = Instant::now();
        let told = Rc::new(Told::since(began));
        Self { command, began, broker: OnceCell::new(), requests: RefCell::default(), told }
    }

    /// Starts a broker with short times and [`TOPIC`], of one partition.
    pub(crate) async fn broker(&self) -> Outcome<&EmbeddedBroker> {
        self.broker_with(|builder| builder.topic(TOPIC, 1)).await
    }

    /// Starts a broker, or several, with short times and what else `build` says. It has no topic of its own.
    pub(crate) async fn broker_with(
        &self,
        build: impl FnOnce(EmbeddedBrokerBuilder) -> EmbeddedBrokerBuilder,
    ) -> Outcome<&EmbeddedBroker> {
        let builder = EmbeddedBroker::builder().fast().group_config(GROUP, "share.auto.offset.reset", "earliest");
        let broker = build(builder).start().await;
        let broker = broker.map_err(|error| Stop::failed("an embedded broker", error.to_string()))?;
        broker.keep_requests().await?;
        Ok(self.broker.get_or_init(|| broker))
    }

    /// Starts a client under test. Nothing is subscribed to yet.
    pub(crate) async fn client(&self, mode: Mode) -> Outcome<Client<'_>> {
        self.client_with(mode, &[]).await
    }

    /// The same, with settings by Kafka's names.
    pub(crate) async fn client_with(&self, mode: Mode, settings: &[(&str, &str)]) -> Outcome<Client<'_>> {
        let servers = self.the_broker()?.bootstrap_servers();
        let shim = Shim::start(&self.command, &servers, mode, settings, Rc::clone(&self.told)).await?;
        Ok(Client::new(self, shim, mode))
    }

    /// A client that has subscribed to [`TOPIC`].
    pub(crate) async fn subscribed(&self, mode: Mode, settings: &[(&str, &str)]) -> Outcome<Client<'_>> {
        let mut client = self.client_with(mode, settings).await?;
        client.subscribe(&[TOPIC]).await?;
        Ok(client)
    }

    fn the_broker(&self) -> Outcome<&EmbeddedBroker> {
        self.broker.get().ok_or_else(|| Stop::failed("a broker", "the situation has started none"))
    }

    /// All requests that clients have sent so far.
    pub(crate) async fn requests(&self) -> Outcome<Requests> {
        let taken = self.the_broker()?.take_requests().await?;
        self.requests.borrow_mut().extend(taken);
        Ok(self.requests.borrow().clone())
    }

    /// The requests of one API that clients have sent from an instant on.
    pub(crate) async fn sent_since<R: Request>(&self, then: Instant) -> Outcome<Vec<Received<R>>> {
        Ok(self.requests().await?.since(then).of::<R>())
    }

    /// Lets requests go wrong from now on.
    pub(crate) async fn fault(&self, rule: FaultRule) -> Outcome<FaultId> {
        Ok(self.the_broker()?.add_fault(rule).await?)
    }

    /// How many requests of an API came though their client was throttled.
    pub(crate) async fn early(&self, api: ApiKey) -> Outcome<u32> {
        Ok(self.the_broker()?.early_requests(api).await?)
    }

    /// Lets nothing go wrong any more.
    pub(crate) async fn clear_faults(&self) -> Outcome {
        Ok(self.the_broker()?.clear_faults().await?)
    }

    /// Lets so many requests go wrong, and waits until the client has met that.
    pub(crate) async fn meets(&self, client: &mut Client<'_>, rule: FaultRule, times: u32) -> Outcome {
        let id = self.fault(rule.times(times)).await?;
        self.has_met(client, id, times).await
    }

    /// Lets the client go on until it has met a fault so often.
    pub(crate) async fn has_met(&self, client: &mut Client<'_>, id: FaultId, times: u32) -> Outcome {
        let broker = self.the_broker()?;
        client.goes_on_until("the request that is refused", async || Ok(broker.fault_hits(id).await? >= times)).await
    }

    /// Appends records whose values are their numbers, as one batch.
    pub(crate) async fn produce(&self, topic: &str, partition: i32, numbers: std::ops::Range<i64>) -> Outcome {
        self.the_broker()?.produce(topic, partition, numbers.map(|number| number.to_string())).await?;
        Ok(())
    }

    /// Notes that something is as the rule says, or ends the situation.
    pub(crate) fn expect(&self, holds: bool, expected: &str, got: impl FnOnce() -> String) -> Outcome {
        if holds {
            self.told.held(expected);
            return Ok(());
        }
        Err(Stop::failed(expected, got()))
    }

    /// The same of two things that have to be equal.
    pub(crate) fn expect_eq<T: PartialEq<U> + std::fmt::Debug, U: std::fmt::Debug>(
        &self,
        got: T,
        expected: U,
        what: &str,
    ) -> Outcome {
        self.expect(got == expected, &format!("{what}: {expected:?}"), || format!("{got:?}"))
    }

    /// Looks until something is there. The client is left alone meanwhile.
    pub(crate) async fn eventually(&self, what: &str, mut look: impl AsyncFnMut() -> Outcome<bool>) -> Outcome {
        let end = Instant::now() + PATIENCE;
        while !look().await? {
            if Instant::now() > end {
                return Err(Stop::failed(format!("{what}, within {} s", PATIENCE.as_secs()), "it did not come"));
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        self.told.held(what);
        Ok(())
    }

    /// The records of [`TOPIC`]'s first partition that the group has not finished with.
    pub(crate) async fn lag(&self) -> Outcome<Option<i64>> {
        Ok(self.the_broker()?.group_lag(GROUP, TOPIC, 0).await?)
    }

    /// Waits until the group has finished with all but so many records.
    pub(crate) async fn lag_comes_to(&self, lag: i64) -> Outcome {
        self.eventually(&format!("a lag of {lag}"), async || Ok(self.lag().await? == Some(lag))).await
    }

    /// Ends the broker, and gives what was said.
    pub(crate) async fn end(&mut self) -> Written {
        // Nothing is missing from a report because its broker has ended.
        let _ = self.requests().await;
        if let Some(broker) = self.broker.take() {
            broker.shutdown().await;
        }
        self.told.written(&self.requests.borrow(), self.began)
    }
}

/// An error as the whole answer of an API.
pub(crate) fn refuse(api: ApiKey, code: ErrorCode) -> FaultRule {
    FaultRule::new(FaultAction::Refuse(code)).api(api)
}

impl From<BrokerError> for Stop {
    fn from(error: BrokerError) -> Self {
        Self::failed("the embedded broker does what the situation asks of it", error.to_string())
    }
}
