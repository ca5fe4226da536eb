//! The quota's sum: bytes of every record that is not compacted, without walking any.
//!
//! A record is superseded at the main revision of its successor, a tombstone one revision after
//! itself: that is the first compaction at which the rule (contract: Compaction) drops it. The
//! running total of superseded bytes per main revision makes Compact a subtraction.

use std::collections::VecDeque;
use types::limits::QUOTA_RECORD_OVERHEAD_BYTES;

/// What the quota counts for a record.
pub(crate) fn record_bytes(key_len: usize, value_len: usize) -> i64 {
    i64::try_from(key_len + value_len).expect("lengths fit in memory") + QUOTA_RECORD_OVERHEAD_BYTES
}

/// See the module.
#[derive(Debug)]
pub(crate) struct Quota {
    live: i64,
    /// `superseded[i]`: total of superseded bytes up to main revision `first + i`.
    superseded: VecDeque<i64>,
    first: i64,
    /// Total of superseded bytes that compaction has taken off already.
    released: i64,
    /// Tombstones of the last main revision in `superseded`: superseded with the next.
    tombstones: i64,
}

impl Quota {
    /// Starts at a main revision that has superseded nothing.
    pub(crate) fn new(main: i64) -> Quota {
        Quota { live: 0, superseded: VecDeque::from([0]), first: main, released: 0, tombstones: 0 }
    }

    /// Bytes of the records that are not compacted.
    pub(crate) fn live(&self) -> i64 {
        self.live
    }

    fn total(&self) -> i64 {
        self.superseded.back().copied().unwrap_or(self.released)
    }

    fn last(&self) -> i64 {
        self.first + i64::try_from(self.superseded.len()).expect("fits in memory") - 1
    }

    /// Moves on to a main revision.
    pub(crate) fn advance(&mut self, main: i64) {
        while self.last() < main {
            let total = self.total() + std::mem::take(&mut self.tombstones);
            self.superseded.push_back(total);
        }
    }

    /// A record came to be at the last main revision.
    pub(crate) fn add(&mut self, bytes: i64, is_tombstone: bool) {
        self.live += bytes;
        if is_tombstone {
            self.tombstones += bytes;
        }
    }

    /// A put was superseded at the last main revision.
    pub(crate) fn supersede(&mut self, bytes: i64) {
        *self.superseded.back_mut().expect("never empty") += bytes;
    }

    /// A tombstone of the last main revision was superseded within it.
    pub(crate) fn supersede_tombstone(&mut self, bytes: i64) {
        self.tombstones -= bytes;
        self.supersede(bytes);
    }

    /// While restoring: a record is gone that compaction had let go.
    pub(crate) fn forget(&mut self, bytes: i64, is_tombstone: bool) {
        self.live -= bytes;
        if is_tombstone {
            self.tombstones -= bytes;
        }
    }

    /// Compaction at a main revision that was reached.
    pub(crate) fn compact(&mut self, main: i64) {
        assert!(main <= self.last(), "compaction at {main} is beyond {}", self.last());
        if main < self.first {
            return;
        }
        let at = usize::try_from(main - self.first).expect("within the queue");
        let total = self.superseded[at];
        self.live -= total - self.released;
        self.released = total;
        // The entry of `main` itself stays: the queue is never empty.
        self.superseded.drain(..at);
        if self.superseded.len() < self.superseded.capacity() / 4 {
            self.superseded.shrink_to(2 * self.superseded.len());
        }
        self.first = main;
    }

    /// Bytes on the heap.
    pub(crate) fn memory_bytes(&self) -> usize {
        self.superseded.capacity() * 8
    }
}
