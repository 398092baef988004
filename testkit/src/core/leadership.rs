//! Who leads which partition and coordinates which group, and what happens when that changes.
//!
//! ```text
//!   running ---kill_node---> down, not noticed yet --(noticed)--> down ---start_node---> running
//!                            its connections are cut;             its partitions go to other replicas, its groups to
//!                            clients are still sent to it         another coordinator
//! ```
//!
//! Each change of a leader raises the partition's leader epoch, and makes all share groups forget who holds its records:
//! acquisition is not part of the durable state, so the records come again with the delivery count that they had.

use std::time::{Duration, Instant};

use ackflow_protocol::wire::{ErrorCode, Uuid};

use super::topics::{Partition, TopicIdPartition};
use super::{Cluster, ConnectionId, Due, Output};

/// Partitions of Kafka's `__consumer_offsets`, whose leaders coordinate the groups, and of `__transaction_state`.
const OFFSETS_PARTITIONS: i32 = 50;

/// Why leaders or nodes cannot be changed as asked: a code that fits, and what is wrong.
type Refusal = (ErrorCode, String);

impl Cluster {
    /// The replicas of `count` partitions from index `first` on: nodes in turn, the first of each leads.
    pub(crate) fn place(&self, first: i32, count: i32, factor: usize) -> Vec<Vec<i32>> {
        let nodes: Vec<i32> = self.nodes.registered().map(|node| node.id).collect();
        let replicas = |partition: i32| {
            let begin = usize::try_from(partition).unwrap_or_default();
            (0..factor.min(nodes.len())).map(|step| nodes[(begin + step) % nodes.len()]).collect()
        };
        (first..first.saturating_add(count)).map(replicas).collect()
    }

    /// The number of replicas of a topic that does not say it.
    pub(crate) fn default_replication_factor(&self) -> usize {
        let factor = usize::try_from(self.config.int("default.replication.factor")).unwrap_or(1);
        factor.min(self.nodes.iter().count())
    }

    /// The leader of a partition, where it has one.
    ///
    /// # Errors
    /// UNKNOWN_TOPIC_OR_PARTITION.
    pub fn leader(&self, topic: &str, partition: i32) -> Result<Option<i32>, (ErrorCode, String)> {
        let id = self.partition_of(topic, partition)?;
        Ok(self.topics.partition(id).ok().and_then(|partition| partition.leader))
    }

    /// The node that coordinates a group, `None` while no node is alive. A group that does not exist yet will be coordinated there.
    pub fn coordinator(&self, group: &str) -> Option<i32> {
        if let Some(node) = self.coordinators.get(group).filter(|node| self.nodes.is_registered(**node)) {
            return Some(*node);
        }
        self.node_of(group)
    }

    /// The node that coordinates a transactional id, `None` while no node is alive.
    pub(crate) fn transaction_coordinator(&self, id: &str) -> Option<i32> {
        self.node_of(id)
    }

    /// The node of an id in a topic of Kafka's whose partitions are spread over all nodes.
    fn node_of(&self, id: &str) -> Option<i32> {
        let alive: Vec<i32> = self.nodes.registered().map(|node| node.id).collect();
        let nodes: Vec<i32> = self.nodes.iter().map(|node| node.id).collect();
        let begin = usize::try_from(offsets_partition(id)).unwrap_or_default();
        (0..nodes.len()).map(|step| nodes[(begin + step) % nodes.len()]).find(|node| alive.contains(node))
    }

    /// The partition of this topic's name and index, where the node leads it and the client knows so. -1 is an epoch that it does not
    /// say.
    ///
    /// # Errors
    /// UNKNOWN_TOPIC_OR_PARTITION, NOT_LEADER_OR_FOLLOWER, FENCED_LEADER_EPOCH or UNKNOWN_LEADER_EPOCH.
    pub(crate) fn led(
        &self,
        node: i32,
        topic: &str,
        partition: i32,
        epoch: i32,
    ) -> Result<TopicIdPartition, ErrorCode> {
        let id = self.partition_of(topic, partition).map_err(|(code, _)| code)?;
        check_epoch(self.topics.partition(id)?, node, epoch)?;
        if self.topics.is_led_by(id, node) { Ok(id) } else { Err(ErrorCode::NOT_LEADER_OR_FOLLOWER) }
    }

    /// Whether the node coordinates the group.
    ///
    /// # Errors
    /// NOT_COORDINATOR, and UNSUPPORTED_VERSION where there are no share groups.
    pub(crate) fn check_coordinator(&self, node: i32, group: &str) -> Result<(), ErrorCode> {
        if self.share_version == 0 {
            return Err(ErrorCode::UNSUPPORTED_VERSION);
        }
        if self.coordinator(group) == Some(node) { Ok(()) } else { Err(ErrorCode::NOT_COORDINATOR) }
    }

    /// Whether the node coordinates a group that keeps offsets.
    ///
    /// # Errors
    /// NOT_COORDINATOR.
    pub(crate) fn check_group_coordinator(&self, node: i32, group: &str) -> Result<(), ErrorCode> {
        if self.coordinator(group) == Some(node) { Ok(()) } else { Err(ErrorCode::NOT_COORDINATOR) }
    }

