//! Nothing acknowledged is lost (INV-11): the log of a recovery reaches at least to what clients
//! saw, entry by entry as it was written; and the whole keyspace equals the reference after it.
//!
//! The log half is `Record::recovered`. This file holds the other half.

use crate::compare;
use crate::report::Violation;
use crate::state::View;
use model::RangeAnswer;
use std::collections::BTreeSet;
use store::Store;
use types::{KeyRange, RangeOp};

/// Compares the store with the reference, key by key, at the same applied index.
pub(crate) fn check(store: &mut Store, view: &View) -> Result<(), Violation> {
    let range = KeyRange::new(&b"\0"[..], &b"\0"[..]);
    let op = RangeOp { range, ..RangeOp::default() };
    let reader = store.reader().clone();
    let seen = store.range(&op).map_err(|error| format!("{error:?}"));
    let seen = seen.and_then(|outcome| compare::range(&outcome, Some(&reader)));
    let wanted = view.state.model.range(&op).map_err(|error| format!("{error:?}"));
    if seen != wanted {
        let index = view.index;
        let keys = |answer: Result<RangeAnswer, String>| -> BTreeSet<String> {
            answer.map_or_else(
                |error| BTreeSet::from([error]),
                |answer| answer.kvs.iter().map(compare::show).collect(),
            )
        };
        let (seen, wanted) = (keys(seen), keys(wanted));
        let extra: Vec<_> = seen.difference(&wanted).collect();
        let missing: Vec<_> = wanted.difference(&seen).collect();
        let text = format!("at entry {index} there is {extra:?} instead of {missing:?}");
        return Err(Violation::new("acked_writes", text));
    }
    let leases: Vec<i64> = store.leases().iter().map(|(id, _)| id.0).collect();
    let mut wanted: Vec<i64> = view.state.leases.keys().copied().collect();
    wanted.sort_unstable();
    let mut seen = leases;
    seen.sort_unstable();
    if seen != wanted {
        let text = format!("the leases are {seen:?}, they should be {wanted:?}");
        return Err(Violation::new("acked_writes", text));
    }
    Ok(())
}
