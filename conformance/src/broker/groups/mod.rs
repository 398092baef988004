//! The cases, one file a group.

mod acknowledgement;
mod acquire_modes;
mod acquisition;
mod admin_and_offsets;
mod delivery_limits;
mod dlq;
mod errors;
mod idempotence;
mod isolation;
mod lag;
mod limits;
mod membership;
mod renewal;
mod sessions;
#[cfg(feature = "unstable-kip-1289")]
mod transactional_acknowledgement;
mod transactions;
mod versions;

use super::case::Case;

/// All cases, in the order of their groups.
pub fn all() -> impl Iterator<Item = &'static Case> {
    GROUPS.iter().copied().flatten()
}

const GROUPS: &[&[Case]] = &[
    versions::CASES,
    versions::features::CASES,
    versions::answered::CASES,
    versions::framing::CASES,
    membership::CASES,
    membership::epochs::CASES,
    membership::assignment::CASES,
    membership::topics::CASES,
    membership::liveness::CASES,
    membership::description::CASES,
    sessions::CASES,
    sessions::ends::CASES,
    sessions::connections::CASES,
    sessions::partitions::CASES,
    acquisition::CASES,
    acknowledgement::CASES,
    renewal::CASES,
    acquire_modes::CASES,
    delivery_limits::CASES,
    isolation::CASES,
    dlq::CASES,
    admin_and_offsets::CASES[0],
    admin_and_offsets::CASES[1],
    admin_and_offsets::CASES[2],
    lag::CASES,
    idempotence::sequences::CASES,
    idempotence::taken::CASES,
    transactions::beginning::CASES,
    transactions::writes::CASES,
    transactions::ends::CASES,
    transactions::reads::CASES,
    transactions::time_outs::CASES,
    transactions::told::CASES,
    transactions::offsets::CASES,
    transactions::members::CASES,
    transactions::coordinators::CASES,
    #[cfg(feature = "unstable-kip-1289")]
    transactional_acknowledgement::staged::CASES,
    #[cfg(feature = "unstable-kip-1289")]
    transactional_acknowledgement::ends::CASES,
    #[cfg(feature = "unstable-kip-1289")]
    transactional_acknowledgement::refused::CASES,
    errors::bytes::CASES,
    errors::fields::CASES,
    errors::acknowledgements::CASES,
    limits::settings::CASES,
    limits::fetches::CASES,
    limits::capacity::CASES,
];
