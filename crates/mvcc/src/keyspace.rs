//! The keyspace itself: what it holds, and lookups of single keys.

use crate::compact::Scrub;
use crate::index::{Pos, Tree};
use crate::kv::{self, Numbers};
use crate::quota::Quota;
use crate::recent::Ring;
use crate::resident::Residency;
use crate::slab::{Entry, Slab, Version};
use crate::write::Change;
use bytes::Bytes;
use types::outcome::Item;
use types::{KeyRange, LeaseId, OpError, Revision};

/// Bounds on memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Config {
    /// Bytes of newest records that stay in memory.
    pub resident_bytes: usize,
    /// Bytes of the ring of recent records.
    pub recent_bytes: usize,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            resident_bytes: types::limits::RESIDENT_BYTES_DEFAULT,
            recent_bytes: types::limits::RECENT_BYTES_DEFAULT,
        }
    }
}

/// The numbers of one version of a key.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Meta {
    /// Main revision of the key's creation.
    pub create: i64,
    /// When this version came to be.
    pub modified: Revision,
    /// Changes since creation, from 1.
    pub version: i64,
    /// Attached lease; 0 if none.
    pub lease: LeaseId,
}

impl Meta {
    /// The main revision of this version, as clients see it.
    pub fn mod_revision(&self) -> i64 {
        self.modified.main
    }

    pub(crate) fn of(version: &Version) -> Meta {
        Meta {
            create: version.create,
            modified: version.revision(),
            version: version.version,
            lease: LeaseId(version.lease),
        }
    }
}

/// One version of a key: its numbers and its record.
#[derive(Clone, PartialEq, Debug)]
pub struct Stored {
    /// The numbers.
    pub meta: Meta,
    /// The record.
    pub item: Item,
}

/// The multi-version keyspace. See the crate.
#[derive(Debug)]
pub struct Keyspace {
    pub(crate) tree: Tree,
    pub(crate) slab: Slab,
    pub(crate) recent: Ring,
    pub(crate) resident: Residency,
    pub(crate) quota: Quota,
    pub(crate) scrub: Scrub,
    pub(crate) revision: i64,
    pub(crate) compacted: i64,
    /// Number of changes of the open write transaction, at main revision `revision + 1`.
    pub(crate) changed: u32,
    /// Those of them that were not taken yet.
    pub(crate) pending: Vec<Change>,
}

impl Keyspace {
    /// An empty keyspace at revision 1.
    pub fn new(config: Config) -> Keyspace {
        Keyspace {
            tree: Tree::new(),
            slab: Slab::default(),
            recent: Ring::new(0, config.recent_bytes),
            resident: Residency::new(config.resident_bytes),
            quota: Quota::new(1),
            scrub: Scrub::default(),
            revision: 1,
            compacted: -1,
            changed: 0,
            pending: Vec::new(),
        }
    }

    /// Main revision of the last committed write transaction.
    pub fn revision(&self) -> i64 {
        self.revision
    }

    /// The revision of the last compaction; -1 before the first.
    pub fn compacted(&self) -> i64 {
        self.compacted
    }

    /// Keys that exist at the newest revision.
    pub fn key_count(&self) -> usize {
        self.tree.live()
    }

    /// What the quota counts: key, value and overhead of every record that is not compacted.
    pub fn live_bytes(&self) -> i64 {
        self.quota.live()
    }

    /// Bytes of the newest records that are in memory.
    pub fn resident_bytes(&self) -> usize {
        self.resident.bytes()
    }

    /// Calls `visit` with each key that exists and is attached to a lease, in key order.
    pub fn each_leased(&self, mut visit: impl FnMut(Bytes, LeaseId)) {
        self.walk(&KeyRange::new("\0", "\0"), i64::MAX, usize::MAX, |found| {
            if found.version.lease != 0 {
                let (prefix, suffix) = self.tree.key(found.pos);
                visit([prefix, suffix].concat().into(), LeaseId(found.version.lease));
            }
        });
    }

