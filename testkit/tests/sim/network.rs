//! Connections between members and nodes. Each is in order in both directions and slower or faster than others; when it
//! is cut, what is under way arrives or not, in each direction for itself.

use std::collections::{BTreeMap, VecDeque};
use std::net::{IpAddr, Ipv4Addr};
use std::time::{Duration, Instant};

use ackflow_protocol::wire::frame::SIZE_LENGTH;
use ackflow_protocol::wire::{ApiKey, decode_request_header};
use ackflow_testkit::core::{Answer, ConnectionId, Output};
use bytes::Bytes;

use crate::driver::Role;
use crate::sim::{Sim, What};
use crate::words::Words;

/// Something that arrives.
#[derive(Debug)]
pub(crate) enum Packet {
    Request(Bytes, Words),
    Response(Bytes),
    EndAtNode,
    EndAtMember,
}

/// One connection.
#[derive(Debug)]
pub(crate) struct Link {
    pub(crate) member: usize,
    pub(crate) life: u32,
    pub(crate) role: Role,
    pub(crate) node: i32,
    /// Whether each side takes it for open.
    pub(crate) at_member: bool,
    pub(crate) at_node: bool,
    /// Whether it was cut, by whomever, and what of that under way is lost.
    pub(crate) cut: bool,
    lost_requests: bool,
    lost_responses: bool,
    /// Nothing arrives earlier than what was sent before.
    request_at: Instant,
    response_at: Instant,
    /// Whether the node is at work for it, and what waits until it is not.
    busy: bool,
    backlog: VecDeque<(Bytes, Words)>,
}

#[derive(Debug, Default)]
pub(crate) struct Network {
    pub(crate) links: BTreeMap<u64, Link>,
    next: u64,
    /// Until when links to a node deliver nothing.
    pub(crate) stalled: BTreeMap<i32, Instant>,
}

impl Sim {
    /// A delay of the network.
    pub(crate) fn latency(&mut self) -> Duration {
        let (least, most) = self.plan.latency;
        // Now and then a packet has to be sent again.
        let spike = if self.random.percent(1) { 50_000 } else { 0 };
        self.random.micros(least, most + spike)
    }

    /// A connection is made to a node; `None` where the node does not take it.
    pub(crate) fn connect(&mut self, member: usize, life: u32, role: Role, node: i32) -> Option<u64> {
        let id = self.net.next;
        self.net.next += 1;
        if !self.cluster.connected(ConnectionId(id), node, IpAddr::V4(Ipv4Addr::LOCALHOST)) {
            return None;
        }
        let (now, backlog) = (self.now, VecDeque::new());
        let link = Link {
            member,
            life,
            role,
            node,
            at_member: true,
            at_node: true,
            cut: false,
            lost_requests: false,
            lost_responses: false,
            request_at: now,
            response_at: now,
            busy: false,
            backlog,
        };
        self.net.links.insert(id, link);
        Some(id)
    }

    /// When something that is sent now arrives, if nothing overtakes.
    fn arrival(&mut self, node: i32) -> Instant {
        let stalled = self.net.stalled.get(&node).copied().unwrap_or(self.now);
        stalled.max(self.now) + self.latency()
    }

    pub(crate) fn send_request(&mut self, connection: u64, frame: Bytes, words: Words) {
        let Some(node) = self.net.links.get(&connection).filter(|link| !link.cut).map(|link| link.node) else { return };
        let at = self.arrival(node);
        if let Some(link) = self.net.links.get_mut(&connection) {
            link.request_at = link.request_at.max(at);
            let at = link.request_at;
            self.schedule(at, What::Packet(connection, Packet::Request(frame, words)));
        }
    }

    fn send_response(&mut self, connection: u64, frame: Bytes) {
        let Some(node) = self.net.links.get(&connection).filter(|link| !link.cut).map(|link| link.node) else { return };
        let at = self.arrival(node);
        if let Some(link) = self.net.links.get_mut(&connection) {
            link.response_at = link.response_at.max(at);
            let at = link.response_at;
            self.schedule(at, What::Packet(connection, Packet::Response(frame)));
        }
    }

    /// Cuts a connection somewhere on its way. Each side learns of it for itself.
    pub(crate) fn cut(&mut self, connection: u64) {
        let (lost_requests, lost_responses) = (self.random.percent(50), self.random.percent(50));
        self.cut_losing(connection, lost_requests, lost_responses);
    }

    fn cut_losing(&mut self, connection: u64, lost_requests: bool, lost_responses: bool) {
        let Some(node) = self.net.links.get(&connection).filter(|link| !link.cut).map(|link| link.node) else { return };
        let (at_node, at_member) = (self.arrival(node), self.arrival(node));
        let Some(link) = self.net.links.get_mut(&connection) else { return };
        (link.cut, link.lost_requests, link.lost_responses) = (true, lost_requests, lost_responses);
        let ends = [(at_node, link.request_at, lost_requests), (at_member, link.response_at, lost_responses)]
            .map(|(at, after, is_lost)| if is_lost { at } else { at.max(after) });
        self.schedule(ends[0], What::Packet(connection, Packet::EndAtNode));
        self.schedule(ends[1], What::Packet(connection, Packet::EndAtMember));
    }

