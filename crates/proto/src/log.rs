//! The codec of log entries: etcd's `InternalRaftRequest`, around request bytes as received.
//!
//! An entry is put together from pieces and taken apart into slices; a client's request is neither
//! re-encoded nor copied when an entry is read. Fields are in ascending order, as etcd writes
//! them. One field is ours (`Fence`); etcd skips what it does not know.

use bytes::{BufMut, Bytes, BytesMut};
use prost::encoding::{WireType, decode_key, decode_varint, encode_key, encode_varint};
use std::fmt;

/// What an entry asks for. The body of an entry is the message of that name in `etcdserverpb` or
/// `membershippb`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug)]
pub enum Kind {
    /// `PutRequest`.
    #[default]
    Put,
    /// `DeleteRangeRequest`.
    DeleteRange,
    /// `TxnRequest`.
    Txn,
    /// `CompactionRequest`.
    Compaction,
    /// `LeaseGrantRequest`.
    LeaseGrant,
    /// `LeaseRevokeRequest`.
    LeaseRevoke,
    /// `AlarmRequest`.
    Alarm,
    /// `LeaseCheckpointRequest`.
    LeaseCheckpoint,
    /// `ClusterVersionSetRequest`.
    ClusterVersionSet,
    /// `ClusterMemberAttrSetRequest`.
    ClusterMemberAttrSet,
    /// `DowngradeInfoSetRequest`.
    DowngradeInfoSet,
}

const KINDS: [(Kind, u32); 11] = [
    (Kind::Put, 4),
    (Kind::DeleteRange, 5),
    (Kind::Txn, 6),
    (Kind::Compaction, 7),
    (Kind::LeaseGrant, 8),
    (Kind::LeaseRevoke, 9),
    (Kind::Alarm, 10),
    (Kind::LeaseCheckpoint, 11),
    (Kind::ClusterVersionSet, 1300),
    (Kind::ClusterMemberAttrSet, 1301),
    (Kind::DowngradeInfoSet, 1302),
];

const TAG_HEADER: u32 = 100;
const TAG_HEADER_ID: u32 = 1;
/// Ours: far from what etcd uses.
const TAG_FENCE: u32 = 20_000;
const TAG_FENCE_TERM: u32 = 1;
const TAG_FENCE_FLOOR: u32 = 2;
const TAG_FENCE_INDEX: u32 = 3;

impl Kind {
    fn tag(self) -> u32 {
        KINDS.iter().find(|(kind, _)| *kind == self).map_or(0, |(_, tag)| *tag)
    }

    fn of(tag: u32) -> Option<Kind> {
        KINDS.iter().find(|(_, known)| *known == tag).map(|(kind, _)| *kind)
    }
}

/// One log entry.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Entry {
    /// Id of the proposal, unique in the cluster; 0 if nobody waits for it.
    pub id: u64,
    /// Term of the proposer that the entry holds in; applied in another term it does nothing. 0:
    /// holds in every term. Expiry revokes and checkpoints carry it.
    pub fence_term: u64,
    /// Index up to which the proposer had applied when it decided on an expiry revoke or a
    /// checkpoint: it does nothing to a lease of that id that was granted later. 0: no bound.
    pub fence_index: u64,
    /// The lowest id of the same proposer that was outstanding when this was proposed: ids below
    /// need not be remembered. 0: says nothing.
    pub floor: u64,
    /// What is asked.
    pub kind: Kind,
    /// The encoded request.
    pub body: Bytes,
}

/// Bytes that are no log entry.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Malformed(pub &'static str);

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "malformed log entry: {}", self.0)
    }
}

impl std::error::Error for Malformed {}