    /// Bytes on the heap, resident newest records apart. Walks all nodes: for metrics.
    pub fn memory_bytes(&self) -> usize {
        self.tree.memory_bytes()
            + self.slab.memory_bytes()
            + self.recent.memory_bytes()
            + self.quota.memory_bytes()
            + self.scrub.memory_bytes()
            + self.resident.memory_bytes()
    }

    /// The newest main revision that a read may see: of the open transaction once it changed
    /// something.
    pub(crate) fn newest(&self) -> i64 {
        self.revision + i64::from(self.changed != 0)
    }

    pub(crate) fn entry_at(&self, pos: Pos) -> &Entry {
        self.slab.get(self.tree.slot(pos))
    }

    /// The key's newest version, if the key exists.
    pub fn get(&self, key: &[u8]) -> Option<Stored> {
        self.visible(key, self.revision)
    }

    /// The numbers of the key's newest version, if the key exists.
    pub fn meta(&self, key: &[u8]) -> Option<Meta> {
        let entry = self.entry_at(self.tree.find(key)?);
        entry.visible_at(self.revision).map(|version| Meta::of(&version))
    }

    /// The key's version at a revision (contract: `Compacted` and `FutureRevision`), if the key
    /// existed then.
    pub fn get_at(&self, key: &[u8], revision: i64) -> Result<Option<Stored>, OpError> {
        let at = self.readable(revision, self.revision)?;
        Ok(self.visible(key, at))
    }

    /// The key's version before the main revision of an event; `None` if there was none or if
    /// that revision is compacted.
    pub fn prev(&self, key: &[u8], main: i64) -> Option<Stored> {
        if main - 1 < self.compacted { None } else { self.visible(key, main - 1) }
    }

    pub(crate) fn visible(&self, key: &[u8], at: i64) -> Option<Stored> {
        let entry = self.entry_at(self.tree.find(key)?);
        entry.visible_at(at).map(|version| self.stored(entry, &version))
    }

    pub(crate) fn stored(&self, entry: &Entry, version: &Version) -> Stored {
        Stored { meta: Meta::of(version), item: self.item(entry, version) }
    }

    /// The record of one of the entry's versions.
    pub(crate) fn item(&self, entry: &Entry, version: &Version) -> Item {
        let is_newest = version.revision() == entry.newest.revision();
        if let Some(record) = entry.record.as_ref().filter(|_| is_newest) {
            return Item::Resident(record.clone());
        }
        let revision = version.revision();
        match self.resident.warmed(revision).or_else(|| self.recent.get(revision)) {
            Some(record) => Item::Resident(record.clone()),
            None => Item::Cold { revision, len: version.len },
        }
    }

    /// The main revision to read at: the asked one if it may be read, the newest for 0 or less.
    pub(crate) fn readable(&self, revision: i64, newest: i64) -> Result<i64, OpError> {
        if newest < revision {
            return Err(OpError::FutureRevision);
        }
        let at = if revision <= 0 { newest } else { revision };
        if at < self.compacted { Err(OpError::Compacted) } else { Ok(at) }
    }

    /// The check of a range's revision before a transaction runs: unlike a plain range it holds
    /// negative numbers against the compacted revision as well.
    pub fn check_txn_revision(&self, revision: i64) -> Result<(), OpError> {
        match revision {
            0 => Ok(()),
            _ if self.revision < revision => Err(OpError::FutureRevision),
            _ if revision < self.compacted => Err(OpError::Compacted),
            _ => Ok(()),
        }
    }
}

/// What the quota counts for a version of a key.
pub(crate) fn version_bytes(key_len: usize, version: &Version) -> i64 {
    let value_len = if version.is_tombstone() {
        0
    } else {
        kv::value_len(version.len as usize, key_len, &numbers(version))
    };
    crate::quota::record_bytes(key_len, value_len)
}

pub(crate) fn numbers(version: &Version) -> Numbers {
    Numbers {
        create: version.create,
        modified: version.main,
        version: version.version,
        lease: version.lease,
    }
}
