//! The four codecs: forms that clients write, and limits.

use std::io::Write;

use lz4_flex::frame::{BlockMode, BlockSize, FrameEncoder, FrameInfo};
use structured_zstd::encoding::FrameCompressor;

use super::*;

/// Text of `len` bytes that shrinks a little.
fn text(len: usize) -> Vec<u8> {
    (0..len).map(|i| b'a' + (i.wrapping_mul(2_654_435_761) >> 13) as u8 % 16).collect()
}

fn compressed(codec: Compression, input: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    codec.compress(input, &mut out);
    out
}

fn reason(result: Result<Vec<u8>, DecompressError>) -> String {
    match result {
        Err(DecompressError::Corrupt { reason, .. }) => reason,
        other => panic!("a refusal: {:?}", other.map(|out| out.len())),
    }
}

#[test]
fn names_and_ids_are_kafkas() {
    let table = [(0, "none"), (1, "gzip"), (2, "snappy"), (3, "lz4"), (4, "zstd")];
    for (id, name) in table {
        let codec: Compression = name.parse().unwrap();
        assert_eq!((codec.id(), codec.to_string()), (id, name.to_owned()));
        assert_eq!(Compression::from_id(id), Some(codec));
    }
    assert_eq!(Compression::from_id(5), None);
    let error = "LZ4".parse::<Compression>().unwrap_err().to_string();
    assert!(error.contains("LZ4") && error.contains("zstd"), "{error}");
}

#[test]
fn every_codec_gives_back_what_it_took_up_to_exactly_the_limit() {
    for codec in Compression::ALL {
        for len in [0, 1, 100, 32 << 10, (32 << 10) + 1, 300_000] {
            let input = text(len);
            let small = compressed(codec, &input);
            assert_eq!(codec.decompress(&small, len), Ok(input), "{codec}, {len} bytes");
            if len > 0 {
                let result = codec.decompress(&small, len - 1);
                assert_eq!(result, Err(DecompressError::TooLarge { limit: len - 1 }), "{codec}, {len} bytes");
            }
        }
    }
}

#[test]
fn input_that_is_cut_short_is_never_taken_for_the_whole() {
    for codec in [Compression::Gzip, Compression::Snappy, Compression::Lz4, Compression::Zstd] {
        let input = text(150_000);
        let small = compressed(codec, &input);
        for cut in (1..small.len()).step_by(997).chain(small.len() - 12..small.len()) {
            match codec.decompress(&small[..cut], 1 << 20) {
                // A snappy stream has no end mark: a cut between two chunks shows only in the record count.
                Ok(out) => assert!(codec == Compression::Snappy && out.len() < input.len(), "{codec} cut at {cut}"),
                Err(error) => {
                    assert!(matches!(error, DecompressError::Corrupt { .. }), "{codec} cut at {cut}: {error}")
                }
            }
        }
    }
}

// Mutation: protocol/src/records/compression/zstd.rs
// - rest = behind;
// + rest = &behind[behind.len()..];
#[test]
fn row_39_zstd_frames_are_read_until_the_input_ends() {
    let skippable = b"\x50\x2a\x4d\x18\x03\0\0\0abc";
    let frames = [
        &compressed(Compression::Zstd, &HELLO[..5])[..],
        skippable,
        &compressed(Compression::Zstd, b""),
        &compressed(Compression::Zstd, &HELLO[5..]),
    ];
    let batch = only_batch(handmade(Compression::Zstd, 1, 0, &frames.concat()));
    let batch = batch.decompress(1 << 20).unwrap();
    assert_eq!(batch.records().next().unwrap().unwrap().value, Some(&b"hello"[..]));

    let streamed = only_batch(fixture("zstd_no_size")).decompress(1 << 20).unwrap();
    assert_eq!(streamed.records().next().unwrap().unwrap().value, Some(&b"hello"[..]));

    let cut = [frames[0], &skippable[..9]].concat();
    assert!(reason(Compression::Zstd.decompress(&cut, 1 << 20)).contains("ends early"));
}

/// A frame without content size and with a window of 2^27 bytes, as level 22 writes: raw blocks of `parts`.
fn zstd_window_27(parts: &[&[u8]]) -> Vec<u8> {
    let mut frame = b"\x28\xb5\x2f\xfd\0\x88".to_vec();
    for (i, part) in parts.iter().enumerate() {
        let last = u32::from(i + 1 == parts.len());
        frame.extend_from_slice(&((part.len() as u32) << 3 | last).to_le_bytes()[..3]);
        frame.extend_from_slice(part);
    }
    frame
}

