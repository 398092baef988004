//! gzip, by zlib-rs.

use std::io::Write;

use flate2::{Compression as Level, bufread::MultiGzDecoder, write::GzEncoder};

use super::{Fault, output::Output};

pub(super) fn compress(level: u32, input: &[u8], out: &mut Vec<u8>) {
    let mut encoder = GzEncoder::new(out, Level::new(level));
    let written = encoder.write_all(input).and_then(|()| encoder.try_finish());
    written.expect("writing to memory does not fail");
}

pub(super) fn decompress(input: &[u8], out: &mut Output) -> Result<(), Fault> {
    out.read_from(input.len(), || MultiGzDecoder::new(input)).map(drop)
}
