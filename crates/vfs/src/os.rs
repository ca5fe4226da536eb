//! The real disk: files opened below one folder, each call named in its error.

#[cfg(test)]
mod tests;

use crate::{Disk, Error, ErrorKind, File, Open, Result};
use rustix::fd::OwnedFd;
use rustix::fs::{self, Advice, FallocateFlags, FlockOperation, Mode, OFlags};
use rustix::io::Errno;
use std::path::Path;
use std::sync::Arc;

/// Unit in which direct reads are aligned: covers every logical block size in use.
const DIRECT_ALIGN: usize = 4096;
/// Most bytes of one direct read.
const DIRECT_CHUNK: usize = 1 << 20;
/// Bytes written at once where the file system cannot allocate.
const ZERO_CHUNK: usize = 1 << 20;

/// A folder of the real file system and everything below it, locked against other processes.
#[derive(Debug)]
pub struct OsDisk {
    root: OwnedFd,
    locked: bool,
}

impl OsDisk {
    /// Opens the folder `root`, creating it (mode 0700) with its parents if needed, and locks it:
    /// a second process gets `Locked`. Where the file system knows no locks it is used without
    /// one, see [`OsDisk::is_locked`].
    pub fn open(root: &Path) -> Result<OsDisk> {
        let name = root.to_string_lossy();
        let failed = |action, errno| error(action, &name, None, errno);
        create_folders(root).map_err(|(action, errno)| failed(action, errno))?;
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let fd = retry(|| fs::open(root, flags, Mode::empty())).map_err(|e| failed("open", e))?;
        let locked = match retry(|| fs::flock(&fd, FlockOperation::NonBlockingLockExclusive)) {
            Ok(()) => true,
            Err(Errno::OPNOTSUPP | Errno::NOSYS | Errno::NOLCK | Errno::INVAL) => false,
            Err(errno) => return Err(failed("lock", errno)),
        };
        Ok(OsDisk { root: fd, locked })
    }

    /// False if the file system knows no locks, so that nothing keeps a second process away.
    pub fn is_locked(&self) -> bool {
        self.locked
    }

    fn open_fd(&self, path: &str, flags: OFlags) -> std::result::Result<OwnedFd, Errno> {
        let mode = Mode::RUSR | Mode::WUSR;
        retry(|| fs::openat(&self.root, relative(path), flags | OFlags::CLOEXEC, mode))
    }
}

/// Creates the missing folders of a path, outermost first, and makes each durable.
fn create_folders(root: &Path) -> std::result::Result<(), (&'static str, Errno)> {
    let mut missing = Vec::new();
    let mut path = root;
    while !path.as_os_str().is_empty() && matches!(retry(|| fs::stat(path)), Err(Errno::NOENT)) {
        missing.push(path);
        match path.parent() {
            Some(parent) => path = parent,
            None => break,
        }
    }
    for path in missing.into_iter().rev() {
        match retry(|| fs::mkdir(path, Mode::RWXU)) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(errno) => return Err(("create folder", errno)),
        }
        let parent = match path.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        };
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        retry(|| fs::open(parent, flags, Mode::empty()))
            .and_then(|fd| retry(|| fs::fsync(&fd)))
            .map_err(|errno| ("sync folder", errno))?;
    }
    Ok(())
}

impl Disk for OsDisk {
    fn open(&self, path: &str, how: Open) -> Result<Arc<dyn File>> {
        let (flags, action) = match how {
            Open::Read | Open::ReadDevice => (OFlags::RDONLY, "open"),
            Open::Write => (OFlags::RDWR, "open"),
            Open::Create => (OFlags::RDWR | OFlags::CREATE | OFlags::EXCL, "create"),
        };
        let device = how == Open::ReadDevice;
        if device && let Some(fd) = self.open_direct(path)? {
            return Ok(Arc::new(OsFile { fd, path: path.to_string(), direct: true }));
        }
        let fd = self.open_fd(path, flags).map_err(|e| error(action, path, None, e))?;
        Ok(Arc::new(OsFile { fd, path: path.to_string(), direct: false }))
    }

