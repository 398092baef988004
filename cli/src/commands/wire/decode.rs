//! `ackflow wire decode`: frames as JSON lines.

mod input;
mod output;

use std::io::Read;
use std::path::PathBuf;
use std::process::ExitCode;

use ackflow_capture::{
    Capture, CaptureFormat, Content, Direction, Entry, Event, Expected, FrameStream, Style, codec, hex,
};
use ackflow_protocol::wire::ApiKey;
use ackflow_protocol::wire::frame::{DEFAULT_MAX_FRAME, SIZE_LENGTH, frame_size};
use anyhow::{anyhow, bail};
use clap::ValueEnum;

use super::name;
use crate::numbers::within;
use crate::stderr::tell;
use input::Input;
use output::Output;

/// Hexadecimal text is read whole, up to here: the largest frame, with spaces between its digits.
const LONGEST_TEXT: u64 = 400 << 20;

#[derive(Debug, clap::Args)]
#[command(
    after_help = "One JSON line a frame. A request is paired with its response by correlation id. What cannot be read becomes a line with \
    an error, the field and the offset, and with --show-secrets the frame in hex; the next frame is read all the same. Passwords, \
    SASL tokens and configuration values are masked.\n\n\
    Exit codes: 0 if all was read; 1 if a frame could not be read, bytes were skipped or are not in the capture, a packet is not there in full, \
    with --records a batch could not be read, or the input ends \
    too early; 2 if it could not begin, also for want of any input. Connections that are not Kafka are no error.\n\n\
    Examples:\n  \
    tcpdump -i lo -s 0 -w - port 9092 | ackflow wire decode --records -\n  \
    ackflow wire decode --port 9092 session.pcapng | jq 'select(.api == \"ShareFetch\")'\n  \
    echo 0000000a0010000000000001ffff | ackflow wire decode -\n  \
    ackflow wire decode --api Metadata --api-version 12 responses.bin"
)]
pub(crate) struct Args {
    /// Capture file (pcap, pcapng), frames with their 4-byte sizes, or hexadecimal text; - for stdin
    #[arg(value_name = "FILE")]
    file: PathBuf,

    /// What the file is; found out by its first bytes unless given
    #[arg(long, value_enum)]
    format: Option<Format>,

    /// The frames are responses of this API, by name or by key (frames and hexadecimal text only; in captures responses find their requests)
    #[arg(long, requires = "api_version")]
    api: Option<String>,

    /// The version of those responses
    #[arg(long, value_name = "VERSION", requires = "api", value_parser = within(0..=i16::MAX), allow_negative_numbers = true)]
    api_version: Option<i16>,

    /// Look only at connections to this port, and take it for a broker's; several with repeated --port
    #[arg(long)]
    port: Vec<u16>,

    /// Show each frame on several lines
    #[arg(long)]
    pretty: bool,

    /// Show the records of Produce, Fetch and ShareFetch readably, beside their base64
    #[arg(long)]
    records: bool,

