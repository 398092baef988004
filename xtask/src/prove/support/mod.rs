//! What several proofs need.

pub(super) mod ackflow;
pub(super) mod bench;
pub(super) mod delivered;
pub(super) mod embedded;
pub(super) mod perf_table;
pub(super) mod program;
pub(super) mod rows;
pub(super) mod sink_run;
pub(super) mod statistics;
pub(super) mod throughput;
pub(super) mod wait;
