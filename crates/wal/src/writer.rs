//! Appends batches, and lets go of old ones.

use crate::catalog::{BatchRef, Shared};
use crate::frame::{self, BLOCK, Salt, to_u32};
use crate::recover;
use crate::segment;
use crate::tail::Tail;
use crate::{Batch, Error, Frame, HardState, Identity, Position, Reader, Result, Use, WalConfig};
use std::collections::VecDeque;
use std::sync::Arc;
use types::Index;
use types::limits::WAL_BATCH_BYTES_MAX;
use vfs::{Disk, File};

/// Memory that the encoding buffer may keep between batches.
const BUF_BYTES_MAX: usize = 4 << 20;

/// The segment that batches go to.
pub(crate) struct Active {
    pub(crate) file: Arc<dyn File>,
    pub(crate) salt: Salt,
    pub(crate) sequence: u64,
    pub(crate) size: u64,
    /// Where the next batch begins; a multiple of `BLOCK`.
    pub(crate) at: u64,
}

/// The log, open for writing. One thread owns it; readers on other threads use [`Reader`].
pub struct Wal {
    pub(crate) disk: Arc<dyn Disk>,
    pub(crate) dir: String,
    pub(crate) config: WalConfig,
    pub(crate) identity: Identity,
    pub(crate) tail: Tail,
    pub(crate) active: Active,
    pub(crate) catalog: Shared,
    /// Numbers of unused segments.
    pub(crate) spares: VecDeque<u64>,
    /// The encoded batch; kept for its memory.
    pub(crate) buf: Vec<u8>,
    pub(crate) sealed: bool,
    /// Set for good once the disk failed: what is durable is unknown then.
    pub(crate) failed: bool,
}

impl Wal {
    /// Writes a batch and makes it durable: one write, one sync.
    pub fn append(&mut self, batch: &Batch) -> Result<()> {
        self.append_with(batch, Use::Normal)
    }

    /// As `append`, from this space. After `NoSpace` nothing was written and the log goes on;
    /// after any other error the process must end.
    pub fn append_with(&mut self, batch: &Batch, space: Use) -> Result<()> {
        if self.failed {
            return Err(Error::Refused("the log's disk failed before".to_string()));
        }
        if batch.frames.is_empty() {
            return Ok(());
        }
        let len = frame::encoded_len(batch);
        if WAL_BATCH_BYTES_MAX < len {
            let text = format!("a batch of {len} bytes is too long for the log");
            return Err(Error::Refused(text));
        }
        let after = self.tail.after(batch).map_err(|rule| {
            Error::Refused(format!(
                "batch {} breaks a rule of the log: {rule}",
                self.tail.batch + 1
            ))
        })?;
        let padded = (len as u64).next_multiple_of(BLOCK);
        if self.active.size < self.active.at + padded {
            self.roll(padded, space)?;
        }
        let (number, chain_before) = (self.tail.batch + 1, self.tail.chain);
        self.buf.clear();
        let chain = frame::encode(batch, number, self.active.salt, chain_before, &mut self.buf);
        self.write_and_sync()?;
        self.tail = Tail { batch: number, chain, ..after };
        let place = BatchRef {
            sequence: self.active.sequence,
            offset: self.active.at,
            bytes: to_u32(len),
            chain: chain_before,
            number,
            first: Index(0),
            count: 0,
        };
        recover::enter(&mut self.catalog.lock(), batch, place);
        self.active.at += padded;
        self.sealed = batch.frames == [Frame::Seal];
        Ok(())
    }

    fn write_and_sync(&mut self) -> Result<()> {
        let Active { file, at, .. } = &self.active;
        let result = file.write_at(&self.buf, *at).and_then(|()| file.sync());
        self.failed |= result.is_err();
        // A batch of unusual size must not hold its memory for ever.
        if BUF_BYTES_MAX < self.buf.capacity() {
            self.buf = Vec::new();
        }
        Ok(result?)
    }

    /// Writes an empty batch, so that the batch before it is known to be durable: when the log
    /// is idle and before the process ends. Does nothing if the last batch was one.
    pub fn seal(&mut self) -> Result<()> {
        if self.sealed {
            return Ok(());
        }
        self.append_with(&Batch { frames: vec![Frame::Seal] }, Use::Reserve)
    }

    /// True if the last batch was a seal.
    pub fn is_sealed(&self) -> bool {
        self.sealed
    }

    /// Lets go of entries up to `upto`, which must be committed: segments that hold no others
    /// become spares. Does nothing if there is none.
    pub fn trim(&mut self, upto: Index) -> Result<()> {
        let upto = upto.max(self.tail.trimmed);
        if !self.front_is_below(upto) {
            return Ok(());
        }
        // Durable first: a segment that is missing must be known to be trimmed, not lost.
        if self.tail.trimmed < upto {
            self.append_with(&Batch { frames: vec![Frame::Trim(upto)] }, Use::Reserve)?;
        }
        while self.front_is_below(upto) {
            let Some(segment) = self.catalog.lock().pop_front() else { break };
            let result = self.recycle(&segment);
            self.failed |= result.is_err();
            result?;
        }
        Ok(())
    }

    /// True if the oldest segment can go.
    fn front_is_below(&self, upto: Index) -> bool {
        let catalog = self.catalog.lock();
        let front = catalog.segments.front().filter(|_| 1 < catalog.segments.len());
        front.is_some_and(|segment| segment.max_index <= upto)
    }

    /// A handle that reads entries, from any thread.
    pub fn reader(&self) -> Reader {
        Reader::new(self.catalog.clone())
    }

    /// End of the log.
    pub fn last(&self) -> Position {
        self.tail.last
    }

    /// The last hard state written.
    pub fn hard_state(&self) -> HardState {
        self.tail.hard_state
    }

    /// The segment that batches go to.
    #[cfg(test)]
    pub(crate) fn file_for_tests(&self) -> String {
        self.path(&segment::name(self.active.sequence))
    }

    pub(crate) fn path(&self, name: &str) -> String {
        segment::path(&self.dir, name)
    }
}
