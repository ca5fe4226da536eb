//! What the disk holds: per file the bytes that programs see and the bytes that are durable, per
//! folder the entries that are durable and the changes since, in order.

mod loss;

pub use loss::Loss;

use crate::dice::Dice;
use loss::lose_file;
use std::collections::{BTreeMap, BTreeSet};

const SECTOR: usize = 512;
/// Inode of the root folder.
pub const ROOT: u64 = 1;

/// One change of a folder, in the order of a journal.
#[derive(Clone, Debug)]
enum Change {
    Add(String, u64),
    Remove(String),
    /// Both names change together, as journals do it.
    Rename(String, String, u64),
}

impl Change {
    fn apply(&self, entries: &mut BTreeMap<String, u64>) {
        match self {
            Change::Add(name, inode) => {
                entries.insert(name.clone(), *inode);
            }
            Change::Remove(name) => {
                entries.remove(name);
            }
            Change::Rename(from, to, inode) => {
                entries.remove(from);
                entries.insert(to.clone(), *inode);
            }
        }
    }
}

/// A file or a folder.
#[derive(Debug)]
enum Node {
    File {
        seen: Vec<u8>,
        durable: Vec<u8>,
        dirty: BTreeSet<usize>,
        /// Sectors that a failed sync left clean although they never reached the disk.
        lost: BTreeSet<usize>,
        linked: bool,
        opens: u64,
    },
    Folder {
        seen: BTreeMap<String, u64>,
        durable: BTreeMap<String, u64>,
        pending: Vec<Change>,
    },
}

impl Node {
    fn file() -> Node {
        let (seen, durable) = (vec![], vec![]);
        let (dirty, lost) = (BTreeSet::new(), BTreeSet::new());
        Node::File { seen, durable, dirty, lost, linked: true, opens: 0 }
    }

    fn folder() -> Node {
        Node::Folder { seen: BTreeMap::new(), durable: BTreeMap::new(), pending: vec![] }
    }
}

/// Why a call fails.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Refusal {
    /// No such entry.
    NoEntry,
    /// The entry exists.
    Exists,
    /// The folder is not empty.
    NotEmpty,
    /// No room.
    NoSpace,
    /// The disk failed.
    Io,
    /// The file system has no such call.
    Unsupported,
    /// A signal came in between.
    Interrupted,
}

/// The disk.
#[derive(Debug)]
pub struct Image {
    nodes: BTreeMap<u64, Node>,
    next: u64,
    /// Bytes that the disk can hold.
    pub capacity: u64,
    /// Milliseconds that each sync takes.
    pub sync_delay_ms: u64,
    /// Syncs that were asked for.
    pub syncs: u64,
    /// The next sync fails once, and what it should have kept is gone.
    pub fail_next_sync: bool,
    /// What a file system without `fallocate` answers, and how often.
    pub fallocate_refusals: (Refusal, u64),
}

impl Default for Image {
    fn default() -> Image {
        Image {
            nodes: BTreeMap::from([(ROOT, Node::folder())]),
            next: ROOT + 1,
            capacity: 1 << 40,
            sync_delay_ms: 0,
            syncs: 0,
            fail_next_sync: false,
            fallocate_refusals: (Refusal::Unsupported, 0),
        }
    }
}

impl Image {
    /// True if the inode is a folder.
    pub fn is_folder(&self, inode: u64) -> bool {
        matches!(self.nodes.get(&inode), Some(Node::Folder { .. }))
    }

    /// Length of a file, 0 for a folder; `None` if there is no such inode.
    pub fn len(&self, inode: u64) -> Option<u64> {
        match self.nodes.get(&inode)? {
            Node::File { seen, .. } => Some(seen.len() as u64),
            Node::Folder { .. } => Some(0),
        }
    }

    /// Bytes in use.
    ///
    /// A file that has no name takes none once nobody has it open, as on a real disk.
    pub fn used(&self) -> u64 {
        let sizes = self.nodes.values().map(|node| match node {
            Node::File { linked: false, opens: 0, .. } => 0,
            Node::File { seen, .. } => seen.len() as u64,
            Node::Folder { .. } => 4096,
        });
        sizes.sum()
    }

    /// The inode of a name.
    pub fn lookup(&self, folder: u64, name: &str) -> Result<u64, Refusal> {
        match self.nodes.get(&folder) {
            Some(Node::Folder { seen, .. }) => seen.get(name).copied().ok_or(Refusal::NoEntry),
            _ => Err(Refusal::NoEntry),
        }
    }

