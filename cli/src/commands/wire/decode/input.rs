//! What is to be decoded, and what it is.

use std::io::{self, BufReader, Cursor, Read};
use std::path::Path;

use ackflow_capture::CaptureFormat;
use anyhow::{Context, bail};

use super::Format;
use crate::commands::wire::{name, open};

/// A reader whose first bytes are known.
pub(super) struct Input {
    name: String,
    is_stdin: bool,
    magic: Vec<u8>,
    rest: Box<dyn Read>,
}

impl Input {
    pub(super) fn open(file: &Path) -> anyhow::Result<Self> {
        let mut rest = open(file)?;
        let mut magic = Vec::new();
        // No more than that, so that a capture can be decoded while it is being made.
        let read = rest.by_ref().take(4).read_to_end(&mut magic);
        read.with_context(|| format!("cannot read {}", name(file)))?;
        Ok(Self { name: name(file), is_stdin: file.as_os_str() == "-", magic, rest })
    }

    pub(super) fn of(bytes: Vec<u8>) -> Self {
        Self { name: String::new(), is_stdin: false, magic: bytes, rest: Box::new(io::empty()) }
    }

    pub(super) fn is_stdin(&self) -> bool {
        self.is_stdin
    }

    /// Finds out what the input is. No two of the formats begin alike: read as a size, digits are more than any frame has.
    pub(super) fn format(&self) -> anyhow::Result<Format> {
        let Self { name, magic, .. } = self;
        let format = magic.first_chunk().and_then(|magic| CaptureFormat::of(*magic));
        match (format, &magic[..]) {
            (Some(CaptureFormat::Pcap), _) => Ok(Format::Pcap),
            (Some(CaptureFormat::PcapNg), _) => Ok(Format::Pcapng),
            (None, []) => bail!("{name} is empty"),
            (None, [0x1f, 0x8b, ..]) => bail!("{name} is compressed: gunzip it first"),
            (None, [0x28, 0xb5, 0x2f, 0xfd]) => bail!("{name} is compressed: unzstd it first"),
            (None, [b'{', ..]) => bail!("{name} is JSON: did you mean ackflow wire encode?"),
            (None, [0xff, 0xfe, ..] | [0xfe, 0xff, ..]) => bail!("{name} is text in UTF-16: make it UTF-8 first"),
            (None, [0xef, 0xbb, 0xbf, ..]) => Ok(Format::Hex),
            (None, text) if text.iter().all(|byte| is_hex(*byte)) => Ok(Format::Hex),
            (None, _) => Ok(Format::Frames),
        }
    }

    pub(super) fn into_reader(self) -> impl Read {
        BufReader::new(Cursor::new(self.magic).chain(self.rest))
    }
}

fn is_hex(byte: u8) -> bool {
    byte.is_ascii_hexdigit() || byte.is_ascii_whitespace() || b"x:,".contains(&byte)
}
