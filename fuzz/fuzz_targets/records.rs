//! `ackflow_protocol::fuzzing::records`.

#![no_main]

use ackflow_protocol::fuzzing;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| fuzzing::records(data));
