//! Where the entries of the keys lie: numbered slots in chunks, so that growing copies nothing.

use crate::history::Past;
use bytes::Bytes;
use types::Revision;

/// Entries per chunk.
const CHUNK: usize = 1024;

/// What is known of one version of a key without its record.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct Version {
    pub(crate) main: i64,
    /// Revision of creation; 0 for a tombstone.
    pub(crate) create: i64,
    /// Changes since creation; 0 for a tombstone.
    pub(crate) version: i64,
    pub(crate) lease: i64,
    pub(crate) sub: u32,
    /// Length of the record.
    pub(crate) len: u32,
}

impl Version {
    pub(crate) fn is_tombstone(&self) -> bool {
        self.version == 0
    }

    pub(crate) fn revision(&self) -> Revision {
        Revision::new(self.main, i64::from(self.sub))
    }
}

/// One key. Invariant: `past` hangs on `newest`, and is older.
#[derive(Default, Debug)]
pub(crate) struct Entry {
    pub(crate) newest: Version,
    /// The newest version's record, unless it is cold. A tombstone's is always here.
    pub(crate) record: Option<Bytes>,
    /// Versions before the newest; most keys have none.
    past: Option<Box<Past>>,
}

impl Entry {
    /// A key with its first version.
    pub(crate) fn new(newest: Version, record: Bytes) -> Entry {
        Entry { newest, record: Some(record), past: None }
    }

    /// Versions before the newest with `main <= at`, oldest first.
    pub(crate) fn past_upto(&self, at: i64) -> Vec<Version> {
        self.past.as_ref().map_or_else(Vec::new, |past| past.upto(&self.newest, at))
    }

    /// The newest version with `main <= at`, tombstones included.
    pub(crate) fn version_at(&self, at: i64) -> Option<Version> {
        if self.newest.main <= at {
            return Some(self.newest);
        }
        self.past.as_ref()?.version_at(&self.newest, at)
    }

    /// The version visible at a revision.
    pub(crate) fn visible_at(&self, at: i64) -> Option<Version> {
        self.version_at(at).filter(|version| !version.is_tombstone())
    }

    pub(crate) fn is_live(&self) -> bool {
        !self.newest.is_tombstone()
    }

    pub(crate) fn push(&mut self, version: Version) {
        self.past.get_or_insert_default().push(&self.newest, &version);
        self.newest = version;
    }

    /// Drops the oldest past versions.
    pub(crate) fn drop_past(&mut self, count: usize) {
        let count = u32::try_from(count).expect("fewer than 2^32 versions fit in memory");
        if let Some(past) = &mut self.past
            && past.drop_oldest(&self.newest, count)
        {
            self.past = None;
        }
    }

    fn heap_bytes(&self) -> usize {
        self.past.as_ref().map_or(0, |past| size_of::<Past>() + past.heap_bytes())
    }
}

/// See the module.
#[derive(Default, Debug)]
pub(crate) struct Slab {
    chunks: Vec<Vec<Entry>>,
    free: Vec<u32>,
}

impl Slab {
    /// Slots ever used.
    pub(crate) fn len(&self) -> usize {
        match self.chunks.last() {
            Some(last) => (self.chunks.len() - 1) * CHUNK + last.len(),
            None => 0,
        }
    }

    pub(crate) fn get(&self, slot: u32) -> &Entry {
        &self.chunks[slot as usize / CHUNK][slot as usize % CHUNK]
    }

    pub(crate) fn get_mut(&mut self, slot: u32) -> &mut Entry {
        &mut self.chunks[slot as usize / CHUNK][slot as usize % CHUNK]
    }

    pub(crate) fn insert(&mut self, entry: Entry) -> u32 {
        if let Some(slot) = self.free.pop() {
            *self.get_mut(slot) = entry;
            return slot;
        }
        let slot = u32::try_from(self.len()).expect("fewer than 2^32 keys fit in memory");
        match self.chunks.last_mut() {
            Some(last) if last.len() < CHUNK => last.push(entry),
            _ => {
                let mut chunk = Vec::with_capacity(CHUNK);
                chunk.push(entry);
                self.chunks.push(chunk);
            }
        }
        slot
    }

    /// Frees a slot. It stays readable as an entry without a version until it is used again.
    pub(crate) fn remove(&mut self, slot: u32) {
        *self.get_mut(slot) = Entry::default();
        self.free.push(slot);
    }

    /// Bytes on the heap, records apart.
    pub(crate) fn memory_bytes(&self) -> usize {
        let past: usize = self.chunks.iter().flatten().map(Entry::heap_bytes).sum();
        self.chunks.len() * CHUNK * size_of::<Entry>() + self.free.capacity() * 4 + past
    }
}
