//! Cases for brokers: what a broker that claims share groups and transactions has to answer.

mod case;
mod groups;
mod lab;
mod run;
mod select;
mod target;

pub use case::{Case, Group};
pub use groups::all;
pub use run::{Options, run};
pub use select::Selection;
pub use target::BrokerInfo;
