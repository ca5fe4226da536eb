//! Where each entry lies: shared between the writer and readers on other threads.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard};
use types::Index;
use vfs::File;

use crate::frame::Salt;

/// A batch with entries.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct BatchRef {
    /// Segment.
    pub(crate) sequence: u64,
    /// Place in the segment.
    pub(crate) offset: u64,
    /// Length without the padding to the next block.
    pub(crate) bytes: u32,
    /// Chain value before it.
    pub(crate) chain: u32,
    /// Its number.
    pub(crate) number: u64,
    /// First entry.
    pub(crate) first: Index,
    /// Entries of it that were not replaced since. Never 0.
    pub(crate) count: u64,
}

impl BatchRef {
    /// The last entry that counts.
    pub(crate) fn last(&self) -> Index {
        Index(self.first.0 + self.count - 1)
    }
}

/// A segment that is part of the log.
#[derive(Clone)]
pub(crate) struct Segment {
    pub(crate) sequence: u64,
    pub(crate) path: String,
    pub(crate) size: u64,
    pub(crate) salt: Salt,
    pub(crate) file: Arc<dyn File>,
    /// Largest index of an entry ever written to it.
    pub(crate) max_index: Index,
}

/// All segments and all batches with entries.
#[derive(Default)]
pub(crate) struct Catalog {
    /// By sequence number, without gaps.
    pub(crate) segments: VecDeque<Segment>,
    /// By first index, without gaps.
    pub(crate) batches: VecDeque<BatchRef>,
}

impl Catalog {
    /// Adds a batch, dropping what its entries replace.
    pub(crate) fn push(&mut self, batch: BatchRef) {
        self.truncate(batch.first);
        if let Some(segment) = self.segments.back_mut() {
            assert!(segment.sequence == batch.sequence, "batches go to the last segment");
            segment.max_index = segment.max_index.max(batch.last());
        }
        self.batches.push_back(batch);
    }

    /// Drops entries from `first` on.
    pub(crate) fn truncate(&mut self, first: Index) {
        while let Some(last) = self.batches.back_mut() {
            if first <= last.first {
                self.batches.pop_back();
                continue;
            }
            last.count = last.count.min(first.0 - last.first.0);
            break;
        }
    }

    /// Takes the oldest segment out, with its batches.
    pub(crate) fn pop_front(&mut self) -> Option<Segment> {
        let segment = self.segments.pop_front()?;
        while self.batches.front().is_some_and(|batch| batch.sequence == segment.sequence) {
            self.batches.pop_front();
        }
        Some(segment)
    }

    /// The batch that holds an entry, with its segment.
    pub(crate) fn find(&self, index: Index) -> Option<(BatchRef, Segment)> {
        let after = self.batches.partition_point(|batch| batch.first <= index);
        let batch = *self.batches.get(after.checked_sub(1)?)?;
        if batch.last() < index {
            return None;
        }
        let front = self.segments.front()?.sequence;
        let ordinal = usize::try_from(batch.sequence.checked_sub(front)?).ok()?;
        Some((batch, self.segments.get(ordinal)?.clone()))
    }

    /// The first entry that can be read.
    pub(crate) fn first(&self) -> Option<Index> {
        self.batches.front().map(|batch| batch.first)
    }
}

/// The catalog, shared. The lock guards nothing but the catalog's two lists and is never held
/// over a call to the disk; a channel will not do, because the reader must see trims at once.
#[derive(Clone, Default)]
pub(crate) struct Shared(Arc<Mutex<Catalog>>);

impl Shared {
    pub(crate) fn new(catalog: Catalog) -> Shared {
        Shared(Arc::new(Mutex::new(catalog)))
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, Catalog> {
        self.0.lock().expect("nobody panics while holding the catalog")
    }
}
