//! State of the simulated disk: images per file, names, pending changes of names, faults.

use super::{Call, CallKind, Fault, SECTOR, error};
use crate::{Error, ErrorKind};
use std::collections::{BTreeMap, BTreeSet};

/// A file: what processes see and what is durable.
#[derive(Clone, Default, Debug)]
pub(super) struct Inode {
    pub(super) cache: Vec<u8>,
    pub(super) durable: Vec<u8>,
    /// Sectors of the cache written since the last sync.
    dirty: BTreeSet<usize>,
    /// True if the length changed since the last sync.
    resized: bool,
}

impl Inode {
    pub(super) fn read(&self, buf: &mut [u8], offset: u64, device: bool) -> bool {
        let Ok(from) = usize::try_from(offset) else { return false };
        let Some(cached) = from.checked_add(buf.len()).and_then(|to| self.cache.get(from..to))
        else {
            return false;
        };
        if !device {
            buf.copy_from_slice(cached);
            return true;
        }
        let image = self.durable.get(from..).unwrap_or_default();
        let there = image.len().min(buf.len());
        buf[..there].copy_from_slice(&image[..there]);
        buf[there..].fill(0);
        true
    }

    pub(super) fn write(&mut self, buf: &[u8], offset: u64) {
        let from = usize::try_from(offset).expect("simulated files fit into memory");
        let to = from + buf.len();
        if self.cache.len() < to {
            self.set_len(to as u64);
        }
        self.cache[from..to].copy_from_slice(buf);
        if !buf.is_empty() {
            self.dirty.extend(from / SECTOR..=(to - 1) / SECTOR);
        }
    }

    pub(super) fn set_len(&mut self, len: u64) {
        let len = usize::try_from(len).expect("simulated files fit into memory");
        self.resized |= len != self.cache.len();
        if len < self.cache.len() {
            self.dirty.retain(|sector| sector * SECTOR < len);
            if len % SECTOR != 0 {
                self.dirty.insert(len / SECTOR);
            }
        }
        // Where a file was cut and grows again there are zeros, whatever the device holds.
        let regrown = self.cache.len()..len.min(self.durable.len());
        if !regrown.is_empty() {
            self.dirty.extend(regrown.start / SECTOR..=(regrown.end - 1) / SECTOR);
        }
        self.cache.resize(len, 0);
    }

    pub(super) fn sync(&mut self) {
        // The length outlives a failed sync; what that sync lost stays lost.
        self.durable.resize(self.cache.len(), 0);
        for sector in std::mem::take(&mut self.dirty) {
            let from = sector * SECTOR;
            let to = (from + SECTOR).min(self.cache.len());
            self.durable[from..to].copy_from_slice(&self.cache[from..to]);
        }
        self.resized = false;
    }

    /// What a failed sync leaves: clean pages. A new length stays pending, as the journal does.
    pub(super) fn forget_dirty(&mut self) {
        self.dirty.clear();
    }

    fn lose_power(&mut self, choose: &mut dyn FnMut(usize) -> usize) {
        if self.durable.len() != self.cache.len() && self.resized && choose(2) == 1 {
            self.durable.resize(self.cache.len(), 0);
        }
        for sector in std::mem::take(&mut self.dirty) {
            let from = sector * SECTOR;
            let to = (from + SECTOR).min(self.cache.len()).min(self.durable.len());
            if to <= from || self.cache[from..to] == self.durable[from..to] {
                continue;
            }
            let kept = match choose(3) {
                0 => from,
                1 => to,
                _ => from + (to - from) / 2,
            };
            self.durable[from..kept].copy_from_slice(&self.cache[from..kept]);
        }
        self.resized = false;
        self.cache.clone_from(&self.durable);
    }
}

/// A change of names that is not durable yet.
#[derive(Clone, Debug)]
enum NameChange {
    Create { path: String, inode: u64 },
    Rename { from: String, to: String, inode: u64 },
    Remove { path: String, inode: u64 },
    CreateDir { path: String },
}

impl NameChange {
    fn is_in(&self, dir: &str) -> bool {
        match self {
            NameChange::Create { path, .. }
            | NameChange::Remove { path, .. }
            | NameChange::CreateDir { path } => parent(path) == dir,
            NameChange::Rename { from, to, .. } => parent(from) == dir || parent(to) == dir,
        }
    }
}

/// An error of `State::enter`, and whether it was asked for.
pub(super) struct Refused {
    pub(super) error: Error,
    pub(super) is_injected: bool,
}

