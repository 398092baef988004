//! Which cases run.

use super::case::{Case, Group};
use super::groups::all;
use crate::select::{Names, UnknownName};

/// Cases by name and by group; all of them where nothing is named.
#[derive(Debug, Clone, Default)]
pub struct Selection(Names);

impl Selection {
    /// The cases of these names, and all of these groups.
    ///
    /// # Errors
    /// [`UnknownName`] where there is none.
    pub fn new(cases: &[String], groups: &[String]) -> Result<Self, UnknownName> {
        Names::new(cases, groups, all().map(Case::name), Group::ALL.into_iter().map(Group::name)).map(Self)
    }

    /// The cases, in the order of reports.
    pub fn cases(&self) -> impl Iterator<Item = &'static Case> {
        all().filter(|case| self.0.have(case.group.name(), &case.name()))
    }
}
