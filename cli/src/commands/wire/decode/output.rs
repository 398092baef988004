//! Lines on stdout, and at the end a few words on stderr.

use std::io::{self, BufWriter, Write};

use ackflow_capture::{Content, Entry, Event, Frame, NoSegment, Style, Summary, lacks_records, line};
use anyhow::Context;

use crate::stderr::tell;
use crate::stdout::reader_is_gone;

/// Writes lines until stdout fails.
pub(super) struct Output {
    out: Box<dyn Write>,
    style: Style,
    pretty: bool,
    error: Option<io::Error>,
    all_read: bool,
}

impl Output {
    /// With `live`, each line is out at once.
    pub(super) fn new(style: Style, pretty: bool, live: bool) -> Self {
        let out: Box<dyn Write> =
            if live { Box::new(io::stdout()) } else { Box::new(BufWriter::with_capacity(1 << 16, io::stdout())) };
        Self { out, style, pretty, error: None, all_read: true }
    }

    pub(super) fn write(&mut self, entry: Entry) {
        if matches!(&entry.event, Event::Skipped(..) | Event::Frame(Frame { content: Content::Fault(_), .. })) {
            self.lacks_something();
        }
        if !self.is_open() {
            return;
        }
        let line = line(entry, self.style);
        if self.style.records && lacks_records(&line) {
            self.lacks_something();
        }
        let written = if self.pretty { writeln!(self.out, "{line:#}") } else { writeln!(self.out, "{line}") };
        self.error = written.err();
    }

    /// False once nothing more can be written.
    pub(super) fn is_open(&self) -> bool {
        self.error.is_none()
    }

    /// Something of the input was not read.
    pub(super) fn lacks_something(&mut self) {
        self.all_read = false;
    }

    /// Whether each frame could be read, and nothing was skipped or missing.
    pub(super) fn is_all_read(&self) -> bool {
        self.all_read
    }

    /// Sees to it that all is out. A reader that has gone has what it wanted.
    pub(super) fn finish(&mut self) -> anyhow::Result<()> {
        let result = self.error.take().map_or_else(|| self.out.flush(), Err);
        match result {
            Err(error) if reader_is_gone(&error) => Ok(()),
            result => result.context("cannot write to stdout"),
        }
    }
}

/// Says on stderr what a capture held and what was passed over, with what helps against it.
pub(super) fn summarize(summary: &Summary, ports: &[u16]) {
    let Summary { packets, connections, frames, faults, skipped, cut, .. } = summary;
    let missing = match (summary.missing, cut) {
        (missing, 0) => format!("{missing} bytes"),
        (0, cut) => format!("the ends of {cut} packets"),
        (missing, _) => format!("at least {missing} bytes"),
    };
    tell!(
        "{packets} packets, {connections} connections, {frames} frames, {faults} of them not readable; \
        {skipped} bytes skipped, {missing} not in the capture"
    );
    for (broker, frames) in &summary.listeners {
        tell!("{broker} is a broker: {frames} frames");
    }
    if summary.other_connections > 0 {
        tell!(
            "{} connections are not Kafka, or are encrypted (--port says which ports are Kafka's)",
            summary.other_connections
        );
    }
    if summary.other_ports > 0 {
        tell!("{} packets of other ports than {ports:?}", summary.other_ports);
    }
    if *cut > 0 {
        tell!("{cut} packets are not there in full: capture with tcpdump -s 0");
    }
    if summary.malformed_blocks > 0 {
        tell!("{} blocks of the file are malformed", summary.malformed_blocks);
    }
    for (what, count) in &summary.no_segment {
        let what = match what {
            NoSegment::Link(link) => format!("have link type {}, which is not read here", link.0),
            NoSegment::NotIp => "are not IP".to_owned(),
            NoSegment::NotTcp => "are not TCP".to_owned(),
            NoSegment::Fragment => "are fragments of IP packets, which are not put together".to_owned(),
            NoSegment::Malformed => "are shorter than their headers, or malformed".to_owned(),
        };
        tell!("{count} packets {what}");
    }
}