    fn rename(&self, from: &str, to: &str) -> Result<()> {
        retry(|| fs::renameat(&self.root, relative(from), &self.root, relative(to)))
            .map_err(|e| error("rename", from, None, e))
    }

    fn remove(&self, path: &str) -> Result<()> {
        retry(|| fs::unlinkat(&self.root, relative(path), fs::AtFlags::empty()))
            .map_err(|e| error("remove", path, None, e))
    }

    fn create_dir(&self, path: &str) -> Result<()> {
        for (at, _) in path.match_indices('/').chain([(path.len(), "")]) {
            match retry(|| fs::mkdirat(&self.root, relative(&path[..at]), Mode::RWXU)) {
                Ok(()) | Err(Errno::EXIST) => {}
                Err(e) => return Err(error("create folder", path, None, e)),
            }
        }
        Ok(())
    }

    fn list(&self, path: &str) -> Result<Vec<String>> {
        let failed = |e| error("list", path, None, e);
        let fd = self.open_fd(path, OFlags::RDONLY | OFlags::DIRECTORY).map_err(failed)?;
        let mut names = Vec::new();
        for entry in fs::Dir::read_from(&fd).map_err(failed)? {
            let name = entry.map_err(failed)?.file_name().to_string_lossy().into_owned();
            if name != "." && name != ".." {
                names.push(name);
            }
        }
        names.sort();
        Ok(names)
    }

    fn sync_dir(&self, path: &str) -> Result<()> {
        self.open_fd(path, OFlags::RDONLY | OFlags::DIRECTORY)
            .and_then(|fd| retry(|| fs::fsync(&fd)))
            .map_err(|e| error("sync folder", path, None, e))
    }

    fn available(&self) -> Result<u64> {
        let stat = retry(|| fs::fstatvfs(&self.root)).map_err(|e| error("stat", "", None, e))?;
        Ok(stat.f_bavail.saturating_mul(stat.f_frsize))
    }
}

impl OsDisk {
    /// Opens a file for direct reads; `None` where the file system cannot. Some accept the flag
    /// and fail the first read, so one is tried.
    fn open_direct(&self, path: &str) -> Result<Option<OwnedFd>> {
        let fd = match self.open_fd(path, OFlags::RDONLY | OFlags::DIRECT) {
            Ok(fd) => fd,
            Err(Errno::INVAL | Errno::OPNOTSUPP) => return Ok(None),
            Err(e) => return Err(error("open", path, None, e)),
        };
        let mut buf = vec![0; 2 * DIRECT_ALIGN];
        let at = aligned(&buf);
        match retry(|| rustix::io::pread(&fd, &mut buf[at..at + DIRECT_ALIGN], 0)) {
            Ok(_) => Ok(Some(fd)),
            Err(Errno::INVAL | Errno::OPNOTSUPP) => Ok(None),
            Err(e) => Err(error("read", path, Some(0), e)),
        }
    }
}

/// Offset of the first aligned byte of a buffer.
fn aligned(buf: &[u8]) -> usize {
    let rest = buf.as_ptr().addr() % DIRECT_ALIGN;
    if rest == 0 { 0 } else { DIRECT_ALIGN - rest }
}

#[derive(Debug)]
struct OsFile {
    fd: OwnedFd,
    path: String,
    direct: bool,
}

impl OsFile {
    fn failed(&self, action: &'static str, offset: Option<u64>, errno: Errno) -> Error {
        error(action, &self.path, offset, errno)
    }

    fn ends_before(&self, offset: u64) -> Error {
        let kind = ErrorKind::ShortRead;
        Error { action: "read", path: self.path.clone(), offset: Some(offset), kind, errno: 0 }
    }

