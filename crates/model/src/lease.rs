//! Leases as promised to clients: nothing but who holds what until when.

use std::collections::{BTreeMap, BTreeSet};

/// A lease as its holder sees it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Lease {
    /// Granted milliseconds.
    pub ttl_ms: u64,
    /// The lease may not end before this time: what was promised last.
    pub until_ms: u64,
    /// Attached keys.
    pub keys: BTreeSet<String>,
}

/// All leases.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Leases {
    /// By id.
    pub leases: BTreeMap<i64, Lease>,
}

impl Leases {
    /// A grant at a time; false if the id is taken.
    pub fn grant(&mut self, now_ms: u64, id: i64, ttl_ms: u64) -> bool {
        if self.leases.contains_key(&id) {
            return false;
        }
        let until_ms = now_ms + ttl_ms;
        self.leases.insert(id, Lease { ttl_ms, until_ms, keys: BTreeSet::new() });
        true
    }

    /// A renewal at a time: all of the TTL is promised anew.
    pub fn renew(&mut self, now_ms: u64, id: i64) {
        let lease = self.leases.get_mut(&id).expect("renewals that were answered are of a lease");
        lease.until_ms = now_ms + lease.ttl_ms;
    }

    /// The end of a lease; its keys in byte order.
    pub fn end(&mut self, id: i64) -> Option<Vec<String>> {
        Some(self.leases.remove(&id)?.keys.into_iter().collect())
    }

    /// Puts a key on a lease and off all others; 0 is none.
    pub fn attach(&mut self, key: &str, id: i64) {
        for lease in self.leases.values_mut() {
            lease.keys.remove(key);
        }
        if let Some(lease) = self.leases.get_mut(&id) {
            lease.keys.insert(key.to_owned());
        }
    }
}
