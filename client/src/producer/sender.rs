//! The task that sends batches: it decides what goes when and to whom, and takes the answers. Nothing in it waits for a
//! broker: connections and requests are tasks of their own that report back.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use ackflow_protocol::messages::init_producer_id::InitProducerIdRequest;
use ackflow_protocol::messages::produce::{
    PartitionProduceData, PartitionProduceResponse, ProduceRequest, ProduceResponse, TopicProduceData,
};
use ackflow_protocol::wire::Uuid;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until};

use super::Shared;
use super::batch::{Batch, ProducerId};
use super::config::Acks;
use super::queue::{Leader, Take};
use super::topics::Partition;
use super::transaction::Transactions;
use super::verdict::{is_about_leaders, judge, judge_failure};
use crate::error::{ClientError, ErrorKind};
use crate::net::{Connection, address, random};

/// The first version of Produce that belongs to transactions of version 2 (KIP-890).
const FIRST_OF_V2: i16 = 12;

/// Sends batches until the producer is closed.
pub(super) async fn run(shared: Arc<Shared>) {
    let closed = shared.closed.clone();
    let mut sender = Sender {
        shared,
        active: Vec::new(),
        links: HashMap::new(),
        tasks: JoinSet::new(),
        identity: Identity::default(),
    };
    closed.run_until_cancelled(sender.send_for_ever()).await;
    let error = ClientError::new(ErrorKind::Closed, "producing", "the producer is closed");
    sender.shared.topics.close(&error);
}

struct Sender {
    shared: Arc<Shared>,
    /// Partitions that have something to send or under way.
    active: Vec<Arc<Partition>>,
    links: HashMap<i32, Link>,
    tasks: JoinSet<Done>,
    identity: Identity,
}

/// The way to one broker.
#[derive(Default)]
struct Link {
    connection: Option<Connection>,
    connecting: bool,
    retry_at: Option<Instant>,
    in_flight: usize,
}

/// The producer id that new sequences begin with.
#[derive(Default)]
struct Identity {
    current: Option<ProducerId>,
    asking: bool,
    failures: u32,
    retry_at: Option<Instant>,
}

/// A batch that was sent, and where it belongs.
struct Sent {
    partition: Arc<Partition>,
    topic_id: Uuid,
    batch: Batch,
}

/// What a task reports.
enum Done {
    Connected(i32, Result<Connection, ClientError>),
    Identified(Result<ProducerId, ClientError>),
    Produced { node: i32, broker: String, sent: Vec<Sent>, answer: Result<ProduceResponse, ClientError> },
}

/// What one round found: by broker, what it gets; and when to look again.
#[derive(Default)]
struct Round {
    requests: BTreeMap<i32, Vec<Sent>>,
    look_again: Option<Instant>,
}

impl Round {
    fn look_again_at(&mut self, at: Option<Instant>) {
        self.look_again = [self.look_again, at].into_iter().flatten().min();
    }
}

impl Sender {
    async fn send_for_ever(&mut self) {
        loop {
            self.shared.take_activated(&mut self.active);
            let look_again = self.send_what_is_ready();
            tokio::select! {
                () = self.shared.wake.notified() => {}
                Some(done) = self.tasks.join_next() => self.take_report(done),
                () = sleep_until(look_again.unwrap_or_else(Instant::now)), if look_again.is_some() => {}
            }
            while let Some(done) = self.tasks.try_join_next() {
                self.take_report(done);
            }
        }
    }

    fn send_what_is_ready(&mut self) -> Option<Instant> {
        loop {
            let now = Instant::now();
            let round = self.gather(now);
            if round.requests.is_empty() {
                return round.look_again;
            }
            for (node, sent) in round.requests {
                self.produce(now, node, sent);
            }
        }
    }

