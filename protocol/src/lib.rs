//! Kafka wire codec, record batches and share-group state machines, with no I/O.
