//! Building a keyspace from the records of a backend, one by one in revision order.

use crate::keyspace::{Config, Keyspace, version_bytes};
use crate::kv::{self, Malformed};
use crate::quota::Quota;
use crate::recent::Ring;
use crate::slab::Version;
use crate::write::length;
use bytes::Bytes;
use types::{Record, Revision};

/// A keyspace under construction.
#[derive(Debug)]
pub struct Restore {
    keyspace: Keyspace,
    garbage: Vec<Revision>,
}

/// A restored keyspace.
#[derive(Debug)]
pub struct Restored {
    /// Everything in it counts as flushed.
    pub keyspace: Keyspace,
    /// The records that compaction had let go: garbage in the backend.
    pub garbage: Vec<Revision>,
}

impl Restore {
    /// Begins, with the revisions that were stored beside the records.
    pub fn new(config: Config, revision: i64, compacted: i64) -> Restore {
        let mut keyspace = Keyspace::new(config);
        keyspace.revision = revision.max(1);
        keyspace.compacted = compacted;
        keyspace.recent = Ring::new(compacted.max(0) + 1, config.recent_bytes);
        keyspace.quota = Quota::new(compacted.max(0));
        keyspace.resident.flushed = i64::MAX;
        Restore { keyspace, garbage: Vec::new() }
    }

    /// Takes the next record. Its revision is above all before.
    pub fn feed(&mut self, record: &Record) -> Result<(), Malformed> {
        let parts = kv::parse(&record.kv)?;
        let key = &record.kv[parts.key];
        let version = Version {
            main: record.revision.main,
            create: parts.numbers.create,
            version: parts.numbers.version,
            lease: parts.numbers.lease,
            sub: u32::try_from(record.revision.sub).map_err(|_| Malformed)?,
            len: length(&record.kv),
        };
        let is_sound = version.is_tombstone() == record.tombstone
            && (record.tombstone || parts.numbers.modified == version.main)
            && version.main > 0;
        if !is_sound {
            return Err(Malformed);
        }
        self.keyspace.revision = self.keyspace.revision.max(version.main);
        if version.main <= self.keyspace.compacted {
            self.drop_superseded(key);
            if record.tombstone && version.main < self.keyspace.compacted {
                self.garbage.push(record.revision);
                return Ok(());
            }
        }
        let place = self.keyspace.tree.locate(key);
        // A copy of its own: what was fed may be a slice of a large read buffer.
        self.keyspace.advance(key, place, version, Bytes::copy_from_slice(&record.kv));
        self.keyspace.recent.fit(self.keyspace.resident.bytes());
        self.keyspace.recent.trim(i64::MAX);
        self.keyspace.evict(usize::MAX);
        Ok(())
    }

    /// A record up to the compacted revision supersedes whatever is known of its key.
    fn drop_superseded(&mut self, key: &[u8]) {
        let keyspace = &mut self.keyspace;
        let Some(pos) = keyspace.tree.find(key) else { return };
        let slot = keyspace.tree.slot(pos);
        let entry = keyspace.slab.get_mut(slot);
        let before = entry.newest;
        if let Some(record) = entry.record.take() {
            keyspace.resident.release(&record);
        }
        if !before.is_tombstone() {
            keyspace.tree.set_live(pos, false);
        }
        keyspace.quota.forget(version_bytes(key.len(), &before), before.is_tombstone());
        keyspace.tree.remove(pos);
        keyspace.slab.remove(slot);
        self.garbage.push(before.revision());
    }

    /// Ends.
    pub fn finish(mut self) -> Restored {
        self.keyspace.quota.advance(self.keyspace.revision);
        self.keyspace.resident.flushed = self.keyspace.revision;
        self.keyspace.recent.flushed(self.keyspace.revision);
        Restored { keyspace: self.keyspace, garbage: self.garbage }
    }
}
