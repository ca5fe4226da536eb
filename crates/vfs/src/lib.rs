//! The seam to the disk: traits, the real disk, and a simulated one that loses and tears data.
//!
//! Below the shell this is the only crate that names `std::fs`. Paths are relative to the root
//! that the `Disk` was opened on, with `/` between folders.

mod os;
pub mod sim;

pub use os::OsDisk;

use std::fmt;
use std::sync::Arc;

/// What went wrong, with the file and the place.
#[derive(Clone, Debug)]
pub struct Error {
    /// The call, as verb and object: `sync`, `write`, `rename`.
    pub action: &'static str,
    /// The file concerned, relative to the disk's root.
    pub path: String,
    /// Where in the file, if the call has a place.
    pub offset: Option<u64>,
    /// The kind that callers branch on.
    pub kind: ErrorKind,
    /// The operating system's error number, 0 if there is none.
    pub errno: i32,
}

/// Kinds of error that callers branch on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ErrorKind {
    /// No such file.
    NotFound,
    /// The file exists.
    Exists,
    /// The disk is full.
    NoSpace,
    /// A read beyond the end of the file.
    ShortRead,
    /// Another process holds the lock of the folder.
    Locked,
    /// Anything else: by the rule of reliability the process ends (exit 74).
    Io,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.action, self.path)?;
        if let Some(offset) = self.offset {
            write!(f, " at offset {offset}")?;
        }
        write!(f, ": {} (errno {})", self.kind, self.errno)
    }
}

impl fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ErrorKind::NotFound => "no such file",
            ErrorKind::Exists => "the file exists",
            ErrorKind::NoSpace => "no space left on the disk",
            ErrorKind::ShortRead => "the file ends before",
            ErrorKind::Locked => "another process uses this folder",
            ErrorKind::Io => "input/output error",
        })
    }
}

impl std::error::Error for Error {}

/// Result of a call to the disk.
pub type Result<T> = std::result::Result<T, Error>;

/// How a file is opened.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Open {
    /// An existing file, to read.
    Read,
    /// An existing file, to read and write.
    Write,
    /// A new file, to read and write; an existing one is an error.
    Create,
    /// An existing file, to read from the device itself and not from the page cache: after a kill
    /// the page cache may hold what is not durable. Falls back to `Read` plus a rewrite by the
    /// caller where the file system cannot (see `File::reads_device`).
    ReadDevice,
}

/// An open file. Positions are explicit; there is no cursor.
pub trait File: Send + Sync {
    /// Reads exactly `buf.len()` bytes at `offset`; `ShortRead` if the file ends before.
    fn read_at(&self, buf: &mut [u8], offset: u64) -> Result<()>;
    /// Writes all of `buf` at `offset`, growing the file if needed.
    fn write_at(&self, buf: &[u8], offset: u64) -> Result<()>;
    /// Makes the file's data (and its length) durable. After an error nothing of the file may be
    /// trusted to be durable, and the call must not be repeated.
    fn sync(&self) -> Result<()>;
    /// Length in bytes.
    fn len(&self) -> Result<u64>;
    /// True if the file has no bytes.
    fn is_empty(&self) -> Result<bool> {
        Ok(self.len()? == 0)
    }
    /// Cuts or extends the file to `len` bytes; new bytes are zero.
    fn set_len(&self, len: u64) -> Result<()>;
    /// Reserves blocks for the first `len` bytes, so that writes there cannot meet a full disk.
    /// Falls back to writing zeros where the file system has no such call.
    fn allocate(&self, len: u64) -> Result<()>;
    /// Drops synced bytes of the file from the page cache. A hint that changes no content: a small
    /// write into a large cached folio is counted (`write_bytes`), and found at the next sync, as
    /// that whole folio, up to 2 MiB on recent kernels.
    fn forget_cached(&self) {}
    /// True if reads of this handle came from the device (see `Open::ReadDevice`).
    fn reads_device(&self) -> bool;
}

/// A folder tree on one disk.
pub trait Disk: Send + Sync {
    /// Opens a file.
    fn open(&self, path: &str, how: Open) -> Result<Arc<dyn File>>;
    /// Moves a file within the disk, replacing the target. Durable after `sync_dir`.
    fn rename(&self, from: &str, to: &str) -> Result<()>;
    /// Removes a file. Durable after `sync_dir`.
    fn remove(&self, path: &str) -> Result<()>;
    /// Creates a folder (mode 0700) and its parents; an existing one is fine.
    fn create_dir(&self, path: &str) -> Result<()>;
    /// Names of the entries of a folder, sorted.
    fn list(&self, path: &str) -> Result<Vec<String>>;
    /// Makes creations, renames and removals in a folder durable.
    fn sync_dir(&self, path: &str) -> Result<()>;
    /// Bytes that can still be allocated.
    fn available(&self) -> Result<u64>;
}
