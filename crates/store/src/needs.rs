//! Which cold records an operation would read: named before it runs, so that it never waits.

use crate::entry::Entry;
use crate::store::Store;
use crate::txn::{Path, branch};
use proto::request::Request;
use types::{DeleteOp, KeyRange, Op, PutOp, RangeOp, Revision, TxnOp};

impl Store {
    /// The cold records that applying the entry would read. If there are any, they are fetched,
    /// handed to `warm`, and this is asked again.
    pub fn needs(&self, entry: &Entry) -> Vec<Revision> {
        match &entry.request {
            Some(Request::Put(op)) => self.needs_of_put(op),
            Some(Request::Delete(op)) => self.needs_of_delete(op),
            Some(Request::Txn(op)) => self.needs_for_txn(op),
            Some(Request::LeaseRevoke(id)) => {
                let lease = self.leases.get(*id).filter(|_| self.hub.wants_any_prev());
                let Some(lease) = lease else { return Vec::new() };
                let told = lease.keys().filter(|key| self.hub.wants_prev(key));
                let cold = told
                    .flat_map(|key| self.keyspace.needs_for_keys(&KeyRange::single(key.clone())));
                cold.collect()
            }
            _ => Vec::new(),
        }
    }

    /// The cold records that a range would read: only a sort by value reads any.
    pub fn needs_for_range(&self, op: &RangeOp) -> Vec<Revision> {
        self.keyspace.needs_for_range(op)
    }

    /// The cold records that a transaction would read; first those of its compares, for they
    /// decide what else it does.
    pub fn needs_for_txn(&self, op: &TxnOp) -> Vec<Revision> {
        let mut cold = Vec::new();
        self.needs_of_compares(op, &mut cold);
        if cold.is_empty() {
            self.needs_of_branch(op, &Path::of(&self.keyspace, op), &mut cold);
        }
        cold.sort_unstable();
        cold.dedup();
        cold
    }

    fn needs_of_compares(&self, op: &TxnOp, cold: &mut Vec<Revision>) {
        for compare in &op.compare {
            cold.extend(self.keyspace.needs_for_compare(compare));
        }
        for op in op.success.iter().chain(&op.failure) {
            if let Op::Txn(txn) = op {
                self.needs_of_compares(txn, cold);
            }
        }
    }

    fn needs_of_branch(&self, op: &TxnOp, path: &Path, cold: &mut Vec<Revision>) {
        let mut nested = path.nested();
        for op in branch(op, path.succeeded) {
            match op {
                Op::Range(range) => cold.extend(self.keyspace.needs_for_range(range)),
                Op::Put(put) => cold.extend(self.needs_of_put(put)),
                Op::Delete(delete) => cold.extend(self.needs_of_delete(delete)),
                Op::Txn(txn) => {
                    let path = nested.next().expect("a path has one part per nested transaction");
                    self.needs_of_branch(txn, path, cold);
                }
            }
        }
    }

    fn needs_of_put(&self, op: &PutOp) -> Vec<Revision> {
        if op.ignore_value || self.hub.wants_prev(&op.key) {
            return self.keyspace.needs_for_keys(&KeyRange::single(op.key.clone()));
        }
        Vec::new() // a previous record in the answer may stay cold
    }

    fn needs_of_delete(&self, op: &DeleteOp) -> Vec<Revision> {
        if self.hub.wants_any_prev() {
            return self.keyspace.needs_for_keys(&op.range);
        }
        Vec::new()
    }
}
