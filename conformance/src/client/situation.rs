//! What a situation is.

use std::pin::Pin;

use super::stage::Stage;
use crate::stop::Outcome;

/// What situations are about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Group {
    /// Being a member of a share group.
    Membership,
    /// Share sessions and their epochs.
    Sessions,
    /// Accepting, releasing, rejecting and renewing.
    Acknowledgement,
    /// Which records are handed out, and what of damaged ones.
    Records,
    /// Leaders, coordinators, topics and partitions that come, move and go.
    Leaders,
    /// Errors, lost connections, and answers that no broker should give.
    Faults,
    /// Throttling (KIP-219).
    Throttling,
    /// Brokers that are older.
    Versions,
}

impl Group {
    /// All, in the order of reports.
    pub const ALL: [Self; 8] = [
        Self::Membership,
        Self::Sessions,
        Self::Acknowledgement,
        Self::Records,
        Self::Leaders,
        Self::Faults,
        Self::Throttling,
        Self::Versions,
    ];

    /// Its name on the command line and in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Membership => "membership",
            Self::Sessions => "sessions",
            Self::Acknowledgement => "acknowledgement",
            Self::Records => "records",
            Self::Leaders => "leaders",
            Self::Faults => "faults",
            Self::Throttling => "throttling",
            Self::Versions => "versions",
        }
    }
}

/// A rule, and the play that shows whether a client keeps it.
#[derive(Debug, Clone, Copy)]
pub struct Situation {
    pub(super) function: &'static str,
    /// What it is about.
    pub group: Group,
    /// What a client has to do.
    pub rule: &'static str,
    /// Where that is written: a KIP, a schema, documentation.
    pub source: &'static str,
    /// What else has to be known.
    pub note: Option<&'static str>,
    pub(super) play: Play,
}

/// Plays a situation. Its future stays in one thread.
pub(super) type Play = for<'a> fn(&'a Stage) -> Pin<Box<dyn Future<Output = Outcome> + 'a>>;

impl Situation {
    /// Its name on the command line and in reports.
    pub fn name(&self) -> String {
        self.function.replace('_', "-")
    }
}

/// The situations of a group: for each the function that plays it, its rule and its source; `note` what else has to be known.
macro_rules! situations {
    ($group:ident; $($function:ident: $rule:literal, $source:literal $(, note $note:literal)?;)*) => {
        pub(crate) const SITUATIONS: &[$crate::client::situation::Situation] = &[$($crate::client::situation::Situation {
            function: stringify!($function),
            group: $crate::client::situation::Group::$group,
            rule: $rule,
            source: $source,
            note: $crate::client::situation::situations!(@note $($note)?),
            play: |stage| Box::pin($function(stage)),
        }),*];
    };
    (@note) => { None };
    (@note $note:literal) => { Some($note) };
}
pub(crate) use situations;
