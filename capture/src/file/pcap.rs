//! The older format: one header with the link type, then packets.

use std::io::Read;

use pcap_parser::{LegacyPcapBlock, parse_pcap_frame, parse_pcap_frame_be, parse_pcap_frame_modified};
use pcap_parser::{PcapHeader, parse_pcap_header};

use super::input::Input;
use super::{FileError, LinkType, MAX_PACKET, Packet, Problem};

/// Bytes of the file's header.
const HEADER: usize = 24;
/// Where a packet's header says how many bytes of it were captured.
const CAPTURED_AT: usize = 8;

#[derive(Debug)]
pub(super) struct Pcap {
    header: PcapHeader,
    link: LinkType,
    number: u64,
}

impl Pcap {
    pub(super) fn open<R: Read>(input: &mut Input<R>) -> Result<Self, FileError> {
        input.fill(HEADER).map_err(|e| FileError::io(input.offset(), e))?;
        let Ok((_, header)) = parse_pcap_header(input.piece()) else {
            return Err(FileError::new(0, Problem::Header { format: "pcap" }));
        };
        // The upper half tells of frame check sequences, which lie behind what is read here.
        let link = LinkType((header.network.0 & 0xffff) as u16);
        input.next_piece();
        Ok(Self { header, link, number: 0 })
    }

    pub(super) fn next<'a, R: Read>(&mut self, input: &'a mut Input<R>) -> Result<Option<Packet<'a>>, FileError> {
        input.next_piece();
        let offset = input.offset();
        let header = if self.header.is_modified_format() { 24 } else { 16 };
        input.fill(header).map_err(|e| FileError::io(offset, e))?;
        if input.piece().is_empty() {
            return Ok(None);
        }
        self.number += 1;
        let captured = input.piece().get(CAPTURED_AT..).and_then(<[u8]>::first_chunk).map_or(0, |bytes| {
            if self.header.is_bigendian() { u32::from_be_bytes(*bytes) } else { u32::from_le_bytes(*bytes) }
        }) as usize;
        if captured > MAX_PACKET {
            return Err(FileError::new(offset, Problem::Packet { number: self.number, length: captured as u64 }));
        }
        let needed = header + captured;
        input.fill(needed).map_err(|e| FileError::io(offset, e))?;
        let parse = match (self.header.is_modified_format(), self.header.is_bigendian()) {
            (true, _) => parse_pcap_frame_modified,
            (false, true) => parse_pcap_frame_be,
            (false, false) => parse_pcap_frame,
        };
        let have = input.piece().len();
        let Ok((_, block)) = parse(input.piece()) else {
            return Err(FileError::new(offset, Problem::CutShort { number: self.number, needed, have }));
        };
        Ok(Some(self.packet(offset, &block)))
    }

    fn packet<'a>(&self, offset: u64, block: &LegacyPcapBlock<'a>) -> Packet<'a> {
        let unit = if self.header.is_nanosecond_precision() { 1 } else { 1_000 };
        Packet {
            number: self.number,
            offset,
            link: self.link,
            time: Some(i64::from(block.ts_sec) * 1_000_000_000 + i64::from(block.ts_usec) * unit),
            data: block.data,
            original_length: block.origlen,
        }
    }
}
