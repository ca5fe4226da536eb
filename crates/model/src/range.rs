//! Reading an interval (contract: Range).

use crate::kv::{Kv, Model, State};
use types::op::{SortOrder, SortTarget};
use types::{KeyRange, OpError, RangeOp};

/// What a range answers.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct RangeAnswer {
    /// The keys, in the order asked for.
    pub kvs: Vec<Kv>,
    /// True if the limit cut something off.
    pub more: bool,
    /// Keys in the interval.
    pub count: i64,
    /// Revision of the header.
    pub revision: i64,
}

/// The keys of an interval, in byte order.
pub(crate) fn pick(state: &State, range: &KeyRange) -> Vec<Kv> {
    let is_inside = |key: &[u8]| match &range.end[..] {
        [] => key == &range.key[..],
        [0] => key >= &range.key[..],
        end => key >= &range.key[..] && key < end,
    };
    let inside = state.values().filter(|kv| is_inside(&kv.key));
    inside.map(|kv| kv.as_ref().clone()).collect()
}

impl Model {
    /// Reads an interval.
    pub fn range(&self, op: &RangeOp) -> Result<RangeAnswer, OpError> {
        self.range_in(op, self.state(self.revision()), self.revision())
    }

    /// As `range`, in a transaction that sees `now` at revision `newest`.
    pub(crate) fn range_in(
        &self,
        op: &RangeOp,
        now: &State,
        newest: i64,
    ) -> Result<RangeAnswer, OpError> {
        if op.revision > newest {
            return Err(OpError::FutureRevision);
        }
        let revision = if op.revision <= 0 { newest } else { op.revision };
        if revision < self.compacted() {
            return Err(OpError::Compacted);
        }
        let state = if revision == newest { now } else { self.state(revision) };
        let mut kvs = pick(state, &op.range);
        let count = i64::try_from(kvs.len()).expect("a test is short");
        if op.count_only {
            return Ok(RangeAnswer { count, revision: newest, ..RangeAnswer::default() });
        }
        fetch(&mut kvs, op);
        filter(&mut kvs, op);
        sort(&mut kvs, op);
        let mut more = false;
        if op.limit > 0 && kvs.len() as u64 > op.limit.unsigned_abs() {
            kvs.truncate(usize::try_from(op.limit).expect("below a length"));
            more = true;
        }
        if op.keys_only {
            for kv in &mut kvs {
                kv.value.clear();
                if op.sort_target != SortTarget::Value {
                    kv.lease = 0;
                }
            }
        }
        Ok(RangeAnswer { kvs, more, count, revision: newest })
    }
}

/// With the default order and no filters only one key more than the limit is looked at.
fn fetch(kvs: &mut Vec<Kv>, op: &RangeOp) {
    let key_ascend = op.sort_target == SortTarget::Key && op.sort_order == SortOrder::Ascend;
    let is_default = op.sort_order == SortOrder::None || key_ascend;
    let filters = op.min_mod_revision != 0
        || op.max_mod_revision != 0
        || op.min_create_revision != 0
        || op.max_create_revision != 0;
    if op.limit > 0 && is_default && !filters {
        let limit = usize::try_from(op.limit).unwrap_or(usize::MAX);
        kvs.truncate(limit.saturating_add(1));
    }
}

fn filter(kvs: &mut Vec<Kv>, op: &RangeOp) {
    if op.max_mod_revision != 0 {
        kvs.retain(|kv| kv.modified <= op.max_mod_revision);
    }
    if op.min_mod_revision != 0 {
        kvs.retain(|kv| kv.modified >= op.min_mod_revision);
    }
    if op.max_create_revision != 0 {
        kvs.retain(|kv| kv.create <= op.max_create_revision);
    }
    if op.min_create_revision != 0 {
        kvs.retain(|kv| kv.create >= op.min_create_revision);
    }
}

/// Sorts; ties stay in key order, whatever the direction.
fn sort(kvs: &mut [Kv], op: &RangeOp) {
    kvs.sort_by(|a, b| {
        let order = match op.sort_target {
            SortTarget::Key | SortTarget::Unknown => a.key.cmp(&b.key),
            SortTarget::Version => a.version.cmp(&b.version),
            SortTarget::Create => a.create.cmp(&b.create),
            SortTarget::Mod => a.modified.cmp(&b.modified),
            SortTarget::Value => a.value.cmp(&b.value),
        };
        if op.sort_order == SortOrder::Descend { order.reverse() } else { order }
    });
}
