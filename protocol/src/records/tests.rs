use super::*;

#[test]
fn builder_and_iterator_agree_for_every_codec() {
    for compression in Compression::ALL {
        let mut builder = BatchBuilder::new(BatchOptions { compression, max_size: 1 << 20, ..Default::default() });
        for i in 0..1000_i32 {
            let value = format!("value-{i}-{}", "x".repeat(i as usize % 100));
            let headers = [Header::new("h", Some(b"v")), Header::new("n", None)];
            let at = builder.try_append(
                5_000 - i64::from(i) * 1_000_000_000,
                Some(&i.to_be_bytes()),
                Some(value.as_bytes()),
                headers,
            );
            assert_eq!(at, Ok(Some(i)));
        }
        let batches: Vec<_> = Batches::new(builder.build().unwrap()).collect();
        let [Ok(batch)] = &batches[..] else { panic!("{batches:?}") };
        batch.verify_crc().unwrap();
        let batch = batch.clone().decompress(1 << 20).unwrap();
        let records: Vec<_> = batch.records().collect::<Result<_, _>>().unwrap();
        assert_eq!(records.len(), 1000, "{compression}");
        assert_eq!(records[999].timestamp, 5_000 - 999_000_000_000);
    }
}
