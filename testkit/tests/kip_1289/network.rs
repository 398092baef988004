//! Connections of workers to nodes. Each is in order in both directions; when it is cut, what is under way arrives or not, in each direction for itself.

use std::collections::{BTreeMap, VecDeque};
use std::net::{IpAddr, Ipv4Addr};
use std::time::{Duration, Instant};

use ackflow_protocol::wire::frame::SIZE_LENGTH;
use ackflow_protocol::wire::{ApiKey, decode_request_header};
use ackflow_testkit::core::{Answer, ConnectionId, Output};
use bytes::Bytes;

use crate::trace;
use crate::world::{What, World};

/// Something that arrives.
#[derive(Debug)]
pub(crate) enum Packet {
    Request(Bytes),
    Response(Bytes),
    EndAtNode,
    EndAtWorker,
}

#[derive(Debug)]
struct Link {
    worker: usize,
    life: u32,
    at_node: bool,
    at_worker: bool,
    cut: bool,
    lost: [bool; 2],
    /// Nothing arrives earlier than what was sent before.
    arrival: [Instant; 2],
    /// Whether the node is at work for it, and what waits until it is not.
    busy: bool,
    backlog: VecDeque<Bytes>,
}

#[derive(Debug, Default)]
pub(crate) struct Network {
    links: BTreeMap<u64, Link>,
    next: u64,
    /// How often each worker that has crashed had been started before.
    pub(crate) lives: BTreeMap<usize, u32>,
}

impl Network {
    /// The worker that a connection is of, and its life.
    pub(crate) fn owner(&self, link: u64) -> Option<(usize, u32)> {
        self.links.get(&link).map(|link| (link.worker, link.life))
    }

    /// The connections that are open at both ends.
    pub(crate) fn open(&self) -> impl Iterator<Item = u64> {
        self.links.iter().filter(|(_, link)| !link.cut).map(|(id, _)| *id)
    }
}

const TO_NODE: usize = 0;
const TO_WORKER: usize = 1;

impl World {
    pub(crate) fn latency(&mut self) -> Duration {
        let (least, most) = self.plan.latency;
        // Now and then a packet has to be sent again.
        let spike = if self.random.percent(1) { 50_000 } else { 0 };
        self.random.micros(least, most + spike)
    }

    /// A connection of a worker to a node; `None` where the node does not run.
    pub(crate) fn connect(&mut self, worker: usize, life: u32, node: i32) -> Option<u64> {
        let id = self.net.next;
        self.net.next += 1;
        if !self.cluster.connected(ConnectionId(id), node, IpAddr::V4(Ipv4Addr::LOCALHOST)) {
            return None;
        }
        let link = Link {
            worker,
            life,
            at_node: true,
            at_worker: true,
            cut: false,
            lost: [false; 2],
            arrival: [self.now; 2],
            busy: false,
            backlog: VecDeque::new(),
        };
        self.net.links.insert(id, link);
        Some(id)
    }

    pub(crate) fn send(&mut self, id: u64, packet: Packet) {
        let direction = if matches!(packet, Packet::Request(_)) { TO_NODE } else { TO_WORKER };
        let mut at = self.now + self.latency();
        // Some come when their sender has given up, and is about something else.
        if self.is_active() && self.random.percent(self.plan.stalls) {
            at += self.random.millis(300, 2_500);
        }
        let Some(link) = self.net.links.get_mut(&id).filter(|link| !link.cut) else { return };
        link.arrival[direction] = link.arrival[direction].max(at);
        let at = link.arrival[direction];
        self.at(at, What::Packet(id, packet));
    }

    /// Cuts a connection on its way.
    pub(crate) fn cut(&mut self, id: u64) {
        let lost = [self.random.percent(50), self.random.percent(50)];
        self.cut_losing(id, lost);
    }

