//! The checksum of batches.

/// CRC-32C (Castagnoli): of the bytes of a batch from its attributes to its end, the checksum that its header has.
///
/// The processor's carry-less multiplication does it where there is one; tables do it elsewhere.
pub fn crc32c(bytes: &[u8]) -> u32 {
    crc_fast::crc32_iscsi(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_length_and_place_gives_what_the_reference_gives() {
        assert_eq!(crc32c(b"123456789"), 0xe306_9283);
        let bytes: Vec<u8> = (0..3_000_u32).map(|i| ((i * i) >> 3) as u8).collect();
        for start in 0..70 {
            for end in (start..bytes.len()).step_by(1 + start) {
                assert_eq!(crc32c(&bytes[start..end]), ::crc32c::crc32c(&bytes[start..end]), "{start}..{end}");
            }
        }
    }
}
