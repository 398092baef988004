//! All connections of a capture at once.

use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::net::SocketAddr;

use super::flow::{Flow, MOST_PENDING, Piece};
use crate::kafka::conversation::{Conversation, Event, Side};
use crate::kafka::message::{Content, Fault, Frame};
use crate::packet::Segment;
use crate::summary::Summary;

/// What connections may take.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    /// Connections that are followed at a time. Of more, those that have been silent longest are ended.
    pub(crate) connections: usize,
    /// What all connections may hold back together, in bytes. Beyond it the one that holds most lets go of it.
    pub(crate) held: usize,
    /// What one direction of a connection may hold back behind holes, in bytes.
    pub(crate) pending: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { connections: 16_384, held: 256 << 20, pending: MOST_PENDING }
    }
}

/// Something that happened in one connection.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// The connection; `None` where frames came without one.
    pub peers: Option<Peers>,
    /// When the last packet that it needed was captured, in nanoseconds since 1970.
    pub time: Option<i64>,
    /// What happened.
    pub event: Event,
}

/// The two ends of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Peers {
    /// Who sends the requests.
    pub client: SocketAddr,
    /// Who answers them.
    pub broker: SocketAddr,
}

impl fmt::Display for Peers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} -> {}", self.client, self.broker)
    }
}

/// The ends of a connection, the smaller address first.
type Ends = (SocketAddr, SocketAddr);

pub(crate) struct Connections {
    table: HashMap<Ends, Connection>,
    /// The ports to look at; all where there is none.
    ports: BTreeSet<u16>,
    /// Counts segments, so that connections have an order.
    now: u64,
    held: usize,
    limits: Limits,
}

struct Connection {
    ends: Ends,
    flows: [Flow; 2],
    /// The sequence numbers of the SYNs.
    opened: [Option<u32>; 2],
    conversation: Conversation,
    /// Once it is closed, only a SYN is of interest; what is left of it tells repetitions from news.
    closed: bool,
    used: u64,
    time: Option<i64>,
}

impl Connections {
    pub(crate) fn new(ports: impl IntoIterator<Item = u16>, limits: Limits) -> Self {
        Self { table: HashMap::new(), ports: ports.into_iter().collect(), now: 0, held: 0, limits }
    }

    /// Takes the next segment of the capture.
    pub(crate) fn segment(
        &mut self,
        segment: &Segment<'_>,
        time: Option<i64>,
        summary: &mut Summary,
        out: &mut impl FnMut(Entry),
    ) {
        let Segment { from, to, .. } = *segment;
        if !self.ports.is_empty() && !self.ports.contains(&from.port()) && !self.ports.contains(&to.port()) {
            summary.other_ports += 1;
            return;
        }
        summary.cut += u64::from(segment.cut);
        self.now += 1;
        let ends = (from.min(to), from.max(to));
        let side = if from == ends.0 { Side::A } else { Side::B };
        let known = self.table.get(&ends);
        if segment.syn && known.is_some_and(|known| known.is_reopened(side, segment.sequence)) {
            self.remove(&ends, summary, out);
        }
        if !self.table.contains_key(&ends) {
            if !segment.syn && segment.payload.is_empty() {
                return;
            }
            self.make_room(summary, out);
            let conversation = self.conversation(segment, side, summary);
            summary.connections += 1;
            self.table.insert(ends, Connection::new(ends, conversation, self.limits.pending));
        }
        let Some(connection) = self.table.get_mut(&ends) else { return };
        let held = connection.held();
        (connection.used, connection.time) = (self.now, time);
        connection.segment(side, segment, summary, out);
        self.held = self.held + connection.held() - held;
        if self.held > self.limits.held {
            self.let_go(summary, out);
        }
    }

    /// The capture ends.
    pub(crate) fn end(&mut self, summary: &mut Summary, out: &mut impl FnMut(Entry)) {
        self.end_all(u64::MAX, summary, out);
    }

    /// Panics where the books are wrong, or more is held than may be.
    #[cfg(feature = "fuzzing")]
    pub(crate) fn check(&self) {
        assert_eq!(self.held, self.table.values().map(Connection::held).sum::<usize>());
        assert!(self.held <= self.limits.held && self.table.len() <= self.limits.connections, "{}", self.held);
        for connection in self.table.values() {
            let held = connection.flows.each_ref().map(Flow::held);
            assert!(held.iter().all(|held| *held <= self.limits.pending), "{held:?}");
            assert!(!connection.closed || connection.flows.iter().all(|flow| flow.held() == 0));
        }
    }

    /// Who is who: the opener is the client; else the port tells; else what is said will.
    fn conversation(&self, segment: &Segment<'_>, side: Side, summary: &Summary) -> Conversation {
        let Segment { from, to, .. } = *segment;
        let named = |end: SocketAddr| self.ports.contains(&end.port());
        let listens = |end: SocketAddr| named(end) || summary.listens(end);
        let client = match (segment.syn, segment.acknowledged) {
            (true, None) => Some(side),
            (true, Some(_)) => Some(side.other()),
            _ => match (listens(from), listens(to)) {
                (true, false) => Some(side.other()),
                (false, true) => Some(side),
                _ => None,
            },
        };
        let broker = client.map(|client| if client == side { to } else { from });
        Conversation::new(client, !segment.syn, broker.is_some_and(named))
    }

    fn remove(&mut self, ends: &Ends, summary: &mut Summary, out: &mut impl FnMut(Entry)) {
        if let Some(mut connection) = self.table.remove(ends) {
            self.held -= connection.held();
            connection.end(summary, out);
        }
    }

