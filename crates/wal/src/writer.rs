//! Appends batches, rolls to new segments, trims old ones and recycles them.

use crate::catalog::{BatchRef, Segment, Shared};
use crate::frame::{self, BLOCK, Salt, to_u32};
use crate::mutant::Mutant;
use crate::recover::{self, Listing};
use crate::repair;
use crate::segment::{self, SegmentHeader};
use crate::tail::Tail;
use crate::{
    Batch, Error, Frame, HardState, Identity, Position, Reader, Recovered, Result, Use, WalConfig,
};
use bytes::Bytes;
use std::collections::VecDeque;
use std::sync::Arc;
use types::Index;
use types::limits::WAL_BATCH_BYTES_MAX;
use vfs::{Disk, ErrorKind, File, Open};

/// Memory that the encoding buffer may keep between batches.
const BUF_BYTES_MAX: usize = 4 << 20;

/// The segment that batches go to.
struct Active {
    file: Arc<dyn File>,
    salt: Salt,
    sequence: u64,
    size: u64,
    /// Where the next batch begins; a multiple of `BLOCK`.
    at: u64,
}

/// The log, open for writing. One thread owns it; readers on other threads use [`Reader`].
pub struct Wal {
    disk: Arc<dyn Disk>,
    dir: String,
    config: WalConfig,
    identity: Identity,
    tail: Tail,
    active: Active,
    catalog: Shared,
    /// Numbers of unused segments.
    spares: VecDeque<u64>,
    /// The encoded batch; kept for its memory.
    buf: Vec<u8>,
    sealed: bool,
    /// Set for good once the disk failed: what is durable is unknown then.
    failed: bool,
}

impl Wal {
    /// True if the folder holds a log.
    pub fn exists(disk: &dyn Disk, dir: &str) -> Result<bool> {
        Ok(!recover::list(disk, dir)?.segments.is_empty())
    }

    /// Makes a new log; one that exists is refused.
    pub fn create(
        disk: Arc<dyn Disk>,
        dir: &str,
        config: WalConfig,
        identity: Identity,
        membership: Bytes,
    ) -> Result<(Wal, Recovered)> {
        check_config(&config)?;
        disk.create_dir(dir)?;
        let listing = recover::list(&*disk, dir)?;
        if !listing.segments.is_empty() {
            return Err(Error::Refused(format!("there is a log in {dir} already")));
        }
        sync_folders(&*disk, dir)?;
        let tail = Tail { membership, ..Tail::default() };
        let mut wal = Wal::unopened(disk, dir, config, identity, tail);
        wal.adopt_spares(&listing)?;
        wal.roll(0, Use::Reserve)?;
        wal.boot()?;
        let recovered = wal.recovered();
        Ok((wal, recovered))
    }

    /// Opens a log: reads and checks all of it, cuts an incomplete last batch, makes what was
    /// read durable, and writes the Boot batch. If the log is damaged nothing is changed.
    /// `identity` is checked if it is known.
    pub fn open(
        disk: Arc<dyn Disk>,
        dir: &str,
        config: WalConfig,
        identity: Option<Identity>,
    ) -> Result<(Wal, Recovered)> {
        check_config(&config)?;
        let listing = recover::list(&*disk, dir)?;
        let scan = recover::scan(&*disk, dir, &config, identity, &listing)?;
        let sequence = scan.header.sequence;
        let path = segment::path(dir, &segment::name(sequence));
        let file = disk.open(&path, Open::Write)?;
        let cut = repair::repair(&*disk, dir, &config, &scan, &*file)?;
        file.forget_cached();
        sync_folders(&*disk, dir)?;
        let mut wal = Wal::unopened(disk, dir, config, scan.header.identity, scan.tail.clone());
        wal.catalog = Shared::new(scan.catalog);
        let (salt, size) = (scan.header.salt(), scan.header.size);
        wal.active = Active { file, salt, sequence, size, at: scan.end };
        wal.adopt_spares(&listing)?;
        wal.boot()?;
        let recovered = Recovered {
            base: scan.base,
            entries: scan.entries,
            install: scan.install,
            cut,
            ..wal.recovered()
        };
        Ok((wal, recovered))
    }

