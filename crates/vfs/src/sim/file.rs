//! An open file of the simulated disk.

use super::state::State;
use super::{Call, CallKind, SimDisk, error};
use crate::{ErrorKind, File, Result};
use std::sync::MutexGuard;

#[derive(Debug)]
pub(super) struct SimFile {
    pub(super) disk: SimDisk,
    pub(super) inode: u64,
    pub(super) epoch: u64,
    pub(super) path: String,
    pub(super) writes: bool,
    pub(super) device: bool,
}

impl SimFile {
    fn call(&self, kind: CallKind, offset: u64, len: usize) -> Call {
        Call { kind, path: self.path.clone(), offset, len: len as u64 }
    }

    /// The disk, if this file's process lives and the call may do what it does.
    fn enter(&self, call: &Call) -> Result<MutexGuard<'_, State>> {
        let mut state = self.disk.lock();
        let writes = !matches!(call.kind, CallKind::Read | CallKind::Sync);
        if state.epoch != self.epoch || (writes && !self.writes) {
            return Err(error(call, ErrorKind::Io));
        }
        if let Err(failed) = state.enter(call) {
            if failed.is_injected && call.kind == CallKind::Sync {
                state.inode(self.inode).forget_dirty();
            }
            return Err(failed.error);
        }
        Ok(state)
    }
}

impl File for SimFile {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> Result<()> {
        let call = self.call(CallKind::Read, offset, buf.len());
        let mut state = self.enter(&call)?;
        let device = self.device;
        if !state.inode(self.inode).read(buf, offset, device) {
            return Err(error(&call, ErrorKind::ShortRead));
        }
        Ok(())
    }

    fn write_at(&self, buf: &[u8], offset: u64) -> Result<()> {
        let call = self.call(CallKind::Write, offset, buf.len());
        let mut state = match self.enter(&call) {
            Ok(state) => state,
            Err(error) => {
                let mut state = self.disk.lock();
                if std::mem::take(&mut state.short_write) {
                    state.inode(self.inode).write(&buf[..buf.len() / 2], offset);
                }
                return Err(error);
            }
        };
        if !state.has_room(self.inode, offset + buf.len() as u64) {
            return Err(error(&call, ErrorKind::NoSpace));
        }
        state.inode(self.inode).write(buf, offset);
        Ok(())
    }

    fn sync(&self) -> Result<()> {
        let mut state = self.enter(&self.call(CallKind::Sync, 0, 0))?;
        state.inode(self.inode).sync();
        Ok(())
    }

    fn len(&self) -> Result<u64> {
        let mut state = self.disk.lock();
        if state.epoch != self.epoch {
            return Err(error(&self.call(CallKind::Read, 0, 0), ErrorKind::Io));
        }
        Ok(state.inode(self.inode).cache.len() as u64)
    }

    fn set_len(&self, len: u64) -> Result<()> {
        let call = self.call(CallKind::SetLen, len, 0);
        let mut state = self.enter(&call)?;
        if !state.has_room(self.inode, len) {
            return Err(error(&call, ErrorKind::NoSpace));
        }
        state.inode(self.inode).set_len(len);
        Ok(())
    }

    fn allocate(&self, len: u64) -> Result<()> {
        let call = self.call(CallKind::Allocate, len, 0);
        let mut state = self.enter(&call)?;
        if !state.has_room(self.inode, len) {
            return Err(error(&call, ErrorKind::NoSpace));
        }
        let now = state.inode(self.inode).cache.len() as u64;
        state.inode(self.inode).set_len(len.max(now));
        Ok(())
    }

    fn reads_device(&self) -> bool {
        self.device
    }
}