    fn cut_losing(&mut self, id: u64, lost: [bool; 2]) {
        let late = [self.latency(), self.latency()];
        let Some(link) = self.net.links.get_mut(&id).filter(|link| !link.cut) else { return };
        (link.cut, link.lost) = (true, lost);
        let at = [TO_NODE, TO_WORKER].map(|direction| link.arrival[direction].max(self.now + late[direction]));
        self.at(at[TO_NODE], What::Packet(id, Packet::EndAtNode));
        self.at(at[TO_WORKER], What::Packet(id, Packet::EndAtWorker));
    }

    /// The worker closes its side, or is gone. What it has sent may arrive.
    pub(crate) fn closed_by_worker(&mut self, id: u64) {
        if let Some(link) = self.net.links.get_mut(&id) {
            link.at_worker = false;
        }
        let lost = self.random.percent(30);
        self.cut_losing(id, [lost, true]);
    }

    fn closed_by_node(&mut self, id: u64) {
        if let Some(link) = self.net.links.get_mut(&id) {
            link.at_node = false;
        }
        let lost = self.random.percent(50);
        self.cut_losing(id, [true, lost]);
    }

    pub(crate) fn arrives(&mut self, id: u64, packet: Packet) {
        let Some(link) = self.net.links.get_mut(&id) else { return };
        let (worker, life) = (link.worker, link.life);
        match packet {
            Packet::Request(_) if !link.at_node || link.lost[TO_NODE] => {}
            Packet::Request(frame) if link.busy => link.backlog.push_back(frame),
            Packet::Request(frame) => self.handle(id, &frame),
            Packet::EndAtNode => {
                if std::mem::replace(&mut link.at_node, false) {
                    self.cluster.disconnected(self.now, ConnectionId(id));
                }
            }
            Packet::Response(_) if !link.at_worker || link.lost[TO_WORKER] => {}
            Packet::Response(frame) => {
                self.with_worker(worker, life, |worker, world| worker.answered(world, id, frame))
            }
            Packet::EndAtWorker => {
                if std::mem::replace(&mut link.at_worker, false) {
                    self.with_worker(worker, life, |worker, world| worker.disconnected(world, id));
                }
            }
        }
    }

    fn handle(&mut self, id: u64, frame: &Bytes) {
        let (header, body) = decode_request_header(frame.slice(SIZE_LENGTH..), ApiKey::request_is_flexible)
            .expect("workers send what can be read");
        let answer = self.cluster.handle(self.now, ConnectionId(id), &header, body);
        self.take_history();
        match answer {
            Answer::Reply(frame) => self.send(id, Packet::Response(frame)),
            Answer::Parked => {
                if let Some(link) = self.net.links.get_mut(&id) {
                    link.busy = true;
                }
            }
            Answer::Silent => unreachable!("every request wants an answer"),
            Answer::Cut(_) => self.closed_by_node(id),
            Answer::Close(reason) => {
                trace!(self, "a node closes c{id}: {reason}");
                self.closed_by_node(id);
            }
        }
    }

    /// Takes what the cluster has to say.
    pub(crate) fn pump_cluster(&mut self) {
        self.take_history();
        while let Some(output) = self.cluster.poll(self.now) {
            self.take_history();
            match output {
                Output::Reply(ConnectionId(id), frame) => {
                    self.send(id, Packet::Response(frame));
                    self.next_of_backlog(id);
                }
                Output::Silent(ConnectionId(id)) => self.next_of_backlog(id),
                Output::Cut(ConnectionId(id), _) | Output::Close(ConnectionId(id), _) => self.closed_by_node(id),
            }
        }
    }

    fn next_of_backlog(&mut self, id: u64) {
        let Some(link) = self.net.links.get_mut(&id) else { return };
        link.busy = false;
        while let Some(frame) =
            self.net.links.get_mut(&id).filter(|l| !l.busy && l.at_node).and_then(|l| l.backlog.pop_front())
        {
            self.handle(id, &frame);
        }
    }
}