    /// The member closes its side.
    pub(crate) fn close_by_member(&mut self, connection: u64) {
        if let Some(link) = self.net.links.get_mut(&connection) {
            link.at_member = false;
        }
        let lost = self.random.percent(30);
        self.cut_losing(connection, lost, true);
    }

    /// The member's machine loses its power: no node hears of it, unless it asks after a long time.
    pub(crate) fn vanish(&mut self, connection: u64, noticed_after: Duration) {
        let at = self.now + noticed_after;
        if let Some(link) = self.net.links.get_mut(&connection) {
            (link.at_member, link.cut, link.lost_responses) = (false, true, true);
            self.schedule(at, What::Packet(connection, Packet::EndAtNode));
        }
    }

    fn closed_by_node(&mut self, connection: u64) {
        if let Some(link) = self.net.links.get_mut(&connection) {
            link.at_node = false;
        }
        let lost = self.random.percent(50);
        self.cut_losing(connection, true, lost);
    }

    /// A packet arrives at a node, or the end of a connection.
    pub(crate) fn at_node(&mut self, connection: u64, request: Option<(Bytes, Words)>) {
        let Some(link) = self.net.links.get_mut(&connection).filter(|link| link.at_node) else { return };
        match request {
            Some(_) if link.lost_requests => return,
            Some(request) if link.busy => return link.backlog.push_back(request),
            Some((frame, words)) => self.handle(connection, frame, words),
            None => {
                link.at_node = false;
                self.cluster.disconnected(self.now, ConnectionId(connection));
                self.oracle.arrived.remove(connection);
            }
        }
        self.pump_cluster();
    }

    /// A node handles a request.
    fn handle(&mut self, connection: u64, frame: Bytes, words: Words) {
        let (header, body) = decode_request_header(frame.slice(SIZE_LENGTH..), ApiKey::request_is_flexible)
            .expect("members send what can be read");
        self.counts.request(header.request_api_key);
        self.oracle.arrived.insert(connection, words);
        let answer = self.cluster.handle(self.now, ConnectionId(connection), &header, body);
        self.take_history();
        if !matches!(answer, Answer::Parked) {
            self.oracle.arrived.remove(connection);
        }
        let link = self.net.links.get_mut(&connection).expect("it has just sent a request");
        match answer {
            Answer::Reply(frame) => self.send_response(connection, frame),
            Answer::Parked => link.busy = true,
            Answer::Silent => unreachable!("members do not produce"),
            Answer::Cut(_) => self.closed_by_node(connection),
            Answer::Close(reason) => {
                crate::trace!(self, "node closes c{connection}: {reason}");
                self.closed_by_node(connection);
            }
        }
    }

    /// Takes what the cluster has to say, and what has happened to records.
    pub(crate) fn pump_cluster(&mut self) {
        self.take_history();
        while let Some(output) = self.cluster.poll(self.now) {
            self.take_history();
            match output {
                Output::Reply(ConnectionId(connection), frame) => {
                    self.oracle.arrived.remove(connection);
                    self.send_response(connection, frame);
                    self.next_of_backlog(connection);
                }
                Output::Silent(ConnectionId(connection)) => self.next_of_backlog(connection),
                Output::Cut(ConnectionId(connection), _) | Output::Close(ConnectionId(connection), _) => {
                    self.oracle.arrived.remove(connection);
                    self.closed_by_node(connection);
                }
            }
        }
        self.take_history();
    }

    fn next_of_backlog(&mut self, connection: u64) {
        let Some(link) = self.net.links.get_mut(&connection) else { return };
        link.busy = false;
        while let Some((frame, words)) = self
            .net
            .links
            .get_mut(&connection)
            .filter(|link| !link.busy && link.at_node)
            .and_then(|link| link.backlog.pop_front())
        {
            self.handle(connection, frame, words);
        }
    }

    /// A packet arrives at a member, or the end of a connection. Gives whose it is, where it still takes it for open.
    pub(crate) fn at_member(&mut self, connection: u64, is_end: bool) -> Option<(usize, u32)> {
        let link = self.net.links.get_mut(&connection).filter(|link| link.at_member)?;
        if is_end {
            link.at_member = false;
        } else if link.lost_responses {
            return None;
        }
        Some((link.member, link.life))
    }

    fn take_history(&mut self) {
        for change in self.cluster.take_history() {
            crate::trace!(
                self,
                "        {}@{}-{} x{} {} {:?}",
                self.oracle.name(change.topic_id, change.partition),
                change.change.first,
                change.change.last,
                change.change.delivery_count,
                change.change.member,
                change.change.what
            );
            let leader = self.cluster.leader(self.oracle.topic_name(change.topic_id), change.partition);
            let links = &self.net.links;
            let is_left = |connection| links.get(&connection).is_none_or(|link| !link.at_member);
            self.oracle.changed(self.now, leader.ok().flatten(), &change, is_left);
        }
    }
}