    /// Takes at most one batch from each partition, as a request allows, and as many as fit a request to each broker.
    fn gather(&mut self, now: Instant) -> Round {
        let mut round = Round::default();
        let mut sizes: HashMap<i32, usize> = HashMap::new();
        let mut active = std::mem::take(&mut self.active);
        let transactions = self.shared.transactions.clone();
        if let Some(transactions) = transactions.as_ref().filter(|transactions| transactions.failure().is_some()) {
            for partition in &active {
                let mut queue = partition.lock();
                if let Some(failure) = transactions.failure() {
                    queue.fail_all(now, &failure);
                }
            }
        }
        // Begin with another one each time, so that none waits because of its place.
        if !active.is_empty() {
            active.rotate_left(1);
        }
        active.retain(|partition| {
            let mut queue = partition.lock();
            queue.expire(now);
            if queue.rest() {
                return false;
            }
            let leader = queue.leader();
            if let Err((why, look_again)) = self.reach(now, leader.node) {
                if let Some(why) = why {
                    queue.block_at_least(why);
                }
                round.look_again_at(queue.next_expiry());
                round.look_again_at(look_again);
                return true;
            }
            let size = sizes.entry(leader.node).or_default();
            let next_size = queue.next_size();
            if *size > 0 && *size + next_size > self.shared.config.max_request_size {
                return true;
            }
            let producer = match &transactions {
                None => self.identity.current,
                Some(transactions) => match transactions.admit(&partition.topic, partition.index) {
                    None => {
                        round.look_again_at(queue.next_expiry());
                        return true;
                    }
                    admitted => admitted,
                },
            };
            match queue.take(now, self.shared.is_in_a_hurry(), producer) {
                Take::Batch(batch) => {
                    *size += batch.records.len();
                    let sent = Sent { partition: partition.clone(), topic_id: leader.topic_id, batch };
                    round.requests.entry(leader.node).or_default().push(sent);
                }
                Take::Nothing(look_again) => round.look_again_at(look_again),
                Take::NeedsProducerId { other_than } => {
                    round.look_again_at(queue.next_expiry());
                    round.look_again_at(self.identify(now, other_than));
                }
            }
            true
        });
        self.active = active;
        round
    }

    /// Whether a broker can be sent a request now; if not, why where that is an error, and when to look again.
    fn reach(&mut self, now: Instant, node: i32) -> Result<(), (Option<ClientError>, Option<Instant>)> {
        if node < 0 {
            self.shared.topics.wanted.notify_one();
            let why = ClientError::new(ErrorKind::Unreachable, "producing", "the partition has no leader");
            return Err((Some(why), None));
        }
        let link = self.links.entry(node).or_default();
        if link.connection.as_ref().is_some_and(|connection| !connection.is_closed()) {
            let has_room = link.in_flight < self.shared.config.max_in_flight;
            return if has_room { Ok(()) } else { Err((None, None)) };
        }
        link.connection = None;
        let pause = link.retry_at.filter(|retry_at| now < *retry_at);
        if !link.connecting && pause.is_none() {
            link.connecting = true;
            let pool = self.shared.pool.clone();
            self.tasks.spawn(async move { Done::Connected(node, pool.node(node).await) });
        }
        Err((None, pause))
    }

    /// Asks for a producer id, unless that is being done already. Gives when to look again.
    fn identify(&mut self, now: Instant, other_than: Option<i64>) -> Option<Instant> {
        let identity = &mut self.identity;
        if identity.current.is_some_and(|current| Some(current.id) == other_than) {
            identity.current = None;
        }
        let pause = identity.retry_at.filter(|retry_at| now < *retry_at);
        if !identity.asking && pause.is_none() && identity.current.is_none() {
            identity.asking = true;
            let shared = self.shared.clone();
            self.tasks.spawn(async move { Done::Identified(ask_for_producer_id(&shared).await) });
        }
        pause
    }