// Mutation: protocol/src/records/compression/zstd.rs
// - let most = most(input)?;
// + let most = if input.get(5) > Some(&0x68) { return Err(Fault::corrupt("a window above 8 MiB")) } else { most(input)? };
#[test]
fn row_39_a_zstd_window_of_128_mib_is_accepted() {
    let frame = zstd_window_27(&[&HELLO[..3], b"", &HELLO[3..]]);
    assert_eq!(Compression::Zstd.decompress(&frame, 1 << 20).unwrap(), HELLO);
}

// Mutation: protocol/src/records/compression/output.rs
// - let mut len = first.min(self.limit);
// + let mut len = first.max(self.limit);
#[test]
fn row_42_the_limit_holds_also_while_zstd_keeps_everything_in_its_window() {
    let block = vec![7; 100_000];
    let blocks = vec![&block[..]; 20];
    let frame = zstd_window_27(&blocks);
    assert_eq!(Compression::Zstd.decompress(&frame, 2_000_000).unwrap().len(), 2_000_000);
    for limit in [0, 99_999, 1_000_000, 1_999_999] {
        assert_eq!(Compression::Zstd.decompress(&frame, limit), Err(DecompressError::TooLarge { limit }));
    }
}

/// A frame with a content checksum, which our own have not.
fn zstd_with_checksum(input: &[u8]) -> Vec<u8> {
    let mut frame: FrameCompressor = FrameCompressor::new(structured_zstd::encoding::CompressionLevel::Default);
    frame.set_content_checksum(true);
    frame.compress_independent_frame(input)
}

#[test]
fn a_zstd_content_checksum_is_verified() {
    for len in [1, HELLO.len(), 300_000] {
        let input = text(len);
        let mut frame = zstd_with_checksum(&input);
        assert_eq!(Compression::Zstd.decompress(&frame, 1 << 20), Ok(input));
        *frame.last_mut().unwrap() ^= 1;
        assert!(reason(Compression::Zstd.decompress(&frame, 1 << 20)).contains("checksum"));
    }
}

/// The frame without its content size: as streams are written, Kafka's among them.
fn zstd_streamed(input: &[u8]) -> Vec<u8> {
    let mut frame: FrameCompressor = FrameCompressor::new(structured_zstd::encoding::CompressionLevel::Fastest);
    frame.set_content_size_flag(false);
    frame.compress_independent_frame(input)
}

#[test]
fn a_zstd_stream_may_become_many_times_as_large_as_was_thought() {
    let input = text(3_000).repeat(4_000);
    let small = zstd_streamed(&input);
    assert!(input.len() > 11 << 20 && small.len() < 1 << 20);
    assert_eq!(Compression::Zstd.decompress(&small, 16 << 20).unwrap(), input);
    assert_eq!(Compression::Zstd.decompress(&small, input.len()).unwrap().len(), input.len());
    let limit = input.len() - 1;
    assert_eq!(Compression::Zstd.decompress(&small, limit), Err(DecompressError::TooLarge { limit }));
    // Where the limit is reached within a block, and within a sequence of one.
    for len in (1..=2_100).step_by(7) {
        let (input, limit) = (records_of_json(len), len - 1);
        let small = zstd_streamed(&input);
        assert_eq!(Compression::Zstd.decompress(&small, len), Ok(input), "{len}");
        assert_eq!(Compression::Zstd.decompress(&small, limit), Err(DecompressError::TooLarge { limit }), "{len}");
    }
}

#[test]
fn a_zstd_frame_that_claims_more_than_its_blocks_can_become_is_corrupt() {
    let claims = only_batch(fixture("zstd_claims_8GiB")).decompress(DEFAULT_DECOMPRESSION_LIMIT).unwrap_err();
    assert!(matches!(claims, BatchError::Decompress { .. }), "{claims}");
}

#[test]
fn a_small_zstd_frame_of_a_large_window_keeps_little_memory() {
    let out = Compression::Zstd.decompress(&zstd_window_27(&[HELLO]), 1 << 30).unwrap();
    assert!(out.capacity() < 2 * HELLO.len() + 64, "{} bytes for {}", out.capacity(), out.len());
}

