//! How a node starts: its settings, what the disk gave back, and why it may refuse.

use crate::log::EntryId;
use crate::mutant::Mutant;
use std::fmt;
use types::{Index, MemberId, Term};
use wal::{Entry, HardState};

/// Settings of a node.
#[derive(Clone, Debug)]
pub struct Config {
    /// Who this node is.
    pub member: MemberId,
    /// Seed of the election timeouts.
    pub seed: u64,
    /// Number of this start of the process, as made durable in the log; part of read contexts, so
    /// that an answer to a question of an earlier life is never taken for one of this life.
    pub boot: u64,
    /// Ticks between heartbeats.
    pub heartbeat_ticks: usize,
    /// Ticks without a leader before an election, at least; at most one less than twice as many.
    pub election_ticks: usize,
    /// Ask for votes before the term is raised.
    pub pre_vote: bool,
    /// Bytes of entries in one append message.
    pub message_bytes_max: u64,
    /// Append messages under way to one member.
    pub inflight_max: usize,
    /// Bytes of entries that may wait to be committed before proposals are dropped.
    pub uncommitted_bytes_max: u64,
    /// Bytes of committed entries in one `Ready`.
    pub ready_bytes_max: u64,
    /// Bytes of applied entries kept in memory for slow members; a sole voter keeps none.
    pub log_bytes_max: usize,
    /// A planted bug, for the tests that prove that it is found.
    pub mutant: Option<Mutant>,
}

impl Config {
    /// Settings with the defaults of etcd where it has them (100 ms ticks).
    pub fn new(member: MemberId, boot: u64) -> Config {
        Config {
            member,
            seed: 0,
            boot,
            heartbeat_ticks: 1,
            election_ticks: 10,
            pre_vote: true,
            message_bytes_max: 1024 * 1024,
            inflight_max: 512,
            uncommitted_bytes_max: 128 * 1024 * 1024,
            ready_bytes_max: 4 * 1024 * 1024,
            log_bytes_max: 16 * 1024 * 1024,
            mutant: None,
        }
    }
}

/// What the disk gave back.
#[derive(Clone, Default, Debug)]
pub struct Start {
    /// The last durable hard state.
    pub hard_state: HardState,
    /// Index of the entry before the first one in the log.
    pub base: Index,
    /// Its term.
    pub base_term: Term,
    /// The entries of the log, in order.
    pub entries: Vec<Entry>,
    /// The entries that a new cluster begins with: they make its founders members. They are part
    /// of every founder's log before anything is agreed on, and durable before anything is said.
    pub founding: Vec<Entry>,
    /// Voting members at `applied`.
    pub voters: Vec<MemberId>,
    /// Non-voting members at `applied`.
    pub learners: Vec<MemberId>,
    /// Last entry whose effect is durable in the backend; 0 on a fresh member.
    pub applied: Index,
    /// Its term.
    pub applied_term: Term,
}

/// Why a node refuses to start: log and data do not belong together.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum StartError {
    /// The data was built from entries that the log does not hold.
    AppliedBeyondLog {
        /// Applied index of the data.
        applied: Index,
        /// Last index of the log.
        last: Index,
    },
    /// Entries between the data and the log are missing.
    Gap {
        /// Applied index of the data.
        applied: Index,
        /// First index of the log.
        first: Index,
    },
    /// Two neighbours in the log do not follow each other.
    Disorder {
        /// The entry before.
        before: Index,
        /// The entry after.
        after: Index,
    },
    /// The log was known to be committed further than it reaches.
    CommitBeyondLog {
        /// Commit index of the hard state.
        commit: Index,
        /// Last index of the log.
        last: Index,
    },
    /// The entry that the data was built from has another term in the log.
    TermMismatch {
        /// Applied index of the data.
        applied: Index,
        /// Term of that entry as the data has it.
        data: Term,
        /// Term of that entry as the log has it.
        log: Term,
    },
    /// A setting that raft refuses.
    Config(String),
}

impl fmt::Display for StartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StartError::AppliedBeyondLog { applied, last } => write!(
                f,
                "the data is at applied index {applied}, but the log ends at {last}: acknowledged \
                 entries are missing from the log"
            ),
            StartError::Gap { applied, first } => write!(
                f,
                "the data is at applied index {applied}, but the log begins at {first}: entries \
                 between them are missing"
            ),
            StartError::Disorder { before, after } => {
                write!(f, "entry {after} follows entry {before} in the log")
            }
            StartError::CommitBeyondLog { commit, last } => {
                write!(f, "entry {commit} was committed, but the log ends at {last}")
            }
            StartError::TermMismatch { applied, data, log } => {
                write!(f, "entry {applied} has term {data} in the data and term {log} in the log")
            }
            StartError::Config(text) => f.write_str(text),
        }
    }
}

impl std::error::Error for StartError {}

/// Checks what raft would abort on, and finds the entry before the log.
///
/// Returns the applied entry, and how many entries of the log it covers.
pub(crate) fn check(start: &Start) -> Result<(EntryId, usize), StartError> {
    let applied = EntryId { index: start.applied, term: start.applied_term };
    for pair in start.entries.windows(2) {
        if pair[1].index != pair[0].index.next() || pair[1].term < pair[0].term {
            return Err(StartError::Disorder { before: pair[0].index, after: pair[1].index });
        }
    }
    let first = start.base.next();
    if let Some(entry) = start.entries.first()
        && entry.index != first
    {
        return Err(StartError::Disorder { before: start.base, after: entry.index });
    }
    if applied.index < start.base {
        return Err(StartError::Gap { applied: applied.index, first });
    }
    let last = start.entries.last().map_or(start.base, |entry| entry.index);
    if last < applied.index {
        return Err(StartError::AppliedBeyondLog { applied: applied.index, last });
    }
    check_commit(start, last)?;
    let skip = usize::try_from(applied.index.0 - start.base.0)
        .map_err(|_| StartError::Gap { applied: applied.index, first })?;
    if let Some(entry) = skip.checked_sub(1).map(|at| &start.entries[at])
        && entry.term != applied.term
    {
        return Err(StartError::TermMismatch {
            applied: applied.index,
            data: applied.term,
            log: entry.term,
        });
    }
    Ok((applied, skip))
}

fn check_commit(start: &Start, last: Index) -> Result<(), StartError> {
    let commit = start.hard_state.commit;
    if last < commit {
        return Err(StartError::CommitBeyondLog { commit, last });
    }
    Ok(())
}
