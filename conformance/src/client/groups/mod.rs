//! The situations by what they are about.

mod acknowledgement;
mod faults;
mod leaders;
mod membership;
mod records;
mod sessions;
mod throttling;
mod versions;

use super::situation::Situation;

/// All situations, in the order of reports.
pub fn all() -> impl Iterator<Item = &'static Situation> {
    [
        membership::SITUATIONS,
        sessions::SITUATIONS,
        acknowledgement::SITUATIONS,
        records::SITUATIONS,
        leaders::SITUATIONS,
        faults::SITUATIONS,
        throttling::SITUATIONS,
        versions::SITUATIONS,
    ]
    .into_iter()
    .flatten()
}
