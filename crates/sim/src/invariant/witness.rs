//! Strict serializability by witness (INV-1, INV-2): the log is the order. Every answered write is
//! one entry of it, with exactly this outcome on the reference, after everything that any client
//! had seen when it was sent. Every read equals the reference at the moment of its answer, which
//! is not before anything that was seen when it was sent.

use crate::client::{Asked, Outstanding};
use crate::compare;
use crate::oracle::Oracle;
use crate::report::Violation;
use crate::state::{Expected, View};
use backend::Reader;
use member::request::Response;
use proto::log::Kind;
use types::{MemberId, OpError};

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
            | OpError::NoLeader
            | OpError::NotLeader
            | OpError::TimeoutLeaderTransfer
    )
}

/// What an answer is compared with.
pub(crate) struct Witness<'a> {
    pub(crate) oracle: &'a mut Oracle,
    /// The reference as of the member that answers.
    pub(crate) view: &'a View,
    /// Who answers.
    pub(crate) member: MemberId,
    /// True if there is no other member.
    pub(crate) is_alone: bool,
    pub(crate) reader: Option<&'a Reader>,
}

impl Witness<'_> {
    /// Checks an answer.
    pub(crate) fn check(
        &mut self,
        outstanding: &Outstanding,
        answer: &Answer,
    ) -> Result<(), Violation> {
        if answer.as_ref().is_err_and(|error| is_open(*error)) {
            return Ok(());
        }
        let (index, floor) = (self.view.index, outstanding.floor);
        let asks_leader = matches!(outstanding.asked, Asked::KeepAlive(_) | Asked::TimeToLive(_));
        let is_here = self.is_alone || !asks_leader;
        if is_here && outstanding.asked.is_linearizable() && index < floor {
            let text = format!("answered as of entry {index}, {floor} was seen before");
            return Err(violation(text));
        }
        match &outstanding.asked {
            Asked::Write { kind, body } => {
                let body = body.clone();
                self.claim(floor, *kind, answer, |entry| *entry == body)
            }
            Asked::Grant => self.claim(floor, Kind::LeaseGrant, answer, |_| true),
            asked if is_here => check_read(self.view, asked, answer, self.reader),
            asked => self.check_lease(asked, floor, answer),
        }
    }

    /// What the leader said of a lease held at some time since it was asked.
    fn check_lease(&self, asked: &Asked, floor: usize, answer: &Answer) -> Result<(), Violation> {
        let (id, is_there) = match (asked, answer) {
            (Asked::KeepAlive(id), Ok(Response::LeaseKeepAlive { ttl, .. })) => (*id, 0 < *ttl),
            (Asked::TimeToLive(id), Ok(Response::LeaseTimeToLive { granted_ttl, .. })) => {
                (*id, 0 < *granted_ttl)
            }
            (_, other) => return Err(violation(format!("{other:?} for {asked:?}"))),
        };
        let holds = match is_there {
            true => self.oracle.lease_was_there(id, floor),
            false => self.oracle.lease_was_missing(id, floor),
        };
        if holds {
            return Ok(());
        }
        Err(violation(format!("{asked:?} since entry {floor}: {answer:?}")))
    }

    /// Finds the entry of a write.
    fn claim(
        &mut self,
        floor: usize,
        kind: Kind,
        answer: &Answer,
        is_body: impl Fn(&bytes::Bytes) -> bool,
    ) -> Result<(), Violation> {
        let mut seen = Vec::new();
        for entry in self.oracle.candidates(floor, self.view.index, kind, self.member) {
            if !is_body(&entry.body) {
                continue;
            }
            if matches(&entry.expected, answer, self.reader).map_err(violation)? {
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
    view: &View,
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
            (format!("{seen:?}"), format!("{:?}", view.state.model.range(op)))
        }
        (Asked::ReadTxn(op), answer) => {
            let seen = match answer {
                Ok(Response::Txn(seen)) => Ok(compare::txn(seen, reader).map_err(violation)?),
                Ok(other) => return Err(violation(format!("{other:?} for a txn"))),
                Err(error) => Err(*error),
            };
            (format!("{seen:?}"), format!("{:?}", view.state.model.clone().txn(op)))
        }
        (Asked::KeepAlive(id), Ok(Response::LeaseKeepAlive { ttl, .. })) => {
            let wanted = view.state.leases.get(id).copied().unwrap_or(0);
            (ttl.to_string(), wanted.to_string())
        }
        (Asked::TimeToLive(id), Ok(Response::LeaseTimeToLive { granted_ttl, keys, .. })) => {
            let wanted = view.state.leases.get(id).copied().unwrap_or(0);
            let keys: Vec<Vec<u8>> = keys.iter().map(|key| key.to_vec()).collect();
            let attached = if wanted == 0 { Vec::new() } else { view.state.model.attached(*id) };
            (format!("{granted_ttl} {keys:?}"), format!("{wanted} {attached:?}"))
        }
        (Asked::Leases, Ok(Response::LeaseLeases(seen))) => {
            let mut seen: Vec<i64> = seen.iter().map(|id| id.0).collect();
            seen.sort_unstable();
            let wanted: Vec<i64> = view.state.leases.keys().copied().collect();
            (format!("{seen:?}"), format!("{wanted:?}"))
        }
        (Asked::HashKv, Ok(Response::HashKv { hash, compact_revision, hash_revision })) => {
            return crate::invariant::hash_equal::check(
                &view.state.model,
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
