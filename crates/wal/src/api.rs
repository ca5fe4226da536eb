//! What callers write into the log and get back from it.

use bytes::Bytes;
use types::{ClusterId, Index, MemberId, Term};

/// Whose log it is: written into every segment, so that a foreign one is never replayed.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Identity {
    /// The cluster.
    pub cluster: ClusterId,
    /// The member.
    pub member: MemberId,
}

/// Raft's hard state.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct HardState {
    /// Current term.
    pub term: Term,
    /// Whom this member voted for in it; 0 for nobody.
    pub vote: MemberId,
    /// Highest index known to be committed. Invariant: at most the last index of the log.
    pub commit: Index,
}

/// What an entry holds.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug)]
pub enum EntryKind {
    /// A request for the state machine, or nothing (a new leader's first entry).
    #[default]
    Normal,
    /// A change of members, in raft's second form.
    ConfChange,
}

/// An entry of the raft log.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Entry {
    /// Position.
    pub index: Index,
    /// Term of the leader that proposed it.
    pub term: Term,
    /// What `data` is.
    pub kind: EntryKind,
    /// The content.
    pub data: Bytes,
}

/// An index with its term.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Position {
    /// The index.
    pub index: Index,
    /// The term of the entry there.
    pub term: Term,
}

/// A state that came from the leader in place of entries. It voids every entry before it.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Install {
    /// What the state contains, up to here.
    pub position: Position,
    /// Opaque to the log: the members at this index, the checksum of the files.
    pub data: Bytes,
}

/// One record of the log.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Frame {
    /// An entry. At or below the last index it replaces the entries from there on.
    Entry(Entry),
    /// A new hard state.
    HardState(HardState),
    /// The process started for the n-th time.
    Boot(u64),
    /// Raft's members, for checks and rebuilding only; opaque to the log.
    Membership(Bytes),
    /// A state was installed.
    Install(Install),
    /// Entries up to here may be missing from now on.
    Trim(Index),
    /// Nothing: proves that the batch before was synced.
    Seal,
}

/// What is written and synced as one: kept whole or cut whole.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Batch {
    /// The records, in order. Entries are consecutive.
    pub frames: Vec<Frame>,
}

impl Batch {
    /// Bytes that the batch takes in the log: whole blocks.
    pub fn written_bytes(&self) -> u64 {
        (crate::frame::encoded_len(self) as u64).next_multiple_of(crate::BLOCK)
    }
}

/// Smallest segment on a small disk.
const SEGMENT_BYTES_MIN: u64 = 1024 * 1024;

/// How a log is kept.
#[derive(Clone, Debug)]
pub struct WalConfig {
    /// Length of a segment; a multiple of `BLOCK`.
    pub segment_bytes: u64,
    /// A fresh random number for each start: the salts of new segments come from it.
    pub seed: u64,
    /// Most unused segments to keep for reuse; more are removed.
    pub spares_max: usize,
    /// Unused segments that only `Use::Reserve` may take when no more can be allocated.
    pub reserve: usize,
    /// A bug planted to prove that tests find it.
    #[cfg(any(test, feature = "mutants"))]
    pub mutant: Option<crate::Mutant>,
}

impl WalConfig {
    /// The usual sizes with this random number.
    pub fn new(seed: u64) -> WalConfig {
        WalConfig {
            segment_bytes: types::limits::WAL_SEGMENT_BYTES_DEFAULT,
            seed,
            spares_max: types::limits::WAL_SPARES_MAX,
            reserve: types::limits::WAL_RESERVE,
            #[cfg(any(test, feature = "mutants"))]
            mutant: None,
        }
    }

    /// The usual sizes, with smaller segments on a small disk: a few of them are always there.
    pub fn for_disk(bytes: u64, seed: u64) -> WalConfig {
        let usual = types::limits::WAL_SEGMENT_BYTES_DEFAULT;
        let part = 1 << (bytes / 16).max(1).ilog2();
        WalConfig { segment_bytes: usual.min(part).max(SEGMENT_BYTES_MIN), ..WalConfig::new(seed) }
    }
}

/// Which space a batch may take when the disk is full.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Use {
    /// All but the reserve.
    #[default]
    Normal,
    /// The reserve too: hard state, Boot, compaction, deletes.
    Reserve,
}

/// An incomplete last batch that was cut off at start.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Cut {
    /// The segment.
    pub file: String,
    /// Where the batch began.
    pub offset: u64,
    /// Bytes cut off.
    pub bytes: u64,
    /// Why it was not complete.
    pub reason: &'static str,
    /// Last index of the log after the cut.
    pub last: Index,
    /// Where the bytes were kept; `None` if the disk had no room for them.
    pub broken: Option<String>,
}

/// What a log held when it was opened.
#[derive(Clone, PartialEq, Debug)]
pub struct Recovered {
    /// Whose log it is.
    pub identity: Identity,
    /// The last hard state.
    pub hard_state: HardState,
    /// The last members written, or empty.
    pub membership: Bytes,
    /// What precedes the first entry: 0, what was trimmed, or the last install.
    pub base: Position,
    /// The entries after `base`, without gaps.
    pub entries: Vec<Entry>,
    /// The last install that the log still holds the frame of.
    pub install: Option<Install>,
    /// Number of this start, from 1.
    pub boot: u64,
    /// The incomplete last batch, if one was cut: worth an ERROR line and a metric.
    pub cut: Option<Cut>,
}

impl Recovered {
    /// The end of the log.
    pub fn last(&self) -> Position {
        let last = self.entries.last();
        last.map_or(self.base, |entry| Position { index: entry.index, term: entry.term })
    }
}
