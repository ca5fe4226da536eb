//! Segments before and after their use: allocated, named, trimmed, recycled.

use crate::catalog::Segment;
use crate::frame::BLOCK;
use crate::mutant::Mutant;
use crate::recover::Listing;
use crate::repair;
use crate::segment::{self, SegmentHeader};
use crate::writer::{Active, Wal};
use crate::{Error, Result, Use};
use types::Index;
use vfs::{ErrorKind, Open};

impl Wal {
    pub(crate) fn recycle(&mut self, segment: &Segment) -> Result<()> {
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

    /// Begins a new segment that has room for `padded` bytes. On `NoSpace` nothing changed.
    pub(crate) fn roll(&mut self, padded: u64, space: Use) -> Result<()> {
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
    pub(crate) fn adopt_spares(&mut self, listing: &Listing) -> Result<()> {
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
}
