//! A sink runtime after Kafka Connect whose records come from a share group.
