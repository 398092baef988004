//! What reading records costs in memory: nothing a record, and a bounded amount for data that inflates without end.

#![expect(clippy::unwrap_used, reason = "helpers of tests may panic like tests")]

#[path = "support/counting.rs"]
mod counting;

use std::hint::black_box;

use ackflow_protocol::records::{
    BatchBuilder, BatchOptions, Batches, Compression, DEFAULT_DECOMPRESSION_LIMIT, DecompressError, Header, RecordBatch,
};
use counting::{allocations, peak};

const MIB: usize = 1 << 20;

fn thousand_records(compression: Compression) -> bytes::Bytes {
    let mut builder = BatchBuilder::new(BatchOptions { compression, max_size: usize::MAX, ..BatchOptions::default() });
    for i in 0..1_000_i64 {
        let headers = [Header::new("trace", Some(b"0123456789abcdef"))];
        builder.try_append(i, Some(&[7; 16]), Some(&[8; 100]), headers).unwrap();
    }
    builder.build().unwrap()
}

/// Looks at both ends of every key, value and header value, and says how many records there were.
fn touch(batch: &RecordBatch) -> usize {
    let ends = |bytes: Option<&[u8]>| {
        let bytes = bytes.unwrap();
        black_box((bytes[0], bytes[bytes.len() - 1]));
    };
    let mut count = 0;
    for record in batch.records() {
        let record = record.unwrap();
        ends(record.key);
        ends(record.value);
        record.headers().for_each(|header| ends(header.unwrap().value));
        count += 1;
    }
    count
}

#[test]
fn walking_a_thousand_records_allocates_nothing() {
    let field = thousand_records(Compression::None);
    let mut batches = Batches::new(field);
    // To share bytes that came as a vector takes one allocation, once a response.
    let (shared, batch) = allocations(|| batches.next().unwrap().unwrap());
    assert!(shared <= 1, "{shared} allocations for the batch");

    let (checked, ()) = allocations(|| batch.verify_crc().unwrap());
    let (uncompressed, batch) = allocations(|| batch.decompress(DEFAULT_DECOMPRESSION_LIMIT).unwrap());
    let (walked, count) = allocations(|| touch(&batch));
    assert_eq!((checked, uncompressed, walked, count), (0, 0, 0, 1_000));

    let (skipped, cursor) = allocations(|| batch.skip_to(Default::default(), 500).unwrap());
    let (resumed, count) = allocations(|| batch.records_from(cursor).count());
    assert_eq!((skipped, resumed, count), (0, 0, 500));
}

#[test]
fn an_owned_record_allocates_nothing_until_it_is_detached() {
    let field = thousand_records(Compression::None);
    let batch = Batches::new(field).next().unwrap().unwrap();
    let (owned, records) = allocations(|| {
        let mut records = [const { None }; 1_000];
        for (slot, record) in records.iter_mut().zip(batch.records()) {
            *slot = Some(batch.own(&record.unwrap()));
        }
        records
    });
    assert!(owned <= 1, "{owned} allocations for 1,000 owned records");
    let [Some(first), ..] = records else { panic!("the first record") };
    assert_eq!(allocations(|| first.detach()).0, 1);
}

#[test]
fn decompressing_allocates_a_few_times_a_batch_not_a_record() {
    for codec in [Compression::Gzip, Compression::Snappy, Compression::Lz4, Compression::Zstd] {
        let batch = Batches::new(thousand_records(codec)).next().unwrap().unwrap();
        let (inflated, batch) = allocations(|| batch.decompress(DEFAULT_DECOMPRESSION_LIMIT).unwrap());
        assert!(inflated < 200, "{codec}: {inflated} allocations");
        assert_eq!(allocations(|| touch(&batch)), (0, 1_000), "{codec}");
    }
}

/// 2 GiB of zeros in one gzip member: a block of 1 MiB that stands on its own, over and over.
fn gzip_zeros() -> Vec<u8> {
    let mut deflate = flate2::Compress::new(flate2::Compression::fast(), false);
    let mut block = Vec::with_capacity(64 << 10);
    deflate.compress_vec(&vec![0; MIB], &mut block, flate2::FlushCompress::Full).unwrap();
    assert_eq!(deflate.total_in(), MIB as u64);
    let header = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff];
    [&header[..], &block.repeat(2048)].concat()
}

