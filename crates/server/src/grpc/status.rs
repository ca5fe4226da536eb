//! The one table from errors to gRPC codes and etcd's exact texts (contract §2.1, §2.2).

use std::borrow::Cow;
use types::OpError;

/// gRPC status codes, with their numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Code {
    /// Success.
    Ok = 0,
    /// The caller went away.
    Canceled = 1,
    /// No better code.
    Unknown = 2,
    /// The request is wrong.
    InvalidArgument = 3,
    /// The caller's time is over.
    DeadlineExceeded = 4,
    /// The thing named does not exist.
    NotFound = 5,
    /// The thing named exists.
    AlreadyExists = 6,
    /// Not allowed.
    PermissionDenied = 7,
    /// A limit is reached.
    ResourceExhausted = 8,
    /// The state does not allow it.
    FailedPrecondition = 9,
    /// Lost against another.
    Aborted = 10,
    /// A revision outside what is kept.
    OutOfRange = 11,
    /// Not offered.
    Unimplemented = 12,
    /// A fault of the transport or of the server.
    Internal = 13,
    /// Try again or elsewhere.
    Unavailable = 14,
    /// Data differs or is lost.
    DataLoss = 15,
    /// No valid identity.
    Unauthenticated = 16,
}

impl Code {
    /// The number as it stands in `grpc-status`.
    pub fn as_str(self) -> &'static str {
        const TEXT: [&str; 17] = [
            "0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11", "12", "13", "14", "15",
            "16",
        ];
        TEXT[self as usize]
    }

    /// The name as Go prints it.
    pub fn name(self) -> &'static str {
        proto::code::NAMES[self as usize]
    }
}

/// How a call ends when it does not end well.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Status {
    /// The code.
    pub code: Code,
    /// The text, before percent-encoding.
    pub message: Cow<'static, str>,
}

impl Status {
    /// A status of any code and text.
    pub fn new(code: Code, message: impl Into<Cow<'static, str>>) -> Status {
        Status { code, message: message.into() }
    }

    /// The status of an unknown or absent method, in the words of grpc-go's generated servers.
    pub fn not_implemented(method: &str) -> Status {
        Status::new(Code::Unimplemented, format!("method {method} not implemented"))
    }

    /// What the lock and election services make of any failure: code Unknown, same text.
    pub fn as_unknown(self) -> Status {
        Status { code: Code::Unknown, message: self.message }
    }
}

impl From<OpError> for Status {
    fn from(error: OpError) -> Status {
        let (code, message) = row(error);
        Status { code, message: Cow::Borrowed(message) }
    }
}

/// Code and text of an error.
pub fn row(error: OpError) -> (Code, &'static str) {
    use Code::*;
    match error {
        OpError::EmptyKey => (InvalidArgument, "etcdserver: key is not provided"),
        OpError::KeyNotFound => (InvalidArgument, "etcdserver: key not found"),
        OpError::ValueProvided => (InvalidArgument, "etcdserver: value is provided"),
        OpError::LeaseProvided => (InvalidArgument, "etcdserver: lease is provided"),
        OpError::TooManyOps => (InvalidArgument, "etcdserver: too many operations in txn request"),
        OpError::DuplicateKey => {
            (InvalidArgument, "etcdserver: duplicate key given in txn request")
        }
        OpError::InvalidSortOption => (InvalidArgument, "etcdserver: invalid sort option"),
        OpError::Compacted => {
            (OutOfRange, "etcdserver: mvcc: required revision has been compacted")
        }
        OpError::FutureRevision => {
            (OutOfRange, "etcdserver: mvcc: required revision is a future revision")
        }
        OpError::NoSpace => (ResourceExhausted, "etcdserver: mvcc: database space exceeded"),
        OpError::LeaseNotFound => (NotFound, "etcdserver: requested lease not found"),
        OpError::LeaseExists => (FailedPrecondition, "etcdserver: lease already exists"),
        OpError::LeaseTtlTooLarge => (OutOfRange, "etcdserver: too large lease TTL"),
        OpError::RequestTooLarge => (InvalidArgument, "etcdserver: request is too large"),
        OpError::TooManyRequests => (Unknown, "etcdserver: too many requests"),
        OpError::NoLeader => (Unavailable, "etcdserver: no leader"),
        OpError::NotLeader => (FailedPrecondition, "etcdserver: not leader"),
        OpError::LeaderChanged => (Unavailable, "etcdserver: leader changed"),
        OpError::NotCapable => (FailedPrecondition, "etcdserver: not capable"),
        OpError::Stopped => (Unavailable, "etcdserver: server stopped"),
        OpError::Timeout => (Unavailable, "etcdserver: request timed out"),
        OpError::TimeoutLeaderFail => {
            (Unavailable, "etcdserver: request timed out, possibly due to previous leader failure")
        }
        OpError::TimeoutConnectionLost => {
            (Unavailable, "etcdserver: request timed out, possibly due to connection lost")
        }
        OpError::TimeoutWaitApplied => (
            Unavailable,
            "etcdserver: request timed out, waiting for the applied index took too long",
        ),
        OpError::TimeoutLeaderTransfer => {
            (Unknown, "etcdserver: request timed out, leader transfer took too long")
        }
        OpError::Corrupt => (DataLoss, "etcdserver: corrupt cluster"),
        OpError::MemberNotFound => (NotFound, "etcdserver: member not found"),
        OpError::MemberExists => (FailedPrecondition, "etcdserver: member ID already exist"),
        OpError::PeerUrlExists => (FailedPrecondition, "etcdserver: Peer URLs already exists"),
        OpError::NotEnoughStarted => {
            (Unknown, "etcdserver: re-configuration failed due to not enough started members")
        }
        OpError::Unhealthy => (Unavailable, "etcdserver: unhealthy cluster"),
        OpError::MemberNotLearner => {
            (FailedPrecondition, "etcdserver: can only promote a learner member")
        }
        OpError::LearnerNotReady => (
            FailedPrecondition,
            "etcdserver: can only promote a learner member which is in sync with leader",
        ),
        OpError::TooManyLearners => {
            (FailedPrecondition, "etcdserver: too many learner members in cluster")
        }
        OpError::NotSupportedForLearner => {
            (FailedPrecondition, "etcdserver: rpc not supported for learner")
        }
        OpError::BadLeaderTransferee => (FailedPrecondition, "etcdserver: bad leader transferee"),
        OpError::NotPrimaryLessor => (Unknown, "not a primary lessor"),
        OpError::Canceled => (Canceled, "etcdserver: request canceled"),
        OpError::Unimplemented => (Unimplemented, "etcdserver: not offered by this server yet"),
    }
}

/// The text of a watch's `cancel_reason` for an error that etcd reports in the client's form.
pub fn client_form(status: &Status) -> String {
    format!("rpc error: code = {} desc = {}", status.code.name(), status.message)
}

/// Percent-encodes a `grpc-message`: printable ASCII but `%` stays.
pub fn percent_encode(message: &str) -> Cow<'_, str> {
    let plain = |byte: &u8| (b' '..=b'~').contains(byte) && *byte != b'%';
    if message.as_bytes().iter().all(plain) {
        return Cow::Borrowed(message);
    }
    let mut out = String::with_capacity(message.len() + 16);
    for byte in message.bytes() {
        if plain(&byte) {
            out.push(char::from(byte));
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
    Cow::Owned(out)
}

#[cfg(test)]
mod tests;