impl From<Refused> for Error {
    fn from(refused: Refused) -> Error {
        refused.error
    }
}

#[derive(Clone, Debug)]
pub(super) struct State {
    inodes: BTreeMap<u64, Inode>,
    next_inode: u64,
    pub(super) names: BTreeMap<String, u64>,
    pub(super) dirs: BTreeSet<String>,
    durable_names: BTreeMap<String, u64>,
    durable_dirs: BTreeSet<String>,
    pending: Vec<NameChange>,
    /// Files of an earlier epoch belong to a process that ended.
    pub(super) epoch: u64,
    pub(super) device_reads: bool,
    pub(super) capacity: Option<u64>,
    pub(super) faults: Vec<(Option<CallKind>, u64, Fault)>,
    pub(super) stop_after: Option<u64>,
    pub(super) stopped: bool,
    /// Set when a write just failed that should leave its first half.
    pub(super) short_write: bool,
    pub(super) effects: u64,
    pub(super) trace: Option<Vec<Call>>,
}

impl State {
    pub(super) fn new() -> State {
        let root = BTreeSet::from([String::new()]);
        State {
            inodes: BTreeMap::new(),
            next_inode: 1,
            names: BTreeMap::new(),
            dirs: root.clone(),
            durable_names: BTreeMap::new(),
            durable_dirs: root,
            pending: Vec::new(),
            epoch: 0,
            device_reads: true,
            capacity: None,
            faults: Vec::new(),
            stop_after: None,
            stopped: false,
            short_write: false,
            effects: 0,
            trace: None,
        }
    }

    /// Counts a call, records it, and lets a fault or the stop strike.
    pub(super) fn enter(&mut self, call: &Call) -> Result<(), Refused> {
        if self.stopped || (call.kind.is_effect() && self.stop_after == Some(0)) {
            self.stopped = true;
            return Err(Refused { error: error(call, ErrorKind::Io), is_injected: false });
        }
        if let Some(trace) = &mut self.trace {
            trace.push(call.clone());
        }
        let struck = self.strike(call.kind);
        if call.kind.is_effect() {
            self.effects += 1;
            self.stop_after = self.stop_after.map(|left| left - 1);
        }
        let kind = match struck {
            None => return Ok(()),
            Some(Fault::NoSpace) => ErrorKind::NoSpace,
            Some(Fault::Io) => ErrorKind::Io,
            Some(Fault::Short) => {
                self.short_write = call.kind == CallKind::Write;
                ErrorKind::Io
            }
        };
        Err(Refused { error: error(call, kind), is_injected: true })
    }

    fn strike(&mut self, kind: CallKind) -> Option<Fault> {
        let mut struck = None;
        self.faults.retain_mut(|(of, left, fault)| {
            if !of.map_or(kind.is_effect(), |of| of == kind) {
                return true;
            }
            if 0 < *left || struck.is_some() {
                *left = left.saturating_sub(1);
                return true;
            }
            struck = Some(*fault);
            false
        });
        struck
    }

    pub(super) fn inode(&mut self, inode: u64) -> &mut Inode {
        self.inodes.get_mut(&inode).expect("an open file keeps its data")
    }

    pub(super) fn visible(&self, path: &str) -> Option<&Inode> {
        self.names.get(path).map(|inode| &self.inodes[inode])
    }

    pub(super) fn durable(&self, path: &str) -> Option<&Inode> {
        self.durable_names.get(path).map(|inode| &self.inodes[inode])
    }

    pub(super) fn rot(&mut self, path: &str, edit: impl FnOnce(&mut Vec<u8>)) -> bool {
        let Some(inode) = self.names.get(path) else { return false };
        let inode = self.inodes.get_mut(inode).expect("a name has a file");
        edit(&mut inode.durable);
        inode.cache.clone_from(&inode.durable);
        inode.forget_dirty();
        inode.resized = false;
        true
    }

    pub(super) fn plant(&mut self, path: &str, bytes: Vec<u8>) {
        let inode =
            self.new_inode(Inode { cache: bytes.clone(), durable: bytes, ..Inode::default() });
        self.names.insert(path.to_string(), inode);
        self.durable_names.insert(path.to_string(), inode);
        for (at, _) in path.match_indices('/') {
            self.dirs.insert(path[..at].to_string());
            self.durable_dirs.insert(path[..at].to_string());
        }
    }

    fn new_inode(&mut self, inode: Inode) -> u64 {
        let number = self.next_inode;
        self.next_inode += 1;
        self.inodes.insert(number, inode);
        number
    }

