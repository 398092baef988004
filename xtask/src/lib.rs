//! Development tasks of the workspace: `cargo xtask help` lists them. A library, so that a test can start a Kafka of
//! its own ([`kafka::Cluster`]).

pub mod cache;
pub mod ci;
pub mod interrupt;
pub mod kafka;
pub mod layers;
pub mod lengths;
pub mod mutate;
pub mod no_c;
pub mod peers;
pub mod process;
pub mod prove;
pub mod random;
pub mod readme;
pub mod schemas;
mod simulation;
pub mod vectors;
pub mod workspace;