    /// The ids of the nodes, those that are down among them.
    pub fn node_ids(&self) -> Vec<i32> {
        self.nodes.iter().map(|node| node.id).collect()
    }

    /// Whether the node's process runs.
    pub fn is_running(&self, node: i32) -> bool {
        self.nodes.is_running(node)
    }

    /// Makes another node the leader of a partition; the old one goes on as a replica. A node that was no replica
    /// becomes one, as by a reassignment.
    ///
    /// # Errors
    /// UNKNOWN_TOPIC_OR_PARTITION, and BROKER_NOT_AVAILABLE where the node does not run.
    pub fn move_leader(&mut self, now: Instant, topic: &str, partition: i32, to: i32) -> Result<(), Refusal> {
        let partition = self.partition_of(topic, partition)?;
        self.check_running(to)?;
        self.set_leader(partition, Some(to));
        self.complete_woken(now);
        Ok(())
    }

    /// Gives each partition back to the first of its replicas that is alive, as an election of preferred leaders does.
    pub fn elect_preferred_leaders(&mut self, now: Instant) {
        for partition in self.topics.partition_ids() {
            let preferred = self.preferred(partition);
            if preferred.is_some() {
                self.set_leader(partition, preferred);
            }
        }
        self.complete_woken(now);
    }

    /// Makes another node the coordinator of a group. The sessions of its members begin anew there.
    ///
    /// # Errors
    /// BROKER_NOT_AVAILABLE where the node does not run.
    pub fn move_coordinator(&mut self, now: Instant, group: &str, to: i32) -> Result<(), Refusal> {
        self.check_running(to)?;
        let before = self.coordinator(group);
        self.coordinators.insert(group.into(), to);
        if before != Some(to) {
            self.restart_member_sessions(now, group);
        }
        Ok(())
    }

    /// Ends a node's process at once: its connections are cut ([`Output::Close`]), its share sessions are gone. The rest of the
    /// cluster notices after `noticed_after`; until then clients are still sent to the dead node, and its partitions have no
    /// other leader. A node that is down already is left alone.
    ///
    /// # Errors
    /// BROKER_NOT_AVAILABLE where there is no such node.
    pub fn kill_node(&mut self, now: Instant, node: i32, noticed_after: Duration) -> Result<(), Refusal> {
        let found = self.nodes.get_mut(node).ok_or_else(|| no_node(node))?;
        if !std::mem::replace(&mut found.is_running, false) {
            return Ok(());
        }
        found.sessions = super::share::session::ShareSessions::default();
        found.fetch_sessions = super::fetch::session::FetchSessions::default();
        let cut: Vec<ConnectionId> =
            self.connections.iter().filter(|(_, peer)| peer.node == node).map(|(&connection, _)| connection).collect();
        for connection in cut {
            self.forget_connection(connection);
            self.ready.push_back(Output::Close(connection, format!("node {node} was killed")));
        }
        for partition in self.topics.partition_ids() {
            if self.topics.partition(partition).is_ok_and(|found| found.leader == Some(node)) {
                self.share_partitions.unload(partition);
            }
        }
        if noticed_after.is_zero() {
            self.unregister(now, node);
        } else {
            self.timers.schedule(now + noticed_after, Due::Unregister(node));
        }
        self.complete_woken(now);
        Ok(())
    }

    /// Starts a node that was killed. Partitions without a leader get it back where the node is a replica; others keep theirs
    /// ([`elect_preferred_leaders`](Self::elect_preferred_leaders)).
    ///
    /// # Errors
    /// BROKER_NOT_AVAILABLE where there is no such node.
    pub fn start_node(&mut self, now: Instant, node: i32) -> Result<(), Refusal> {
        if self.nodes.get(node).ok_or_else(|| no_node(node))?.is_running {
            return Ok(());
        }
        // One that comes back before it was missed has lost its place all the same.
        self.unregister(now, node);
        let coordinators = self.coordinators_now();
        if let Some(found) = self.nodes.get_mut(node) {
            (found.is_running, found.is_registered) = (true, true);
        }
        for partition in self.topics.partition_ids() {
            if self.topics.partition(partition).is_ok_and(|found| found.leader.is_none()) {
                let preferred = self.preferred(partition);
                self.set_leader(partition, preferred);
            }
        }
        self.restart_sessions_of_moved(now, coordinators);
        self.complete_woken(now);
        Ok(())
    }

    /// Tells clients of another port of a node from now on.
    ///
    /// # Errors
    /// BROKER_NOT_AVAILABLE where there is no such node.
    pub fn set_port(&mut self, node: i32, port: u16) -> Result<(), Refusal> {
        self.nodes.get_mut(node).ok_or_else(|| no_node(node))?.port = port;
        Ok(())
    }

