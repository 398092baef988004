//! The cluster without sockets and clocks: requests and instants in, answers out.
//!
//! [`Cluster::handle`] answers a request or parks it; [`Cluster::poll`] gives the answers of parked ones, when records
//! arrived or the wait is over; [`Cluster::next_deadline`] says when to poll at the latest. The TCP shell
//! ([`EmbeddedBroker`](crate::EmbeddedBroker)) drives it in real time; a simulation drives it in virtual time.
//!
//! A [`Cluster`] has one or more nodes; a connection leads to one of them. It is the whole cluster: one log a partition, one state
//! of each group, so that replicas never differ. Leaders and coordinators move and nodes die when the caller says so.
//!
//! Answers were compared with those of Kafka 4.4.0, which is right where they differ. Known differences:
//! - A topic that a metadata request creates is in the answer to that request; Kafka has it in the next one.
//! - A share partition is ready at its first fetch; Kafka may answer the first fetch without it.
//! - Start offsets are exact; Kafka shows the one of its last state write. Lag is exact in both.
//! - A release wakes fetches that wait; Kafka's, unless it moves the start, leaves them to the end of their wait. Acknowledgements for an unknown topic id are
//!   refused by partition; Kafka refuses the whole request with UNKNOWN_SERVER_ERROR.
//! - An empty group id, and a batch size of 0 or less, are taken for what they are: Kafka answers the first with
//!   UNKNOWN_SERVER_ERROR and the second with an empty range.
//! - A log has no segments: a fetch reads on where Kafka's would end with one. Of aborted transactions it names those in its records; Kafka may name
//!   later ones of the same segment as well.
//! - Nobody follows: a fetch with a replica's id is answered as a consumer's is, and WriteTxnMarkers takes one marker a producer and partition.
//! - A consumer group has its target at once and follows expressions at once; Kafka assigns in the background, and looks at expressions a little
//!   later. Who gets which partition may differ where both are fair. Racks are kept and not looked at.
//! - Groups do not change between the classic and the consumer protocol while they have members; Kafka's do. Of the wrong protocol, a consumer hears
//!   GROUP_ID_NOT_FOUND, and a member of the classic protocol INCONSISTENT_GROUP_PROTOCOL.
//! - A transaction is aborted as soon as its time is over; Kafka looks every 10 s. Markers are written before EndTxn is answered, unless a partition
//!   has no leader. InitProducerId of two-phase commits (version 6) is not served, as Kafka does not by itself.
//! - Of acknowledgements in transactions (`share.version` 3, feature `unstable-kip-1289`) no Kafka knows: generation C of the draft KIP-1289 is followed. What
//!   it leaves open: a member's epoch has to be its very epoch; what lies below the start of a share partition cannot be staged; an abort is a failed attempt, so
//!   that it archives at the delivery limit; the markers of clients settle nothing, the coordinator's do; descriptions of transactions do not name share groups.
//! - Retention and compaction take batch by batch what Kafka takes segment by segment: what of a log is never compacted is its last batch. Compaction comes with
//!   each check of the logs; `min.cleanable.dirty.ratio` and `max.compaction.lag.ms` are not looked at. Markers of transactions stay; Kafka lets them go at last.
//! - Offsets of groups and transactional ids do not expire. There are no ACLs and no quotas.
//! - What a group gives up is in its dead letter queue (KIP-1191) at once and archived whether or not that works; Kafka tries for a while. Offsets without a
//!   record get no letter.
//! - SASL takes tokens in requests alone (SaslHandshake from version 1 on), and has no Kerberos and no OAUTHBEARER; one protocol is spoken on all
//!   listeners.

mod cleaning;
pub(crate) mod clock;
pub(crate) mod configs;
mod dispatch;
mod faults;
pub(crate) mod fetch;
#[cfg(feature = "fuzzing")]
pub(crate) mod fuzzing;
pub(crate) mod groups;
mod handlers;
mod inspect;
mod leadership;
pub(crate) mod log;
pub(crate) mod nodes;
mod options;
pub(crate) mod parked;
mod random;
mod requests;
mod sasl;
pub(crate) mod share;
#[cfg(test)]
mod tests;
pub(crate) mod timers;
pub(crate) mod topics;
pub(crate) mod transactions;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Instant;

