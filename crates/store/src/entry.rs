//! A log entry, decoded once for all that is done with it.

use crate::Error;
use bytes::Bytes;
use proto::conf::ConfChange;
use proto::log;
use proto::request::{self, Request};
use types::{Index, Term};

/// A decoded log entry.
#[derive(Clone, PartialEq, Debug)]
pub struct Entry {
    /// Id of the proposal; 0 if nobody waits for it.
    pub id: u64,
    /// The lowest outstanding id of its proposer; 0 says nothing.
    pub floor: u64,
    /// The term it holds in; 0 is any.
    pub fence: Term,
    /// It holds for leases granted up to here; 0 is any.
    pub fence_index: Index,
    /// What is asked; nothing in the entry that a new leader begins with.
    pub request: Option<Request>,
    /// The bytes, for the chain of hashes.
    pub(crate) data: Bytes,
}

impl Entry {
    /// Decodes an entry; no bytes at all are the entry that asks for nothing.
    pub fn decode(data: &Bytes) -> Result<Entry, Error> {
        if data.is_empty() {
            let data = data.clone();
            let (fence, fence_index) = (Term(0), Index(0));
            return Ok(Entry { id: 0, floor: 0, fence, fence_index, request: None, data });
        }
        let outer = log::Entry::decode(data).map_err(Error::Entry)?;
        let request = request::decode(outer.kind, &outer.body).map_err(Error::Request)?;
        Ok(Entry {
            id: outer.id,
            floor: outer.floor,
            fence: Term(outer.fence_term),
            fence_index: Index(outer.fence_index),
            request: Some(request),
            data: data.clone(),
        })
    }

    /// Decodes an entry that changes the membership.
    pub fn decode_conf(data: &Bytes) -> Result<Entry, Error> {
        let change = ConfChange::decode(data).map_err(Error::Entry)?;
        Ok(Entry {
            id: change.id,
            floor: 0,
            fence: Term(0),
            fence_index: Index(0),
            request: Some(Request::Conf { member: change.member, action: change.action }),
            data: data.clone(),
        })
    }

    /// True if a lease granted at `since` is one that the entry was decided for.
    pub(crate) fn holds_for(&self, since: Index) -> bool {
        self.fence_index == Index(0) || since <= self.fence_index
    }
}
