//! Shows an image to the kernel.

use super::image::{Image, ROOT, Refusal};
use anyhow::{Context, Result};
use fuser::{
    BackgroundSession, Config, Errno, FileAttr, FileHandle, FileType, Filesystem, FopenFlags,
    Generation, INodeNo, LockOwner, MountOption, OpenFlags, RenameFlags, ReplyAttr, ReplyCreate,
    ReplyData, ReplyDirectory, ReplyEmpty, ReplyEntry, ReplyOpen, ReplyStatfs, ReplyWrite, Request,
    TimeOrNow, WriteFlags,
};
use rustix::fs::OFlags;
use std::ffi::OsStr;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The kernel keeps nothing: every look goes to the image.
const TTL: Duration = Duration::ZERO;

/// A mounted image; unmounted when dropped.
pub struct Mount {
    shared: Arc<Shared>,
    _session: BackgroundSession,
}

/// What the mount and its owner share.
#[derive(Default)]
struct Shared {
    /// The disk; locked for one call at a time, the kernel's calls come from another thread.
    image: Mutex<Image>,
    /// Syncs that wait while the disk stalls; `None` while it does not.
    stalled: Mutex<Option<Vec<(u64, ReplyEmpty)>>>,
}

impl Shared {
    fn image(&self) -> MutexGuard<'_, Image> {
        self.image.lock().expect("no holder of this lock panics")
    }
}

impl Mount {
    /// Mounts an empty disk on a folder.
    pub fn new(folder: &Path) -> Result<Mount> {
        let shared = Arc::new(Shared::default());
        let mut config = Config::default();
        config.mount_options = vec![MountOption::FSName("rtest".to_string()), MountOption::NoAtime];
        let session = fuser::spawn_mount(Disk { shared: Arc::clone(&shared) }, folder, &config)
            .with_context(|| {
                format!(
                    "mount a FUSE disk on {}: this gate needs /dev/fuse and the right to mount",
                    folder.display()
                )
            })?;
        Ok(Mount { shared, _session: session })
    }

    /// The disk.
    pub fn image(&self) -> MutexGuard<'_, Image> {
        self.shared.image()
    }

    /// From here on no sync returns.
    pub fn stall(&self) {
        let mut stalled = self.shared.stalled.lock().expect("no holder of this lock panics");
        stalled.get_or_insert_with(Vec::new);
    }

    /// Lets the waiting syncs and all later ones go on.
    pub fn release(&self) {
        let mut stalled = self.shared.stalled.lock().expect("no holder of this lock panics");
        for (inode, reply) in stalled.take().unwrap_or_default() {
            empty(reply, self.shared.image().sync(inode));
        }
    }

    /// Syncs that wait.
    pub fn waiting(&self) -> usize {
        let stalled = self.shared.stalled.lock().expect("no holder of this lock panics");
        stalled.as_ref().map_or(0, Vec::len)
    }
}

struct Disk {
    shared: Arc<Shared>,
}

fn errno(refusal: Refusal) -> Errno {
    match refusal {
        Refusal::NoEntry => Errno::ENOENT,
        Refusal::Exists => Errno::EEXIST,
        Refusal::NotEmpty => Errno::ENOTEMPTY,
        Refusal::NoSpace => Errno::ENOSPC,
        Refusal::Io => Errno::EIO,
        Refusal::Unsupported => Errno::EOPNOTSUPP,
        Refusal::Interrupted => Errno::EINTR,
    }
}

fn empty(reply: ReplyEmpty, result: Result<(), Refusal>) {
    match result {
        Ok(()) => reply.ok(),
        Err(refusal) => reply.error(errno(refusal)),
    }
}

fn name(name: &OsStr) -> &str {
    name.to_str().unwrap_or("?")
}

impl Disk {
    fn attr(&self, inode: u64) -> Option<FileAttr> {
        let image = self.shared.image();
        let size = image.len(inode)?;
        let folder = image.is_folder(inode);
        Some(FileAttr {
            ino: INodeNo(inode),
            size,
            blocks: size.div_ceil(512),
            atime: UNIX_EPOCH,
            mtime: UNIX_EPOCH,
            ctime: UNIX_EPOCH,
            crtime: UNIX_EPOCH,
            kind: if folder { FileType::Directory } else { FileType::RegularFile },
            perm: if folder { 0o700 } else { 0o600 },
            nlink: if folder { 2 } else { 1 },
            uid: 0,
            gid: 0,
            rdev: 0,
            blksize: 4096,
            flags: 0,
        })
    }