use ackflow_protocol::wire::{ErrorCode, RequestHeader, Uuid};
use bytes::Bytes;

use clock::Clock;
use configs::Values;
use configs::broker::BrokerConfig;
pub use dispatch::Answer;
use faults::Faults;
pub use faults::{FaultAction, FaultId, FaultRule, STRANGE_PARTITION, Spoil};
use groups::Groups;
pub use inspect::{FailedAttempt, GroupChange, RecordChange, RecordEvent, ShareRecordState, ShareRecords};
use nodes::Nodes;
pub use options::{ClusterOptions, NodeOptions, OptionsError};
use parked::{ParkedFetches, ParkedId, Waiting};
use random::Random;
pub use requests::ReceivedRequest;
pub use sasl::Users;
use sasl::{Login, Mechanism, Sasl};
use share::SharePartitions;
use share::group::ShareGroups;

use timers::Timers;
use topics::{TopicIdPartition, Topics};
use transactions::Transactions;

/// Names a connection. The caller chooses it, and never uses it for a second connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ConnectionId(pub u64);

/// Something that happens at a time.
#[derive(Debug)]
enum Due {
    /// A lock of a share partition may run out.
    Locks(Arc<str>, TopicIdPartition),
    /// A member of a consumer group has said nothing for too long, or has not given up partitions in time.
    ConsumerSession {
        /// The group.
        group: String,
        /// The member.
        member: String,
    },
    /// A member of the classic protocol has said nothing for too long.
    ClassicSession {
        /// The group.
        group: String,
        /// The member.
        member: String,
    },
    /// Members of a group of the classic protocol have had time enough.
    ClassicRebalance(String),
    /// A share member's session runs out.
    Session {
        /// The group.
        group: String,
        /// The member.
        member: String,
    },
    /// A transaction has been open for too long.
    TransactionTimeout(String),
    /// A parked fetch has waited long enough.
    Fetch(ParkedId),
    /// An answer that was held back.
    Reply(ConnectionId, Bytes),
    /// A request that was held back.
    Request(ConnectionId, RequestHeader, Bytes),
    /// The controller notices that a node is down.
    Unregister(i32),
    /// Logs are looked at for what is not to be kept.
    Cleaning,
}

/// What [`Cluster::poll`] gives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Output {
    /// The response to a parked request, as one frame.
    Reply(ConnectionId, Bytes),
    /// A parked request is done and wants no response.
    Silent(ConnectionId),
    /// A fault: these bytes of the response, and then the end of the connection. The cluster has forgotten it.
    Cut(ConnectionId, Bytes),
    /// The connection has to be closed; the text says why. The cluster has forgotten it.
    Close(ConnectionId, String),
}

/// Who is at the other end of a connection.
#[derive(Debug)]
struct Peer {
    /// The node that it is connected to.
    node: i32,
    /// Its address, as `ShareGroupDescribe` shows it.
    host: String,
    /// How far it has come, where it has to prove who it is.
    login: Option<Login>,
}

/// A Kafka cluster of one or more brokers, with all its data in memory. Replicas share one log, so none is ever behind.
#[derive(Debug)]
pub struct Cluster {
    nodes: Nodes,
    cluster_id: Uuid,
    share_version: i16,
    transaction_version: i16,
    clock: Clock,
    random: Random,
    config: BrokerConfig,
    /// Who may come in, unless anybody may.
    sasl: Option<Sasl>,
    group_configs: BTreeMap<String, Values>,
    /// The groups that have a dead letter queue: few of many, and looked for after each request.
    dead_letter_groups: BTreeSet<Arc<str>>,
    topics: Topics,
    transactions: Transactions,
    groups: ShareGroups,
    consumers: Groups,
    /// Where groups are coordinated whose coordinator was moved.
    coordinators: BTreeMap<String, i32>,
    share_partitions: SharePartitions,
    parked: ParkedFetches,
    connections: BTreeMap<ConnectionId, Peer>,
    timers: Timers<Due>,
    /// Partitions in which records have become available since parked fetches were looked at.
    woken: BTreeSet<TopicIdPartition>,
    ready: VecDeque<Output>,
    faults: Faults,
    /// What clients have sent, where a test wants to know.
    requests: Option<Vec<ReceivedRequest>>,
    /// Whether a check of the logs is scheduled.
    cleaning: bool,
}

