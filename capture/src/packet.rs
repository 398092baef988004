//! From a captured packet to the TCP segment in it. Headers are read by the crate `etherparse`.

use std::fmt;
use std::net::{IpAddr, SocketAddr};

use etherparse::{EtherType, LaxNetSlice, LaxSlicedPacket, TransportSlice};

use crate::file::{LinkType, Packet};

/// A TCP segment.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Segment<'a> {
    /// Who sent it.
    pub from: SocketAddr,
    /// To whom.
    pub to: SocketAddr,
    /// The sequence number of its first byte; of the SYN, where it has one.
    pub sequence: u32,
    /// The next byte that the sender waits for.
    pub acknowledged: Option<u32>,
    /// Opens a connection.
    pub syn: bool,
    /// Ends the sender's half of it.
    pub fin: bool,
    /// Ends it at once.
    pub rst: bool,
    /// The data, as far as it was captured.
    pub payload: &'a [u8],
    /// Whether the capture has less of the packet than there was.
    pub cut: bool,
}

impl fmt::Debug for Segment<'_> {
    /// Shows how many bytes there are, and none of them: a segment may hold a password.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { from, to, sequence, payload, .. } = self;
        write!(f, "Segment {from} -> {to}: {} bytes from {sequence} on", payload.len())
    }
}

/// Why a packet holds no segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum NoSegment {
    /// A link type that is not read here.
    Link(LinkType),
    /// Not IP: ARP, for one.
    NotIp,
    /// IP, and not TCP.
    NotTcp,
    /// A fragment of an IP packet. They are not put together: TCP avoids them.
    Fragment,
    /// Shorter than its headers, or with headers that make no sense.
    Malformed,
}

/// `LINKTYPE_` numbers of tcpdump's list.
mod link {
    pub(super) const NULL: u16 = 0;
    pub(super) const ETHERNET: u16 = 1;
    pub(super) const RAW: u16 = 101;
    /// What RAW was in files of some systems.
    pub(super) const RAW_OLD: [u16; 2] = [12, 14];
    pub(super) const LOOP: u16 = 108;
    pub(super) const LINUX_SLL: u16 = 113;
    pub(super) const IPV4: u16 = 228;
    pub(super) const IPV6: u16 = 229;
    pub(super) const LINUX_SLL2: u16 = 276;
}

/// Finds the TCP segment in a packet.
///
/// # Errors
/// [`NoSegment`] says what the packet is instead.
pub fn segment<'a>(packet: &Packet<'a>) -> Result<Segment<'a>, NoSegment> {
    let sliced = slice(packet.link, packet.data)?;
    let (from, to, payload) = match &sliced.net {
        Some(LaxNetSlice::Ipv4(ip)) => {
            let header = ip.header();
            (IpAddr::V4(header.source_addr()), IpAddr::V4(header.destination_addr()), ip.payload())
        }
        Some(LaxNetSlice::Ipv6(ip)) => {
            let header = ip.header();
            (IpAddr::V6(header.source_addr()), IpAddr::V6(header.destination_addr()), ip.payload())
        }
        _ if sliced.stop_err.is_some() => return Err(NoSegment::Malformed),
        _ => return Err(NoSegment::NotIp),
    };
    match &sliced.transport {
        Some(TransportSlice::Tcp(tcp)) => Ok(Segment {
            from: SocketAddr::new(from, tcp.source_port()),
            to: SocketAddr::new(to, tcp.destination_port()),
            sequence: tcp.sequence_number(),
            acknowledged: tcp.ack().then(|| tcp.acknowledgment_number()),
            syn: tcp.syn(),
            fin: tcp.fin(),
            rst: tcp.rst(),
            payload: tcp.payload(),
            cut: payload.incomplete,
        }),
        Some(_) => Err(NoSegment::NotTcp),
        None if payload.fragmented => Err(NoSegment::Fragment),
        None if sliced.stop_err.is_some() => Err(NoSegment::Malformed),
        None => Err(NoSegment::NotTcp),
    }
}

fn slice(link_type: LinkType, data: &[u8]) -> Result<LaxSlicedPacket<'_>, NoSegment> {
    let after = |length: usize| data.get(length..).ok_or(NoSegment::Malformed);
    let ip = |data| LaxSlicedPacket::from_ip(data).map_err(|_| NoSegment::Malformed);
    // The protocol of a cooked header, which is an EtherType for all that matters here.
    let cooked = |protocol_at: usize, length: usize| {
        let protocol = data.get(protocol_at..).and_then(<[u8]>::first_chunk).ok_or(NoSegment::Malformed)?;
        Ok(LaxSlicedPacket::from_ether_type(EtherType(u16::from_be_bytes(*protocol)), after(length)?))
    };
    match link_type.0 {
        link::ETHERNET => LaxSlicedPacket::from_ethernet(data).map_err(|_| NoSegment::Malformed),
        // The address family in front is written in the capturing machine's byte order; IP says its version itself.
        link::NULL | link::LOOP => ip(after(4)?),
        link::RAW | link::IPV4 | link::IPV6 => ip(data),
        number if link::RAW_OLD.contains(&number) => ip(data),
        link::LINUX_SLL => cooked(14, 16),
        link::LINUX_SLL2 => cooked(0, 20),
        _ => Err(NoSegment::Link(link_type)),
    }
}
