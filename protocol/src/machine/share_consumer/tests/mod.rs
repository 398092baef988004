//! Situations in virtual time, with scripted brokers. Names that begin with `row_` follow the list of faults that other
//! clients had.

mod acknowledge;
mod again;
mod fetch;
mod group;
mod isolation;
mod leaders;
mod leaving;
mod old_brokers;
mod patterns;
mod record_limit;
mod renewal;
mod rig;
mod script;
mod sequences;
mod taken;
mod throttle;
mod topics;
