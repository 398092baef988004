//! Situations in virtual time, with scripted brokers.

mod cluster;
mod commits;
mod fetch;
mod group;
mod positions;
mod questions;
mod rig;
mod sequences;