    /// Names and inodes of a folder.
    pub fn entries(&self, folder: u64) -> Vec<(String, u64)> {
        match self.nodes.get(&folder) {
            Some(Node::Folder { seen, .. }) => seen.iter().map(|(n, i)| (n.clone(), *i)).collect(),
            _ => Vec::new(),
        }
    }

    fn change(&mut self, folder: u64, change: Change) -> Result<(), Refusal> {
        match self.nodes.get_mut(&folder) {
            Some(Node::Folder { seen, pending, .. }) => {
                change.apply(seen);
                pending.push(change);
                Ok(())
            }
            _ => Err(Refusal::NoEntry),
        }
    }

    /// A new file or folder.
    pub fn create(&mut self, folder: u64, name: &str, is_folder: bool) -> Result<u64, Refusal> {
        if self.lookup(folder, name).is_ok() {
            return Err(Refusal::Exists);
        }
        if self.capacity < self.used() + 4096 {
            return Err(Refusal::NoSpace);
        }
        let inode = self.next;
        self.next += 1;
        self.nodes.insert(inode, if is_folder { Node::folder() } else { Node::file() });
        self.change(folder, Change::Add(name.to_string(), inode))?;
        Ok(inode)
    }

    /// Removes a name. The bytes stay for those that have the file open, and for a loss of power.
    pub fn remove(&mut self, folder: u64, name: &str) -> Result<(), Refusal> {
        let inode = self.lookup(folder, name)?;
        if self.is_folder(inode) && !self.entries(inode).is_empty() {
            return Err(Refusal::NotEmpty);
        }
        self.change(folder, Change::Remove(name.to_string()))?;
        self.unlink(inode);
        Ok(())
    }

    fn unlink(&mut self, inode: u64) {
        if let Some(Node::File { linked, .. }) = self.nodes.get_mut(&inode) {
            *linked = false;
        }
    }

    /// Somebody opens a file.
    pub fn open(&mut self, inode: u64) {
        if let Some(Node::File { opens, .. }) = self.nodes.get_mut(&inode) {
            *opens += 1;
        }
    }

    /// Somebody closes it.
    pub fn close(&mut self, inode: u64) {
        if let Some(Node::File { opens, .. }) = self.nodes.get_mut(&inode) {
            *opens = opens.saturating_sub(1);
        }
    }

    /// Moves a name; the target is replaced.
    pub fn rename(&mut self, from: (u64, &str), to: (u64, &str)) -> Result<(), Refusal> {
        let inode = self.lookup(from.0, from.1)?;
        if let Ok(replaced) = self.lookup(to.0, to.1)
            && replaced != inode
        {
            self.unlink(replaced);
        }
        if from.0 == to.0 {
            let change = Change::Rename(from.1.to_string(), to.1.to_string(), inode);
            return self.change(from.0, change);
        }
        self.change(to.0, Change::Add(to.1.to_string(), inode))?;
        self.change(from.0, Change::Remove(from.1.to_string()))
    }

    /// Bytes of a file.
    pub fn read(&self, inode: u64, offset: u64, size: usize) -> Result<Vec<u8>, Refusal> {
        let Some(Node::File { seen, .. }) = self.nodes.get(&inode) else {
            return Err(Refusal::NoEntry);
        };
        let start = usize::try_from(offset).unwrap_or(usize::MAX).min(seen.len());
        let end = start.saturating_add(size).min(seen.len());
        Ok(seen[start..end].to_vec())
    }

    /// Bytes as the device has them: what is dirty was written back for the read, what a failed
    /// sync lost is not there.
    pub fn read_device(&self, inode: u64, offset: u64, size: usize) -> Result<Vec<u8>, Refusal> {
        let mut read = self.read(inode, offset, size)?;
        let Some(Node::File { durable, lost, .. }) = self.nodes.get(&inode) else {
            return Err(Refusal::NoEntry);
        };
        let start = usize::try_from(offset).unwrap_or(usize::MAX);
        for (at, byte) in (start..).zip(&mut read) {
            if lost.contains(&(at / SECTOR)) {
                *byte = durable.get(at).copied().unwrap_or(0);
            }
        }
        Ok(read)
    }