    fn produce(&mut self, now: Instant, node: i32, sent: Vec<Sent>) {
        let config = &self.shared.config;
        let timeout = config.client.net.request_timeout;
        // Not longer than until the first batch expires: then its fate has to be known.
        let left = sent.iter().map(|sent| sent.batch.deadline - now).min().unwrap_or(timeout);
        let within = left.min(timeout).max(Duration::from_millis(1));
        let transactions = self.shared.transactions.as_deref();
        // With version 12 and later, Produce adds the partitions to the transaction, which must be one of version 2.
        let versions = match transactions.map(Transactions::is_v2) {
            None => 0..=i16::MAX,
            Some(true) => FIRST_OF_V2..=i16::MAX,
            Some(false) => 0..=FIRST_OF_V2 - 1,
        };
        let request = ProduceRequest {
            transactional_id: transactions.map(|transactions| transactions.id().to_owned()),
            acks: match config.acks {
                Acks::All => -1,
                Acks::Leader => 1,
            },
            timeout_ms: i32::try_from(timeout.as_millis()).unwrap_or(i32::MAX),
            topic_data: topic_data(&sent),
        };
        self.shared.measure(now, &sent);
        let link = self.links.entry(node).or_default();
        let started = match &link.connection {
            Some(connection) => {
                connection.start_in(&request, versions, within).map(|answer| (connection.broker().to_owned(), answer))
            }
            None => Err(ClientError::new(ErrorKind::NotSent, "producing", "the connection has ended")),
        };
        match started {
            Ok((broker, answer)) => {
                link.in_flight += 1;
                self.tasks.spawn(async move { Done::Produced { node, broker, sent, answer: answer.await } });
            }
            Err(error) => self.resolve_failure(sent, &error),
        }
    }

    fn take_report(&mut self, done: Result<Done, tokio::task::JoinError>) {
        match done {
            Ok(Done::Connected(node, connected)) => self.connected(node, connected),
            Ok(Done::Identified(identified)) => self.identified(identified),
            Ok(Done::Produced { node, broker, sent, answer }) => {
                if let Some(link) = self.links.get_mut(&node) {
                    link.in_flight -= 1;
                }
                match answer {
                    Ok(answer) => self.resolve(sent, &answer, &broker),
                    Err(error) => self.resolve_failure(sent, &error),
                }
            }
            // Nothing cancels the tasks, and what they do cannot panic.
            Err(error) => tracing::error!(%error, "a task of the producer ended without a report"),
        }
    }

    fn connected(&mut self, node: i32, connected: Result<Connection, ClientError>) {
        let link = self.links.entry(node).or_default();
        link.connecting = false;
        match connected {
            Ok(connection) => {
                link.retry_at = None;
                link.connection = Some(connection);
            }
            Err(error) => {
                tracing::debug!(%error, node, "no connection");
                // The pool waits before it tries the same address again; metadata may have another one by then.
                link.retry_at = Some(Instant::now() + self.shared.config.client.retry_backoff);
                self.shared.topics.wanted.notify_one();
                let led =
                    self.active.iter().map(|partition| partition.lock()).filter(|queue| queue.leader().node == node);
                led.for_each(|mut queue| queue.block(error.clone()));
            }
        }
    }

    fn identified(&mut self, identified: Result<ProducerId, ClientError>) {
        let identity = &mut self.identity;
        identity.asking = false;
        match identified {
            Ok(producer) => {
                identity.current = Some(producer);
                identity.failures = 0;
                identity.retry_at = None;
            }
            Err(error) if error.is_retriable() => {
                identity.failures += 1;
                let pause = self.shared.config.client.retry_backoff().pause(identity.failures, random());
                identity.retry_at = Some(Instant::now() + pause);
                self.active.iter().for_each(|partition| partition.lock().block(error.clone()));
            }
            Err(error) => {
                let now = Instant::now();
                self.active.iter().for_each(|partition| partition.lock().fail_all(now, &error));
            }
        }
    }