impl Cluster {
    /// A broker with the topics that the options name.
    ///
    /// # Errors
    /// [`OptionsError`], which names what is not allowed.
    pub fn new(options: ClusterOptions) -> Result<Self, OptionsError> {
        if !dispatch::SHARE_VERSIONS.contains(&options.share_version) {
            return Err(OptionsError::ShareVersion(options.share_version));
        }
        if !(0..=dispatch::MAX_TRANSACTION_VERSION).contains(&options.transaction_version) {
            return Err(OptionsError::TransactionVersion(options.transaction_version));
        }
        let mut configs = options.configs;
        if options.nodes.len() > 1 {
            // With Kafka's own default, 1, no partition would outlive its node.
            let factor = || options.nodes.len().min(3).to_string();
            configs.entry("default.replication.factor".to_owned()).or_insert_with(factor);
        }
        let config = BrokerConfig::new(configs).map_err(OptionsError::Config)?;
        for (group, values) in &options.group_configs {
            configs::group::check(values, &config)
                .map_err(|reason| OptionsError::GroupConfig { group: group.clone(), reason })?;
        }
        if options.nodes.is_empty() {
            return Err(OptionsError::NoNodes);
        }
        let first = i32::try_from(config.int("node.id")).unwrap_or_default();
        let mut nodes = Nodes::default();
        for (id, node) in (first..).zip(options.nodes) {
            nodes.add(id, node.host, node.port, node.rack);
        }
        let sasl = options.sasl.map(|users| Sasl {
            mechanisms: Mechanism::listed(config.text("sasl.enabled.mechanisms")),
            max_session: Some(config.millis("connections.max.reauth.ms")).filter(|longest| !longest.is_zero()),
            users,
        });
        let mut random = Random::new(options.seed);
        let mut cluster = Self {
            nodes,
            cluster_id: random.uuid(),
            share_version: options.share_version,
            transaction_version: options.transaction_version,
            clock: Clock::new(options.started, options.started_ms),
            random,
            config,
            sasl,
            group_configs: BTreeMap::new(),
            dead_letter_groups: BTreeSet::new(),
            topics: Topics::default(),
            transactions: Transactions::default(),
            groups: ShareGroups::default(),
            consumers: Groups::default(),
            coordinators: BTreeMap::new(),
            share_partitions: SharePartitions::default(),
            parked: ParkedFetches::default(),
            connections: BTreeMap::new(),
            timers: Timers::new(),
            woken: BTreeSet::new(),
            ready: VecDeque::new(),
            faults: Faults::default(),
            requests: None,
            cleaning: false,
        };
        for (group, values) in options.group_configs {
            cluster.set_group_config(group, values);
        }
        for (topic, partitions) in options.topics {
            cluster.create_topic(&topic, partitions).map_err(|(_, reason)| OptionsError::Topic {
                topic,
                partitions,
                reason,
            })?;
        }
        Ok(cluster)
    }

    /// `socket.request.max.bytes`: the largest frame to be taken.
    pub fn max_request_bytes(&self) -> usize {
        usize::try_from(self.config.int("socket.request.max.bytes")).unwrap_or(usize::MAX)
    }

    /// `sasl.server.max.receive.size`: the largest frame to be taken of a client that has not proved who it is.
    pub(crate) fn max_receive_size_of_login(&self) -> usize {
        let size = usize::try_from(self.config.int("sasl.server.max.receive.size")).unwrap_or(usize::MAX);
        size.min(self.max_request_bytes())
    }

    /// A setting of the brokers, as text; empty where there is none.
    pub(crate) fn broker_config(&self, name: &str) -> &str {
        self.config.text(name)
    }

    /// Takes a new connection to a node. `false` where the node does not run: then the connection has to be refused.
    pub fn connected(&mut self, connection: ConnectionId, node: i32, peer: std::net::IpAddr) -> bool {
        let is_running = self.nodes.is_running(node);
        if is_running {
            let login = self.sasl.as_ref().map(|_| Login::default());
            self.connections.insert(connection, Peer { node, host: format!("/{peer}"), login });
        }
        is_running
    }