impl Entry {
    /// The encoding.
    pub fn encode(&self) -> Bytes {
        let mut out = BytesMut::with_capacity(self.body.len() + 32);
        let body_first = self.kind.tag() < TAG_HEADER;
        if body_first {
            self.put_body(&mut out);
        }
        if self.id != 0 {
            encode_key(TAG_HEADER, WireType::LengthDelimited, &mut out);
            put_number(TAG_HEADER_ID, self.id, &mut out);
        }
        if !body_first {
            self.put_body(&mut out);
        }
        for (tag, value) in [
            (TAG_FENCE_TERM, self.fence_term),
            (TAG_FENCE_FLOOR, self.floor),
            (TAG_FENCE_INDEX, self.fence_index),
        ] {
            if value != 0 {
                // Messages of one field merge: one for each number will do.
                encode_key(TAG_FENCE, WireType::LengthDelimited, &mut out);
                put_number(tag, value, &mut out);
            }
        }
        out.freeze()
    }

    fn put_body(&self, out: &mut BytesMut) {
        encode_key(self.kind.tag(), WireType::LengthDelimited, out);
        encode_varint(wide(self.body.len()), out);
        out.put_slice(&self.body);
    }

    /// Takes an entry apart; the body stays a slice of it.
    pub fn decode(entry: &Bytes) -> Result<Entry, Malformed> {
        let mut found = Entry::default();
        let mut kind = None;
        let mut rest = entry.clone();
        while !rest.is_empty() {
            let (tag, wire) = decode_key(&mut rest).map_err(|_| Malformed("key"))?;
            if wire != WireType::LengthDelimited {
                skip_scalar(wire, &mut rest)?;
                continue;
            }
            let field = take_field(&mut rest)?;
            match (tag, Kind::of(tag)) {
                (TAG_HEADER, _) => found.id = number(TAG_HEADER_ID, field)?,
                (TAG_FENCE, _) => {
                    found.fence_term |= number(TAG_FENCE_TERM, field.clone())?;
                    found.floor |= number(TAG_FENCE_FLOOR, field.clone())?;
                    found.fence_index |= number(TAG_FENCE_INDEX, field)?;
                }
                (_, Some(_)) if kind.is_some() => return Err(Malformed("two requests")),
                (_, Some(known)) => {
                    kind = Some(known);
                    found.body = field;
                }
                (_, None) => {}
            }
        }
        found.kind = kind.ok_or(Malformed("no request"))?;
        Ok(found)
    }
}

/// A message with one number in it, behind its length.
fn put_number(tag: u32, value: u64, out: &mut BytesMut) {
    let mut message = BytesMut::with_capacity(12);
    encode_key(tag, WireType::Varint, &mut message);
    encode_varint(value, &mut message);
    encode_varint(wide(message.len()), out);
    out.put_slice(&message);
}

/// The number with this tag in a message; 0 if there is none.
fn number(wanted: u32, mut message: Bytes) -> Result<u64, Malformed> {
    let mut value = 0;
    while !message.is_empty() {
        let (tag, wire) = decode_key(&mut message).map_err(|_| Malformed("key"))?;
        if wire == WireType::LengthDelimited {
            take_field(&mut message)?;
        } else if tag == wanted && wire == WireType::Varint {
            value = decode_varint(&mut message).map_err(|_| Malformed("number"))?;
        } else {
            skip_scalar(wire, &mut message)?;
        }
    }
    Ok(value)
}

fn take_field(from: &mut Bytes) -> Result<Bytes, Malformed> {
    let len = decode_varint(from).map_err(|_| Malformed("length"))?;
    let len = usize::try_from(len).map_err(|_| Malformed("length"))?;
    if from.len() < len {
        return Err(Malformed("length beyond the end"));
    }
    Ok(from.split_to(len))
}

fn skip_scalar(wire: WireType, from: &mut Bytes) -> Result<(), Malformed> {
    let len = match wire {
        WireType::Varint => {
            return decode_varint(from).map(drop).map_err(|_| Malformed("number"));
        }
        WireType::SixtyFourBit => 8,
        WireType::ThirtyTwoBit => 4,
        _ => return Err(Malformed("wire type")),
    };
    if from.len() < len {
        return Err(Malformed("length beyond the end"));
    }
    drop(from.split_to(len));
    Ok(())
}

fn wide(len: usize) -> u64 {
    u64::try_from(len).expect("usize fits u64")
}

#[cfg(test)]
mod tests;
