//! Clients: one request outstanding each, with what its answer is compared with.

use bytes::Bytes;
use member::request::{Request, RequestId};
use proto::log::Kind;
use types::{RangeOp, Time, TxnOp};

/// What a client asked for.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Asked {
    /// A write whose body goes into the log as it is.
    Write {
        kind: Kind,
        body: Bytes,
    },
    Grant,
    Range(RangeOp),
    ReadTxn(TxnOp),
    KeepAlive(i64),
    TimeToLive(i64),
    Leases,
    HashKv,
    /// Answers that are not compared.
    Other,
}

impl Asked {
    /// True if the answer must show everything that was answered before the request.
    pub(crate) fn is_linearizable(&self) -> bool {
        match self {
            Asked::Range(op) => !op.serializable,
            Asked::Leases | Asked::HashKv | Asked::Other => false,
            Asked::Write { .. }
            | Asked::Grant
            | Asked::ReadTxn(_)
            | Asked::KeepAlive(_)
            | Asked::TimeToLive(_) => true,
        }
    }
}

/// A request on its way.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Outstanding {
    /// Whom was asked.
    pub(crate) host: usize,
    pub(crate) id: RequestId,
    pub(crate) asked: Asked,
    pub(crate) sent: Time,
    /// Index that some client had seen the effect of when this was sent.
    pub(crate) floor: usize,
}

/// A client.
#[derive(Default, Debug)]
pub(crate) struct Client {
    /// The only member that it asks, if it is bound to one.
    pub(crate) home: Option<usize>,
    pub(crate) outstanding: Option<Outstanding>,
    /// Number of the next value written, so that all values differ.
    pub(crate) sequence: u64,
}

/// A request with what its answer is compared with.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Plan {
    pub(crate) request: Request,
    pub(crate) asked: Asked,
}
