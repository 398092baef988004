//! The producer against brokers that a test plays, and against a real Kafka
//! (`cargo xtask kafka -- cargo test -- --ignored real_kafka_`).

mod broker;
mod faults;
mod flow;
mod real_kafka;
