//! Zstandard. Frames are decoded until the input ends, straight into the output: the window that a frame claims takes no
//! memory, and a content size is not relied on.

use structured_zstd::{
    decoding::{
        ContentChecksum, FrameDecoder, FrameSizeError,
        errors::{DecodeBlockContentError, DecompressBlockError, ExecuteSequencesError, FrameDecoderError},
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
        match decoder.decode_all(input, room) {
            Ok(written) => Ok(Some(written)),
            Err(error) if room.len() < most && wants_room(&error) => Ok(None),
            Err(error) => Err(Fault::corrupt(error)),
        }
    })
}

/// What comes out at most: what the frames say of themselves, but no more than as many blocks as fit become.
fn most(mut input: &[u8]) -> Result<usize, Fault> {
    let mut sum = 0_usize;
    while !input.is_empty() {
        let bound = frame_decompressed_bound(input).map_err(malformed)?;
        let size = find_frame_compressed_size(input).map_err(malformed)?;
        let (frame, rest) = input.split_at_checked(size).ok_or_else(|| malformed(FrameSizeError::Truncated))?;
        let blocks = (frame.len() / BLOCK_HEADER).saturating_mul(LARGEST_BLOCK);
        sum = sum.saturating_add(usize::try_from(bound).unwrap_or(usize::MAX).min(blocks));
        input = rest;
    }
    Ok(sum)
}

fn malformed(error: FrameSizeError) -> Fault {
    match error {
        FrameSizeError::Header(error) => Fault::corrupt(error),
        FrameSizeError::Truncated => Fault::corrupt("a frame ends early"),
        FrameSizeError::ReservedBlock => Fault::corrupt("a block is of the reserved type"),
        FrameSizeError::OversizedBlock => Fault::corrupt("a block is larger than its frame allows"),
    }
}

/// Whether more was to be written than there was room for. A block that is larger than its kind may be says the same.
fn wants_room(error: &FrameDecoderError) -> bool {
    matches!(
        error,
        FrameDecoderError::TargetTooSmall
            | FrameDecoderError::FailedToReadBlockBody(DecodeBlockContentError::DecompressBlockError(
                DecompressBlockError::ExecuteSequencesError(
                    ExecuteSequencesError::OutputBufferOverflow { .. } | ExecuteSequencesError::DecodebufferError(_)
                )
            ))
    )
}