    fn entry(&self, reply: ReplyEntry, inode: Result<u64, Refusal>) {
        match inode.map(|inode| self.attr(inode)) {
            Ok(Some(attr)) => reply.entry(&TTL, &attr, Generation(0)),
            Ok(None) => reply.error(Errno::ENOENT),
            Err(refusal) => reply.error(errno(refusal)),
        }
    }

    fn sync(&self, inode: u64, reply: ReplyEmpty) {
        let mut stalled = self.shared.stalled.lock().expect("no holder of this lock panics");
        if let Some(waiting) = stalled.as_mut() {
            waiting.push((inode, reply));
            return;
        }
        drop(stalled);
        let delay = self.shared.image().sync_delay_ms;
        if 0 < delay {
            std::thread::park_timeout(Duration::from_millis(delay));
        }
        let result = self.shared.image().sync(inode);
        empty(reply, result);
    }
}

impl Filesystem for Disk {
    fn lookup(&self, _: &Request, parent: INodeNo, entry: &OsStr, reply: ReplyEntry) {
        let inode = self.shared.image().lookup(parent.0, name(entry));
        self.entry(reply, inode);
    }

    fn getattr(&self, _: &Request, inode: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        match self.attr(inode.0) {
            Some(attr) => reply.attr(&TTL, &attr),
            None => reply.error(Errno::ENOENT),
        }
    }

    fn setattr(
        &self,
        _: &Request,
        inode: INodeNo,
        _mode: Option<u32>,
        _uid: Option<u32>,
        _gid: Option<u32>,
        size: Option<u64>,
        _atime: Option<TimeOrNow>,
        _mtime: Option<TimeOrNow>,
        _ctime: Option<SystemTime>,
        _handle: Option<FileHandle>,
        _crtime: Option<SystemTime>,
        _chgtime: Option<SystemTime>,
        _bkuptime: Option<SystemTime>,
        _flags: Option<fuser::BsdFileFlags>,
        reply: ReplyAttr,
    ) {
        if let Some(size) = size
            && let Err(refusal) = self.shared.image().set_len(inode.0, size)
        {
            return reply.error(errno(refusal));
        }
        self.getattr_reply(inode.0, reply);
    }

    fn mkdir(
        &self,
        _: &Request,
        parent: INodeNo,
        entry: &OsStr,
        _: u32,
        _: u32,
        reply: ReplyEntry,
    ) {
        let inode = self.shared.image().create(parent.0, name(entry), true);
        self.entry(reply, inode);
    }

    fn unlink(&self, _: &Request, parent: INodeNo, entry: &OsStr, reply: ReplyEmpty) {
        let result = self.shared.image().remove(parent.0, name(entry));
        empty(reply, result);
    }

    fn rmdir(&self, _: &Request, parent: INodeNo, entry: &OsStr, reply: ReplyEmpty) {
        let result = self.shared.image().remove(parent.0, name(entry));
        empty(reply, result);
    }

    fn rename(
        &self,
        _: &Request,
        parent: INodeNo,
        from: &OsStr,
        new_parent: INodeNo,
        to: &OsStr,
        _: RenameFlags,
        reply: ReplyEmpty,
    ) {
        let result = self.shared.image().rename((parent.0, name(from)), (new_parent.0, name(to)));
        empty(reply, result);
    }

    fn open(&self, _: &Request, inode: INodeNo, _: OpenFlags, reply: ReplyOpen) {
        self.shared.image().open(inode.0);
        reply.opened(FileHandle(0), FopenFlags::FOPEN_DIRECT_IO);
    }