    /// Show passwords, SASL tokens, configuration values, and the bytes of what cannot be read
    #[arg(long)]
    show_secrets: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// One frame, or several, as hexadecimal digits with any white space, colons or 0x between them
    Hex,
    /// Frames, each behind its size in 4 bytes
    Frames,
    /// Capture file of the older format
    Pcap,
    /// Capture file of the newer format
    Pcapng,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let expected = expected(args)?;
    let input = Input::open(&args.file)?;
    let format = match args.format {
        Some(format) => format,
        None => input.format()?,
    };
    let captured = match format {
        Format::Pcap => Some(CaptureFormat::Pcap),
        Format::Pcapng => Some(CaptureFormat::PcapNg),
        Format::Hex | Format::Frames => None,
    };
    let style = Style { records: args.records, secrets: args.show_secrets };
    let mut out = Output::new(style, args.pretty, input.is_stdin());
    let stopped = match captured {
        Some(_) if expected != Expected::Requests => {
            bail!("--api says what responses are without their requests; a capture has them, so leave it out")
        }
        Some(format) => decode_capture(args, input, format, &mut out),
        None if !args.port.is_empty() => bail!("--port chooses connections of a capture, and this is none"),
        None if format == Format::Hex => decode_hex(input, expected, &mut out),
        None => Ok(decode_frames(input, expected, &mut out)),
    };
    // What was decoded before an error is good.
    out.finish()?;
    if let Some(error) = stopped.map_err(|error| anyhow!("{}: {error:#}", name(&args.file)))? {
        tell!("ackflow: {}: {error:#}", name(&args.file));
        return Ok(ExitCode::FAILURE);
    }
    Ok(if out.is_all_read() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn expected(args: &Args) -> anyhow::Result<Expected> {
    let (Some(api), Some(version)) = (&args.api, args.api_version) else { return Ok(Expected::Requests) };
    let key = ackflow_capture::api(api)?;
    codec(key, Direction::Response, version)?;
    Ok(Expected::Responses { key, version })
}

/// What keeps the rest of an input from being read, if anything does.
type Stopped = Option<anyhow::Error>;

fn decode_capture(args: &Args, input: Input, format: CaptureFormat, out: &mut Output) -> anyhow::Result<Stopped> {
    let mut capture = Capture::open(input.into_reader(), format, args.port.iter().copied())?;
    let stopped = loop {
        match capture.next_packet(&mut |entry| out.write(entry)) {
            Ok(true) if out.is_open() => {}
            Ok(_) => break None,
            Err(error) => break Some(error.into()),
        }
    };
    capture.end(&mut |entry| out.write(entry));
    output::summarize(capture.summary(), &args.port);
    if capture.summary().malformed_blocks + capture.summary().cut > 0 {
        out.lacks_something();
    }
    Ok(stopped)
}

fn decode_frames(input: Input, expected: Expected, out: &mut Output) -> Stopped {
    let mut stream = FrameStream::new(input.into_reader(), expected);
    loop {
        match stream.next_frame() {
            Ok(Some(frame)) if out.is_open() => {
                out.write(Entry { peers: None, time: None, event: Event::Frame(frame) });
            }
            Ok(_) => return None,
            Err(error) => return Some(error.into()),
        }
    }
}

/// The text is one frame, with or without its size, or several with their sizes.
fn decode_hex(input: Input, expected: Expected, out: &mut Output) -> anyhow::Result<Stopped> {
    let mut text = String::new();
    input.into_reader().take(LONGEST_TEXT).read_to_string(&mut text)?;
    let Some(bytes) = hex::read(&text) else {
        bail!("is not hexadecimal text: {}", strange(&text));
    };
    if bytes.is_empty() {
        bail!("is empty but for white space");
    }
    if is_frames(&bytes) {
        return Ok(decode_frames(Input::of(bytes.to_vec()), expected, out));
    }
    let is_frame = |bytes: &[u8]| is_readable(sized(bytes), expected);
    if !is_frame(&bytes) {
        if is_readable(bytes.to_vec(), expected) {
            // The first of several, whatever is wrong with the next.
            return Ok(decode_frames(Input::of(bytes.to_vec()), expected, out));
        }
        let rest = bytes.get(SIZE_LENGTH..).unwrap_or_default();
        let is_size = is_frame(rest) || expected == Expected::Requests && is_no_header(&bytes);
        match wrong_size(&bytes, is_size) {
            Some((0, size, rest)) => return Ok(Some(anyhow!("byte 0: the size says {size}, {rest} bytes follow"))),
            Some(_) => return Ok(decode_frames(Input::of(bytes.to_vec()), expected, out)),
            None => {}
        }
    }
    Ok(decode_frames(Input::of(sized(&bytes)), expected, out))
}

/// A frame with its size.
fn sized(bytes: &[u8]) -> Vec<u8> {
    [&(bytes.len() as u32).to_be_bytes(), bytes].concat()
}

/// Whether the first of frames is there and can be read.
fn is_readable(frames: Vec<u8>, expected: Expected) -> bool {
    let first = FrameStream::new(&frames[..], expected).next_frame();
    first.is_ok_and(|first| first.is_some_and(|frame| !matches!(frame.content, Content::Fault(_))))
}

/// Whether bytes begin with what is no frame's size, and no API either.
fn is_no_header(bytes: &[u8]) -> bool {
    let (Some(size), Some(key)) = (bytes.first_chunk(), bytes.first_chunk()) else { return false };
    frame_size(*size, DEFAULT_MAX_FRAME).is_err() && ApiKey(i16::from_be_bytes(*key)).name().is_none()
}

/// What keeps a text from being hexadecimal.
fn strange(text: &str) -> String {
    let first = text.split_whitespace().next().unwrap_or_default();
    if text.contains('|') || first.len() > 3 && first.ends_with(':') {
        return "it has offsets and text beside the digits: leave them out, as xxd -p does".to_owned();
    }
    let is_part =
        |letter: &char| letter.is_whitespace() || letter.is_ascii_hexdigit() || "x:,\u{feff}".contains(*letter);
    match text.chars().find(|letter| !is_part(letter)) {
        Some(letter) => format!("{letter:?} is no digit"),
        None if text.contains('x') => "'x' is no digit but in a 0x".to_owned(),
        None => "half a byte is missing at its end".to_owned(),
    }
}

/// Whether bytes are frames with their sizes, one behind the other to the end.
fn is_frames(bytes: &[u8]) -> bool {
    sizes(bytes).last().is_some_and(|(_, size, rest)| size == rest)
}

/// Of bytes that begin with a frame's size: where the last one begins, what its size is, and how many bytes follow. Unless it
/// `is_size` for certain, what is far from the bytes that there are is none, but an API or a correlation id.
fn wrong_size(bytes: &[u8], is_size: bool) -> Option<(usize, i32, usize)> {
    if is_size {
        let (prefix, rest) = bytes.split_first_chunk()?;
        return Some((0, i32::from_be_bytes(*prefix), rest.len()));
    }
    let (at, size, rest) = sizes(bytes).last()?;
    (size / 2 <= rest && (at > 0 || rest / 2 <= size)).then_some((at, size as i32, rest))
}

/// The frames that bytes would be: where each begins, its size, and the bytes that follow that.
fn sizes(bytes: &[u8]) -> impl Iterator<Item = (usize, usize, usize)> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let (prefix, rest) = bytes.get(at..)?.split_first_chunk()?;
        let size = frame_size(*prefix, DEFAULT_MAX_FRAME).ok()?;
        let begin = at;
        at += SIZE_LENGTH + size;
        Some((begin, size, rest.len()))
    })
}
