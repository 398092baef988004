//! The producer against brokers that a test plays.

mod broker;
mod faults;
mod flow;
mod partitions;
