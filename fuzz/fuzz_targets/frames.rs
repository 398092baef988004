//! `ackflow_protocol::fuzzing::frames`.

#![no_main]

use ackflow_protocol::fuzzing;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| fuzzing::frames(data));
