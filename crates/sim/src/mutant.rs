//! Planted bugs, by name: each must be found.

/// A planted bug.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mutant {
    /// Of the node.
    #[cfg(feature = "mutants")]
    Node(member::Mutant),
    /// Of the log.
    #[cfg(feature = "mutants")]
    Wal(wal::Mutant),
    /// Of the backend.
    #[cfg(feature = "mutants")]
    Backend(backend::Mutant),
}

#[cfg(feature = "mutants")]
const ALL: [(&str, Mutant); 16] = [
    ("ack_before_sync", Mutant::Node(member::Mutant::AckBeforeSync)),
    ("ack_later_ready", Mutant::Node(member::Mutant::AckLaterReady)),
    ("vote_not_persisted", Mutant::Node(member::Mutant::VoteNotPersisted)),
    ("early_append_response", Mutant::Node(member::Mutant::EarlyAppendResponse)),
    ("commit_alone", Mutant::Node(member::Mutant::CommitAlone)),
    ("small_quorum", Mutant::Node(member::Mutant::SmallQuorum)),
    ("stale_read", Mutant::Node(member::Mutant::StaleRead)),
    ("new_id_again", Mutant::Node(member::Mutant::NewIdAgain)),
    ("no_sync_of_start", Mutant::Wal(wal::Mutant::NoSyncOfStart)),
    ("length_zero_is_end", Mutant::Wal(wal::Mutant::LengthZeroIsEnd)),
    ("prefix_of_batch", Mutant::Wal(wal::Mutant::PrefixOfBatch)),
    ("cut_leaves_tail", Mutant::Wal(wal::Mutant::CutLeavesTail)),
    ("stale_frame_accepted", Mutant::Wal(wal::Mutant::StaleFrameAccepted)),
    ("spare_before_durable", Mutant::Wal(wal::Mutant::SpareBeforeDurable)),
    ("missing_segment", Mutant::Backend(backend::Mutant::MissingSegmentNotNoticed)),
    ("applied_outside_step", Mutant::Backend(backend::Mutant::AppliedOutsideStep)),
];

#[cfg(not(feature = "mutants"))]
const ALL: [(&str, Mutant); 0] = [];

impl Mutant {
    /// The names of all, in order.
    pub fn names() -> impl Iterator<Item = &'static str> {
        ALL.into_iter().map(|(name, _)| name)
    }

    /// True for a bug of the log or the backend.
    #[cfg(feature = "mutants")]
    pub(crate) fn is_of_disk(self) -> bool {
        matches!(self, Mutant::Wal(_) | Mutant::Backend(_))
    }

    /// True for a bug of the log or the backend: none in this build.
    #[cfg(not(feature = "mutants"))]
    pub(crate) fn is_of_disk(self) -> bool {
        match self {}
    }

    /// The bug of a name; without the feature `mutants` there is none.
    pub fn named(wanted: &str) -> Option<Mutant> {
        ALL.into_iter().find(|(name, _)| *name == wanted).map(|(_, mutant)| mutant)
    }
}

/// Plants a bug in the settings of a process.
#[cfg(feature = "mutants")]
pub(crate) fn plant(
    mutant: Option<Mutant>,
    member: &mut member::Config,
    wal: &mut wal::WalConfig,
    backend: &mut backend::Config,
) {
    match mutant {
        Some(Mutant::Node(planted)) => member.mutant = Some(planted),
        Some(Mutant::Wal(planted)) => wal.mutant = Some(planted),
        Some(Mutant::Backend(planted)) => backend.mutant = Some(planted),
        None => {}
    }
}

/// Plants nothing in this build.
#[cfg(not(feature = "mutants"))]
pub(crate) fn plant(
    _: Option<Mutant>,
    _: &mut member::Config,
    _: &mut wal::WalConfig,
    _: &mut backend::Config,
) {
}
