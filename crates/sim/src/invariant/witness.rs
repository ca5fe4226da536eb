//! Strict serializability by witness (INV-1, INV-2): the log is the order. Every answered write is
//! one entry of it, with exactly this outcome on the reference, after everything that any client
//! had seen when it was sent. Every read equals the reference at the moment of its answer, which
//! is not before anything that was seen when it was sent.

use crate::client::{Asked, Outstanding};
use crate::compare;
use crate::oracle::{Expected, Oracle};
use crate::report::Violation;
use backend::Reader;
use member::request::Response;
use proto::log::Kind;
use types::OpError;

type Answer = Result<Response, OpError>;

/// True if the error leaves open whether the write happened, or says that it did not.
pub(crate) fn is_open(error: OpError) -> bool {
    matches!(
        error,
        OpError::Timeout
            | OpError::TimeoutLeaderFail
            | OpError::TimeoutConnectionLost
            | OpError::Stopped
            | OpError::TooManyRequests
            | OpError::LeaderChanged
            | OpError::NoSpace
            | OpError::NotPrimaryLessor
    )
}

/// Checks an answer.
pub(crate) fn check(
    oracle: &mut Oracle,
    outstanding: &Outstanding,
    answer: &Answer,
    reader: Option<&Reader>,
) -> Result<(), Violation> {
    if answer.as_ref().is_err_and(|error| is_open(*error)) {
        return Ok(());
    }
    if outstanding.asked.is_linearizable() && oracle.index() < outstanding.floor {
        let (index, floor) = (oracle.index(), outstanding.floor);
        return Err(violation(format!("answered as of entry {index}, {floor} was seen before")));
    }
    match &outstanding.asked {
        Asked::Write { kind, body } => {
            let body = body.clone();
            claim(oracle, outstanding.floor, *kind, answer, reader, |entry| *entry == body)
        }
        Asked::Grant => {
            claim(oracle, outstanding.floor, Kind::LeaseGrant, answer, reader, |_| true)
        }
        asked => check_read(oracle, asked, answer, reader),
    }
}

/// Finds the entry of a write.
fn claim(
    oracle: &mut Oracle,
    floor: usize,
    kind: Kind,
    answer: &Answer,
    reader: Option<&Reader>,
    is_body: impl Fn(&bytes::Bytes) -> bool,
) -> Result<(), Violation> {
    let mut seen = Vec::new();
    for entry in oracle.candidates(floor, kind) {
        if !is_body(&entry.body) {
            continue;
        }
        if matches(&entry.expected, answer, reader).map_err(violation)? {
            entry.is_claimed = true;
            return Ok(());
        }
        seen.push(entry.expected.clone());
    }
    let difference = match seen.as_slice() {
        [] => "nothing in the log".to_owned(),
        [one] => compare::difference(&format!("{answer:?}"), &format!("{one:?}")),
        _ => format!("none of {} entries", seen.len()),
    };
    Err(violation(format!("the answer to a {kind:?} is not that of the log: {difference}")))
}

fn matches(expected: &Expected, answer: &Answer, reader: Option<&Reader>) -> Result<bool, String> {
    Ok(match (expected, answer) {
        (Expected::Put(Ok(wanted)), Ok(Response::Put(seen))) => {
            compare::put(seen, reader)? == *wanted
        }
        (Expected::Delete(wanted), Ok(Response::Delete(seen))) => {
            compare::delete(seen, reader)? == *wanted
        }
        (Expected::Txn(Ok(wanted)), Ok(Response::Txn(seen))) => {
            compare::txn(seen, reader)? == *wanted
        }
        (Expected::Compact(Ok(())), Ok(Response::Compact)) => true,
        (Expected::Grant(Ok((id, ttl))), Ok(Response::LeaseGrant { id: seen, ttl: seconds })) => {
            *id == seen.0 && ttl == seconds
        }
        (Expected::Revoke(Ok(())), Ok(Response::LeaseRevoke)) => true,
        (Expected::Put(Err(wanted)), Err(seen))
        | (Expected::Txn(Err(wanted)), Err(seen))
        | (Expected::Compact(Err(wanted)), Err(seen))
        | (Expected::Grant(Err(wanted)), Err(seen))
        | (Expected::Revoke(Err(wanted)), Err(seen)) => wanted == seen,
        _ => false,
    })
}

fn check_read(
    oracle: &Oracle,
    asked: &Asked,
    answer: &Answer,
    reader: Option<&Reader>,
) -> Result<(), Violation> {
    let (seen, wanted) = match (asked, answer) {
        (Asked::Range(op), answer) => {
            let seen = match answer {
                Ok(Response::Range(seen)) => Ok(compare::range(seen, reader).map_err(violation)?),
                Ok(other) => return Err(violation(format!("{other:?} for a range"))),
                Err(error) => Err(*error),
            };
            (format!("{seen:?}"), format!("{:?}", oracle.model.range(op)))
        }
        (Asked::ReadTxn(op), answer) => {
            let seen = match answer {
                Ok(Response::Txn(seen)) => Ok(compare::txn(seen, reader).map_err(violation)?),
                Ok(other) => return Err(violation(format!("{other:?} for a txn"))),
                Err(error) => Err(*error),
            };
            (format!("{seen:?}"), format!("{:?}", oracle.model.clone().txn(op)))
        }
        (Asked::KeepAlive(id), Ok(Response::LeaseKeepAlive { ttl, .. })) => {
            let wanted = oracle.leases.get(id).copied().unwrap_or(0);
            (ttl.to_string(), wanted.to_string())
        }
        (Asked::TimeToLive(id), Ok(Response::LeaseTimeToLive { granted_ttl, keys, .. })) => {
            let wanted = oracle.leases.get(id).copied().unwrap_or(0);
            let keys: Vec<Vec<u8>> = keys.iter().map(|key| key.to_vec()).collect();
            let attached = if wanted == 0 { Vec::new() } else { oracle.model.attached(*id) };
            (format!("{granted_ttl} {keys:?}"), format!("{wanted} {attached:?}"))
        }
        (Asked::Leases, Ok(Response::LeaseLeases(seen))) => {
            let mut seen: Vec<i64> = seen.iter().map(|id| id.0).collect();
            seen.sort_unstable();
            let wanted: Vec<i64> = oracle.leases.keys().copied().collect();
            (format!("{seen:?}"), format!("{wanted:?}"))
        }
        (Asked::HashKv, Ok(Response::HashKv { hash, compact_revision, hash_revision })) => {
            return crate::invariant::hash_equal::check(
                &oracle.model,
                *hash,
                *compact_revision,
                *hash_revision,
            );
        }
        (_, Ok(_)) => return Ok(()),
        (_, Err(error)) => return Err(violation(format!("{error:?} for {asked:?}"))),
    };
    if seen != wanted {
        let difference = compare::difference(&seen, &wanted);
        return Err(violation(format!("{asked:?} was answered wrong, {difference}")));
    }
    Ok(())
}

fn violation(text: String) -> Violation {
    Violation::new("witness", text)
}
