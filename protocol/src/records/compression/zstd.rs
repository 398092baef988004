//! Zstandard. Frames are decoded until the input ends, straight into the output: the window that a frame claims takes no
//! memory, and a content size is not relied on.

use structured_zstd::{
    decoding::{
        ContentChecksum, FrameDecoder, FrameSizeError,
        errors::{
            DecodeBlockContentError, DecodeBufferError, DecompressBlockError, ExecuteSequencesError, FrameDecoderError,
        },
        find_frame_compressed_size, frame_decompressed_bound,
    },
    encoding::{CompressionLevel, FrameCompressor},
};

use super::{Fault, output::Output};

/// Room that is made at first at most, if the input is not larger: that of the largest batches that brokers accept.
const AT_FIRST: usize = 8 << 20;
/// No block becomes more.
const LARGEST_BLOCK: usize = 128 << 10;
const BLOCK_HEADER: usize = 3;

/// One frame with its content size and without a checksum: the batch has one.
pub(super) fn compress(level: i32, input: &[u8], out: &mut Vec<u8>) {
    let mut frame: FrameCompressor = FrameCompressor::new(CompressionLevel::from_level(level));
    frame.set_content_checksum(false);
    out.append(&mut frame.compress_independent_frame(input));
}

pub(super) fn decompress(input: &[u8], out: &mut Output) -> Result<(), Fault> {
    let most = most(input)?;
    out.fill_growing(most.min(AT_FIRST.max(input.len())), |room| {
        let mut decoder = FrameDecoder::new();
        decoder.set_content_checksum(ContentChecksum::Verify);
        let (mut rest, mut written) = (input, 0);
        while !rest.is_empty() {
            let (frame, behind) = split_frame(rest)?;
            let room = &mut room[written..];
            match decoder.decode_all(frame, room) {
                Ok(more) => written += more,
                Err(error) if room.len() < most_of_frame(frame)? && wants_room(&error, room.len()) => return Ok(None),
                Err(error) => return Err(Fault::corrupt(error)),
            }
            rest = behind;
        }
        Ok(Some(written))
    })
}

/// What comes out at most of all frames.
fn most(mut input: &[u8]) -> Result<usize, Fault> {
    let mut sum = 0_usize;
    while !input.is_empty() {
        let (frame, behind) = split_frame(input)?;
        sum = sum.saturating_add(most_of_frame(frame)?);
        input = behind;
    }
    Ok(sum)
}

/// What comes out at most: what the frame says of itself, but no more than as many blocks as fit become.
fn most_of_frame(frame: &[u8]) -> Result<usize, Fault> {
    let bound = frame_decompressed_bound(frame).map_err(malformed)?;
    let blocks = (frame.len() / BLOCK_HEADER).saturating_mul(LARGEST_BLOCK);
    Ok(usize::try_from(bound).unwrap_or(usize::MAX).min(blocks))
}

/// The first frame, and what is behind it.
fn split_frame(input: &[u8]) -> Result<(&[u8], &[u8]), Fault> {
    let size = find_frame_compressed_size(input).map_err(malformed)?;
    input.split_at_checked(size).ok_or_else(|| malformed(FrameSizeError::Truncated))
}

fn malformed(error: FrameSizeError) -> Fault {
    match error {
        FrameSizeError::Header(error) => Fault::corrupt(error),
        FrameSizeError::Truncated => Fault::corrupt("a frame ends early"),
        FrameSizeError::ReservedBlock => Fault::corrupt("a block is of the reserved type"),
        FrameSizeError::OversizedBlock => Fault::corrupt("a block is larger than its frame allows"),
    }
}

/// Whether more was to be written than there was room for. A block that is larger than blocks may be overflows as well,
/// but short of the end of the room.
fn wants_room(error: &FrameDecoderError, room: usize) -> bool {
    use DecodeBlockContentError::DecompressBlockError as InBlock;
    use DecompressBlockError::ExecuteSequencesError as InSequences;
    match error {
        FrameDecoderError::TargetTooSmall => true,
        FrameDecoderError::FailedToReadBlockBody(InBlock(InSequences(
            ExecuteSequencesError::OutputBufferOverflow { tail, requested, .. }
            | ExecuteSequencesError::DecodebufferError(DecodeBufferError::OutputBufferOverflow {
                tail, requested, ..
            }),
        ))) => tail.saturating_add(*requested) > room,
        _ => false,
    }
}