    fn read_direct(&self, buf: &mut [u8], offset: u64) -> Result<()> {
        let align = DIRECT_ALIGN as u64;
        let mut bounce = vec![0; DIRECT_CHUNK.min(buf.len() + DIRECT_ALIGN) + 2 * DIRECT_ALIGN];
        let at = aligned(&bounce);
        let room = (bounce.len() - at) / DIRECT_ALIGN * DIRECT_ALIGN;
        let mut done = 0;
        while done < buf.len() {
            let from = offset + done as u64;
            let skip = usize::try_from(from % align).expect("less than the alignment");
            let want = (skip + buf.len() - done).next_multiple_of(DIRECT_ALIGN).min(room);
            let target = &mut bounce[at..at + want];
            let got = retry(|| rustix::io::pread(&self.fd, &mut *target, from - skip as u64))
                .map_err(|e| self.failed("read", Some(from), e))?;
            if got <= skip {
                return Err(self.ends_before(from));
            }
            let take = (got - skip).min(buf.len() - done);
            buf[done..done + take].copy_from_slice(&target[skip..skip + take]);
            done += take;
        }
        Ok(())
    }

    /// Extends the file to `len` by writing zeros.
    fn fill(&self, len: u64) -> Result<()> {
        let mut at = self.len()?;
        let zeros = vec![0; ZERO_CHUNK];
        while at < len {
            let count = usize::try_from(len - at).unwrap_or(ZERO_CHUNK).min(ZERO_CHUNK);
            self.write_at(&zeros[..count], at)?;
            at += count as u64;
        }
        Ok(())
    }
}

impl File for OsFile {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> Result<()> {
        if self.direct {
            return self.read_direct(buf, offset);
        }
        let mut done = 0;
        while done < buf.len() {
            let from = offset + done as u64;
            let got = retry(|| rustix::io::pread(&self.fd, &mut buf[done..], from))
                .map_err(|e| self.failed("read", Some(from), e))?;
            if got == 0 {
                return Err(self.ends_before(from));
            }
            done += got;
        }
        Ok(())
    }

    fn write_at(&self, buf: &[u8], offset: u64) -> Result<()> {
        let mut done = 0;
        while done < buf.len() {
            let from = offset + done as u64;
            let put = retry(|| rustix::io::pwrite(&self.fd, &buf[done..], from))
                .map_err(|e| self.failed("write", Some(from), e))?;
            if put == 0 {
                return Err(self.failed("write", Some(from), Errno::IO));
            }
            done += put;
        }
        Ok(())
    }

    fn sync(&self) -> Result<()> {
        retry(|| fs::fdatasync(&self.fd)).map_err(|e| self.failed("sync", None, e))
    }

    fn len(&self) -> Result<u64> {
        let stat = retry(|| fs::fstat(&self.fd)).map_err(|e| self.failed("stat", None, e))?;
        Ok(u64::try_from(stat.st_size).unwrap_or(0))
    }

    fn set_len(&self, len: u64) -> Result<()> {
        retry(|| fs::ftruncate(&self.fd, len)).map_err(|e| self.failed("set length", Some(len), e))
    }

    fn allocate(&self, len: u64) -> Result<()> {
        match retry(|| fs::fallocate(&self.fd, FallocateFlags::empty(), 0, len)) {
            Ok(()) => Ok(()),
            Err(Errno::OPNOTSUPP | Errno::NOSYS) => self.fill(len),
            Err(e) => Err(self.failed("allocate", Some(len), e)),
        }
    }

    fn forget_cached(&self) {
        // A file system that cannot is as good as one that need not.
        let _ = fs::fadvise(&self.fd, 0, None, Advice::DontNeed);
    }

    fn reads_device(&self) -> bool {
        self.direct
    }
}

/// The path of the root itself is empty for callers and a dot for the system.
fn relative(path: &str) -> &str {
    if path.is_empty() { "." } else { path }
}

/// Repeats a call that a signal interrupted.
fn retry<T>(
    mut call: impl FnMut() -> std::result::Result<T, Errno>,
) -> std::result::Result<T, Errno> {
    loop {
        match call() {
            Err(Errno::INTR) => {}
            other => return other,
        }
    }
}

fn error(action: &'static str, path: &str, offset: Option<u64>, errno: Errno) -> Error {
    let kind = match errno {
        Errno::NOENT => ErrorKind::NotFound,
        Errno::EXIST => ErrorKind::Exists,
        Errno::NOSPC | Errno::DQUOT => ErrorKind::NoSpace,
        Errno::WOULDBLOCK => ErrorKind::Locked,
        _ => ErrorKind::Io,
    };
    Error { action, path: path.to_string(), offset, kind, errno: errno.raw_os_error() }
}