    /// The controller notices that a node is down.
    pub(super) fn unregister(&mut self, now: Instant, node: i32) {
        let coordinators = self.coordinators_now();
        match self.nodes.get_mut(node) {
            Some(found) if !found.is_running && found.is_registered => found.is_registered = false,
            _ => return,
        }
        for partition in self.topics.partition_ids() {
            if self.topics.partition(partition).is_ok_and(|found| found.leader == Some(node)) {
                let preferred = self.preferred(partition);
                self.set_leader(partition, preferred);
            }
        }
        self.restart_sessions_of_moved(now, coordinators);
    }

    /// The first replica that is alive.
    fn preferred(&self, partition: TopicIdPartition) -> Option<i32> {
        let found = self.topics.partition(partition).ok()?;
        found.replicas.iter().copied().find(|replica| self.nodes.is_registered(*replica))
    }

    fn set_leader(&mut self, id: TopicIdPartition, leader: Option<i32>) {
        let Some(partition) = self.topics.partition_mut(id).filter(|partition| partition.leader != leader) else {
            return;
        };
        partition.leader = leader;
        partition.leader_epoch += 1;
        if let Some(leader) = leader {
            partition.log.begin_epoch(partition.leader_epoch);
            if !partition.replicas.contains(&leader) {
                partition.replicas.push(leader);
            }
        }
        self.share_partitions.unload(id);
        // Whoever waits for its records is told.
        self.woken.insert(id);
    }

    fn coordinators_now(&self) -> Vec<(std::sync::Arc<str>, Option<i32>)> {
        let consumers =
            self.consumers.consumer.keys().chain(self.consumers.classic.keys()).map(|id| id.as_str().into());
        let groups = self.groups.iter().map(|(id, _)| id.clone()).chain(consumers);
        groups.map(|id| (id.clone(), self.coordinator(&id))).collect()
    }

    fn restart_sessions_of_moved(&mut self, now: Instant, before: Vec<(std::sync::Arc<str>, Option<i32>)>) {
        for (group, node) in before {
            if self.coordinator(&group) != node {
                self.restart_member_sessions(now, &group);
            }
        }
    }

    /// A coordinator that takes a group over gives each member a whole session timeout.
    fn restart_member_sessions(&mut self, now: Instant, group: &str) {
        let due = now + self.group_config(group).membership().session_timeout;
        for (id, member) in self.groups.members_mut(group) {
            if let Some(timer) = member.session_timer.take() {
                self.timers.cancel(timer);
                let session = Due::Session { group: group.to_owned(), member: id.clone() };
                member.session_timer = Some(self.timers.schedule(due, session));
            }
        }
        self.hand_over_classic(now, group);
        let due = now + self.group_config(group).consumer_membership().session_timeout;
        let members = self.consumers.consumer.get_mut(group).into_iter().flat_map(|group| &mut group.members);
        for (id, member) in members {
            if let Some(timer) = member.session_timer.take() {
                self.timers.cancel(timer);
                let session = Due::ConsumerSession { group: group.to_owned(), member: id.clone() };
                member.session_timer = Some(self.timers.schedule(due, session));
            }
        }
    }

    /// The partition of this topic's name and index.
    pub(super) fn partition_of(&self, topic: &str, partition: i32) -> Result<TopicIdPartition, Refusal> {
        let topic_id = self.topics.by_name(topic).map_or(Uuid::ZERO, |topic| topic.id);
        let id = TopicIdPartition { topic_id, partition };
        match self.topics.partition(id) {
            Ok(_) => Ok(id),
            Err(_) => Err((
                ErrorCode::UNKNOWN_TOPIC_OR_PARTITION,
                format!("there is no partition {partition} of topic {topic:?}"),
            )),
        }
    }

    fn check_running(&self, node: i32) -> Result<(), Refusal> {
        if self.nodes.is_running(node) { Ok(()) } else { Err(no_node(node)) }
    }
}

/// Checks the leader epoch that a client knows, where the node has the partition.
///
/// # Errors
/// NOT_LEADER_OR_FOLLOWER, FENCED_LEADER_EPOCH or UNKNOWN_LEADER_EPOCH.
pub(crate) fn check_epoch(partition: &Partition, node: i32, epoch: i32) -> Result<(), ErrorCode> {
    if !partition.replicas.contains(&node) {
        return Err(ErrorCode::NOT_LEADER_OR_FOLLOWER);
    }
    match epoch {
        ..0 => Ok(()),
        older if older < partition.leader_epoch => Err(ErrorCode::FENCED_LEADER_EPOCH),
        newer if newer > partition.leader_epoch => Err(ErrorCode::UNKNOWN_LEADER_EPOCH),
        _ => Ok(()),
    }
}

fn no_node(node: i32) -> Refusal {
    (ErrorCode::BROKER_NOT_AVAILABLE, format!("node {node} does not run, or is no node of this cluster"))
}

/// The partition of `__consumer_offsets` in which the offsets of a group would be.
pub(crate) fn offsets_partition(group: &str) -> i32 {
    java_hash(group).checked_abs().unwrap_or(0) % OFFSETS_PARTITIONS
}

/// `String.hashCode` of Java, by which Kafka finds the coordinator of a group.
fn java_hash(text: &str) -> i32 {
    text.encode_utf16().fold(0i32, |hash, unit| hash.wrapping_mul(31).wrapping_add(i32::from(unit)))
}