    fn resolve(&mut self, sent: Vec<Sent>, answer: &ProduceResponse, broker: &str) {
        let now = Instant::now();
        self.shared.metrics.answered(answer.throttle_time_ms);
        for Sent { partition, topic_id, batch } in sent {
            let mut queue = partition.lock();
            let Some(response) = find(answer, &partition, topic_id) else {
                let error = ClientError::new(ErrorKind::Malformed, doing(&partition), "the answer leaves it out");
                queue.resolve(now, batch, judge_failure(error.at(broker.to_owned())));
                continue;
            };
            let verdict = judge(response, self.shared.config.idempotence, || doing(&partition), broker);
            queue.resolve(now, batch, verdict);
            if is_about_leaders(response.error_code) {
                self.shared.topics.wanted.notify_one();
                match self.take_hint(answer, response, topic_id) {
                    Some(leader) => queue.lead(leader),
                    None => queue.lose_leader(),
                }
            }
        }
    }

    /// The new leader, where the answer names one (KIP-951).
    fn take_hint(
        &self,
        answer: &ProduceResponse,
        response: &PartitionProduceResponse,
        topic_id: Uuid,
    ) -> Option<Leader> {
        let hint = &response.current_leader;
        let endpoint = answer.node_endpoints.iter().find(|endpoint| endpoint.node_id == hint.leader_id)?;
        self.shared.pool.learn(hint.leader_id, address(&endpoint.host, endpoint.port)?);
        Some(Leader { node: hint.leader_id, epoch: hint.leader_epoch, topic_id })
    }

    fn resolve_failure(&mut self, sent: Vec<Sent>, error: &ClientError) {
        let now = Instant::now();
        for Sent { partition, batch, .. } in sent {
            let error = error.clone().while_doing(doing(&partition));
            partition.lock().resolve(now, batch, judge_failure(error));
        }
        self.shared.topics.wanted.notify_one();
    }
}

impl Shared {
    /// Counts the batches of a request.
    fn measure(&self, now: Instant, sent: &[Sent]) {
        let metrics = &self.metrics;
        for batch in sent.iter().map(|sent| &sent.batch) {
            match batch.attempts {
                0 | 1 => {
                    let since = batch.deadline.checked_sub(self.config.delivery_timeout).unwrap_or(now);
                    metrics.sent(batch.count, batch.records.len(), now.saturating_duration_since(since));
                }
                _ => metrics.sent_again(batch.count),
            }
        }
        metrics.requested(sent.iter().map(|sent| sent.batch.count).sum());
    }
}

async fn ask_for_producer_id(shared: &Shared) -> Result<ProducerId, ClientError> {
    let connection = shared.pool.any().await?;
    // The time-out is one of transactions, which there are none of.
    let request = InitProducerIdRequest { transaction_timeout_ms: i32::MAX, ..Default::default() };
    let response = connection.call(&request, shared.config.client.net.request_timeout).await?;
    match response.error_code.ok() {
        Ok(()) => Ok(ProducerId { id: response.producer_id, epoch: response.producer_epoch }),
        Err(code) => {
            Err(ClientError::broker("asking for a producer id", code, None).at(connection.broker().to_owned()))
        }
    }
}

fn topic_data(sent: &[Sent]) -> Vec<TopicProduceData> {
    let mut topics: Vec<TopicProduceData> = Vec::new();
    for Sent { partition, topic_id, batch } in sent {
        let data = PartitionProduceData { index: partition.index, records: Some(batch.records.clone()) };
        match topics.iter_mut().find(|topic| topic.topic_id == *topic_id && *topic.name == *partition.topic) {
            Some(topic) => topic.partition_data.push(data),
            None => topics.push(TopicProduceData {
                name: partition.topic.to_string(),
                topic_id: *topic_id,
                partition_data: vec![data],
            }),
        }
    }
    topics
}

/// What the answer says of a partition. Up to version 12 it names topics, from 13 on it gives their ids.
fn find<'a>(
    answer: &'a ProduceResponse,
    partition: &Partition,
    topic_id: Uuid,
) -> Option<&'a PartitionProduceResponse> {
    let topics = answer.responses.iter().filter(|topic| match topic.name.is_empty() {
        true => topic.topic_id == topic_id,
        false => *topic.name == *partition.topic,
    });
    topics.flat_map(|topic| &topic.partition_responses).find(|response| response.index == partition.index)
}

fn doing(partition: &Partition) -> String {
    format!("producing to {}-{}", partition.topic, partition.index)
}
