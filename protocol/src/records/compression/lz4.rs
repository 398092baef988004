//! The LZ4 frame format. A batch holds exactly one frame. Its header, block and content checksums are all verified
//! where they are there; the wrong header checksums of Kafka's oldest clients exist only in batches of magic 0 and 1.

use std::io::{self, Read, Write};

use lz4_flex::frame::{BlockMode, BlockSize, FrameDecoder, FrameEncoder, FrameInfo};

use super::{Fault, output::Output};

const MAGIC: [u8; 4] = [0x04, 0x22, 0x4d, 0x18];

/// As Kafka's own client: independent blocks of 64 KiB, no content size, no content checksum.
pub(super) fn compress(input: &[u8], out: &mut Vec<u8>) {
    let info = FrameInfo::new().block_size(BlockSize::Max64KB).block_mode(BlockMode::Independent);
    let mut encoder = FrameEncoder::with_frame_info(info, out);
    let written = encoder.write_all(input).map_err(Into::into).and_then(|()| encoder.finish());
    written.expect("writing to memory does not fail");
}

pub(super) fn decompress(input: &[u8], out: &mut Output) -> Result<(), Fault> {
    // The decoder knows the legacy frame too, which Kafka does not.
    if !input.starts_with(&MAGIC) {
        return Err(Fault::corrupt("no LZ4 frame starts here"));
    }
    let decoder = out.read_from(input.len(), || FrameDecoder::new(Input { rest: input, starved: false }))?;
    let Input { rest, starved } = decoder.into_inner();
    // The decoder takes an end between two blocks for the end of the frame.
    if starved {
        return Err(Fault::corrupt("the frame has no end mark"));
    }
    if !rest.is_empty() {
        return Err(Fault::corrupt(format_args!("{} bytes follow the frame", rest.len())));
    }
    Ok(())
}

/// Input that notes when more was wanted than there is.
struct Input<'a> {
    rest: &'a [u8],
    starved: bool,
}

impl Read for Input<'_> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let n = self.rest.read(buf)?;
        self.starved |= n < buf.len();
        Ok(n)
    }
}
