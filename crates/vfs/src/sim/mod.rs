//! A simulated disk: what a process sees (the page cache) beside what a power loss leaves.
//!
//! ```text
//!   write ──▶ page cache ──sync──▶ durable image        (per sector of 512 bytes)
//!   create, rename, remove ──▶ visible names ──sync_dir──▶ durable names
//!
//!   kill         the process ends: page cache and visible names stay, open files die
//!   power_loss   every unsynced sector, length and name is kept, dropped or torn, as told
//! ```
//!
//! The disk draws no random number: whoever pulls the plug passes the choices (see `choices`).
//! After a failed sync the pages are clean but not durable, as Linux leaves them. A failed
//! `sync_dir` keeps its changes pending: a journal does not forget them.

pub mod choices;
mod file;
mod state;
#[cfg(test)]
mod tests;

use crate::{Disk, Error, ErrorKind, File, Open, Result};
use file::SimFile;
use state::State;
use std::sync::{Arc, Mutex, MutexGuard};

/// Unit that a disk writes whole or not at all (unless it is torn on purpose).
pub const SECTOR: usize = 512;

/// Kinds of call, for the trace and for faults.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum CallKind {
    /// Opening an existing file.
    Open,
    /// Creating a file.
    Create,
    /// `File::read_at`.
    Read,
    /// `File::write_at`.
    Write,
    /// `File::sync`.
    Sync,
    /// `File::set_len`.
    SetLen,
    /// `File::allocate`.
    Allocate,
    /// `Disk::rename`.
    Rename,
    /// `Disk::remove`.
    Remove,
    /// `Disk::create_dir`.
    CreateDir,
    /// `Disk::list`.
    List,
    /// `Disk::sync_dir`.
    SyncDir,
}

impl CallKind {
    /// True if the call changes something, so that a crash before and after it differ.
    pub fn is_effect(self) -> bool {
        !matches!(self, CallKind::Open | CallKind::Read | CallKind::List)
    }
}

/// One call, as recorded.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Call {
    /// What was called.
    pub kind: CallKind,
    /// The file, or the source of a rename.
    pub path: String,
    /// Place in the file, or the new length; 0 if the call has none.
    pub offset: u64,
    /// Bytes read or written; 0 if the call has none.
    pub len: u64,
}

/// What a call that is made to fail does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fault {
    /// Input/output error; a failed sync loses the unsynced data but leaves it readable.
    Io,
    /// No space left.
    NoSpace,
    /// Writes the first half, then fails with an input/output error. As `Io` for other calls.
    Short,
}

/// A simulated disk. Clones share it; [`SimDisk::snapshot`] copies it.
#[derive(Clone, Debug)]
pub struct SimDisk {
    /// Guards the whole disk: files and the disk are used from several threads, and each call
    /// must see one state.
    state: Arc<Mutex<State>>,
}

impl Default for SimDisk {
    fn default() -> Self {
        SimDisk::new()
    }
}

impl SimDisk {
    /// An empty disk that can be read past the page cache.
    pub fn new() -> SimDisk {
        SimDisk { state: Arc::new(Mutex::new(State::new())) }
    }

    /// Makes `Open::ReadDevice` fall back to the page cache, or not.
    pub fn set_device_reads(&self, on: bool) {
        self.lock().device_reads = on;
    }

    /// A copy of everything but the trace, the faults and the open files.
    pub fn snapshot(&self) -> SimDisk {
        let mut state = self.lock().clone();
        state.forget_process();
        SimDisk { state: Arc::new(Mutex::new(state)) }
    }

    /// The process ends: its open files fail from here on, faults and stops are lifted; the page
    /// cache and the visible names stay.
    pub fn kill(&self) {
        self.lock().forget_process();
    }

    /// The power goes: as `kill`, and `choose(n)` (an answer below n) decides what is left of
    /// everything that was not synced, with 0 for dropped.
    pub fn power_loss(&self, choose: &mut dyn FnMut(usize) -> usize) {
        let mut state = self.lock();
        state.lose_power(choose);
        state.forget_process();
    }

    /// Lets the call fail that is `nth` (from 0) from now among those of `kind`, or among all
    /// effects if `kind` is `None`.
    pub fn fail(&self, kind: Option<CallKind>, nth: u64, fault: Fault) {
        self.lock().faults.push((kind, nth, fault));
    }

    /// Lets `count` more effects happen, after which every call fails and changes nothing, as if
    /// the process had ended there. Lifted by `kill` and `power_loss`.
    pub fn stop_after(&self, count: u64) {
        self.lock().stop_after = Some(count);
    }

    /// True if a call met the stop.
    pub fn has_stopped(&self) -> bool {
        self.lock().stopped
    }

    /// Faults that were asked for and have not struck yet.
    pub fn faults_left(&self) -> usize {
        self.lock().faults.len()
    }

    /// Bounds the sum of file lengths; `None` lifts the bound.
    pub fn set_capacity(&self, bytes: Option<u64>) {
        self.lock().capacity = bytes;
    }

    /// Effects since the disk was made.
    pub fn effects(&self) -> u64 {
        self.lock().effects
    }