// Mutation: protocol/src/records/compression/output.rs
// - take(spare as u64).read_to_end(&mut self.bytes).map_err(Fault::corrupt)?;
// + take(spare as u64).read_to_end(&mut self.bytes).unwrap_or(0);
#[test]
fn row_41_lz4_checksums_are_verified() {
    let good = compressed(Compression::Lz4, HELLO);
    assert_eq!(good[..7], *b"\x04\x22\x4d\x18\x60\x40\x82", "header as Kafka's client writes it");

    let mut bad_header = good.clone();
    bad_header[6] = 0x1a;
    assert!(!reason(Compression::Lz4.decompress(&bad_header, 1 << 20)).is_empty());

    for (name, accepted) in [("lz4", true), ("lz4_content_csum_ok", true), ("lz4_content_csum_bad", false)] {
        assert_eq!(only_batch(fixture(name)).decompress(1 << 20).is_ok(), accepted, "{name}");
    }
}

// Mutation: protocol/src/records/compression/lz4.rs
// - if starved {
// + if false {
#[test]
fn row_41_an_lz4_batch_is_one_whole_frame() {
    let good = compressed(Compression::Lz4, HELLO);
    let without_end_mark = &good[..good.len() - 4];
    assert!(reason(Compression::Lz4.decompress(without_end_mark, 1 << 20)).contains("end mark"));
    let followed = [&good[..], b"x"].concat();
    assert!(reason(Compression::Lz4.decompress(&followed, 1 << 20)).contains("follow"));
    // The legacy frame, which Kafka does not know.
    assert!(reason(Compression::Lz4.decompress(b"\x02\x21\x4c\x18\0\0\0\0", 1 << 20)).contains("LZ4 frame"));
}

#[test]
fn lz4_frames_of_every_form_are_read() {
    let input = text(700_000);
    let mut forms = 0;
    for block_mode in [BlockMode::Independent, BlockMode::Linked] {
        for block_size in [BlockSize::Max64KB, BlockSize::Max256KB, BlockSize::Max1MB, BlockSize::Max4MB] {
            for checksums in [false, true] {
                for content_size in [None, Some(input.len() as u64)] {
                    let info = FrameInfo::new().block_mode(block_mode).block_size(block_size);
                    let info = info.block_checksums(checksums).content_checksum(checksums).content_size(content_size);
                    let mut encoder = FrameEncoder::with_frame_info(info, Vec::new());
                    encoder.write_all(&input).unwrap();
                    let frame = encoder.finish().unwrap();
                    assert_eq!(
                        Compression::Lz4.decompress(&frame, input.len()).as_ref(),
                        Ok(&input),
                        "{:02x?}",
                        &frame[..7]
                    );
                    forms += 1;
                }
            }
        }
    }
    assert_eq!(forms, 32);
}

#[test]
fn lz4_block_checksums_are_verified() {
    let info = FrameInfo::new().block_checksums(true);
    let mut encoder = FrameEncoder::with_frame_info(info, Vec::new());
    encoder.write_all(HELLO).unwrap();
    let mut frame = encoder.finish().unwrap();
    assert_eq!(Compression::Lz4.decompress(&frame, 1 << 20).unwrap(), HELLO);
    let checksum = frame.len() - 5;
    frame[checksum] ^= 1;
    assert!(!reason(Compression::Lz4.decompress(&frame, 1 << 20)).is_empty());
}

#[test]
fn gzip_members_follow_each_other() {
    let members = [compressed(Compression::Gzip, &HELLO[..5]), compressed(Compression::Gzip, &HELLO[5..])].concat();
    assert_eq!(Compression::Gzip.decompress(&members, 1 << 20).unwrap(), HELLO);
}

#[test]
fn snappy_is_written_as_snappy_java_writes_and_read_raw_and_in_streams() {
    let stream = compressed(Compression::Snappy, &text(100_000));
    assert_eq!(stream[..16], *b"\x82SNAPPY\0\0\0\0\x01\0\0\0\x01");
    let first = u32::from_be_bytes(*stream[16..].first_chunk().unwrap()) as usize;
    assert_eq!(snap::raw::decompress_len(&stream[20..20 + first]).unwrap(), 32 << 10);

    let raw = snap::raw::Encoder::new().compress_vec(HELLO).unwrap();
    assert_eq!(Compression::Snappy.decompress(&raw, 1 << 20).unwrap(), HELLO);

    let streams = [compressed(Compression::Snappy, &HELLO[..5]), compressed(Compression::Snappy, &HELLO[5..])].concat();
    assert_eq!(Compression::Snappy.decompress(&streams, 1 << 20).unwrap(), HELLO);
    for cut in [&streams[..12], &streams[..18], &streams[..21]] {
        assert!(!reason(Compression::Snappy.decompress(cut, 1 << 20)).is_empty());
    }
}

