//! The newer format: sections of blocks, each section with a byte order and interfaces of its own.

use std::io::Read;

use pcap_parser::{Block, InterfaceDescriptionBlock, OptionCode, parse_block_be, parse_block_le};

use super::input::Input;
use super::{FileError, LinkType, MAX_PACKET, Packet, Problem};

/// The smallest block: type, length, and the length again.
const SMALLEST: usize = 12;
/// The type of the block that begins a section: the same in both byte orders.
const SECTION: [u8; 4] = [0x0a, 0x0d, 0x0d, 0x0a];
/// What the first field of that block is where the section is big-endian.
const BIG_ENDIAN: [u8; 4] = [0x1a, 0x2b, 0x3c, 0x4d];
/// Interfaces that a section may have; more are refused, so that a file of descriptions alone takes no memory.
const MOST_INTERFACES: usize = 4_096;

#[derive(Debug)]
pub(super) struct PcapNg {
    big_endian: bool,
    interfaces: Vec<Interface>,
    number: u64,
    malformed: u64,
}

#[derive(Debug)]
struct Interface {
    link: LinkType,
    /// Bytes captured of a packet at most; 0 for all.
    snap_length: usize,
    /// Units of time stamps in a second.
    units: u64,
    /// What to add to time stamps, in seconds.
    offset: i64,
}

impl PcapNg {
    pub(super) fn new() -> Self {
        Self { big_endian: false, interfaces: Vec::new(), number: 0, malformed: 0 }
    }

    /// Blocks passed over so far because they are not what their type says.
    pub(super) fn malformed(&self) -> u64 {
        self.malformed
    }

    pub(super) fn next<'a, R: Read>(&mut self, input: &'a mut Input<R>) -> Result<Option<Packet<'a>>, FileError> {
        loop {
            input.next_piece();
            if !self.read_block(input)? {
                return Ok(None);
            }
            if let Some(place) = self.look_at(input.piece())? {
                return Ok(Some(self.packet(input.offset(), input.piece(), place)));
            }
        }
    }

    /// Reads one whole block; `false` at the end of the file.
    fn read_block<R: Read>(&mut self, input: &mut Input<R>) -> Result<bool, FileError> {
        let offset = input.offset();
        input.fill(SMALLEST).map_err(|e| FileError::io(offset, e))?;
        let piece = input.piece();
        if piece.is_empty() {
            return Ok(false);
        }
        let cut_short =
            |needed, have| Err(FileError::new(offset, Problem::CutShort { number: self.number + 1, needed, have }));
        let &[a, b, c, d, e, f, g, h, ref first @ ..] = piece else { return cut_short(SMALLEST, piece.len()) };
        if [a, b, c, d] == SECTION {
            self.big_endian = *first == BIG_ENDIAN;
        }
        let length = [e, f, g, h];
        let length = if self.big_endian { u32::from_be_bytes(length) } else { u32::from_le_bytes(length) } as usize;
        if !(SMALLEST..=MAX_PACKET).contains(&length) {
            return Err(FileError::new(offset, Problem::Block { length }));
        }
        input.fill(length).map_err(|e| FileError::io(offset, e))?;
        match input.piece().len() {
            have if have < length => cut_short(length, have),
            _ => Ok(true),
        }
    }

    /// Takes a block into account. Gives what is known of a packet, if it is one.
    fn look_at(&mut self, block: &[u8]) -> Result<Option<Place>, FileError> {
        let parse = if self.big_endian { parse_block_be } else { parse_block_le };
        let Ok((_, parsed)) = parse(block) else {
            self.malformed += 1;
            return Ok(None);
        };
        let within = |data: &[u8]| data.as_ptr() as usize - block.as_ptr() as usize;
        let (interface, place) = match &parsed {
            Block::SectionHeader(_) => {
                self.interfaces.clear();
                return Ok(None);
            }
            Block::InterfaceDescription(description) => {
                if self.interfaces.len() == MOST_INTERFACES {
                    return Err(FileError::new(0, Problem::Interfaces { most: MOST_INTERFACES }));
                }
                self.interfaces.push(Interface::new(description, self.big_endian));
                return Ok(None);
            }
            Block::EnhancedPacket(packet) => {
                let data = without_padding(packet.data, packet.caplen);
                let stamp = u64::from(packet.ts_high) << 32 | u64::from(packet.ts_low);
                let place =
                    Place { at: within(data), length: data.len(), original: packet.origlen, ..Place::default() };
                (packet.if_id as usize, Place { stamp: Some(stamp), ..place })
            }
            Block::SimplePacket(packet) => {
                let data = without_padding(packet.data, packet.origlen);
                (0, Place { at: within(data), length: data.len(), original: packet.origlen, ..Place::default() })
            }
            _ => return Ok(None),
        };
        self.number += 1;
        match self.interfaces.get(interface) {
            // A packet of its own interface's link type cannot be read without it.
            None => self.malformed += 1,
            Some(found) => {
                let length = match found.snap_length {
                    0 => place.length,
                    snap => place.length.min(snap),
                };
                return Ok(Some(Place { interface, length, ..place }));
            }
        }
        Ok(None)
    }

    fn packet<'a>(&self, offset: u64, block: &'a [u8], place: Place) -> Packet<'a> {
        let interface = &self.interfaces[place.interface];
        Packet {
            number: self.number,
            offset,
            link: interface.link,
            time: place.stamp.and_then(|stamp| interface.time(stamp)),
            data: &block[place.at..place.at + place.length],
            original_length: place.original,
        }
    }
}

/// Blocks are filled up to four bytes.
fn without_padding(data: &[u8], length: u32) -> &[u8] {
    &data[..data.len().min(length as usize)]
}

/// Where in its block a packet is, and what the block says of it.
#[derive(Debug, Clone, Copy, Default)]
struct Place {
    interface: usize,
    at: usize,
    length: usize,
    original: u32,
    stamp: Option<u64>,
}

impl Interface {
    fn new(block: &InterfaceDescriptionBlock<'_>, big_endian: bool) -> Self {
        let offset = block.options.iter().find(|option| option.code == OptionCode::IfTsoffset);
        let offset = offset
            .and_then(|option| option.value().first_chunk())
            .map_or(0, |bytes| if big_endian { i64::from_be_bytes(*bytes) } else { i64::from_le_bytes(*bytes) });
        Self {
            link: LinkType(block.linktype.0 as u16),
            snap_length: block.snaplen as usize,
            units: units(block.if_tsresol),
            offset,
        }
    }

    /// Nanoseconds since 1970; `None` beyond what 64 bits can say.
    fn time(&self, stamp: u64) -> Option<i64> {
        let nanoseconds = u128::from(stamp) * 1_000_000_000 / u128::from(self.units);
        let nanoseconds = i128::try_from(nanoseconds).ok()? + i128::from(self.offset) * 1_000_000_000;
        nanoseconds.try_into().ok()
    }
}

/// Units in a second: a power of ten, or of two where the highest bit is set. A power that 64 bits cannot hold is taken
/// for microseconds, which is what files have without the option.
fn units(resolution: u8) -> u64 {
    let power = u32::from(resolution & 0x7f);
    let units = if resolution & 0x80 == 0 { 10u64.checked_pow(power) } else { 1u64.checked_shl(power) };
    units.unwrap_or(1_000_000)
}
