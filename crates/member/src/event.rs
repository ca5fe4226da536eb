//! What happens to a member.

use crate::request::{Request, RequestId, StreamId, Ticket};
use bytes::Bytes;
use types::{MemberId, Record, Time};

/// One thing that happened.
#[derive(Debug)]
pub enum Event {
    /// Time went on; sent at least once per heartbeat interval.
    Tick,
    /// A client asks. Exactly one `Effect::Reply` with this id follows, unless cancelled.
    Request {
        /// Chosen by the driver, unique while the member runs.
        id: RequestId,
        /// What is asked.
        request: Request,
        /// When the caller stops waiting, if it said so.
        deadline: Option<Time>,
    },
    /// The caller of this request went away: no reply is wanted, a proposal may still commit.
    Cancel(RequestId),
    /// A watch stream did something.
    Watch {
        /// The stream, chosen by the driver at `WatchCommand::Open`.
        stream: StreamId,
        /// What it did.
        command: WatchCommand,
    },
    /// `Effect::Persist` with this ticket is durable. (A failure never arrives: the process ends.)
    Persisted(Ticket),
    /// `Effect::Flush` with this ticket is durable.
    Flushed {
        /// Ticket of the flush.
        ticket: Ticket,
        /// Reads all that is durable so far.
        reader: backend::Reader,
    },
    /// One step of `Effect::Rewrite` ended.
    Rewritten {
        /// Ticket of the rewrite.
        ticket: Ticket,
        /// Reads all that is durable so far.
        reader: backend::Reader,
        /// True if no segment is left that holds enough garbage.
        done: bool,
    },
    /// `Effect::Fetch` with this ticket found these records, in the order asked for.
    Fetched {
        /// Ticket of the fetch.
        ticket: Ticket,
        /// The records.
        records: Vec<Record>,
    },
    /// `Effect::FetchLog` with this ticket read these entries; none if the log has given them up.
    LogFetched {
        /// Ticket of the fetch.
        ticket: Ticket,
        /// The entries, in order.
        entries: Vec<wal::Entry>,
    },
    /// `Effect::History` with this ticket read these records.
    History {
        /// Ticket of the read.
        ticket: Ticket,
        /// Records in revision order.
        records: Vec<Record>,
        /// Every record of the span up to this main revision is among them: the end of the span,
        /// or less if the bytes were used up before.
        upto: i64,
    },
    /// `Effect::Hash` with this ticket computed this CRC.
    Hashed {
        /// Ticket of the hash.
        ticket: Ticket,
        /// CRC-32C as etcd computes it.
        hash: u32,
    },
    /// The disk has room again, or has none: see `design.md` on a full disk.
    DiskSpace(DiskSpace),
    /// A message of another member.
    Peer {
        /// Who sent it.
        from: MemberId,
        /// The encoded message.
        message: Bytes,
    },
    /// A message to this member could not be sent.
    Unreachable(MemberId),
    /// There is a connection to this member.
    Connected(MemberId),
    /// There is none any more.
    Disconnected(MemberId),
    /// Begin to stop: hand over leadership if possible, then `Effect::Stopped`.
    Stop,
}

/// What a watch stream does.
#[derive(Debug)]
pub enum WatchCommand {
    /// The stream begins.
    Open,
    /// Create a watcher.
    Create(watch::Create),
    /// Cancel a watcher.
    Cancel(i64),
    /// Ask for progress of the whole stream.
    Progress,
    /// The stream ended; everything of it is dropped.
    Close,
}

/// State of the disk as the threads that write see it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DiskSpace {
    /// Writes can be taken.
    Ok,
    /// Allocation failed: refuse new writes with the no-space error, keep reads.
    Full,
}
