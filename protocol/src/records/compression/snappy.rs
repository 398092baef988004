//! Snappy, in the two forms that Kafka's clients write: one raw block, or the stream of snappy-java (xerial): a 16-byte
//! header, then chunks of a big-endian length and a raw block each. A stream may follow another, header included.

use snap::raw::{Decoder, Encoder, decompress_len};

use super::{Fault, output::Output};

/// Magic, version 1, readable by version 1.
const HEADER: [u8; 16] = [0x82, b'S', b'N', b'A', b'P', b'P', b'Y', 0, 0, 0, 0, 1, 0, 0, 0, 1];
const MAGIC: &[u8] = HEADER.first_chunk::<8>().expect("the header is longer");

/// Uncompressed bytes a chunk, as snappy-java writes.
const CHUNK: usize = 32 << 10;

/// No element of the format makes more of its bytes: a copy of 3 bytes gives 64.
const MAX_RATIO: usize = 22;

pub(super) fn compress(input: &[u8], out: &mut Vec<u8>) {
    let mut encoder = Encoder::new();
    out.extend_from_slice(&HEADER);
    for chunk in input.chunks(CHUNK) {
        let length_at = out.len();
        let start = length_at + 4;
        out.resize(start + snap::raw::max_compress_len(chunk.len()), 0);
        let size =
            encoder.compress(chunk, &mut out[start..]).expect("the buffer has the size that the encoder asks for");
        out[length_at..start].copy_from_slice(&(size as u32).to_be_bytes());
        out.truncate(start + size);
    }
}

pub(super) fn decompress(input: &[u8], out: &mut Output) -> Result<(), Fault> {
    if input.starts_with(MAGIC) {
        return decompress_stream(input, out);
    }
    out.expect(inflated_len(input)?)?;
    decompress_block(&mut Decoder::new(), input, out)
}

fn decompress_stream(input: &[u8], out: &mut Output) -> Result<(), Fault> {
    let mut len = 0_usize;
    for_each_block(input, |block| {
        len = len.saturating_add(inflated_len(block)?);
        Ok(())
    })?;
    out.expect(len)?;
    let mut decoder = Decoder::new();
    for_each_block(input, |block| decompress_block(&mut decoder, block, out))
}

/// Hands out the blocks of a stream, or of several.
fn for_each_block(mut input: &[u8], mut each: impl FnMut(&[u8]) -> Result<(), Fault>) -> Result<(), Fault> {
    while !input.is_empty() {
        if input.starts_with(MAGIC) {
            input = input.get(HEADER.len()..).ok_or_else(ends_early)?;
            continue;
        }
        let (length, rest) = input.split_first_chunk().ok_or_else(ends_early)?;
        let length = u32::from_be_bytes(*length) as usize;
        let (block, rest) = rest.split_at_checked(length).ok_or_else(ends_early)?;
        each(block)?;
        input = rest;
    }
    Ok(())
}

fn decompress_block(decoder: &mut Decoder, block: &[u8], out: &mut Output) -> Result<(), Fault> {
    out.fill(inflated_len(block)?, |space| decoder.decompress(block, space).map(drop).map_err(Fault::corrupt))
}

/// What a block says that it becomes, if it can.
fn inflated_len(block: &[u8]) -> Result<usize, Fault> {
    let length = decompress_len(block).map_err(Fault::corrupt)?;
    if length > block.len().saturating_mul(MAX_RATIO) {
        return Err(Fault::corrupt(format_args!("{} bytes cannot become the {length} that they claim", block.len())));
    }
    Ok(length)
}

fn ends_early() -> Fault {
    Fault::corrupt("the stream ends within a chunk")
}