    fn unopened(
        disk: Arc<dyn Disk>,
        dir: &str,
        config: WalConfig,
        identity: Identity,
        tail: Tail,
    ) -> Wal {
        let file: Arc<dyn File> = Arc::new(NoFile);
        Wal {
            disk,
            dir: dir.to_string(),
            config,
            identity,
            tail,
            active: Active { file, salt: Salt::new(0), sequence: 0, size: 0, at: 0 },
            catalog: Shared::default(),
            spares: VecDeque::new(),
            buf: Vec::new(),
            sealed: false,
            failed: false,
        }
    }

    fn recovered(&self) -> Recovered {
        Recovered {
            identity: self.identity,
            hard_state: self.tail.hard_state,
            membership: self.tail.membership.clone(),
            base: Position::default(),
            entries: Vec::new(),
            install: None,
            boot: self.tail.boot,
            cut: None,
        }
    }

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

    fn boot(&mut self) -> Result<()> {
        let boot = Frame::Boot(self.tail.boot + 1);
        self.append_with(&Batch { frames: vec![boot] }, Use::Reserve)
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

    fn recycle(&mut self, segment: &Segment) -> Result<()> {
        let usual = segment.size == self.config.segment_bytes;
        if usual && self.spares.len() < self.config.spares_max {
            let number = self.free_spare_number();
            let spare = self.path(&segment::spare_name(number));
            self.disk.rename(&segment.path, &spare)?;
            self.spares.push_back(number);
        } else {
            self.disk.remove(&segment.path)?;
        }
        // Each on its own: were a later rename durable before an earlier one, a segment would be
        // missing in the middle. And a spare must not be overwritten while it may still come
        // back under its old name.
        if !self.config.is_mutant(Mutant::SpareBeforeDurable) {
            self.disk.sync_dir(&self.dir)?;
        }
        Ok(())
    }

    /// Allocates an unused segment if there is none beyond the reserve. For idle moments: the
    /// next roll then costs no zero-filling. False if the disk has no room.
    pub fn prepare(&mut self) -> Result<bool> {
        while !self.is_prepared() {
            match self.new_spare(self.config.segment_bytes) {
                Ok(number) => self.spares.push_back(number),
                Err(Error::NoSpace(_)) => return Ok(false),
                Err(error) => return Err(error),
            }
        }
        Ok(true)
    }

    /// True if `prepare` has nothing to do.
    pub fn is_prepared(&self) -> bool {
        self.config.reserve < self.spares.len()
    }

    /// Bytes of batches that can be appended without allocating, reserve included.
    pub fn room(&self) -> u64 {
        let spares = self.spares.len() as u64;
        self.active.size - self.active.at + spares * (self.config.segment_bytes - BLOCK)
    }

    /// Bytes of all files of the log.
    pub fn size(&self) -> u64 {
        let segments: u64 = self.catalog.lock().segments.iter().map(|segment| segment.size).sum();
        segments + self.spares.len() as u64 * self.config.segment_bytes
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

    /// Begins a new segment that has room for `padded` bytes. On `NoSpace` nothing changed.
    fn roll(&mut self, padded: u64, space: Use) -> Result<()> {
        let size = self.config.segment_bytes.max(BLOCK + padded);
        let number = self.take_spare(size, space)?;
        let result = self.name_segment(number, size);
        self.failed |= result.is_err();
        result
    }

    /// An unused segment of this size, allocated if need be.
    fn take_spare(&mut self, size: u64, space: Use) -> Result<u64> {
        if size != self.config.segment_bytes {
            return self.new_spare(size);
        }
        let kept = if space == Use::Reserve { 0 } else { self.config.reserve };
        while self.spares.len() <= kept {
            let number = self.new_spare(size)?;
            self.spares.push_back(number);
        }
        Ok(self.spares.pop_front().expect("there is one more than none"))
    }

    /// Writes the header, then names the segment, each made durable before the next.
    fn name_segment(&mut self, number: u64, size: u64) -> Result<()> {
        let sequence = self.active.sequence + 1;
        let constant = self.config.is_mutant(Mutant::StaleFrameAccepted);
        let seed = if constant { 0 } else { sequence };
        let salt = segment::salt(if constant { 0 } else { self.config.seed }, seed);
        let tail = self.tail.clone();
        let header = SegmentHeader { salt, sequence, size, identity: self.identity, tail };
        let spare = self.path(&segment::spare_name(number));
        let path = self.path(&segment::name(sequence));
        let file = self.disk.open(&spare, Open::Write)?;
        file.forget_cached();
        file.write_at(&header.encode(), 0)?;
        file.sync()?;
        self.disk.rename(&spare, &path)?;
        self.disk.sync_dir(&self.dir)?;
        self.tail.chain = header.first_chain();
        let salt = header.salt();
        self.active = Active { file: file.clone(), salt, sequence, size, at: BLOCK };
        let max_index = Index(0);
        self.catalog.lock().segments.push_back(Segment {
            sequence,
            path,
            size,
            salt,
            file,
            max_index,
        });
        Ok(())
    }

    /// Allocates a segment and fills it with zeros, so that later writes change no extent.
    fn new_spare(&mut self, size: u64) -> Result<u64> {
        let number = self.free_spare_number();
        let path = self.path(&segment::spare_name(number));
        let file = match self.disk.open(&path, Open::Create) {
            Err(error) if error.kind == ErrorKind::NoSpace => return Err(Error::NoSpace(error)),
            opened => opened?,
        };
        let allocated = file.allocate(size).and_then(|()| repair::zero(&*file, 0, size));
        match allocated.and_then(|()| file.sync()) {
            Ok(()) => Ok(number),
            Err(error) if error.kind == ErrorKind::NoSpace => {
                self.disk.remove(&path)?;
                Err(Error::NoSpace(error))
            }
            Err(error) => {
                self.failed = true;
                Err(error.into())
            }
        }
    }

    fn free_spare_number(&self) -> u64 {
        let mut number = self.active.sequence + 1;
        while self.spares.contains(&number) {
            number += 1;
        }
        number
    }

    /// Takes over unused segments of the right length and removes others.
    fn adopt_spares(&mut self, listing: &Listing) -> Result<()> {
        for &number in &listing.spares {
            let path = self.path(&segment::spare_name(number));
            let len = self.disk.open(&path, Open::Read)?.len()?;
            if len == self.config.segment_bytes && self.spares.len() < self.config.spares_max {
                self.spares.push_back(number);
            } else {
                self.disk.remove(&path)?;
            }
        }
        Ok(())
    }

    fn path(&self, name: &str) -> String {
        segment::path(&self.dir, name)
    }
}

fn check_config(config: &WalConfig) -> Result<()> {
    if !config.segment_bytes.is_multiple_of(BLOCK) || config.segment_bytes < 2 * BLOCK {
        let text = format!("a segment of {} bytes is no multiple of a block", config.segment_bytes);
        return Err(Error::Refused(text));
    }
    Ok(())
}

/// Makes the names in the log's folder and the folders above it durable: after a kill they may
/// have been changed and not be durable yet.
fn sync_folders(disk: &dyn Disk, dir: &str) -> Result<()> {
    let mut folder = dir;
    while !folder.is_empty() {
        disk.sync_dir(folder)?;
        folder = folder.rsplit_once('/').map_or("", |(above, _)| above);
    }
    Ok(disk.sync_dir("")?)
}

/// Stands in for the active segment until there is one.
struct NoFile;

impl File for NoFile {
    fn read_at(&self, _: &mut [u8], _: u64) -> vfs::Result<()> {
        Err(no_file())
    }
    fn write_at(&self, _: &[u8], _: u64) -> vfs::Result<()> {
        Err(no_file())
    }
    fn sync(&self) -> vfs::Result<()> {
        Err(no_file())
    }
    fn len(&self) -> vfs::Result<u64> {
        Ok(0)
    }
    fn set_len(&self, _: u64) -> vfs::Result<()> {
        Err(no_file())
    }
    fn allocate(&self, _: u64) -> vfs::Result<()> {
        Err(no_file())
    }
    fn reads_device(&self) -> bool {
        false
    }
}

fn no_file() -> vfs::Error {
    let path = String::new();
    vfs::Error { action: "use", path, offset: None, kind: ErrorKind::NotFound, errno: 0 }
}
