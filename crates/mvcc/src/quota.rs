//! The quota's sum: bytes of every record that is not compacted, without walking any.
//!
//! A record is superseded at the main revision of its successor, a tombstone one revision after
//! itself: that is the first compaction at which the rule (contract: Compaction) drops it. The
//! superseded bytes of each main revision are kept, a byte or two each, and summed up by
//! stretches of some thousand: that makes Compact a subtraction.

use crate::kv::{put_varint, take_varint};
use std::collections::VecDeque;
use types::limits::QUOTA_RECORD_OVERHEAD_BYTES;

/// Bytes of a stretch.
const STRETCH: usize = 2048;
/// A number at its longest.
const NUMBER_MAX: usize = 10;

/// What the quota counts for a record.
pub(crate) fn record_bytes(key_len: usize, value_len: usize) -> i64 {
    i64::try_from(key_len + value_len).expect("lengths fit in memory") + QUOTA_RECORD_OVERHEAD_BYTES
}

/// Superseded bytes of consecutive main revisions.
#[derive(Debug)]
struct Stretch {
    bytes: Vec<u8>,
    /// Main revisions in it.
    count: i64,
    /// Their sum.
    total: i64,
}

impl Stretch {
    /// Takes the first `count` out and gives their sum.
    fn take(&mut self, count: i64) -> i64 {
        let (mut sum, mut at) = (0, 0);
        for _ in 0..count {
            let number = take_varint(&self.bytes, &mut at).expect("it was written whole");
            sum += number.cast_signed();
        }
        self.bytes.drain(..at);
        self.count -= count;
        self.total -= sum;
        sum
    }
}

/// See the module.
#[derive(Debug)]
pub(crate) struct Quota {
    live: i64,
    /// What the main revisions `first..last` superseded.
    stretches: VecDeque<Stretch>,
    first: i64,
    /// What the main revision `last` superseded so far.
    open: i64,
    last: i64,
    /// Tombstones of `last`: superseded with the next.
    tombstones: i64,
}

impl Quota {
    /// Starts at a main revision that has superseded nothing.
    pub(crate) fn new(main: i64) -> Quota {
        let stretches = VecDeque::new();
        Quota { live: 0, stretches, first: main, open: 0, last: main, tombstones: 0 }
    }

    /// Bytes of the records that are not compacted.
    pub(crate) fn live(&self) -> i64 {
        self.live
    }

    /// Moves on to a main revision.
    pub(crate) fn advance(&mut self, main: i64) {
        while self.last < main {
            let superseded =
                std::mem::replace(&mut self.open, std::mem::take(&mut self.tombstones));
            self.close(superseded);
            self.last += 1;
        }
    }

    /// Puts away what a main revision superseded that is over.
    fn close(&mut self, superseded: i64) {
        let stretch = match self.stretches.back_mut() {
            Some(stretch) if stretch.bytes.len() + NUMBER_MAX <= STRETCH => stretch,
            _ => {
                let bytes = Vec::with_capacity(STRETCH);
                self.stretches.push_back_mut(Stretch { bytes, count: 0, total: 0 })
            }
        };
        put_varint(&mut stretch.bytes, superseded.cast_unsigned());
        stretch.count += 1;
        stretch.total += superseded;
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
        self.open += bytes;
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
        assert!(main <= self.last, "compaction at {main} is beyond {}", self.last);
        while let Some(stretch) = self.stretches.front_mut()
            && self.first <= main
        {
            let count = main - self.first + 1;
            if count < stretch.count {
                self.live -= stretch.take(count);
                self.first += count;
            } else {
                self.live -= stretch.total;
                self.first += stretch.count;
                self.stretches.pop_front();
            }
        }
        if main == self.last {
            self.live -= std::mem::take(&mut self.open);
        }
    }

    /// Bytes on the heap.
    pub(crate) fn memory_bytes(&self) -> usize {
        self.stretches.len() * STRETCH + self.stretches.capacity() * size_of::<Stretch>()
    }
}

#[cfg(test)]
mod tests {
    use super::Quota;

    /// Against sums of plain lists, with compactions inside and at the ends of stretches.
    #[test]
    fn compaction_takes_off_what_was_superseded_up_to_it() {
        let mut quota = Quota::new(1);
        let (mut superseded, mut live) = (vec![0; 2], 0);
        for main in 2..20_000_i64 {
            quota.advance(main);
            let bytes = main % 700;
            let is_tombstone = main % 5 == 0;
            superseded.resize(usize::try_from(main).unwrap_or(0) + 2, 0);
            let at = superseded.len() - 2;
            quota.add(bytes, is_tombstone);
            superseded[at + usize::from(is_tombstone)] += bytes;
            if !is_tombstone {
                // Supersedes itself: what matters is when it goes.
                quota.supersede(bytes);
            }
            live += bytes;
            if main % 1009 == 0 || (main % 3001 < 2) {
                let upto = main - [0, 1, 700][at % 3];
                quota.compact(upto);
                let gone = superseded.iter_mut().take(usize::try_from(upto).unwrap_or(0) + 1);
                live -= gone.map(std::mem::take).sum::<i64>();
                assert_eq!(quota.live(), live, "after compaction at {upto}, main {main}");
            }
        }
        quota.advance(20_000);
        quota.compact(20_000);
        assert_eq!(quota.live(), 0, "everything was superseded");
        assert!(quota.memory_bytes() < 4096, "what was compacted takes no memory");
    }
}
