//! The rules of share groups, in virtual time. Where a test says what "Kafka" does, Kafka 4.4.0 was watched doing it.

mod acknowledge;
mod acquire;
mod classic;
mod compaction;
mod configs;
mod consumers;
mod dead_letters;
mod delivery;
mod faults;
mod fetch;
mod group;
mod hostile;
mod inspect;
mod logs;
mod nodes;
mod offsets;
mod produce;
mod reader;
mod retention;
mod rig;
mod sasl;
mod sessions;
mod spoil;
mod topics;
#[cfg(feature = "unstable-kip-1289")]
mod transactional_acks;
mod transactions;
mod waiting;
