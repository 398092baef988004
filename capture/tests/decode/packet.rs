//! Writes packets: a TCP segment in IP, behind the header of a link.

use std::net::{IpAddr, SocketAddr};

/// The link types of tcpdump's list, and how packets of them are dressed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Link {
    Null,
    Loop,
    Ethernet,
    Vlan,
    DoubleVlan,
    Raw,
    Ipv4OrIpv6,
    Sll,
    Sll2,
}

impl Link {
    pub(crate) const ALL: [Self; 9] = [
        Self::Null,
        Self::Loop,
        Self::Ethernet,
        Self::Vlan,
        Self::DoubleVlan,
        Self::Raw,
        Self::Ipv4OrIpv6,
        Self::Sll,
        Self::Sll2,
    ];

    pub(crate) fn number(self, ip: IpAddr) -> u16 {
        match self {
            Self::Null => 0,
            Self::Ethernet | Self::Vlan | Self::DoubleVlan => 1,
            Self::Raw => 101,
            Self::Loop => 108,
            Self::Sll => 113,
            Self::Ipv4OrIpv6 if ip.is_ipv4() => 228,
            Self::Ipv4OrIpv6 => 229,
            Self::Sll2 => 276,
        }
    }

    /// Puts the header in front of an IP packet.
    pub(crate) fn dress(self, ip: &[u8]) -> Vec<u8> {
        let is_v4 = ip[0] >> 4 == 4;
        let protocol: &[u8] = if is_v4 { &[0x08, 0x00] } else { &[0x86, 0xdd] };
        let header: Vec<u8> = match self {
            Self::Raw | Self::Ipv4OrIpv6 => Vec::new(),
            // AF_INET, and the AF_INET6 of macOS.
            Self::Null => vec![if is_v4 { 2 } else { 30 }, 0, 0, 0],
            Self::Loop => vec![0, 0, 0, if is_v4 { 2 } else { 24 }],
            Self::Ethernet => [&[0; 12], protocol].concat(),
            Self::Vlan => [&[0; 12], &[0x81, 0x00, 0x20, 0x07][..], protocol].concat(),
            Self::DoubleVlan => [&[0; 12], &[0x88, 0xa8, 0x00, 0x01, 0x81, 0x00, 0x20, 0x07][..], protocol].concat(),
            Self::Sll => [&[0, 0, 3, 4, 0, 6, 0, 0, 0, 0, 0, 0, 0, 0][..], protocol].concat(),
            Self::Sll2 => [protocol, &[0, 0, 0, 0, 0, 1, 3, 4, 0, 6, 0, 0, 0, 0, 0, 0, 0, 0][..]].concat(),
        };
        let mut packet = [&header, ip].concat();
        if matches!(self, Self::Ethernet | Self::Vlan | Self::DoubleVlan) {
            // The shortest that Ethernet sends; what is filled up belongs to no segment.
            packet.resize(packet.len().max(60), 0);
        }
        packet
    }
}

/// A segment to write.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Segment {
    pub(crate) from: SocketAddr,
    pub(crate) to: SocketAddr,
    pub(crate) sequence: u32,
    pub(crate) acknowledged: Option<u32>,
    /// FIN 1, SYN 2, RST 4.
    pub(crate) flags: u8,
    pub(crate) payload: Vec<u8>,
}

pub(crate) const FIN: u8 = 1;
pub(crate) const SYN: u8 = 2;
pub(crate) const RST: u8 = 4;

impl Segment {
    fn tcp(&self) -> Vec<u8> {
        let mut tcp = [self.from.port().to_be_bytes(), self.to.port().to_be_bytes()].concat();
        tcp.extend(self.sequence.to_be_bytes());
        tcp.extend(self.acknowledged.unwrap_or(0).to_be_bytes());
        let ack = if self.acknowledged.is_some() { 0x10 } else { 0 };
        // A header of 32 bytes: time stamps are on everywhere.
        tcp.extend([0x80, self.flags | ack, 0xff, 0xff, 0, 0, 0, 0]);
        tcp.extend([1, 1, 8, 10, 0, 0, 0, 1, 0, 0, 0, 2]);
        tcp.extend(&self.payload);
        tcp
    }

    /// The IP packet of the segment; with `options` it has an option (IPv4) or an extension header (IPv6).
    pub(crate) fn ip(&self, options: bool) -> Vec<u8> {
        let tcp = self.tcp();
        match (self.from.ip(), self.to.ip()) {
            (IpAddr::V4(from), IpAddr::V4(to)) => {
                let options: &[u8] = if options { &[0x94, 4, 0, 0] } else { &[] };
                let header = 20 + options.len();
                let mut ip = vec![0x40 | (header / 4) as u8, 0];
                ip.extend(((header + tcp.len()) as u16).to_be_bytes());
                ip.extend([0, 0, 0x40, 0, 64, 6, 0, 0]);
                [&ip, &from.octets()[..], &to.octets(), options, &tcp].concat()
            }
            (IpAddr::V6(from), IpAddr::V6(to)) => {
                // Destination options: next header, length, and a filler of six bytes.
                let extension: &[u8] = if options { &[6, 0, 1, 4, 0, 0, 0, 0] } else { &[] };
                let mut ip = vec![0x60, 0, 0, 0];
                ip.extend(((extension.len() + tcp.len()) as u16).to_be_bytes());
                ip.extend([if options { 60 } else { 6 }, 64]);
                [&ip, &from.octets()[..], &to.octets(), extension, &tcp].concat()
            }
            _ => unreachable!("both ends are of one family"),
        }
    }
}
