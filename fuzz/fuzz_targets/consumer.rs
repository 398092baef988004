#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| ackflow_fuzz_replay::CONSUMER.check(data));