/// So many gzip members of 2 MiB of zeros each.
fn gzip_members(count: usize) -> Vec<u8> {
    let mut member = Vec::new();
    Compression::Gzip.compress(&vec![0; 2 * MIB], &mut member);
    member.repeat(count)
}

/// 2 GiB of zeros in one LZ4 frame: a block of 4 MiB, over and over.
fn lz4_zeros() -> Vec<u8> {
    lz4_blocks(512)
}

/// So many blocks of 4 MiB of zeros in one LZ4 frame.
fn lz4_blocks(count: usize) -> Vec<u8> {
    let mut small = Vec::new();
    let info = lz4_flex::frame::FrameInfo::new().block_size(lz4_flex::frame::BlockSize::Max4MB);
    let mut encoder = lz4_flex::frame::FrameEncoder::with_frame_info(info, &mut small);
    std::io::Write::write_all(&mut encoder, &vec![0; 4 * MIB]).unwrap();
    encoder.finish().unwrap();
    let (header, rest) = small.split_at(7);
    let (block, end_mark) = rest.split_at(rest.len() - 4);
    [header, &block.repeat(count), end_mark].concat()
}

/// A stream of snappy-java with 1,000 chunks of 64 KiB of zeros.
fn xerial_zeros() -> Vec<u8> {
    xerial_blocks(1_000)
}

/// The same with so many chunks.
fn xerial_blocks(count: usize) -> Vec<u8> {
    let block = snap::raw::Encoder::new().compress_vec(&vec![0; 64 << 10]).unwrap();
    let chunk = [&(block.len() as u32).to_be_bytes()[..], &block].concat();
    [&b"\x82SNAPPY\0\0\0\0\x01\0\0\0\x01"[..], &chunk.repeat(count)].concat()
}

/// A stream of snappy-java with 1,000 chunks that all claim 4 GiB.
fn xerial_claims() -> Vec<u8> {
    [&b"\x82SNAPPY\0\0\0\0\x01\0\0\0\x01"[..], &b"\0\0\0\x07\xff\xff\xff\xff\x0f\0x".repeat(1_000)].concat()
}

/// 2 GiB of zeros in one zstd frame with a window of 128 MiB.
fn zstd_zeros() -> Vec<u8> {
    zstd_blocks(16 << 10)
}

/// So many blocks of 128 KiB of zeros in one zstd frame with a window of 128 MiB.
fn zstd_blocks(count: usize) -> Vec<u8> {
    let block = (128_u32 << 10) << 3 | 1 << 1;
    let block = [&block.to_le_bytes()[..3], &[0]].concat();
    let last = &b"\x01\0\0"[..];
    [&b"\x28\xb5\x2f\xfd\0\x88"[..], &block.repeat(count), last].concat()
}

/// Many small zstd frames that all claim a window of 128 MiB.
fn zstd_windows() -> Vec<u8> {
    // One block each: the last, raw, of one byte.
    b"\x28\xb5\x2f\xfd\0\x88\x09\0\0x".repeat(10_000)
}

