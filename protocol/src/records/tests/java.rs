//! Batches that Kafka's own client compressed, each of several blocks: testdata/gen/Batches.java says what is in them.

use super::*;

/// Records in each batch.
const RECORDS: i64 = 900;

#[test]
fn what_kafkas_client_compresses_is_read() {
    let mut codecs = Vec::new();
    for line in include_str!("../../../../testdata/batches/java.tsv").lines().filter(|line| !line.starts_with('#')) {
        let (name, hex) = line.split_once('\t').unwrap();
        let batch = only_batch(unhex(hex));
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