    fn create(
        &self,
        _: &Request,
        parent: INodeNo,
        entry: &OsStr,
        _mode: u32,
        _umask: u32,
        _flags: i32,
        reply: ReplyCreate,
    ) {
        let inode = self.shared.image().create(parent.0, name(entry), false);
        if let Ok(inode) = inode {
            self.shared.image().open(inode);
        }
        match inode.map(|inode| self.attr(inode)) {
            Ok(Some(attr)) => {
                let flags = FopenFlags::FOPEN_DIRECT_IO;
                reply.created(&TTL, &attr, Generation(0), FileHandle(0), flags);
            }
            Ok(None) => reply.error(Errno::ENOENT),
            Err(refusal) => reply.error(errno(refusal)),
        }
    }

    fn read(
        &self,
        _: &Request,
        inode: INodeNo,
        _: FileHandle,
        offset: u64,
        size: u32,
        flags: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyData,
    ) {
        let image = self.shared.image();
        let direct = i32::try_from(OFlags::DIRECT.bits()).unwrap_or(0);
        let read = match flags.0 & direct != 0 {
            true => image.read_device(inode.0, offset, size as usize),
            false => image.read(inode.0, offset, size as usize),
        };
        match read {
            Ok(data) => reply.data(&data),
            Err(refusal) => reply.error(errno(refusal)),
        }
    }

    fn write(
        &self,
        _: &Request,
        inode: INodeNo,
        _: FileHandle,
        offset: u64,
        data: &[u8],
        _: WriteFlags,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        match self.shared.image().write(inode.0, offset, data) {
            Ok(()) => reply.written(u32::try_from(data.len()).unwrap_or(u32::MAX)),
            Err(refusal) => reply.error(errno(refusal)),
        }
    }

    fn fsync(&self, _: &Request, inode: INodeNo, _: FileHandle, _: bool, reply: ReplyEmpty) {
        self.sync(inode.0, reply);
    }

    fn fsyncdir(&self, _: &Request, inode: INodeNo, _: FileHandle, _: bool, reply: ReplyEmpty) {
        self.sync(inode.0, reply);
    }

    fn release(
        &self,
        _: &Request,
        inode: INodeNo,
        _: FileHandle,
        _: OpenFlags,
        _: Option<LockOwner>,
        _: bool,
        reply: ReplyEmpty,
    ) {
        self.shared.image().close(inode.0);
        reply.ok();
    }

    fn flush(&self, _: &Request, _: INodeNo, _: FileHandle, _: LockOwner, reply: ReplyEmpty) {
        reply.ok();
    }

    fn readdir(
        &self,
        _: &Request,
        inode: INodeNo,
        _: FileHandle,
        offset: u64,
        mut reply: ReplyDirectory,
    ) {
        let image = self.shared.image();
        let mut all = vec![(".".to_string(), inode.0), ("..".to_string(), ROOT)];
        all.extend(image.entries(inode.0));
        let skip = usize::try_from(offset).unwrap_or(usize::MAX);
        for (at, (name, inode)) in all.into_iter().enumerate().skip(skip) {
            let kind =
                if image.is_folder(inode) { FileType::Directory } else { FileType::RegularFile };
            if reply.add(INodeNo(inode), at as u64 + 1, kind, name) {
                break;
            }
        }
        reply.ok();
    }

    fn statfs(&self, _: &Request, _: INodeNo, reply: ReplyStatfs) {
        let image = self.shared.image();
        let free = image.capacity.saturating_sub(image.used()) / 4096;
        reply.statfs(image.capacity / 4096, free, free, 1 << 20, 1 << 20, 4096, 255, 4096);
    }

    fn fallocate(
        &self,
        _: &Request,
        inode: INodeNo,
        _: FileHandle,
        offset: u64,
        length: u64,
        mode: i32,
        reply: ReplyEmpty,
    ) {
        if mode != 0 {
            return reply.error(Errno::EOPNOTSUPP);
        }
        let mut image = self.shared.image();
        if let (refusal, left @ 1..) = &mut image.fallocate_refusals {
            *left -= 1;
            return reply.error(errno(*refusal));
        }
        let len = image.len(inode.0).unwrap_or(0);
        let result = image.set_len(inode.0, len.max(offset + length));
        drop(image);
        empty(reply, result);
    }
}

impl Disk {
    fn getattr_reply(&self, inode: u64, reply: ReplyAttr) {
        match self.attr(inode) {
            Some(attr) => reply.attr(&TTL, &attr),
            None => reply.error(Errno::ENOENT),
        }
    }
}
