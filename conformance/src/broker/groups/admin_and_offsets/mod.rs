//! Describing groups, setting and deleting their offsets, their settings.

mod describing;
mod offsets;
mod settings;

use crate::broker::case::Case;

pub(super) const CASES: [&[Case]; 3] = [offsets::CASES, describing::CASES, settings::CASES];
