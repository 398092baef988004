//! The application's end of a consumer, without brokers.

mod config;
mod handle;
mod parts;
