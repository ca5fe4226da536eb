//! Reads at the edge: of local state, at any time between entries.

use crate::counters::{Tally, compares};
use crate::store::Store;
use crate::txn;
use types::outcome::{RangeOutcome, TxnOutcome};
use types::{OpError, RangeOp, TxnOp};

impl Store {
    /// Reads an interval. `needs_for_range` named nothing for it; what else is cold is in the
    /// answer as such, to be read with `reader`.
    pub fn range(&mut self, op: &RangeOp) -> Result<RangeOutcome, OpError> {
        let outcome = self.keyspace.range(op);
        self.counters.add(Tally::ranges(1));
        self.cool();
        outcome
    }

    /// Runs a transaction whose operations are all ranges. `needs_for_txn` named nothing for it.
    pub fn read_txn(&mut self, op: &TxnOp) -> Result<TxnOutcome, OpError> {
        let path = txn::Path::of(&self.keyspace, op);
        let outcome = txn::read(&self.keyspace, &self.leases, op, &path);
        self.counters.add(Tally::ranges(compares(op, &path)));
        let mut tally = Tally::default();
        tally.txn(op, &path);
        self.counters.add(tally);
        self.cool();
        outcome
    }
}