    /// Ends the quarter that has been silent longest, once the table is full.
    fn make_room(&mut self, summary: &mut Summary, out: &mut impl FnMut(Entry)) {
        if self.table.len() < self.limits.connections {
            return;
        }
        let mut used: Vec<u64> = self.table.values().map(|connection| connection.used).collect();
        let (_, last, _) = used.select_nth_unstable(self.limits.connections / 4);
        self.end_all(*last, summary, out);
    }

    /// Ends the connections that have been silent since `last`, in the order in which they fell silent.
    fn end_all(&mut self, last: u64, summary: &mut Summary, out: &mut impl FnMut(Entry)) {
        let mut silent: Vec<(u64, Ends)> =
            self.table.values().map(|c| (c.used, c.ends)).filter(|(used, _)| *used <= last).collect();
        silent.sort_unstable();
        for (_, ends) in silent {
            self.remove(&ends, summary, out);
        }
    }

    /// Lets the connection that holds most go on without it.
    fn let_go(&mut self, summary: &mut Summary, out: &mut impl FnMut(Entry)) {
        if let Some(connection) = self.table.values_mut().max_by_key(|connection| (connection.held(), connection.used))
        {
            let held = connection.held();
            connection.give_up(summary, out);
            connection.conversation.give_up();
            self.held = self.held + connection.held() - held;
        }
    }
}

impl Connection {
    fn new(ends: Ends, conversation: Conversation, most_pending: usize) -> Self {
        Self {
            ends,
            flows: [Flow::new(most_pending), Flow::new(most_pending)],
            opened: [None; 2],
            conversation,
            closed: false,
            used: 0,
            time: None,
        }
    }

    /// Whether a SYN opens another connection between the same ends.
    fn is_reopened(&self, side: Side, sequence: u32) -> bool {
        match self.opened[side.index()] {
            Some(opened) => opened != sequence,
            None => self.closed || self.flows[side.index()].is_started(),
        }
    }

    fn held(&self) -> usize {
        self.conversation.held() + self.flows.iter().map(Flow::held).sum::<usize>()
    }

    fn segment(&mut self, side: Side, segment: &Segment<'_>, summary: &mut Summary, out: &mut impl FnMut(Entry)) {
        if self.closed {
            return;
        }
        self.conversation.tick(self.time, &mut reporter(self.ends, self.time, summary, out));
        let mut sequence = segment.sequence;
        if segment.syn {
            self.opened[side.index()] = Some(sequence);
            sequence = sequence.wrapping_add(1);
            self.flows[side.index()].start(sequence);
        }
        // Bare acknowledgements are passed over, because a capture may have them before the data that they are about.
        // Data is never sent before what it answers, and no data follows an end that the capture has already.
        let other = &self.flows[side.other().index()];
        let proves = |acknowledged: &u32| !segment.payload.is_empty() || other.is_end_acknowledged(*acknowledged);
        if let Some(acknowledged) = segment.acknowledged.filter(proves) {
            self.flow(side.other(), summary, out, |flow, piece| flow.acknowledged(acknowledged, piece));
        }
        self.flow(side, summary, out, |flow, piece| flow.segment(sequence, segment.payload, piece));
        if segment.fin && !segment.cut {
            self.flows[side.index()].fin(sequence.wrapping_add(segment.payload.len() as u32));
        }
        if segment.rst || self.flows.iter().all(Flow::has_ended) {
            self.end(summary, out);
        }
    }

    fn give_up(&mut self, summary: &mut Summary, out: &mut impl FnMut(Entry)) {
        for side in [Side::A, Side::B] {
            self.flow(side, summary, out, |flow, piece| flow.give_up(piece));
        }
    }

    fn end(&mut self, summary: &mut Summary, out: &mut impl FnMut(Entry)) {
        if self.closed {
            return;
        }
        self.closed = true;
        self.give_up(summary, out);
        let mut lost = 0;
        let mut report = reporter(self.ends, self.time, summary, out);
        self.conversation.end(&mut |client, event| {
            // The end of a frame, which nothing behind it shows to be missing.
            if let Event::Frame(Frame { content: Content::Fault(Fault { missing: Some(missing), .. }), .. }) = &event {
                lost += missing;
            }
            report(client, event);
        });
        drop(report);
        summary.missing += lost;
        summary.ended(&self.conversation);
    }

    /// Does something with one flow, and passes on what comes out of it.
    fn flow(
        &mut self,
        side: Side,
        summary: &mut Summary,
        out: &mut impl FnMut(Entry),
        act: impl FnOnce(&mut Flow, &mut dyn FnMut(Piece<'_>)),
    ) {
        let conversation = &mut self.conversation;
        let mut lost = 0;
        let mut report = reporter(self.ends, self.time, summary, out);
        act(&mut self.flows[side.index()], &mut |piece| match piece {
            Piece::Data(data) => conversation.data(side, data, &mut report),
            Piece::Missing(missing) => {
                lost += missing;
                conversation.lose(side, missing, &mut report);
            }
        });
        drop(report);
        if self.conversation.is_proven() {
            summary.missing += lost;
        }
    }
}

/// Puts names to what happens in a conversation, and counts it.
fn reporter(
    ends: Ends,
    time: Option<i64>,
    summary: &mut Summary,
    out: &mut impl FnMut(Entry),
) -> impl FnMut(Side, Event) {
    move |client, event| {
        let (client, broker) = match client {
            Side::A => ends,
            Side::B => (ends.1, ends.0),
        };
        summary.count(broker, &event);
        out(Entry { peers: Some(Peers { client, broker }), time, event });
    }
}
