//! Which situations are played.

use super::groups::all;
use super::situation::{Group, Situation};
use crate::select::{Names, UnknownName};

/// Situations by name and by group; all of them where nothing is named.
#[derive(Debug, Clone, Default)]
pub struct Selection(Names);

impl Selection {
    /// The situations of these names, and all of these groups.
    ///
    /// # Errors
    /// [`UnknownName`] where there is none.
    pub fn new(situations: &[String], groups: &[String]) -> Result<Self, UnknownName> {
        Names::new(situations, groups, all().map(Situation::name), Group::ALL.into_iter().map(Group::name)).map(Self)
    }

    /// The situations, in the order of reports.
    pub fn situations(&self) -> impl Iterator<Item = &'static Situation> {
        all().filter(|situation| self.0.have(situation.group.name(), &situation.name()))
    }
}
