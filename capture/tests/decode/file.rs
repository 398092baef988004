//! Writes capture files.

/// How a file is written.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Format {
    /// Microseconds, or nanoseconds.
    Pcap { big_endian: bool, nanoseconds: bool },
    /// The variant of 1999, with 8 more bytes a packet.
    PcapModified,
    /// Time stamps in units of the `if_tsresol` option, from `if_tsoffset` seconds on.
    PcapNg { big_endian: bool, resolution: Option<u8>, offset: Option<i64> },
    /// Packets without time stamps.
    PcapNgSimple,
}

pub(crate) const PCAP: Format = Format::Pcap { big_endian: false, nanoseconds: false };

/// A packet of a file.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Captured {
    /// Nanoseconds since 1970.
    pub(crate) time: u64,
    pub(crate) data: Vec<u8>,
    /// How long it was on the wire, if that is more.
    pub(crate) original: Option<usize>,
}

struct Writer {
    big_endian: bool,
    bytes: Vec<u8>,
}

impl Writer {
    fn u16(&mut self, value: u16) -> &mut Self {
        self.bytes.extend(if self.big_endian { value.to_be_bytes() } else { value.to_le_bytes() });
        self
    }

    fn u32(&mut self, value: u32) -> &mut Self {
        self.bytes.extend(if self.big_endian { value.to_be_bytes() } else { value.to_le_bytes() });
        self
    }

    fn bytes(&mut self, bytes: &[u8]) -> &mut Self {
        self.bytes.extend(bytes);
        self
    }

    fn block(&mut self, kind: u32, content: impl FnOnce(&mut Self)) {
        let at = self.bytes.len();
        self.u32(kind).u32(0);
        content(self);
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
        let length = (self.bytes.len() - at + 4) as u32;
        self.u32(length);
        let bytes = if self.big_endian { length.to_be_bytes() } else { length.to_le_bytes() };
        self.bytes[at + 4..at + 8].copy_from_slice(&bytes);
    }

    fn option(&mut self, code: u16, value: &[u8]) {
        self.u16(code).u16(value.len() as u16).bytes(value);
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
    }
}

/// Writes packets of one link type.
pub(crate) fn write(format: Format, link: u16, packets: &[Captured]) -> Vec<u8> {
    match format {
        Format::Pcap { big_endian, nanoseconds } => {
            let magic = if nanoseconds { 0xa1b2_3c4d } else { 0xa1b2_c3d4 };
            pcap(big_endian, magic, if nanoseconds { 1 } else { 1_000 }, link, packets)
        }
        Format::PcapModified => pcap(false, 0xa1b2_cd34, 1_000, link, packets),
        Format::PcapNg { big_endian, resolution, offset } => pcapng(big_endian, resolution, offset, link, packets),
        Format::PcapNgSimple => {
            let mut w = section(false);
            interface(&mut w, link, None, None);
            for packet in packets {
                w.block(3, |w| {
                    w.u32(packet.original.unwrap_or(packet.data.len()) as u32).bytes(&packet.data);
                });
            }
            w.bytes
        }
    }
}

fn pcap(big_endian: bool, magic: u32, unit: u64, link: u16, packets: &[Captured]) -> Vec<u8> {
    let mut w = Writer { big_endian, bytes: Vec::new() };
    w.u32(magic).u16(2).u16(4).u32(0).u32(0).u32(262_144).u32(link.into());
    for packet in packets {
        let (seconds, rest) = (packet.time / 1_000_000_000, packet.time % 1_000_000_000);
        w.u32(seconds as u32).u32((rest / unit) as u32).u32(packet.data.len() as u32);
        w.u32(packet.original.unwrap_or(packet.data.len()) as u32);
        if magic == 0xa1b2_cd34 {
            w.bytes(&[0; 8]);
        }
        w.bytes(&packet.data);
    }
    w.bytes
}

fn section(big_endian: bool) -> Writer {
    let mut w = Writer { big_endian, bytes: Vec::new() };
    w.block(0x0a0d_0d0a, |w| {
        w.u32(0x1a2b_3c4d).u16(1).u16(0).bytes(&[0xff; 8]);
    });
    w
}

fn interface(w: &mut Writer, link: u16, resolution: Option<u8>, offset: Option<i64>) {
    let big_endian = w.big_endian;
    w.block(1, |w| {
        w.u16(link).u16(0).u32(262_144);
        w.option(2, b"lo");
        if let Some(resolution) = resolution {
            w.option(9, &[resolution]);
        }
        if let Some(offset) = offset {
            w.option(14, &if big_endian { offset.to_be_bytes() } else { offset.to_le_bytes() });
        }
        w.option(0, b"");
    });
}

fn pcapng(big_endian: bool, resolution: Option<u8>, offset: Option<i64>, link: u16, packets: &[Captured]) -> Vec<u8> {
    let mut w = section(big_endian);
    // Ethernet first, so that the number of the interface counts; a block of a kind that nobody knows.
    interface(&mut w, 1, None, None);
    interface(&mut w, link, resolution, offset);
    w.block(0x0bad_cafe, |w| {
        w.bytes(b"whatever");
    });
    let units: u128 = match resolution {
        None => 1_000_000,
        Some(power) if power & 0x80 != 0 => 1 << (power & 0x7f),
        Some(power) => 10u128.pow(power.into()),
    };
    for packet in packets {
        let time = u128::from(packet.time) - offset.unwrap_or(0) as u128 * 1_000_000_000;
        let stamp = (time * units / 1_000_000_000) as u64;
        w.block(6, |w| {
            w.u32(1).u32((stamp >> 32) as u32).u32(stamp as u32);
            w.u32(packet.data.len() as u32).u32(packet.original.unwrap_or(packet.data.len()) as u32);
            w.bytes(&packet.data);
            w.bytes.resize(w.bytes.len().next_multiple_of(4), 0);
            w.option(1, b"a comment");
            w.option(0, b"");
        });
    }
    w.bytes
}