    /// Writes bytes; they are seen at once and not durable.
    pub fn write(&mut self, inode: u64, offset: u64, data: &[u8]) -> Result<(), Refusal> {
        let start = usize::try_from(offset).map_err(|_| Refusal::NoSpace)?;
        let end = start + data.len();
        self.grow(inode, end)?;
        let Some(Node::File { seen, dirty, lost, .. }) = self.nodes.get_mut(&inode) else {
            return Err(Refusal::NoEntry);
        };
        seen[start..end].copy_from_slice(data);
        let sectors = start / SECTOR..end.div_ceil(SECTOR);
        lost.retain(|sector| !sectors.contains(sector));
        dirty.extend(sectors);
        Ok(())
    }

    fn grow(&mut self, inode: u64, end: usize) -> Result<(), Refusal> {
        let len = usize::try_from(self.len(inode).ok_or(Refusal::NoEntry)?).unwrap_or(usize::MAX);
        if end <= len {
            return Ok(());
        }
        if self.capacity < self.used() + (end - len) as u64 {
            return Err(Refusal::NoSpace);
        }
        if let Some(Node::File { seen, .. }) = self.nodes.get_mut(&inode) {
            seen.resize(end, 0);
        }
        Ok(())
    }

    /// Cuts or extends a file.
    pub fn set_len(&mut self, inode: u64, len: u64) -> Result<(), Refusal> {
        let len = usize::try_from(len).map_err(|_| Refusal::NoSpace)?;
        self.grow(inode, len)?;
        if let Some(Node::File { seen, dirty, .. }) = self.nodes.get_mut(&inode) {
            let sectors = len / SECTOR..seen.len().div_ceil(SECTOR);
            dirty.extend(sectors);
            seen.truncate(len);
        }
        Ok(())
    }

    /// Makes a file durable, or the entries of a folder.
    pub fn sync(&mut self, inode: u64) -> Result<(), Refusal> {
        self.syncs += 1;
        let fail = std::mem::take(&mut self.fail_next_sync);
        match self.nodes.get_mut(&inode) {
            Some(Node::File { seen, durable, dirty, lost, .. }) => {
                let dirty = std::mem::take(dirty);
                if fail {
                    // The pages count as clean from here on, and never reached the disk.
                    lost.extend(dirty);
                    return Err(Refusal::Io);
                }
                durable.resize(seen.len(), 0);
                for sector in dirty {
                    let start = (sector * SECTOR).min(seen.len());
                    let end = (start + SECTOR).min(seen.len());
                    durable[start..end].copy_from_slice(&seen[start..end]);
                }
                Ok(())
            }
            Some(Node::Folder { seen, durable, pending }) => {
                pending.clear();
                durable.clone_from(seen);
                if fail { Err(Refusal::Io) } else { Ok(()) }
            }
            None => Err(Refusal::NoEntry),
        }
    }

    /// The power goes: what was not synced is treated as `loss` says.
    pub fn power_loss(&mut self, loss: Loss, dice: &mut Dice) {
        for node in self.nodes.values_mut() {
            match node {
                Node::File { seen, durable, dirty, lost, .. } => {
                    let kept = lose_file(seen, durable, dirty, loss, dice);
                    seen.clone_from(&kept);
                    *durable = kept;
                    dirty.clear();
                    lost.clear();
                }
                Node::Folder { seen, durable, pending } => {
                    let kept = match loss {
                        Loss::Drop => 0,
                        Loss::Tear => dice.below(pending.len() as u64 + 1),
                    };
                    let kept = usize::try_from(kept).unwrap_or(0);
                    for change in &pending[..kept] {
                        change.apply(durable);
                    }
                    pending.clear();
                    seen.clone_from(durable);
                }
            }
        }
        self.drop_unreachable();
    }

    fn drop_unreachable(&mut self) {
        let mut reached = BTreeSet::from([ROOT]);
        let mut folders = vec![ROOT];
        while let Some(folder) = folders.pop() {
            for (_, inode) in self.entries(folder) {
                if reached.insert(inode) && self.is_folder(inode) {
                    folders.push(inode);
                }
            }
        }
        self.nodes.retain(|inode, _| reached.contains(inode));
        for node in self.nodes.values_mut() {
            if let Node::File { linked, .. } = node {
                *linked = true;
            }
        }
    }
}

#[cfg(test)]
mod tests;
