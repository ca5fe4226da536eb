//! Planted bugs, for the tests that prove that they are found.

/// Bugs that can be planted (feature `mutants`); without the feature there is none.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mutant {
    /// A batch counts as durable when it is handed out, not when its sync returned.
    #[cfg(feature = "mutants")]
    AckBeforeSync,
    /// An empty ready is reported while an earlier batch is being written; raft takes that as
    /// the durability of the batch too.
    #[cfg(feature = "mutants")]
    AckLaterReady,
    /// A vote leaves before it is durable.
    #[cfg(feature = "mutants")]
    VoteNotPersisted,
    /// Entries are acknowledged to the leader before their sync.
    #[cfg(feature = "mutants")]
    EarlyAppendResponse,
    /// A leader commits what is durable on its own disk.
    #[cfg(feature = "mutants")]
    CommitAlone,
    /// A leader commits what half of the voters have, rounded down.
    #[cfg(feature = "mutants")]
    SmallQuorum,
    /// A member answers linearizable reads from what it has.
    #[cfg(feature = "mutants")]
    StaleRead,
    /// What is offered again gets a new id.
    #[cfg(feature = "mutants")]
    NewIdAgain,
}

#[cfg(feature = "mutants")]
macro_rules! planted {
    ($name:ident, $variant:ident) => {
        /// True if this bug is planted.
        pub fn $name(mutant: Option<Mutant>) -> bool {
            mutant == Some(Mutant::$variant)
        }
    };
}

#[cfg(not(feature = "mutants"))]
macro_rules! planted {
    ($name:ident, $variant:ident) => {
        /// True if this bug is planted: never in this build.
        pub fn $name(mutant: Option<Mutant>) -> bool {
            mutant.is_some()
        }
    };
}

planted!(ack_before_sync, AckBeforeSync);
planted!(ack_later_ready, AckLaterReady);
planted!(vote_not_persisted, VoteNotPersisted);
planted!(early_append_response, EarlyAppendResponse);
planted!(commit_alone, CommitAlone);
planted!(small_quorum, SmallQuorum);
planted!(stale_read, StaleRead);
planted!(new_id_again, NewIdAgain);
