//! ackflow: Kafka share groups and sinks from the command line.

fn main() {}
