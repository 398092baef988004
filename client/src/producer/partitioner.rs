//! Which partition a record goes to.

/// The partition of `partitions` (at least one) that Kafka's own clients choose for a key, so that records of one key meet
/// in one partition whoever writes them.
pub(super) fn partition_of_key(key: &[u8], partitions: usize) -> usize {
    // The sign bit is cut off, as Java does.
    let hash = (murmur2(key) & 0x7fff_ffff) as usize;
    hash % partitions
}

/// MurmurHash2, 32 bits, with the seed that Kafka uses (`org.apache.kafka.common.utils.Utils.murmur2`).
fn murmur2(data: &[u8]) -> u32 {
    const SEED: u32 = 0x9747_b28c;
    const M: u32 = 0x5bd1_e995;
    const R: u32 = 24;

    let mut hash = SEED ^ data.len() as u32;
    let (words, tail) = data.as_chunks::<4>();
    for word in words {
        let mut k = u32::from_le_bytes(*word).wrapping_mul(M);
        k ^= k >> R;
        hash = hash.wrapping_mul(M) ^ k.wrapping_mul(M);
    }
    if !tail.is_empty() {
        let last = tail.iter().rev().fold(0, |last, byte| last << 8 | u32::from(*byte));
        hash = (hash ^ last).wrapping_mul(M);
    }
    hash ^= hash >> 13;
    hash = hash.wrapping_mul(M);
    hash ^ hash >> 15
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_hash_as_in_kafkas_java_client() {
        // Key, Utils.murmur2(key), Utils.toPositive(Utils.murmur2(key)) % 7, written by kafka-clients 4.4.0.
        let vectors: [(&[u8], i32, usize); 25] = [
            (b"", 275646681, 2),
            (b"a", -1563381124, 5),
            (b"ab", 316155434, 0),
            (b"abc", 479470107, 4),
            (b"abcd", -1323649548, 5),
            (b"abcde", 461995741, 4),
            (b"abcdef", 1870650108, 5),
            (b"abcdefg", -346467175, 4),
            (b"abcdefgh", -955427363, 0),
            (b"21", -973932308, 3),
            (b"foobar", -790332482, 0),
            (b"a-little-bit-long-string", -985981536, 1),
            (b"a-little-bit-longer-string", -1486304829, 0),
            (b"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8", -58897971, 3),
            (b"\xff", -311467685, 5),
            (b"\xff\xda", -847220837, 1),
            (b"\xff\xda\xb5", 354844405, 6),
            (b"\xff\xda\xb5\x90", -1488345827, 6),
            (b"\xff\xda\xb5\x90\x6b", -1813505863, 1),
            (b"\xff\xda\xb5\x90\x6b\x46", -2018754737, 3),
            (b"\xff\xda\xb5\x90\x6b\x46\x21", 1695022813, 1),
            (b"\xff\xda\xb5\x90\x6b\x46\x21\xfc", -543617013, 0),
            (b"\xff\xda\xb5\x90\x6b\x46\x21\xfc\xd7", -34544289, 6),
            (b"\xff\xda\xb5\x90\x6b\x46\x21\xfc\xd7\xb2", 750164616, 5),
            (b"\xff\xda\xb5\x90\x6b\x46\x21\xfc\xd7\xb2\x8d", -1362870943, 2),
        ];
        for (key, hash, of_seven) in vectors {
            assert_eq!(murmur2(key) as i32, hash, "{key:?}");
            assert_eq!(partition_of_key(key, 7), of_seven, "{key:?}");
        }
    }
}
