//! A Kafka client for share groups: share consumer, producer and admin, in pure Rust.