    /// Ends what was bound to a connection: its share session, whose records are released, and a parked request. A
    /// connection that the cluster has forgotten is no error.
    pub fn disconnected(&mut self, now: Instant, connection: ConnectionId) {
        let Some(Peer { node, .. }) = self.forget_connection(connection) else { return };
        let sessions = self.nodes.sessions(node);
        if let Some((key, partitions)) = sessions.disconnected(connection) {
            let was_last = !sessions.has_members(&key.group);
            self.release(node, &key.group, &key.member, partitions);
            // Kafka unloads the share partitions of a group when its last connection is gone. Locks that were left over,
            // on partitions that had been taken out of a session, are lost with that.
            if was_last {
                let topics = &self.topics;
                self.share_partitions.unload_group(&key.group, |partition| topics.is_led_by(partition, node));
            }
        }
        self.complete_woken(now);
    }

    /// Forgets a connection and its parked request.
    fn forget_connection(&mut self, connection: ConnectionId) -> Option<Peer> {
        let peer = self.connections.remove(&connection)?;
        self.faults.forget(connection);
        for id in self.parked.of_connection(connection) {
            if let Some(timer) = self.parked.take(id).and_then(|parked| parked.timer) {
                self.timers.cancel(timer);
            }
        }
        Some(peer)
    }

    /// What has to be done at `now`, beside the answers that [`handle`](Self::handle) gives. Call it until it gives `None`.
    pub fn poll(&mut self, now: Instant) -> Option<Output> {
        while let Some(due) = self.timers.pop_due(now) {
            match due {
                Due::Locks(group, partition) => self.expire_locks(now, &group, partition),
                Due::ConsumerSession { group, member } => self.fence_member(&group, &member),
                Due::ClassicSession { group, member } => self.expire_classic(now, &group, &member),
                Due::ClassicRebalance(group) => self.time_out_classic(now, &group),
                Due::Session { group, member } => {
                    // A member that has left since is no error.
                    let _ = self.groups.remove(&group, &member);
                }
                Due::TransactionTimeout(id) => self.time_out_transaction(now, &id),
                Due::Fetch(id) => self.complete(now, id, true),
                Due::Reply(connection, reply) => self.ready.push_back(Output::Reply(connection, reply)),
                Due::Request(connection, header, body) => self.handle_held(now, connection, &header, body),
                Due::Unregister(node) => self.unregister(now, node),
                Due::Cleaning => self.cleaning_is_due(now),
            }
        }
        self.complete_woken(now);
        loop {
            match self.ready.pop_front()? {
                // Its connection was cut meanwhile.
                Output::Reply(connection, _) | Output::Silent(connection) | Output::Cut(connection, _)
                    if !self.connections.contains_key(&connection) => {}
                Output::Cut(connection, bytes) => {
                    self.disconnected(now, connection);
                    return Some(Output::Cut(connection, bytes));
                }
                Output::Close(connection, reason) => {
                    self.disconnected(now, connection);
                    return Some(Output::Close(connection, reason));
                }
                output => return Some(output),
            }
        }
    }

    /// When [`poll`](Self::poll) has something to do at the latest.
    pub fn next_deadline(&self) -> Option<Instant> {
        self.timers.next_deadline()
    }

    /// Creates a topic.
    ///
    /// # Errors
    /// What a create request would be answered: the code, and the message in Kafka's words.
    pub fn create_topic(&mut self, name: &str, partitions: i32) -> Result<Uuid, (ErrorCode, String)> {
        handlers::create_topics::create(self, name, partitions, None, Values::new(), false).map(|created| created.id)
    }

    /// Appends one producer's batch and gives the offset of its first record.
    ///
    /// # Errors
    /// What a produce request would be answered: the code, and what is wrong.
    pub fn produce(
        &mut self,
        now: Instant,
        topic: &str,
        partition: i32,
        batch: &Bytes,
    ) -> Result<i64, (ErrorCode, String)> {
        let id = self.topics.by_name(topic).map(|topic| topic.id);
        let id = id.ok_or_else(|| (ErrorCode::UNKNOWN_TOPIC_OR_PARTITION, format!("no topic {topic:?}")))?;
        let appended = handlers::produce::append(self, now, TopicIdPartition { topic_id: id, partition }, batch);
        self.complete_woken(now);
        appended.map(|appended| appended.base_offset).map_err(|error| (error.code, error.message))
    }

