//! Zstandard. Frames are decoded block by block until the input ends; a content size in a frame header is not relied
//! on.

use ruzstd::{
    decoding::{
        BlockDecodingStrategy, FrameDecoder,
        errors::{FrameDecoderError, ReadFrameHeaderError},
    },
    encoding::{CompressionLevel, compress as compress_frame},
};

use super::{Fault, output::Output};

/// How much is decoded before it is moved on.
const STEP: usize = 128 << 10;

pub(super) fn compress(input: &[u8], out: &mut Vec<u8>) {
    compress_frame(input, out, CompressionLevel::Fastest);
}

pub(super) fn decompress(mut input: &[u8], out: &mut Output) -> Result<(), Fault> {
    while !input.is_empty() {
        // A decoder that is used again takes memory for the whole window of the next frame at once, a new one only as
        // data comes.
        let mut frame = FrameDecoder::new();
        match frame.init(&mut input) {
            Ok(()) => decompress_frame(&mut frame, &mut input, out)?,
            Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame { length, .. })) => {
                input = input.get(length as usize..).ok_or_else(|| Fault::corrupt("a skippable frame ends early"))?;
            }
            Err(error) => return Err(Fault::corrupt(error)),
        }
    }
    Ok(())
}

fn decompress_frame(frame: &mut FrameDecoder, input: &mut &[u8], out: &mut Output) -> Result<(), Fault> {
    // What lies in the decoder's window cannot be asked for, but it is bounded like the rest: each step decodes `STEP`
    // bytes or more.
    let room = out.room();
    let mut decoded = 0;
    loop {
        let finished =
            frame.decode_blocks(&mut *input, BlockDecodingStrategy::UptoBytes(STEP)).map_err(Fault::corrupt)?;
        if frame.can_collect() > out.room() {
            return Err(Fault::TooLarge);
        }
        frame.collect_to_writer(&mut out.bytes).map_err(Fault::corrupt)?;
        if finished {
            break;
        }
        decoded += STEP;
        if decoded > room {
            return Err(Fault::TooLarge);
        }
    }
    match frame.get_checksum_from_data() {
        Some(stored) if Some(stored) != frame.get_calculated_checksum() => {
            Err(Fault::corrupt("the content checksum does not match"))
        }
        _ => Ok(()),
    }
}
