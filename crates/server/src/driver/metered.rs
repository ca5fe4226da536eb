//! The log's disk, with the times and bytes of its writes and syncs counted.

use crate::metrics::Metrics;
use std::sync::Arc;
use std::time::Instant;
use vfs::{Disk, File, Open, Result};

/// Passes everything on.
pub(super) struct MeteredDisk {
    disk: Arc<dyn Disk>,
    metrics: Metrics,
}

struct MeteredFile {
    file: Arc<dyn File>,
    metrics: Metrics,
}

impl MeteredDisk {
    pub(super) fn around(disk: Arc<dyn Disk>, metrics: &Metrics) -> Arc<dyn Disk> {
        Arc::new(MeteredDisk { disk, metrics: metrics.clone() })
    }
}

impl Disk for MeteredDisk {
    fn open(&self, path: &str, how: Open) -> Result<Arc<dyn File>> {
        let file = self.disk.open(path, how)?;
        Ok(Arc::new(MeteredFile { file, metrics: self.metrics.clone() }))
    }

    fn rename(&self, from: &str, to: &str) -> Result<()> {
        self.disk.rename(from, to)
    }

    fn remove(&self, path: &str) -> Result<()> {
        self.disk.remove(path)
    }

    fn create_dir(&self, path: &str) -> Result<()> {
        self.disk.create_dir(path)
    }

    fn list(&self, path: &str) -> Result<Vec<String>> {
        self.disk.list(path)
    }

    fn sync_dir(&self, path: &str) -> Result<()> {
        self.disk.sync_dir(path)
    }

    fn available(&self) -> Result<u64> {
        self.disk.available()
    }
}

impl File for MeteredFile {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> Result<()> {
        self.file.read_at(buf, offset)
    }

    fn write_at(&self, buf: &[u8], offset: u64) -> Result<()> {
        let began = Instant::now();
        self.file.write_at(buf, offset)?;
        self.metrics.wal_write.observe(began.elapsed().as_secs_f64());
        self.metrics.wal_bytes.add(i64::try_from(buf.len()).unwrap_or(i64::MAX));
        Ok(())
    }

    fn sync(&self) -> Result<()> {
        let began = Instant::now();
        self.file.sync()?;
        self.metrics.wal_fsync.observe(began.elapsed().as_secs_f64());
        Ok(())
    }

    fn len(&self) -> Result<u64> {
        self.file.len()
    }

    fn set_len(&self, len: u64) -> Result<()> {
        self.file.set_len(len)
    }

    fn allocate(&self, len: u64) -> Result<()> {
        self.file.allocate(len)
    }

    fn forget_cached(&self) {
        self.file.forget_cached();
    }

    fn reads_device(&self) -> bool {
        self.file.reads_device()
    }
}
