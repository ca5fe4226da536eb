//! The reference after some entry of the log.

use crate::oracle::Oracle;
use model::Model;
use proto::request::Request;
use std::collections::{BTreeMap, BTreeSet};
use types::OpError;

/// What an entry must have come to.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Expected {
    Put(Result<model::PutAnswer, OpError>),
    Delete(model::DeleteAnswer),
    Txn(Result<model::TxnAnswer, OpError>),
    Compact(Result<(), OpError>),
    Grant(Result<(i64, i64), OpError>),
    Revoke(Result<(), OpError>),
    /// Nothing that a client sees.
    Other,
}

/// The reference.
#[derive(Default, Debug)]
pub(crate) struct State {
    pub(crate) model: Model,
    /// Leases with their TTL.
    pub(crate) leases: BTreeMap<i64, i64>,
    alarms: BTreeSet<(u64, i32)>,
}

impl State {
    /// Does what an entry asks.
    pub(crate) fn expect(&mut self, request: &Request) -> Expected {
        match request {
            Request::Put(op) => Expected::Put(self.model.put(op)),
            Request::Delete(op) => Expected::Delete(self.model.delete(op)),
            Request::Txn(op) => Expected::Txn(self.model.txn(op)),
            Request::Compact { revision, .. } => Expected::Compact(self.model.compact(*revision)),
            Request::LeaseGrant { id, ttl } => {
                let granted = self.model.grant(id.0);
                if granted.is_ok() {
                    self.leases.insert(id.0, *ttl);
                }
                Expected::Grant(granted.map(|()| (id.0, *ttl)))
            }
            Request::LeaseRevoke(id) => {
                self.leases.remove(&id.0);
                Expected::Revoke(self.model.revoke(id.0))
            }
            Request::Alarm { action, member, kind } => {
                match action {
                    1 => self.alarms.insert((member.0, *kind)),
                    _ => self.alarms.remove(&(member.0, *kind)),
                };
                Expected::Other
            }
            _ => Expected::Other,
        }
    }
}

/// The reference as of what one member has applied.
#[derive(Default, Debug)]
pub(crate) struct View {
    pub(crate) state: State,
    /// Index of the last entry in it.
    pub(crate) index: usize,
}

impl View {
    /// Follows the oracle, which has entry `index`, up to it.
    pub(crate) fn advance(&mut self, oracle: &Oracle, index: usize) {
        while self.index < index {
            self.index += 1;
            if let Some(request) = oracle.applied(self.index).and_then(|it| it.request.as_ref()) {
                self.state.expect(request);
            }
        }
    }
}
