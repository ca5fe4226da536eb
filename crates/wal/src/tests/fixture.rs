//! A small log on a simulated disk, and how to read it back.

use crate::*;
use ::types::{ClusterId, Index, MemberId, Term};
use bytes::Bytes;
use std::sync::Arc;
use vfs::sim::SimDisk;

pub(crate) const IDENTITY: Identity = Identity { cluster: ClusterId(7), member: MemberId(1) };

pub(crate) fn config(segment_bytes: u64) -> WalConfig {
    WalConfig { segment_bytes, reserve: 0, ..WalConfig::new(42) }
}

pub(crate) fn create(disk: &SimDisk, config: WalConfig) -> Wal {
    let membership = Bytes::from_static(b"members");
    Wal::create(Arc::new(disk.clone()), "member/wal", config, IDENTITY, membership).unwrap().0
}

pub(crate) fn open(disk: &SimDisk, config: WalConfig) -> Result<(Wal, Recovered)> {
    Wal::open(Arc::new(disk.clone()), "member/wal", config, Some(IDENTITY))
}

pub(crate) fn entry(index: u64, term: u64, len: usize) -> Entry {
    let data: Vec<u8> = (0..len).map(|at| (at as u64 * 31 + index * 7 + term) as u8).collect();
    Entry { index: Index(index), term: Term(term), kind: EntryKind::Normal, data: data.into() }
}

pub(crate) fn hard_state(term: u64, vote: u64, commit: u64) -> Frame {
    let (term, vote, commit) = (Term(term), MemberId(vote), Index(commit));
    Frame::HardState(HardState { term, vote, commit })
}

/// A batch with one entry, committing the one before.
pub(crate) fn put(index: u64, len: usize) -> Batch {
    let state = hard_state(1, 1, index - 1);
    Batch { frames: vec![Frame::Entry(entry(index, 1, len)), state] }
}

pub(crate) fn path(sequence: u64) -> String {
    format!("member/wal/{sequence:016x}.wal")
}
