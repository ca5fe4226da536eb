//! The replicated half: which leases exist and which keys are attached to them.

use bytes::Bytes;
use std::collections::{BTreeMap, BTreeSet, btree_set};
use types::{Index, LeaseId, OpError, limits};

/// One lease.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Lease {
    /// Granted seconds.
    pub ttl: i64,
    /// Seconds left at the last checkpoint; 0 if there is none.
    pub remaining: i64,
    /// Index of the entry that granted it: tells it from an earlier lease of the same id.
    pub since: Index,
    keys: BTreeSet<Bytes>,
}

impl Lease {
    /// The attached keys, in byte order.
    pub fn keys(&self) -> impl Iterator<Item = &Bytes> {
        self.keys.iter()
    }

    /// Number of attached keys.
    pub fn key_count(&self) -> usize {
        self.keys.len()
    }

    /// Seconds that the lease runs for after a change of leader: what the last checkpoint left,
    /// else all of it.
    pub fn restart_ttl(&self) -> i64 {
        if 0 < self.remaining { self.remaining } else { self.ttl }
    }
}

/// All leases. Which lease a key is attached to is not kept here: the key's newest record says it,
/// and whoever changes the key tells.
///
/// Invariant: a key is attached to one lease at most.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Table {
    leases: BTreeMap<LeaseId, Lease>,
}

impl Table {
    /// Whether a grant would succeed; checks in etcd's order.
    pub fn check_grant(&self, id: LeaseId, ttl: i64) -> Result<(), OpError> {
        if id == LeaseId(0) {
            return Err(OpError::LeaseNotFound);
        }
        if limits::LEASE_TTL_MAX < ttl {
            return Err(OpError::LeaseTtlTooLarge);
        }
        if self.leases.contains_key(&id) {
            return Err(OpError::LeaseExists);
        }
        Ok(())
    }

    /// Grants a lease. The TTL is used as it is: the proposer raised it to the minimum.
    pub fn grant(&mut self, since: Index, id: LeaseId, ttl: i64) -> Result<(), OpError> {
        self.check_grant(id, ttl)?;
        self.leases.insert(id, Lease { ttl, since, ..Lease::default() });
        Ok(())
    }

    /// The lease of this id.
    pub fn get(&self, id: LeaseId) -> Option<&Lease> {
        self.leases.get(&id)
    }

    /// True if the lease exists.
    pub fn contains(&self, id: LeaseId) -> bool {
        self.leases.contains_key(&id)
    }

    /// All leases, by id.
    pub fn iter(&self) -> impl Iterator<Item = (LeaseId, &Lease)> {
        self.leases.iter().map(|(id, lease)| (*id, lease))
    }

    /// Number of leases.
    pub fn len(&self) -> usize {
        self.leases.len()
    }

    /// True without leases.
    pub fn is_empty(&self) -> bool {
        self.leases.is_empty()
    }

    /// Moves a key from one lease to another; 0 is none. A lease to detach from may be gone, or
    /// its keys were taken.
    pub fn attach(&mut self, key: &[u8], from: LeaseId, to: LeaseId) {
        if from == to {
            return;
        }
        if let Some(lease) = self.leases.get_mut(&from) {
            lease.keys.remove(key);
        }
        if to != LeaseId(0) {
            let lease = self.leases.get_mut(&to).expect("a put checks its lease before it writes");
            // A copy of its own: the key may be a slice of a large record.
            lease.keys.insert(Bytes::copy_from_slice(key));
        }
    }

    /// Takes the keys of a lease that is about to be revoked, in byte order; the caller deletes
    /// them. The lease itself stays until [`Table::revoke`].
    pub fn take_keys(&mut self, id: LeaseId) -> btree_set::IntoIter<Bytes> {
        let lease = self.leases.get_mut(&id);
        lease.map(|lease| std::mem::take(&mut lease.keys)).unwrap_or_default().into_iter()
    }

    /// Ends a lease; the caller deletes the keys it returns, in byte order, in one revision.
    pub fn revoke(&mut self, id: LeaseId) -> Result<Vec<Bytes>, OpError> {
        let lease = self.leases.remove(&id).ok_or(OpError::LeaseNotFound)?;
        Ok(lease.keys.into_iter().collect())
    }

    /// Notes what is left of a lease; 0 clears it. False if the lease does not exist.
    pub fn checkpoint(&mut self, id: LeaseId, remaining: i64) -> bool {
        match self.leases.get_mut(&id) {
            Some(lease) => {
                lease.remaining = remaining;
                true
            }
            None => false,
        }
    }

    /// Puts a persisted lease back at start.
    pub fn restore(&mut self, row: &Row) {
        let Row { id, ttl, remaining, since } = *row;
        self.leases.insert(id, Lease { ttl, remaining, since, ..Lease::default() });
    }

    /// The persistent form of a lease; its keys are found again in the keyspace.
    pub fn row(&self, id: LeaseId) -> Option<Row> {
        let lease = self.leases.get(&id)?;
        Some(Row { id, ttl: lease.ttl, remaining: lease.remaining, since: lease.since })
    }

    /// Panics if a key is attached to two leases.
    pub fn check(&self) {
        let mut seen = BTreeSet::new();
        for (id, lease) in &self.leases {
            assert!(lease.keys.iter().all(|key| seen.insert(key)), "{id} shares a key");
        }
    }
}

/// The persistent form of a lease.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Row {
    /// Which.
    pub id: LeaseId,
    /// Granted seconds.
    pub ttl: i64,
    /// Seconds left at the last checkpoint; 0 if there is none.
    pub remaining: i64,
    /// Index of the entry that granted it.
    pub since: Index,
}

/// A persisted lease that is not one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RowError;

impl Row {
    /// The table key: the id, big-endian. Negative ids follow the positive ones.
    pub fn key(id: LeaseId) -> [u8; 8] {
        id.0.to_be_bytes()
    }

    /// The table value: TTL, remaining TTL and index of the grant, big-endian.
    pub fn encode(&self) -> [u8; 24] {
        let mut out = [0; 24];
        out[..8].copy_from_slice(&self.ttl.to_be_bytes());
        out[8..16].copy_from_slice(&self.remaining.to_be_bytes());
        out[16..].copy_from_slice(&self.since.0.to_be_bytes());
        out
    }

    /// Reads a table row.
    pub fn decode(key: &[u8], value: &[u8]) -> Result<Row, RowError> {
        let id = i64::from_be_bytes(key.try_into().map_err(|_| RowError)?);
        let (numbers, rest) = value.as_chunks::<8>();
        let ([ttl, remaining, since], []) = (numbers, rest) else { return Err(RowError) };
        if id == 0 {
            return Err(RowError);
        }
        Ok(Row {
            id: LeaseId(id),
            ttl: i64::from_be_bytes(*ttl),
            remaining: i64::from_be_bytes(*remaining),
            since: Index(u64::from_be_bytes(*since)),
        })
    }
}