    /// Begins to record calls, dropping what was recorded.
    pub fn start_trace(&self) {
        self.lock().trace = Some(Vec::new());
    }

    /// Ends the recording and returns it.
    pub fn take_trace(&self) -> Vec<Call> {
        self.lock().trace.take().unwrap_or_default()
    }

    /// Changes bytes behind the back of every cache: rot. `edit` may change the length. False if
    /// there is no such file.
    pub fn rot(&self, path: &str, edit: impl FnOnce(&mut Vec<u8>)) -> bool {
        self.lock().rot(path, edit)
    }

    /// The bytes that a process reads, if the file exists.
    pub fn cached(&self, path: &str) -> Option<Vec<u8>> {
        let state = self.lock();
        state.visible(path).map(|inode| inode.cache.clone())
    }

    /// The bytes of a file that no power loss takes away, if its name is durable too.
    pub fn durable(&self, path: &str) -> Option<Vec<u8>> {
        let state = self.lock();
        state.durable(path).map(|inode| inode.durable.clone())
    }

    /// Puts a file of the given bytes, durable at once, in place of what has that name.
    pub fn plant(&self, path: &str, bytes: Vec<u8>) {
        self.lock().plant(path, bytes);
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("no call on the simulated disk panics")
    }
}

fn error(call: &Call, kind: ErrorKind) -> Error {
    let action = match call.kind {
        CallKind::Open => "open",
        CallKind::Create => "create",
        CallKind::Read => "read",
        CallKind::Write => "write",
        CallKind::Sync => "sync",
        CallKind::SetLen => "set length",
        CallKind::Allocate => "allocate",
        CallKind::Rename => "rename",
        CallKind::Remove => "remove",
        CallKind::CreateDir => "create folder",
        CallKind::List => "list",
        CallKind::SyncDir => "sync folder",
    };
    let errno = match kind {
        ErrorKind::NotFound => 2,
        ErrorKind::Exists => 17,
        ErrorKind::NoSpace => 28,
        ErrorKind::Io => 5,
        ErrorKind::ShortRead | ErrorKind::Locked => 0,
    };
    let has_place = matches!(call.kind, CallKind::Read | CallKind::Write);
    let offset = has_place.then_some(call.offset);
    Error { action, path: call.path.clone(), offset, kind, errno }
}

fn call(kind: CallKind, path: &str) -> Call {
    Call { kind, path: path.to_string(), offset: 0, len: 0 }
}

impl Disk for SimDisk {
    fn open(&self, path: &str, how: Open) -> Result<Arc<dyn File>> {
        let create = how == Open::Create;
        let call = call(if create { CallKind::Create } else { CallKind::Open }, path);
        let mut state = self.lock();
        state.enter(&call)?;
        let inode = match (state.names.get(path).copied(), create) {
            (Some(_), true) => return Err(error(&call, ErrorKind::Exists)),
            (None, false) => return Err(error(&call, ErrorKind::NotFound)),
            (Some(inode), false) => inode,
            (None, true) if !state.has_parent(path) => {
                return Err(error(&call, ErrorKind::NotFound));
            }
            (None, true) => state.create(path),
        };
        Ok(Arc::new(SimFile {
            disk: self.clone(),
            inode,
            epoch: state.epoch,
            path: path.to_string(),
            writes: matches!(how, Open::Write | Open::Create),
            device: how == Open::ReadDevice && state.device_reads,
        }))
    }

    fn rename(&self, from: &str, to: &str) -> Result<()> {
        let call = call(CallKind::Rename, from);
        let mut state = self.lock();
        state.enter(&call)?;
        if !state.names.contains_key(from) || !state.has_parent(to) {
            return Err(error(&call, ErrorKind::NotFound));
        }
        state.rename(from, to);
        Ok(())
    }

    fn remove(&self, path: &str) -> Result<()> {
        let call = call(CallKind::Remove, path);
        let mut state = self.lock();
        state.enter(&call)?;
        if !state.remove(path) {
            return Err(error(&call, ErrorKind::NotFound));
        }
        Ok(())
    }

    fn create_dir(&self, path: &str) -> Result<()> {
        let mut state = self.lock();
        state.enter(&call(CallKind::CreateDir, path))?;
        for (at, _) in path.match_indices('/').chain([(path.len(), "")]) {
            state.create_dir(&path[..at]);
        }
        Ok(())
    }

    fn list(&self, path: &str) -> Result<Vec<String>> {
        let call = call(CallKind::List, path);
        let mut state = self.lock();
        state.enter(&call)?;
        state.list(path).ok_or_else(|| error(&call, ErrorKind::NotFound))
    }

    fn sync_dir(&self, path: &str) -> Result<()> {
        let call = call(CallKind::SyncDir, path);
        let mut state = self.lock();
        state.enter(&call)?;
        if !state.dirs.contains(path) {
            return Err(error(&call, ErrorKind::NotFound));
        }
        state.sync_dir(path);
        Ok(())
    }

    fn available(&self) -> Result<u64> {
        let state = self.lock();
        Ok(state.capacity.map_or(u64::MAX, |capacity| capacity.saturating_sub(state.used())))
    }
}
