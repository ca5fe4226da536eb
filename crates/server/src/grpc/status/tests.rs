//! Codes and texts of every error, as etcd sends them.

use super::*;
use expect_test::expect;

const ALL: &[OpError] = &[
    OpError::EmptyKey,
    OpError::KeyNotFound,
    OpError::ValueProvided,
    OpError::LeaseProvided,
    OpError::TooManyOps,
    OpError::DuplicateKey,
    OpError::InvalidSortOption,
    OpError::Compacted,
    OpError::FutureRevision,
    OpError::NoSpace,
    OpError::LeaseNotFound,
    OpError::LeaseExists,
    OpError::LeaseTtlTooLarge,
    OpError::RequestTooLarge,
    OpError::TooManyRequests,
    OpError::NoLeader,
    OpError::NotLeader,
    OpError::LeaderChanged,
    OpError::NotCapable,
    OpError::Stopped,
    OpError::Timeout,
    OpError::TimeoutLeaderFail,
    OpError::TimeoutConnectionLost,
    OpError::TimeoutWaitApplied,
    OpError::TimeoutLeaderTransfer,
    OpError::Corrupt,
    OpError::MemberNotFound,
    OpError::MemberExists,
    OpError::PeerUrlExists,
    OpError::NotEnoughStarted,
    OpError::Unhealthy,
    OpError::MemberNotLearner,
    OpError::LearnerNotReady,
    OpError::TooManyLearners,
    OpError::NotSupportedForLearner,
    OpError::BadLeaderTransferee,
    OpError::NotPrimaryLessor,
    OpError::Canceled,
    OpError::Unimplemented,
];

#[test]
fn every_error_has_the_code_and_text_of_etcd() {
    let table: String = ALL
        .iter()
        .map(|error| {
            let (code, text) = row(*error);
            format!("{error:?}: {} {text}\n", code.name())
        })
        .collect();
    expect![[r#"
        EmptyKey: InvalidArgument etcdserver: key is not provided
        KeyNotFound: InvalidArgument etcdserver: key not found
        ValueProvided: InvalidArgument etcdserver: value is provided
        LeaseProvided: InvalidArgument etcdserver: lease is provided
        TooManyOps: InvalidArgument etcdserver: too many operations in txn request
        DuplicateKey: InvalidArgument etcdserver: duplicate key given in txn request
        InvalidSortOption: InvalidArgument etcdserver: invalid sort option
        Compacted: OutOfRange etcdserver: mvcc: required revision has been compacted
        FutureRevision: OutOfRange etcdserver: mvcc: required revision is a future revision
        NoSpace: ResourceExhausted etcdserver: mvcc: database space exceeded
        LeaseNotFound: NotFound etcdserver: requested lease not found
        LeaseExists: FailedPrecondition etcdserver: lease already exists
        LeaseTtlTooLarge: OutOfRange etcdserver: too large lease TTL
        RequestTooLarge: InvalidArgument etcdserver: request is too large
        TooManyRequests: Unknown etcdserver: too many requests
        NoLeader: Unavailable etcdserver: no leader
        NotLeader: FailedPrecondition etcdserver: not leader
        LeaderChanged: Unavailable etcdserver: leader changed
        NotCapable: FailedPrecondition etcdserver: not capable
        Stopped: Unavailable etcdserver: server stopped
        Timeout: Unavailable etcdserver: request timed out
        TimeoutLeaderFail: Unavailable etcdserver: request timed out, possibly due to previous leader failure
        TimeoutConnectionLost: Unavailable etcdserver: request timed out, possibly due to connection lost
        TimeoutWaitApplied: Unavailable etcdserver: request timed out, waiting for the applied index took too long
        TimeoutLeaderTransfer: Unknown etcdserver: request timed out, leader transfer took too long
        Corrupt: DataLoss etcdserver: corrupt cluster
        MemberNotFound: NotFound etcdserver: member not found
        MemberExists: FailedPrecondition etcdserver: member ID already exist
        PeerUrlExists: FailedPrecondition etcdserver: Peer URLs already exists
        NotEnoughStarted: Unknown etcdserver: re-configuration failed due to not enough started members
        Unhealthy: Unavailable etcdserver: unhealthy cluster
        MemberNotLearner: FailedPrecondition etcdserver: can only promote a learner member
        LearnerNotReady: FailedPrecondition etcdserver: can only promote a learner member which is in sync with leader
        TooManyLearners: FailedPrecondition etcdserver: too many learner members in cluster
        NotSupportedForLearner: FailedPrecondition etcdserver: rpc not supported for learner
        BadLeaderTransferee: FailedPrecondition etcdserver: bad leader transferee
        NotPrimaryLessor: Unknown not a primary lessor
        Canceled: Canceled etcdserver: request canceled
        Unimplemented: Unimplemented etcdserver: not offered by this server yet
    "#]]
    .assert_eq(&table);
}

#[test]
fn messages_are_percent_encoded_but_for_printable_ascii() {
    assert_eq!(percent_encode("plain text, with: marks ~"), "plain text, with: marks ~");
    assert_eq!(percent_encode("50% of \u{e4}\n"), "50%25 of %C3%A4%0A");
}

#[test]
fn code_numbers_are_those_of_grpc() {
    assert_eq!(Code::Ok.as_str(), "0");
    assert_eq!(Code::DataLoss.as_str(), "15");
    assert_eq!(Code::Unauthenticated.as_str(), "16");
}