// Mutation: protocol/src/records/compression/output.rs
// - let capacity = input_len.saturating_mul(USUAL_RATIO).min(self.limit);
// + let capacity = self.limit * 4 + (20 << 20);
#[test]
fn row_42_data_that_inflates_without_end_stays_within_the_limit_and_16_mib() {
    type Bomb = (&'static str, Compression, fn() -> Vec<u8>, bool);
    let bombs: [Bomb; 7] = [
        ("2 GiB of gzip", Compression::Gzip, gzip_zeros, true),
        ("2 GiB of lz4", Compression::Lz4, lz4_zeros, true),
        ("2 GiB of zstd", Compression::Zstd, zstd_zeros, true),
        ("windows of zstd", Compression::Zstd, zstd_windows, false),
        ("xerial chunks", Compression::Snappy, xerial_zeros, true),
        ("xerial claims", Compression::Snappy, xerial_claims, false),
        ("a snappy claim", Compression::Snappy, || b"\xff\xff\xff\xff\x0f\0x".to_vec(), false),
    ];
    for (name, codec, bomb, too_large) in bombs {
        let bomb = bomb();
        for limit in [MIB, 8 * MIB] {
            let (held, result) = peak(|| codec.decompress(&bomb, limit));
            assert_eq!(matches!(result, Err(DecompressError::TooLarge { .. })), too_large, "{name}: {result:?}");
            assert!(held <= limit + 16 * MIB, "{name}: {held} bytes held under a limit of {limit}");
        }
    }
}

// Mutation: protocol/src/records/compression/output.rs
// - self.bytes.capacity().saturating_add(len) <= self.limit.saturating_add(SLACK)
// + true
#[test]
fn row_42_the_limit_and_16_mib_are_all_that_is_held_whatever_the_size() {
    // What fits so closely that the room cannot be doubled up to it, and what is too large: a little, or a lot under the
    // default limit.
    type Input = (Compression, fn(usize) -> Vec<u8>, usize, [usize; 2], usize);
    let inputs: [Input; 5] = [
        (Compression::Gzip, gzip_members, 2 * MIB, [9, 11], 20 * MIB),
        (Compression::Lz4, lz4_blocks, 4 * MIB, [9, 12], 40 * MIB),
        (Compression::Lz4, lz4_blocks, 4 * MIB, [23, 50], DEFAULT_DECOMPRESSION_LIMIT),
        (Compression::Zstd, zstd_blocks, 128 << 10, [300, 350], 40 * MIB),
        (Compression::Snappy, xerial_blocks, 64 << 10, [600, 700], 40 * MIB),
    ];
    for (codec, input, each, counts, limit) in inputs {
        for count in counts {
            let (input, len) = (input(count), count * each);
            let (held, result) = peak(|| codec.decompress(&input, limit).map(|out| out.len()));
            let expected = if len > limit { Err(DecompressError::TooLarge { limit }) } else { Ok(len) };
            assert_eq!(result, expected, "{codec}, {count} times");
            assert!(held <= limit + 16 * MIB, "{codec}, {count} times: {held} bytes held under a limit of {limit}");
        }
    }
}

// Mutation: protocol/src/records/compression/zstd.rs
// - _ => false,
// + _ => true,
#[test]
fn row_42_a_corrupt_zstd_frame_is_told_as_that_and_takes_no_more_room() {
    // One sequence whose offset points in front of the frame, then blocks that become a byte each but might become much.
    let header = b"\x28\xb5\x2f\xfd\0\x88";
    let bad = b"\x4c\0\0\x08\x78\x01\x54\x01\x0a\0\0\x04";
    let frame = [&header[..], bad, &b"\x0a\0\0x".repeat(10_000), b"\x0b\0\0x"].concat();
    let (held, result) = peak(|| Compression::Zstd.decompress(&frame, DEFAULT_DECOMPRESSION_LIMIT));
    assert!(matches!(result, Err(DecompressError::Corrupt { codec: Compression::Zstd, .. })), "{result:?}");
    assert!(held <= 9 * MIB, "{held} bytes held");
}

// Mutation: protocol/src/records/record.rs
// - type Item = Result<Record<'a>, BatchError>;
// + type Item = Result<Record<'a>, BatchError>; fn size_hint(&self) -> (usize, Option<usize>) { (self.end.min(1 << 16) as usize, None) }
#[test]
fn row_45_a_count_that_lies_reserves_nothing() {
    // A whole batch whose header says 2^31-1 records, behind a checksum that nobody asked for.
    let mut bytes = thousand_records(Compression::None).to_vec();
    bytes[57..61].copy_from_slice(&i32::MAX.to_be_bytes());
    let batch = Batches::new(bytes.into()).next().unwrap().unwrap();
    let (held, records) = peak(|| batch.records().collect::<Vec<_>>().into_iter().filter(Result::is_ok).count());
    assert_eq!(records, 1_000);
    assert!(held < MIB, "{held} bytes held");
}