    pub(super) fn has_parent(&self, path: &str) -> bool {
        self.dirs.contains(parent(path))
    }

    pub(super) fn create(&mut self, path: &str) -> u64 {
        let inode = self.new_inode(Inode::default());
        self.names.insert(path.to_string(), inode);
        self.pending.push(NameChange::Create { path: path.to_string(), inode });
        inode
    }

    pub(super) fn rename(&mut self, from: &str, to: &str) {
        let inode = self.names.remove(from).expect("checked by the caller");
        self.names.insert(to.to_string(), inode);
        self.pending.push(NameChange::Rename { from: from.into(), to: to.into(), inode });
    }

    pub(super) fn remove(&mut self, path: &str) -> bool {
        let Some(inode) = self.names.remove(path) else { return false };
        self.pending.push(NameChange::Remove { path: path.to_string(), inode });
        true
    }

    pub(super) fn create_dir(&mut self, path: &str) {
        if self.dirs.insert(path.to_string()) {
            self.pending.push(NameChange::CreateDir { path: path.to_string() });
        }
    }

    pub(super) fn list(&self, dir: &str) -> Option<Vec<String>> {
        if !self.dirs.contains(dir) {
            return None;
        }
        let all = self.names.keys().chain(&self.dirs);
        let inside = all.filter(|path| !path.is_empty() && parent(path) == dir);
        let mut names: Vec<String> =
            inside.map(|path| path.rsplit('/').next().unwrap_or_default().to_string()).collect();
        names.sort();
        Some(names)
    }

    pub(super) fn sync_dir(&mut self, dir: &str) {
        for change in std::mem::take(&mut self.pending) {
            if change.is_in(dir) {
                self.settle(change);
            } else {
                self.pending.push(change);
            }
        }
    }

    /// Makes one change of names durable, whatever became of those before it.
    fn settle(&mut self, change: NameChange) {
        match change {
            NameChange::Create { path, inode } => {
                self.durable_names.insert(path, inode);
            }
            NameChange::Rename { from, to, inode } => {
                if self.durable_names.get(&from) == Some(&inode) {
                    self.durable_names.remove(&from);
                }
                self.durable_names.insert(to, inode);
            }
            NameChange::Remove { path, inode } => {
                if self.durable_names.get(&path) == Some(&inode) {
                    self.durable_names.remove(&path);
                }
            }
            NameChange::CreateDir { path } => {
                self.durable_dirs.insert(path);
            }
        }
    }

    pub(super) fn used(&self) -> u64 {
        self.names.values().map(|inode| self.inodes[inode].cache.len() as u64).sum()
    }

    pub(super) fn has_room(&self, inode: u64, len: u64) -> bool {
        let now = self.inodes[&inode].cache.len() as u64;
        let Some(capacity) = self.capacity else { return true };
        len <= now || self.used() + (len - now) <= capacity
    }

    pub(super) fn forget_process(&mut self) {
        self.epoch += 1;
        self.faults.clear();
        self.stop_after = None;
        self.stopped = false;
        self.short_write = false;
        self.trace = None;
        let mut used: BTreeSet<u64> = self.names.values().copied().collect();
        used.extend(self.durable_names.values());
        used.extend(self.pending.iter().filter_map(|change| match change {
            NameChange::Create { inode, .. } | NameChange::Rename { inode, .. } => Some(*inode),
            NameChange::Remove { .. } | NameChange::CreateDir { .. } => None,
        }));
        self.inodes.retain(|inode, _| used.contains(inode));
    }

    pub(super) fn lose_power(&mut self, choose: &mut dyn FnMut(usize) -> usize) {
        for change in std::mem::take(&mut self.pending) {
            if choose(2) == 1 {
                self.settle(change);
            }
        }
        let dirs = &self.durable_dirs;
        let reachable =
            |path: &str| path.match_indices('/').all(|(at, _)| dirs.contains(&path[..at]));
        self.durable_names.retain(|path, _| reachable(path));
        let unreachable = |path: &String| !reachable(path);
        let lost: Vec<String> = dirs.iter().filter(|path| unreachable(path)).cloned().collect();
        for path in lost {
            self.durable_dirs.remove(&path);
        }
        self.dirs.clone_from(&self.durable_dirs);
        self.names.clone_from(&self.durable_names);
        let left: BTreeSet<u64> = self.names.values().copied().collect();
        self.inodes.retain(|inode, _| left.contains(inode));
        for inode in self.inodes.values_mut() {
            inode.lose_power(choose);
        }
    }
}

fn parent(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(dir, _)| dir)
}