// Mutation: protocol/src/records/compression/snappy.rs
// - if length > block.len().saturating_mul(MAX_RATIO) {
// + if false {
#[test]
fn row_42_a_snappy_block_cannot_claim_more_than_its_bytes_can_become() {
    let claim = b"\xff\xff\xff\xff\x0f\0x";
    assert!(reason(Compression::Snappy.decompress(claim, 1 << 20)).contains("claim"));
    let chunk = [&b"\x82SNAPPY\0\0\0\0\x01\0\0\0\x01\0\0\0\x07"[..], claim].concat();
    assert!(reason(Compression::Snappy.decompress(&chunk, 1 << 20)).contains("claim"));

    // Zeros compress as well as anything can, and stay below the bound that the check assumes.
    let zeros = vec![0; 1 << 20];
    let raw = snap::raw::Encoder::new().compress_vec(&zeros).unwrap();
    assert_eq!(Compression::Snappy.decompress(&raw, 1 << 20).unwrap(), zeros);
}

// Mutation: protocol/src/records/batch.rs
// - let limit = limit.min(u32::MAX as usize);
// + let limit = u32::MAX as usize;
#[test]
fn row_42_the_rle_batch_inflates_under_the_default_limit_and_not_under_1_mib() {
    let batch = only_batch(fixture("zstd_rle_16MiB"));
    let error = batch.clone().decompress(1 << 20).unwrap_err();
    assert_eq!(error, BatchError::DecompressedTooLarge { base_offset: 7, limit: 1 << 20 });
    assert!(error.is_decompression());
    let batch = batch.decompress(DEFAULT_DECOMPRESSION_LIMIT).unwrap();
    assert_eq!(batch.body().len(), 16 << 20);
    assert!(batch.records().next().unwrap().is_err(), "zeros are no records");
}

/// What Kafka's clients and librdkafka send at their levels differs in size alone.
#[test]
fn levels_are_kafkas_and_trade_time_for_size() {
    let input = records_of_json(60_000);
    let sizes = |codec: Compression, levels: &[i32]| -> Vec<usize> {
        let size = |level: &i32| {
            let mut out = Vec::new();
            codec.compress_at(CompressionLevel::new(codec, *level).unwrap(), &input, &mut out);
            assert_eq!(codec.decompress(&out, input.len()).as_deref(), Ok(&input[..]), "{codec} at {level}");
            out.len()
        };
        levels.iter().map(size).collect()
    };
    let [worst, usual, also_usual, best] = sizes(Compression::Gzip, &[1, 6, -1, 9])[..] else { panic!("four sizes") };
    assert!(worst > usual && usual == also_usual && best != usual, "{worst} {usual} {also_usual} {best}");
    assert_eq!(compressed(Compression::Gzip, &input).len(), usual);
    let sizes_of_zstd = sizes(Compression::Zstd, &[-131_072, -5, 1, 3, 9, 22]);
    assert!(sizes_of_zstd[0] > sizes_of_zstd[2] && sizes_of_zstd[1] > sizes_of_zstd[2], "{sizes_of_zstd:?}");
    assert!(sizes_of_zstd[3] > sizes_of_zstd[4] && sizes_of_zstd[4] > sizes_of_zstd[5], "{sizes_of_zstd:?}");
    assert_eq!(compressed(Compression::Zstd, &input).len(), sizes_of_zstd[3]);
    assert_eq!(sizes(Compression::Lz4, &[9]), [compressed(Compression::Lz4, &input).len()]);
}

fn records_of_json(len: usize) -> Vec<u8> {
    let record = |i: usize| {
        let random = i.wrapping_mul(2_654_435_761) >> 7;
        format!("{{\"id\":{i},\"user\":\"user-{}\",\"amount\":{}}}", random % 997, random % 10_007)
    };
    (0..).flat_map(|i| record(i).into_bytes()).take(len).collect()
}

#[test]
fn levels_that_a_codec_does_not_have_are_refused_by_name() {
    for (codec, level, words) in [
        (Compression::Gzip, 0, "gzip has levels 1 to 9"),
        (Compression::Gzip, 10, "gzip has levels"),
        (Compression::Zstd, 23, "zstd has levels -131072 to 22"),
        (Compression::Lz4, 18, "lz4 has levels 1 to 17"),
        (Compression::Lz4, 12, "one level alone"),
        (Compression::Snappy, 1, "snappy has no levels"),
        (Compression::None, 1, "none has no levels"),
    ] {
        let error = CompressionLevel::new(codec, level).unwrap_err().to_string();
        assert!(error.contains(words), "{error}");
    }
}
