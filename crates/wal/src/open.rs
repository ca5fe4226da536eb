//! A log comes to be, or is opened again.

use crate::catalog::Shared;
use crate::frame::{BLOCK, Salt};
use crate::recover;
use crate::repair;
use crate::segment;
use crate::tail::Tail;
use crate::writer::{Active, Wal};
use crate::{Batch, Error, Frame, Identity, Position, Recovered, Result, Use, WalConfig};
use bytes::Bytes;
use std::collections::VecDeque;
use std::sync::Arc;
use vfs::{Disk, ErrorKind, File, Open};

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

    fn boot(&mut self) -> Result<()> {
        let boot = Frame::Boot(self.tail.boot + 1);
        self.append_with(&Batch { frames: vec![boot] }, Use::Reserve)
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
