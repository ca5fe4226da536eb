//! The newest records in revision order, bounded in bytes: what catching-up watchers, reads at
//! an older revision and previous values are served from without the backend.

use crate::keyspace::Keyspace;
use crate::kv;
use bytes::Bytes;
use std::collections::VecDeque;
use types::limits::RECENT_BYTES_MIN;
use types::{KeyRange, Record, Revision};

/// Of so many bytes of newest records in memory the ring may take one.
const DATA_PER_RECENT_BYTE: usize = 4;

/// One record with what it did to the number of live keys.
#[derive(Debug)]
pub(crate) struct Recent {
    pub(crate) main: i64,
    pub(crate) sub: u32,
    pub(crate) tombstone: bool,
    /// +1 created the key, -1 deleted it.
    pub(crate) delta: i8,
    pub(crate) kv: Bytes,
}

impl Recent {
    fn bytes(&self) -> usize {
        self.kv.len() + size_of::<Recent>()
    }

    pub(crate) fn revision(&self) -> Revision {
        Revision::new(self.main, i64::from(self.sub))
    }

    fn record(&self) -> Record {
        Record { revision: self.revision(), tombstone: self.tombstone, kv: self.kv.clone() }
    }
}

/// See the module.
#[derive(Debug)]
pub(crate) struct Ring {
    records: VecDeque<Recent>,
    /// Every record with at least this main revision is here.
    from: i64,
    bytes: usize,
    bytes_max: usize,
    /// The bound at present: no more than `bytes_max`.
    bound: usize,
    /// Bytes of the records above `flushed`.
    unflushed: usize,
    flushed: i64,
}

impl Ring {
    pub(crate) fn new(from: i64, bytes_max: usize) -> Ring {
        Ring {
            records: VecDeque::new(),
            from,
            bytes: 0,
            bytes_max,
            bound: bytes_max.min(RECENT_BYTES_MIN),
            unflushed: 0,
            flushed: 0,
        }
    }

    /// Makes room, once, for so many records more; few need none.
    pub(crate) fn reserve(&mut self, count: usize) {
        if self.records.len() < count {
            self.records.reserve_exact(count);
        }
    }

    pub(crate) fn push(&mut self, recent: Recent) {
        self.bytes += recent.bytes();
        self.unflushed += recent.kv.len();
        self.records.push_back(recent);
    }

    /// So much data is there: what the ring saves is walks over it, and reads of it.
    pub(crate) fn fit(&mut self, resident_bytes: usize) {
        let part = resident_bytes / DATA_PER_RECENT_BYTE;
        self.bound = part.max(RECENT_BYTES_MIN).min(self.bytes_max);
    }

    /// Records up to a main revision are in the backend.
    pub(crate) fn flushed(&mut self, main: i64) {
        let start = self.records.partition_point(|recent| recent.main <= self.flushed);
        let newly = self.records.range(start..).take_while(|recent| recent.main <= main);
        self.unflushed -= newly.map(|recent| recent.kv.len()).sum::<usize>();
        self.flushed = main;
        self.trim(main);
        self.shrink();
    }

    /// Drops the oldest flushed records until the bound holds.
    pub(crate) fn trim(&mut self, flushed: i64) {
        while self.bytes > self.bound {
            let Some(oldest) = self.records.front().filter(|oldest| oldest.main <= flushed) else {
                return;
            };
            self.bytes -= oldest.bytes();
            if self.flushed < oldest.main {
                self.unflushed -= oldest.kv.len();
            }
            self.from = oldest.main + 1;
            self.records.pop_front();
        }
    }

    /// Gives back what a burst took.
    fn shrink(&mut self) {
        if self.records.len() < self.records.capacity() / 4 {
            self.records.shrink_to(2 * self.records.len());
        }
    }

    /// The record of a revision, if it is here.
    pub(crate) fn get(&self, revision: Revision) -> Option<&Bytes> {
        let at = self.records.binary_search_by_key(&revision, Recent::revision).ok()?;
        Some(&self.records[at].kv)
    }

    /// How many changes came after a main revision; `None` if that is not known here.
    pub(crate) fn count_after(&self, main: i64) -> Option<usize> {
        (self.from <= main + 1)
            .then(|| self.records.len() - self.records.partition_point(|r| r.main <= main))
    }

    /// By how many the keys in the interval became more after a main revision.
    pub(crate) fn growth_after(&self, main: i64, range: &KeyRange) -> i64 {
        let newer = self.records.iter().rev().take_while(|recent| recent.main > main);
        newer
            .filter(|recent| recent.delta != 0 && range.contains(kv::key(&recent.kv)))
            .map(|recent| i64::from(recent.delta))
            .sum()
    }

    /// Bytes of the records and of the ring itself.
    pub(crate) fn memory_bytes(&self) -> usize {
        let spare = self.records.capacity() - self.records.len();
        self.bytes + spare * size_of::<Recent>()
    }
}

/// A stretch of history.
#[derive(Clone, PartialEq, Debug)]
pub enum History {
    /// From memory.
    Resident {
        /// In revision order, whole main revisions only.
        records: Vec<Record>,
        /// The first main revision that is not covered.
        next: i64,
    },
    /// The records of these main revisions, both included, must be read from the backend.
    NeedsBackend {
        /// First main revision.
        from: i64,
        /// Last main revision.
        to: i64,
    },
}

impl Keyspace {
    /// The records of the main revisions `from..=to`, ending early at a border of main revisions
    /// once `bytes_max` is reached. The caller checks `from` against the compacted revision.
    pub fn changes(&self, from: i64, to: i64, bytes_max: usize) -> History {
        let to = to.min(self.revision());
        if from < self.recent.from && from <= to {
            return History::NeedsBackend { from, to: to.min(self.recent.from - 1) };
        }
        let (mut records, mut bytes) = (Vec::new(), 0);
        let start = self.recent.records.partition_point(|recent| recent.main < from);
        let mut next = to.max(from - 1) + 1;
        let mut last = from;
        for recent in self.recent.records.range(start..).take_while(|recent| recent.main <= to) {
            if bytes >= bytes_max && recent.main != last {
                next = recent.main;
                break;
            }
            last = recent.main;
            bytes += recent.kv.len();
            records.push(recent.record());
        }
        History::Resident { records, next }
    }

    /// Bytes of the records that are not yet reported flushed.
    pub fn unflushed_bytes(&self) -> usize {
        self.recent.unflushed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ring_grows_with_the_data_up_to_its_bound() {
        const MIB: usize = 1024 * 1024;
        let kv = Bytes::from(vec![0; 1000]);
        let mut ring = Ring::new(0, 16 * MIB);
        for (data, expected) in [(0, 4), (8 * MIB, 4), (40 * MIB, 10), (1000 * MIB, 16), (0, 4)] {
            ring.fit(data);
            for _ in 0..20_000 {
                let main = ring.flushed + 1;
                let (kv, delta) = (kv.clone(), 0);
                ring.push(Recent { main, sub: 0, tombstone: false, delta, kv });
                ring.flushed(main);
            }
            let held = ring.bytes;
            let near = (expected * MIB - 2000)..=(expected * MIB);
            assert!(near.contains(&held), "{held} bytes beside {data} bytes of data");
        }
        assert!(ring.memory_bytes() < 5 * MIB, "what a larger ring took is given back");
    }
}
