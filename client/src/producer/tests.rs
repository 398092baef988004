//! The producer against a real Kafka (`cargo xtask kafka -- cargo test -- --ignored real_kafka_`), and against brokers that
//! a test plays.

mod real_kafka;
