//! Disk space held back, so that a full disk still takes deletes, compaction and a restart.

use crate::error::{Error, Result};
use crate::manifest;
use std::sync::Arc;
use vfs::{Disk, Open};

/// Name of the file that holds the space.
pub(crate) const NAME: &str = "reserve";
/// Space held back unless the disk is small.
const BYTES_MAX: u64 = 16 * 1024 * 1024;
/// Least space held back.
const BYTES_MIN: u64 = 1024 * 1024;

/// A file whose only content is the space that it takes. It is not part of the store's state:
/// it may be absent, shorter or damaged.
pub struct Reserve {
    disk: Arc<dyn Disk>,
    path: String,
    wanted: u64,
    held: u64,
}

impl std::fmt::Debug for Reserve {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Reserve({} of {} bytes)", self.held, self.wanted)
    }
}

impl Reserve {
    /// What to hold back on a disk with so much space: 16 MiB, less on a small one.
    pub fn bytes_for_disk(bytes_available: u64) -> u64 {
        (bytes_available / 6).clamp(BYTES_MIN, BYTES_MAX)
    }

    /// Finds what is held already. Takes nothing: call `refill`.
    pub fn open(disk: Arc<dyn Disk>, dir: &str, wanted: u64) -> Result<Reserve> {
        let path = manifest::path(dir, NAME);
        let held = match disk.open(&path, Open::Read) {
            Ok(file) => file.len()?,
            Err(error) if error.kind == vfs::ErrorKind::NotFound => 0,
            Err(error) => return Err(error.into()),
        };
        Ok(Reserve { disk, path, wanted, held })
    }

    /// Bytes to hold.
    pub fn wanted(&self) -> u64 {
        self.wanted
    }

    /// Room that should be there beyond the reserve before it is filled again.
    pub fn margin(&self) -> u64 {
        self.wanted / 4
    }

    /// Bytes held.
    pub fn held(&self) -> u64 {
        self.held
    }

    /// True if all that was wanted is held.
    pub fn is_full(&self) -> bool {
        self.wanted <= self.held
    }

    /// Gives space back to the file system until only `keep` bytes are held.
    pub fn release_down_to(&mut self, keep: u64) -> Result<()> {
        if self.held <= keep {
            return Ok(());
        }
        if keep == 0 {
            manifest::remove_if_present(&*self.disk, &self.path)?;
        } else {
            self.disk.open(&self.path, Open::Write)?.set_len(keep)?;
        }
        self.held = keep;
        Ok(())
    }

    /// Takes the space again if the disk has it and `margin` bytes more; true if all is held.
    pub fn refill(&mut self, margin: u64) -> Result<bool> {
        if self.is_full() {
            return Ok(true);
        }
        if self.disk.available()? < self.wanted - self.held + margin {
            return Ok(false);
        }
        match self.take() {
            Ok(()) => {
                self.held = self.wanted;
                Ok(true)
            }
            Err(Error::NoSpace(_)) => {
                // What an allocation that failed took is not known: go back to what was held.
                if self.held == 0 {
                    manifest::remove_if_present(&*self.disk, &self.path)?;
                } else {
                    self.disk.open(&self.path, Open::Write)?.set_len(self.held)?;
                }
                Ok(false)
            }
            Err(error) => Err(error),
        }
    }

    fn take(&self) -> Result<()> {
        let file = match self.disk.open(&self.path, Open::Write) {
            Err(error) if error.kind == vfs::ErrorKind::NotFound => {
                self.disk.open(&self.path, Open::Create).map_err(Error::allocating)?
            }
            other => other?,
        };
        file.allocate(self.wanted).map_err(Error::allocating)
    }
}
