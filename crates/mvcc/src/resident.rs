//! Which newest records stay in memory: all of them within a budget, else those that became
//! resident last.

use crate::keyspace::Keyspace;
use bytes::Bytes;
use std::collections::{BTreeMap, VecDeque};
use types::outcome::Item;
use types::{KeyRange, Record, Revision};

/// What a resident record costs beside its bytes: its allocation's share of bookkeeping.
const RECORD_OVERHEAD_BYTES: usize = 48;
/// Entries that a flush may look at for eviction: bounds the pause.
const EVICTION_STEPS_PER_FLUSH: usize = 16 * 1024;

/// See the module.
#[derive(Debug)]
pub(crate) struct Residency {
    budget: usize,
    bytes: usize,
    /// Slots that may hold a resident record, the one that has waited longest first.
    queue: VecDeque<u32>,
    /// By slot: true if it is in the queue.
    queued: Vec<bool>,
    /// Records up to this main revision are in the backend.
    pub(crate) flushed: i64,
    warmed: BTreeMap<Revision, Bytes>,
}

impl Residency {
    pub(crate) fn new(budget: usize) -> Residency {
        Residency {
            budget,
            bytes: 0,
            queue: VecDeque::new(),
            queued: Vec::new(),
            flushed: 0,
            warmed: BTreeMap::new(),
        }
    }

    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(crate) fn admit(&mut self, record: &Bytes) {
        self.bytes += record.len() + RECORD_OVERHEAD_BYTES;
    }

    pub(crate) fn release(&mut self, record: &Bytes) {
        self.bytes -= record.len() + RECORD_OVERHEAD_BYTES;
    }

    pub(crate) fn is_over(&self) -> bool {
        self.budget < self.bytes
    }

    /// The slot holds a resident record from here on.
    pub(crate) fn queue(&mut self, slot: u32) {
        let at = slot as usize;
        if self.queued.len() <= at {
            self.queued.resize(at + 1, false);
        }
        if !std::mem::replace(&mut self.queued[at], true) {
            self.queue.push_back(slot);
        }
    }

    fn take(&mut self) -> Option<u32> {
        let slot = self.queue.pop_front()?;
        self.queued[slot as usize] = false;
        Some(slot)
    }

    /// Bytes on the heap, resident records apart.
    pub(crate) fn memory_bytes(&self) -> usize {
        self.queue.capacity() * 4 + self.queued.capacity()
    }

    pub(crate) fn warmed(&self, revision: Revision) -> Option<&Bytes> {
        self.warmed.get(&revision)
    }
}

impl Keyspace {
    /// Everything up to this main revision is in the backend: it may leave memory.
    pub fn flushed(&mut self, main: i64) {
        self.resident.flushed = self.resident.flushed.max(main);
        self.recent.flushed(self.resident.flushed);
        self.evict(EVICTION_STEPS_PER_FLUSH);
    }

    /// Records read from the backend, kept at hand until [`Keyspace::release_warm`].
    pub fn warm(&mut self, records: impl IntoIterator<Item = Record>) {
        let records = records.into_iter().map(|record| (record.revision, record.kv));
        self.resident.warmed.extend(records);
    }

    /// Those who needed the warmed records are served: newest ones become resident, within the
    /// budget.
    pub fn release_warm(&mut self) {
        for (revision, record) in std::mem::take(&mut self.resident.warmed) {
            let Some(pos) = self.tree.find(crate::kv::key(&record)) else { continue };
            let slot = self.tree.slot(pos);
            let entry = self.slab.get_mut(slot);
            if entry.newest.revision() == revision && entry.record.is_none() {
                self.resident.admit(&record);
                entry.record = Some(record);
                self.resident.queue(slot);
            }
        }
        self.evict(EVICTION_STEPS_PER_FLUSH);
    }

    /// Brings the resident records back under the budget as far as flushes allow, those first
    /// that became resident first, looking at `steps` entries at most. The choice depends on
    /// nothing but the history.
    pub(crate) fn evict(&mut self, steps: usize) {
        for _ in 0..steps.min(self.resident.queue.len()) {
            if !self.resident.is_over() {
                return;
            }
            let Some(slot) = self.resident.take() else { return };
            let entry = self.slab.get_mut(slot);
            if !entry.is_live() {
                continue;
            }
            // A record that is not flushed stays in the ring in any case.
            if self.resident.flushed < entry.newest.main {
                self.resident.queue(slot);
            } else if let Some(record) = entry.record.take() {
                self.resident.release(&record);
            }
        }
    }

    /// The cold records among the newest ones of an interval: what answering with previous
    /// records, or comparing values, would read.
    pub fn needs_for_keys(&self, range: &KeyRange) -> Vec<Revision> {
        let mut cold = Vec::new();
        self.walk(range, self.revision, usize::MAX, |visit| {
            if let Item::Cold { revision, .. } = self.item(visit.entry, &visit.version) {
                cold.push(revision);
            }
        });
        cold
    }
}
