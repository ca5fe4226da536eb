//! Reads old entries by index, from any thread.

use crate::catalog::{BatchRef, Segment, Shared};
use crate::frame::{NoBatch, decode, to_usize};
use crate::{Damage, Entry, Error, Frame, Result};
use std::fmt;
use types::Index;

/// A handle that reads entries while the log is written and trimmed. Every byte is checked again.
#[derive(Clone)]
pub struct Reader {
    catalog: Shared,
}

impl fmt::Debug for Reader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("wal::Reader")
    }
}

impl Reader {
    pub(crate) fn new(catalog: Shared) -> Reader {
        Reader { catalog }
    }

    /// First index that can be read; `None` if the log holds no entries.
    pub fn first_index(&self) -> Option<Index> {
        self.catalog.lock().first()
    }

    /// Entries from `from` up to and including `to`: at least one, and no more batches once
    /// `bytes_max` were read. `Trimmed` if the first is gone.
    pub fn entries(&self, from: Index, to: Index, bytes_max: usize) -> Result<Vec<Entry>> {
        let mut entries: Vec<Entry> = Vec::new();
        let (mut next, mut read) = (from, 0);
        while next <= to && (entries.is_empty() || read < bytes_max) {
            let found = self.catalog.lock().find(next);
            let Some((batch, segment)) = found else { break };
            match self.read(&batch, &segment) {
                Ok(frames) => {
                    let before = entries.len();
                    let wanted = next..=to.min(batch.last());
                    entries.extend(frames.into_iter().filter_map(|frame| match frame {
                        Frame::Entry(entry) if wanted.contains(&entry.index) => Some(entry),
                        _ => None,
                    }));
                    assert!(before < entries.len(), "batch {} has no {next}", batch.number);
                    read += to_usize(batch.bytes);
                    next = entries[entries.len() - 1].index.next();
                }
                // A segment that was recycled while it was read: what came before it counts.
                Err(_) if self.catalog.lock().find(next).is_none_or(|(now, _)| now != batch) => {
                    break;
                }
                Err(error) => return Err(error),
            }
        }
        if entries.is_empty() && from <= to {
            let first = self.first_index();
            return Err(match first {
                Some(first) if first <= from => {
                    Error::Refused(format!("the log holds no entry {from}"))
                }
                Some(first) => Error::Trimmed(first),
                None => Error::Trimmed(from.next()),
            });
        }
        Ok(entries)
    }

    fn read(&self, batch: &BatchRef, segment: &Segment) -> Result<Vec<Frame>> {
        let mut bytes = vec![0; to_usize(batch.bytes)];
        segment.file.read_at(&mut bytes, batch.offset)?;
        let mut prefix = Vec::new();
        let decoded = decode(&bytes, segment.salt, batch.number, batch.chain, &mut prefix);
        decoded.map(|decoded| decoded.batch.frames).map_err(|no_batch| {
            let (NoBatch::Incomplete { offset, reason } | NoBatch::Invalid { offset, reason }) =
                no_batch;
            Error::Damage(Damage {
                file: segment.path.clone(),
                offset: batch.offset + offset as u64,
                index: batch.first,
                reason,
            })
        })
    }
}