    /// Appends a batch as it stands, with the offsets that it names: damaged, compacted or control batches, which no
    /// producer can write.
    ///
    /// # Errors
    /// UNKNOWN_TOPIC_OR_PARTITION, CORRUPT_MESSAGE where there is no header, and OFFSET_OUT_OF_RANGE where the batch
    /// begins before the end of the log.
    pub fn append_raw(
        &mut self,
        now: Instant,
        topic: &str,
        partition: i32,
        batch: Bytes,
    ) -> Result<(), (ErrorCode, String)> {
        let unknown = || (ErrorCode::UNKNOWN_TOPIC_OR_PARTITION, format!("no partition {partition} of {topic:?}"));
        let found = self.topics.by_name_mut(topic).ok_or_else(unknown)?;
        let topic_id = found.id;
        let found = usize::try_from(partition).ok().and_then(|index| found.partitions.get_mut(index));
        found.ok_or_else(unknown)?.log.append_raw(batch).map_err(|error| (error.code, error.message))?;
        self.woken.insert(TopicIdPartition { topic_id, partition });
        self.complete_woken(now);
        Ok(())
    }

    /// The records of a partition that a group has not finished with; `None` before its first fetch from there.
    pub fn group_lag(&self, group: &str, topic: &str, partition: i32) -> Option<i64> {
        let partition = TopicIdPartition { topic_id: self.topics.by_name(topic)?.id, partition };
        let log = self.topics.log(partition).ok()?;
        let share = self.share_partitions.get(group, partition)?;
        Some(log.end_offset() - share.start_offset() - share.delivery_complete_count())
    }

    /// Gives back what a member holds in those of `partitions` that the node leads.
    fn release(&mut self, node: i32, group: &Arc<str>, member: &str, partitions: BTreeSet<TopicIdPartition>) {
        let limits = self.group_config(group).limits();
        for partition in partitions {
            if self.topics.is_led_by(partition, node)
                && let Some(entry) = self.share_partitions.get_mut(group, partition)
                && entry.partition.release_all(member, &limits)
            {
                self.woken.insert(partition);
            }
        }
    }

    fn expire_locks(&mut self, now: Instant, group: &Arc<str>, partition: TopicIdPartition) {
        let limits = self.group_config(group).limits();
        if let Some(entry) = self.share_partitions.get_mut(group, partition) {
            entry.disarm(now);
            if entry.partition.expire_locks(now, &limits) {
                self.woken.insert(partition);
            }
        }
        self.arm_locks(group, partition);
    }

    /// Makes sure that a timer runs for the next lock of the share partition.
    fn arm_locks(&mut self, group: &Arc<str>, partition: TopicIdPartition) {
        if let Some(deadline) = self.share_partitions.get_mut(group, partition).and_then(share::Entry::arm) {
            self.timers.schedule(deadline, Due::Locks(group.clone(), partition));
        }
    }

    /// Answers the parked fetches that found records.
    fn complete_woken(&mut self, now: Instant) {
        self.write_dead_letters(now);
        if self.has_unfinished_transactions() && !self.woken.is_empty() {
            self.finish_transactions(now);
        }
        while !self.woken.is_empty() {
            let woken = std::mem::take(&mut self.woken);
            for id in self.parked.waiting_for(&woken) {
                self.complete(now, id, false);
            }
        }
    }

    /// Answers a parked fetch, if it found enough or if its time is over.
    fn complete(&mut self, now: Instant, id: ParkedId, time_is_over: bool) {
        let Some(mut parked) = self.parked.take(id) else { return };
        let reply = match &parked.fetch {
            Waiting::Share(fetch) => {
                self.fetch(now, fetch, time_is_over).map(|fetched| handlers::share_fetch::reply(self, fetch, fetched))
            }
            Waiting::Plain(fetch) => {
                self.read(fetch, time_is_over).map(|fetched| handlers::fetch::reply(self, fetch, fetched))
            }
        };
        match reply {
            Some(reply) => {
                if let Some(timer) = parked.timer.take() {
                    self.timers.cancel(timer);
                }
                self.deliver(now, parked.connection, reply);
            }
            None => self.parked.put_back(id, parked),
        }
    }
}
