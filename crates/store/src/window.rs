//! Which proposals were applied already: a proposal that is offered again under the same id, by a
//! proposer that could not know, is applied once.

use crate::Error;
use bytes::Bytes;
use prost::encoding::{decode_varint, encode_varint};
use std::collections::{BTreeMap, BTreeSet};

/// Ids remembered for each proposer, however far its floor lies back.
const IDS_PER_PROPOSER_MAX: usize = 65_536;

/// The window, by proposer: the upper two bytes of an id.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(crate) struct Window {
    proposers: BTreeMap<u16, Proposer>,
    /// Proposers whose part changed since it was last taken.
    changed: BTreeSet<u16>,
}

#[derive(Clone, PartialEq, Eq, Default, Debug)]
struct Proposer {
    /// Ids below count as seen.
    floor: u64,
    /// Ids from the floor on that were applied.
    seen: BTreeSet<u64>,
}

fn proposer_of(id: u64) -> u16 {
    u16::try_from(id >> 48).expect("16 bits")
}

impl Window {
    /// Notes an id; false if it was there before. `floor` lets what lies below be forgotten.
    pub(crate) fn admit(&mut self, id: u64, floor: u64) -> bool {
        if id == 0 {
            return true;
        }
        let number = proposer_of(id);
        let proposer = self.proposers.entry(number).or_default();
        if id < proposer.floor || !proposer.seen.insert(id) {
            return false;
        }
        self.changed.insert(number);
        if proposer.floor < floor && floor <= id {
            proposer.floor = floor;
            proposer.seen = proposer.seen.split_off(&floor);
        }
        while IDS_PER_PROPOSER_MAX < proposer.seen.len() {
            let oldest = proposer.seen.pop_first().expect("more than none");
            proposer.floor = oldest + 1;
        }
        true
    }

    /// True if `admit` would refuse this id.
    pub(crate) fn contains(&self, id: u64) -> bool {
        let proposer = self.proposers.get(&proposer_of(id));
        proposer.is_some_and(|proposer| id < proposer.floor || proposer.seen.contains(&id))
    }

    /// Rows of the proposers that changed since the last call.
    pub(crate) fn take_changed(&mut self) -> Vec<(Bytes, Bytes)> {
        let changed = std::mem::take(&mut self.changed);
        changed.into_iter().map(|number| self.row(number)).collect()
    }

    /// Floor, then the distance of each id from the one before it.
    fn row(&self, number: u16) -> (Bytes, Bytes) {
        let proposer = &self.proposers[&number];
        let mut value = Vec::with_capacity(16 + 2 * proposer.seen.len());
        encode_varint(proposer.floor, &mut value);
        let mut before = proposer.floor;
        for id in &proposer.seen {
            encode_varint(id - before, &mut value);
            before = *id;
        }
        (Bytes::copy_from_slice(&number.to_be_bytes()), value.into())
    }

    /// Puts a row back at start.
    pub(crate) fn restore(&mut self, key: &Bytes, value: &Bytes) -> Result<(), Error> {
        let malformed = || Error::Table("request ids");
        let number = u16::from_be_bytes(key.as_ref().try_into().map_err(|_| malformed())?);
        let mut rest = value.clone();
        let mut varint = || -> Result<Option<u64>, Error> {
            if rest.is_empty() {
                return Ok(None);
            }
            decode_varint(&mut rest).map(Some).map_err(|_| malformed())
        };
        let floor = varint()?.ok_or_else(malformed)?;
        let (mut seen, mut before) = (BTreeSet::new(), floor);
        while let Some(distance) = varint()? {
            before = before.checked_add(distance).ok_or_else(malformed)?;
            seen.insert(before);
        }
        self.proposers.insert(number, Proposer { floor, seen });
        Ok(())
    }

    /// Number of ids remembered.
    pub(crate) fn len(&self) -> usize {
        self.proposers.values().map(|proposer| proposer.seen.len()).sum()
    }
}
