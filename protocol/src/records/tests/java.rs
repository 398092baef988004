//! Batches that Kafka's own client compressed, each of several blocks: testdata/gen/Batches.java says what is in them.

use proptest::prelude::*;

use super::*;

/// The batches: codec and bytes.
fn batches() -> impl Iterator<Item = (&'static str, Bytes)> {
    let text = include_str!("../../../../testdata/batches/java.tsv");
    text.lines().filter(|line| !line.starts_with('#')).map(|line| {
        let (name, hex) = line.split_once('\t').expect("two columns");
        (name, unhex(hex))
    })
}

/// Records in each batch.
const RECORDS: i64 = 900;

#[test]
fn what_kafkas_client_compresses_is_read() {
    let mut codecs = Vec::new();
    for (name, bytes) in batches() {
        let batch = only_batch(bytes);
        assert_eq!(batch.compression().name(), name);
        batch.verify_crc().unwrap();
        let batch = batch.decompress(1 << 20).unwrap();
        let mut count = 0;
        for (i, record) in (0..).zip(batch.records()) {
            check(i, &record.unwrap());
            count += 1;
        }
        assert_eq!(count, RECORDS, "{name}");
        codecs.push(batch.compression());
    }
    assert_eq!(codecs, Compression::ALL[1..]);
}

fn check(i: i64, record: &Record<'_>) {
    assert_eq!((record.offset, record.timestamp), (i, 1_700_000_000_000 - 1_000_000_000 * i));
    let key = (i % 3 != 0).then(|| format!("key-{i}"));
    assert_eq!(record.key, key.as_deref().map(str::as_bytes));
    let value = (i % 7 != 0).then(|| format!("value-{i}-{}", "x".repeat(i as usize % 300)));
    assert_eq!(record.value, value.as_deref().map(str::as_bytes));
    let headers: Vec<_> = record.headers().map(Result::unwrap).collect();
    let number = i.to_string();
    let expected = [Header::new("h", Some(number.as_bytes())), Header::new("n", None)];
    assert_eq!(headers, if i % 5 == 0 { &expected[..] } else { &[] });
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn damage_to_what_kafkas_client_compressed_does_not_panic(
        damage in proptest::collection::vec((any::<proptest::sample::Index>(), any::<u8>()), 1..8),
    ) {
        for (name, bytes) in batches() {
            let mut bytes = bytes.to_vec();
            for (at, byte) in &damage {
                let at = BATCH_OVERHEAD + at.index(bytes.len() - BATCH_OVERHEAD);
                bytes[at] = *byte;
            }
            let batch = only_batch(bytes.into());
            let readable = batch.clone().decompress(1 << 20).map(|batch| batch.records().all(|record| record.is_ok()));
            prop_assert!(batch.verify_crc().is_err() || readable == Ok(true), "{name}: {readable:?}");
        }
    }
}
