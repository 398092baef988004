//! An embedded Kafka broker for tests, demos and simulations.
