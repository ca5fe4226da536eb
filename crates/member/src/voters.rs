//! Who votes: what the backend stores of it, and what a start reads back and checks.

use crate::config::{Config, StartError};
use crate::ids::proposer;
use crate::member::Member;
use bytes::Bytes;
use std::collections::BTreeMap;
use store::Store;
use types::MemberId;

impl Member {
    /// What the backend stores of raft's membership: the voters, big-endian.
    pub(crate) fn conf_state(&self) -> Bytes {
        self.node.voters().iter().flat_map(|id| id.0.to_be_bytes()).collect()
    }
}

/// Raft's voters at the applied index: as stored, or the founders on a fresh disk.
pub(crate) fn voters(config: &Config, store: &Store) -> Result<Vec<MemberId>, StartError> {
    let stored = &store.reader().meta().conf_state;
    let voters: Vec<MemberId> = if stored.is_empty() {
        config.founders().iter().map(|founder| founder.id).collect()
    } else {
        let chunks = stored.chunks_exact(8);
        if !chunks.remainder().is_empty() {
            return Err(StartError::ConfState);
        }
        let id = |chunk: &[u8]| chunk.iter().fold(0, |id, byte| id << 8 | u64::from(*byte));
        chunks.map(|chunk| MemberId(id(chunk))).collect()
    };
    if voters.contains(&config.member) {
        Ok(voters)
    } else {
        Err(StartError::NotAMember(config.member))
    }
}

/// Ids of requests begin with the last two bytes of the member's: these must tell members apart.
pub(crate) fn check_proposers(store: &Store) -> Result<(), StartError> {
    let mut seen = BTreeMap::new();
    for row in store.members() {
        if let Some(other) = seen.insert(proposer(row.id), row.id) {
            return Err(StartError::SameProposer(other, row.id));
        }
    }
    Ok(())
}
