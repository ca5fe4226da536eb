//! What a member wants done.

use crate::request::{Header, RequestId, Response, StreamId, Ticket};
use bytes::Bytes;
use node::Class;
use std::fmt;
use types::{Index, MemberId, OpError, Revision};

/// The list that `Member::step` appends to.
pub type Effects = Vec<Effect>;

/// One thing to do. Threads: `Persist` and `Trim` belong to the WAL thread, `Flush` and `Rewrite`
/// to the flush thread, `Fetch`, `FetchLog`, `History` and `Hash` to helpers, the rest to the loop.
#[derive(Debug)]
pub enum Effect {
    /// Write and sync this batch, then `Event::Persisted`. Nothing that waits for it is among the
    /// effects yet: it follows from the member once the event came.
    Persist {
        /// Comes back in the event.
        ticket: Ticket,
        /// What to write.
        batch: wal::Batch,
    },
    /// The log up to here is no longer needed.
    Trim(Index),
    /// Write this job to the backend, then `Event::Flushed`.
    Flush {
        /// Comes back in the event.
        ticket: Ticket,
        /// What to write.
        job: backend::FlushJob,
    },
    /// Rewrite one segment that holds garbage, then `Event::Rewritten`.
    Rewrite {
        /// Comes back in the event.
        ticket: Ticket,
        /// True to go at full speed (Defragment), else paced.
        now: bool,
    },
    /// Read these records from the backend, then `Event::Fetched`.
    Fetch {
        /// Comes back in the event.
        ticket: Ticket,
        /// What to read with.
        reader: backend::Reader,
        /// Which records.
        revisions: Vec<Revision>,
    },
    /// Read these entries from the log, as many as `bytes_max` allows, then `Event::LogFetched`.
    FetchLog {
        /// Comes back in the event.
        ticket: Ticket,
        /// What to read with.
        reader: wal::Reader,
        /// First index.
        from: Index,
        /// Last index.
        to: Index,
        /// End early once this many bytes were read.
        bytes_max: usize,
    },
    /// Read the records of a span of revisions, then `Event::History`.
    History {
        /// Comes back in the event.
        ticket: Ticket,
        /// What to read with.
        reader: backend::Reader,
        /// First main revision.
        from: i64,
        /// Last main revision.
        to: i64,
        /// End early, at a border of main revisions, once this many bytes were read.
        bytes_max: usize,
    },
    /// Compute the hash of the keyspace at a revision, then `Event::Hashed`.
    Hash {
        /// Comes back in the event.
        ticket: Ticket,
        /// What to read with.
        reader: backend::Reader,
        /// Hash records up to this main revision.
        revision: i64,
        /// The compacted revision at this moment.
        compacted: i64,
        /// A compaction at the revision wants it, so that it is `Reader::hash_compaction`, and no
        /// client yet: it may take its time.
        is_paced: bool,
    },
    /// Answer a request.
    Reply {
        /// The request.
        id: RequestId,
        /// Header of the answer.
        header: Header,
        /// The answer. Cold items in it are read with the reader.
        result: Result<Response, OpError>,
        /// What cold items are read with; present if there are any.
        reader: Option<backend::Reader>,
    },
    /// The stream has messages: take them with `Member::drain_watch` as it has room.
    WatchReady(StreamId),
    /// Send a message to another member. It may be lost, doubled or late; what must not leave
    /// before a sync is not among the effects before it.
    Send {
        /// To whom.
        to: MemberId,
        /// Which connection it takes.
        class: Class,
        /// The encoded message.
        message: Bytes,
    },
    /// Something worth a log line or a metric; never load-bearing.
    Note(Note),
    /// The member cannot go on: what is stored cannot be trusted. Log it once and end the process
    /// with code 65. Nothing follows.
    Fatal(Fatal),
    /// The member has done what can be done before the process ends.
    Stopped,
}

/// Why a member cannot go on.
#[derive(Debug)]
pub enum Fatal {
    /// What is stored cannot be read.
    Store(store::Error),
    /// The leader counts on entries that this member acknowledged and does not have any more.
    LogLost {
        /// Who leads.
        leader: MemberId,
        /// What it takes for durable here.
        commit: Index,
        /// Where the log ends.
        last: Index,
    },
}

impl fmt::Display for Fatal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fatal::Store(error) => error.fmt(f),
            Fatal::LogLost { leader, commit, last } => write!(
                f,
                "leader {:x} committed entry {commit} with the acknowledgement of this member, \
                 but its log ends at {last}: acknowledged entries were lost; remove this member \
                 and add a new one in its place",
                leader.0
            ),
        }
    }
}

impl std::error::Error for Fatal {}

/// Facts for the log and the metrics.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Note {
    /// This member became leader in a term.
    BecameLeader(types::Term),
    /// The known leader changed; `None` if there is none.
    LeaderChanged(Option<MemberId>),
    /// The member published itself: clients may be served.
    Ready,
    /// The NOSPACE alarm was raised.
    NoSpaceAlarm,
    /// A compaction was applied at this revision.
    Compacted(i64),
    /// Physical removal for this revision is finished.
    CompactionFinished(i64),
    /// A lease was granted for this many seconds.
    LeaseGranted(i64),
    /// A client waits for the hash of a compaction.
    HashAwaited,
    /// A slice of a compaction's work on the index was done in this turn.
    CompactionSlice,
    /// Leases expired.
    LeasesExpired(usize),
    /// A batch of the log was applied, up to this index.
    Applied(Index),
    /// A message of another member was passed over.
    PeerRefused {
        /// Who sent it.
        from: MemberId,
        /// What is wrong with it.
        why: String,
    },
    /// This member was removed from the cluster: it stops.
    Removed,
    /// The membership changed.
    MembersChanged,
    /// Another member needs entries that are gone: it stays behind until it gets a snapshot.
    NeedsSnapshot(MemberId),
}
