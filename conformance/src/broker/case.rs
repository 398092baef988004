//! What a case is.

use std::pin::Pin;

use super::lab::{Lab, Outcome};

/// What cases are about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Group {
    /// Which versions of requests are offered and answered.
    Versions,
    /// Who is a member of a share group, and of what.
    Membership,
    /// Share sessions and their epochs.
    Sessions,
    /// Which records a fetch acquires.
    Acquisition,
    /// Accepting, releasing and rejecting.
    Acknowledgement,
    /// Renewing locks (KIP-1222).
    Renewal,
    /// batch_optimized and record_limit (KIP-1206).
    AcquireModes,
    /// How often a record is delivered.
    DeliveryLimits,
    /// read_committed and read_uncommitted.
    Isolation,
    /// Dead letter queues (KIP-1191).
    Dlq,
    /// Describing groups, setting and deleting their offsets, their settings.
    AdminAndOffsets,
    /// What is left to do for a group (KIP-1226).
    Lag,
    /// Idempotent producers.
    Idempotence,
    /// Transactions of producers (KIP-98, KIP-890).
    Transactions,
    /// Acknowledgements in transactions (draft of KIP-1289).
    TransactionalAcknowledgement,
    /// Requests that no client would send.
    Errors,
    /// How much is taken: locks, sessions, members, sizes.
    Limits,
}

impl Group {
    /// All, in the order of reports.
    pub const ALL: [Self; 17] = [
        Self::Versions,
        Self::Membership,
        Self::Sessions,
        Self::Acquisition,
        Self::Acknowledgement,
        Self::Renewal,
        Self::AcquireModes,
        Self::DeliveryLimits,
        Self::Isolation,
        Self::Dlq,
        Self::AdminAndOffsets,
        Self::Lag,
        Self::Idempotence,
        Self::Transactions,
        Self::TransactionalAcknowledgement,
        Self::Errors,
        Self::Limits,
    ];

    /// Whether its rules are about share groups, which a broker has from the finalized `share.version` 1 on, whatever it advertises.
    pub(super) fn is_of_share_groups(self) -> bool {
        !matches!(self, Self::Versions | Self::Errors | Self::Idempotence | Self::Transactions)
    }

    /// Its name on the command line and in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Versions => "versions",
            Self::Membership => "membership",
            Self::Sessions => "sessions",
            Self::Acquisition => "acquisition",
            Self::Acknowledgement => "acknowledgement",
            Self::Renewal => "renewal",
            Self::AcquireModes => "acquire-modes",
            Self::DeliveryLimits => "delivery-limits",
            Self::Isolation => "isolation",
            Self::Dlq => "dlq",
            Self::AdminAndOffsets => "admin-and-offsets",
            Self::Lag => "lag",
            Self::Idempotence => "idempotence",
            Self::Transactions => "transactions",
            Self::TransactionalAcknowledgement => "transactional-acknowledgement",
            Self::Errors => "errors",
            Self::Limits => "limits",
        }
    }
}

/// A rule, and the conversation that shows whether a broker keeps it.
#[derive(Debug, Clone, Copy)]
pub struct Case {
    pub(super) function: &'static str,
    /// What it is about.
    pub group: Group,
    /// What a broker has to do.
    pub rule: &'static str,
    /// Where that is written: a KIP, a schema, documentation.
    pub source: &'static str,
    /// Where Kafka itself departs from its source, or what else has to be known.
    pub note: Option<&'static str>,
    /// Whether it takes what others need at the same time.
    pub(super) alone: bool,
    pub(super) run: Run,
}

/// Plays a case. Its future stays in one thread, as closures that wait make it.
pub(super) type Run = for<'a> fn(&'a Lab) -> Pin<Box<dyn Future<Output = Outcome> + 'a>>;

impl Case {
    /// Its name on the command line and in reports.
    pub fn name(&self) -> String {
        self.function.replace('_', "-")
    }
}

/// The cases of a group: for each the function that plays it, its rule and its source; `note` what else has to be known; `#[alone]` where others
/// cannot run at the same time.
macro_rules! cases {
    ($group:ident; $($(#[$alone:ident])? $function:ident: $rule:literal, $source:literal $(, note $note:literal)?;)*) => {
        pub(crate) const CASES: &[$crate::broker::case::Case] = &[$($crate::broker::case::Case {
            function: stringify!($function),
            group: $crate::broker::case::Group::$group,
            rule: $rule,
            source: $source,
            note: $crate::broker::case::cases!(@note $($note)?),
            alone: $crate::broker::case::cases!(@alone $($alone)?),
            run: |lab| Box::pin($function(lab)),
        }),*];
    };
    (@note) => { None };
    (@note $note:literal) => { Some($note) };
    (@alone) => { false };
    (@alone alone) => { true };
}
pub(crate) use cases;
