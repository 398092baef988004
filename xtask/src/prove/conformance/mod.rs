//! The conformance suite: the same verdicts on two brokers, rules that are broken and found, other brokers, time.

mod bites;
mod client;
mod older;
mod others;
mod suite;
mod time;
mod two;

use super::Proof;
pub(super) use bites::check as check_broken_rules;

pub(super) const TWO: Proof = two::PROOF;
pub(super) const BITES: Proof = bites::PROOF;
pub(super) const CLIENT: Proof = client::PROOF;
pub(super) const OTHERS: Proof = others::PROOF;
pub(super) const TIME: Proof = time::PROOF;
pub(super) const OLDER: Proof = older::PROOF;
