//! `ackflow_protocol::fuzzing::share_consumer`.

#![no_main]

use std::time::Instant;

use ackflow_protocol::fuzzing;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| fuzzing::share_consumer(Instant::now(), data));
