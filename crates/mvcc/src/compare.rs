//! The conditions of a transaction (contract: Txn, Compare).

use crate::keyspace::Keyspace;
use crate::kv;
use crate::read::Visit;
use std::cmp::Ordering;
use types::outcome::Item;
use types::{Compare, CompareResult, CompareTarget, Revision};

impl Keyspace {
    /// True if every key of the interval satisfies the compare. An interval without a key is a
    /// record of zeros, but a value compare never holds there.
    pub fn compare(&self, compare: &Compare) -> bool {
        let (mut any, mut all) = (false, true);
        self.walk(&compare.range, self.revision, usize::MAX, |visit| {
            any = true;
            all = all && holds(compare.result, self.relate(&compare.target, &visit));
        });
        if any {
            return all;
        }
        let order = match &compare.target {
            CompareTarget::Value(_) => return false,
            CompareTarget::Unknown => Ordering::Equal,
            CompareTarget::Version(given)
            | CompareTarget::Create(given)
            | CompareTarget::Mod(given)
            | CompareTarget::Lease(given) => 0.cmp(given),
        };
        holds(compare.result, order)
    }

    /// The records that [`Keyspace::compare`] needs in memory but that are cold.
    pub fn needs_for_compare(&self, compare: &Compare) -> Vec<Revision> {
        match compare.target {
            CompareTarget::Value(_) => self.needs_for_keys(&compare.range),
            _ => Vec::new(),
        }
    }

    fn relate(&self, target: &CompareTarget, visit: &Visit<'_>) -> Ordering {
        let version = visit.version;
        match target {
            CompareTarget::Version(given) => version.version.cmp(given),
            CompareTarget::Create(given) => version.create.cmp(given),
            CompareTarget::Mod(given) => version.main.cmp(given),
            CompareTarget::Lease(given) => version.lease.cmp(given),
            CompareTarget::Unknown => Ordering::Equal,
            CompareTarget::Value(given) => match self.item(visit.entry, &version) {
                Item::Resident(record) => kv::value(&record).cmp(given),
                Item::Cold { revision, .. } => {
                    unreachable!("the caller warms what needs_for_compare names: {revision}")
                }
            },
        }
    }
}

fn holds(result: CompareResult, order: Ordering) -> bool {
    match result {
        CompareResult::Equal => order.is_eq(),
        CompareResult::NotEqual => order.is_ne(),
        CompareResult::Greater => order.is_gt(),
        CompareResult::Less => order.is_lt(),
        CompareResult::Unknown => true,
    }
}
