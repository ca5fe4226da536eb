//! Encoding of frames and batches; see `docs/disk-format.md`.
//!
//! ```text
//!   header {magic, type, flags, kind, 0, length, batch, index, term [, batch bytes, count]}
//!   header CRC | payload | chained CRC | zeros to the next 8 bytes
//! ```
//!
//! The header CRC starts from the segment's salt and stands alone, so that one frame can be
//! recognized without those before it. The chained CRC starts from the frame before and runs over
//! header and payload, **not** over the header CRC: a CRC that runs over data followed by the
//! data's own CRC forgets the data.

use crate::{Batch, Entry, EntryKind, Frame, HardState, Install, Position};
use bytes::Bytes;
use types::{Index, MemberId, Term};

/// Every batch starts at a multiple of this.
pub const BLOCK: u64 = 4096;
/// `BLOCK` as a length in memory.
pub(crate) const BLOCK_BYTES: usize = 4096;
/// Frames start at multiples of this.
pub(crate) const ALIGN: usize = 8;
/// Bytes of a header with its CRC.
const HEADER: usize = 40;
/// What the first frame of a batch has on top: length and frame count of the batch.
const FIRST_EXTRA: usize = 8;
/// Bytes of a CRC.
const CRC: usize = 4;
/// Flag of the first frame of a batch.
const FIRST: u8 = 1;
/// Beginning of every frame, mixed with half of the salt.
const MAGIC: u32 = u32::from_le_bytes(*b"MsWF");

/// What makes frames of one use of a segment different from all others.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Salt {
    magic: u32,
    seed: u32,
}

impl Salt {
    pub(crate) fn new(salt: u64) -> Salt {
        let high = u32::try_from(salt >> 32).expect("32 bits");
        Salt { magic: MAGIC ^ high, seed: crc32c::crc32c(&salt.to_le_bytes()) }
    }
}

/// A header whose CRC is right.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Header {
    code: u8,
    kind: u8,
    len: u32,
    pub(crate) batch: u64,
    index: u64,
    term: u64,
    /// Length and frame count of the batch, in its first frame.
    pub(crate) first: Option<(u32, u32)>,
}

impl Header {
    fn size(&self) -> usize {
        if self.first.is_some() { HEADER + FIRST_EXTRA } else { HEADER }
    }

    /// Bytes of the whole frame with its padding.
    pub(crate) fn frame_size(&self) -> usize {
        (self.size() + to_usize(self.len) + CRC).next_multiple_of(ALIGN)
    }

    /// Bytes of the whole frame without its padding.
    #[cfg(test)]
    pub(crate) fn unpadded_size(&self) -> usize {
        self.size() + to_usize(self.len) + CRC
    }

    fn encode(&self, salt: Salt, out: &mut Vec<u8>) {
        let from = out.len();
        out.extend_from_slice(&salt.magic.to_le_bytes());
        out.extend_from_slice(&[self.code, u8::from(self.first.is_some()) * FIRST, self.kind, 0]);
        out.extend_from_slice(&self.len.to_le_bytes());
        for number in [self.batch, self.index, self.term] {
            out.extend_from_slice(&number.to_le_bytes());
        }
        if let Some((bytes, count)) = self.first {
            out.extend_from_slice(&bytes.to_le_bytes());
            out.extend_from_slice(&count.to_le_bytes());
        }
        let crc = crc32c::crc32c_append(salt.seed, &out[from..]);
        out.extend_from_slice(&crc.to_le_bytes());
    }

    /// The header at the beginning of `bytes`, if there is one of this salt.
    pub(crate) fn decode(salt: Salt, bytes: &[u8]) -> Option<Header> {
        if u32_at(bytes, 0)? != salt.magic {
            return None;
        }
        let &[code, flags, kind, _] = bytes.get(4..8)? else { return None };
        let is_first = flags & FIRST == FIRST;
        let size = if is_first { HEADER + FIRST_EXTRA } else { HEADER };
        let body = bytes.get(..size - CRC)?;
        if u32_at(bytes, size - CRC)? != crc32c::crc32c_append(salt.seed, body) {
            return None;
        }
        let first = if is_first { Some((u32_at(bytes, 36)?, u32_at(bytes, 40)?)) } else { None };
        let (len, batch) = (u32_at(bytes, 8)?, u64_at(bytes, 12)?);
        let (index, term) = (u64_at(bytes, 20)?, u64_at(bytes, 28)?);
        Some(Header { code, kind, len, batch, index, term, first })
    }
}

/// Bytes that a batch takes, without the padding to the next block.
pub(crate) fn encoded_len(batch: &Batch) -> usize {
    let frames: usize = batch
        .frames
        .iter()
        .map(|frame| (HEADER + payload_len(frame) + CRC).next_multiple_of(ALIGN))
        .sum();
    // `FIRST_EXTRA` is a multiple of the alignment.
    frames + FIRST_EXTRA
}

/// Appends a batch, padded with zeros to the next block, and returns the new chain value.
pub(crate) fn encode(batch: &Batch, number: u64, salt: Salt, chain: u32, out: &mut Vec<u8>) -> u32 {
    assert!(!batch.frames.is_empty(), "a batch has a frame");
    let from = out.len();
    let bytes = encoded_len(batch);
    let mut first = Some((to_u32(bytes), to_u32(batch.frames.len())));
    let mut chain = chain;
    for frame in &batch.frames {
        let header = header_of(frame, number, first.take());
        let at = out.len();
        header.encode(salt, out);
        chain = crc32c::crc32c_append(chain, &out[at..out.len() - CRC]);
        let payload = out.len();
        put_payload(frame, out);
        chain = crc32c::crc32c_append(chain, &out[payload..]);
        out.extend_from_slice(&chain.to_le_bytes());
        out.resize(from + (out.len() - from).next_multiple_of(ALIGN), 0);
    }
    assert!(out.len() - from == bytes, "a batch of {bytes} bytes took {}", out.len() - from);
    out.resize(from + bytes.next_multiple_of(BLOCK_BYTES), 0);
    chain
}

fn header_of(frame: &Frame, batch: u64, first: Option<(u32, u32)>) -> Header {
    let (code, kind, index, term) = match frame {
        Frame::Entry(entry) => (1, entry.kind.number(), entry.index.0, entry.term.0),
        Frame::HardState(state) => (2, 0, state.commit.0, state.term.0),
        Frame::Boot(_) => (3, 0, 0, 0),
        Frame::Membership(_) => (4, 0, 0, 0),
        Frame::Install(Install { position, .. }) => (5, 0, position.index.0, position.term.0),
        Frame::Trim(index) => (6, 0, index.0, 0),
        Frame::Seal => (7, 0, 0, 0),
    };
    Header { code, kind, len: to_u32(payload_len(frame)), batch, index, term, first }
}

fn payload_len(frame: &Frame) -> usize {
    match frame {
        Frame::Entry(Entry { data, .. })
        | Frame::Install(Install { data, .. })
        | Frame::Membership(data) => data.len(),
        Frame::HardState(_) | Frame::Boot(_) => 8,
        Frame::Trim(_) | Frame::Seal => 0,
    }
}

fn put_payload(frame: &Frame, out: &mut Vec<u8>) {
    match frame {
        Frame::Entry(Entry { data, .. })
        | Frame::Install(Install { data, .. })
        | Frame::Membership(data) => out.extend_from_slice(data),
        Frame::HardState(state) => out.extend_from_slice(&state.vote.0.to_le_bytes()),
        Frame::Boot(number) => out.extend_from_slice(&number.to_le_bytes()),
        Frame::Trim(_) | Frame::Seal => {}
    }
}

/// Why there is no whole batch at a place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum NoBatch {
    /// It is not all there: what a crash leaves, or damage.
    Incomplete { offset: usize, reason: &'static str },
    /// Its checksums are right and its content is not: no crash leaves that.
    Invalid { offset: usize, reason: &'static str },
}

/// A batch whose checksums are right.
#[derive(Clone, Debug)]
pub(crate) struct Decoded {
    pub(crate) batch: Batch,
    pub(crate) chain: u32,
    /// Bytes without the padding to the next block.
    pub(crate) bytes: usize,
}

/// Reads the batch at the beginning of `bytes`, which must be number `number` and follow `chain`.
/// Frames that could be read are left in `prefix`, whatever is returned.
pub(crate) fn decode(
    bytes: &[u8],
    salt: Salt,
    number: u64,
    chain: u32,
    prefix: &mut Vec<Frame>,
) -> Result<Decoded, NoBatch> {
    prefix.clear();
    let incomplete = |offset, reason| Err(NoBatch::Incomplete { offset, reason });
    let Some(head) = Header::decode(salt, bytes) else {
        return incomplete(0, "no header of a batch");
    };
    let Some((len, count)) = head.first else {
        return incomplete(0, "the header is not that of a batch's first frame");
    };
    if head.batch != number {
        return incomplete(0, "the header is that of another batch");
    }
    let Some(body) = bytes.get(..to_usize(len)) else {
        return Err(NoBatch::Invalid { offset: 0, reason: "the batch is longer than its segment" });
    };
    let (mut at, mut chain) = (0, chain);
    for ordinal in 0..count {
        let Some(header) = Header::decode(salt, &body[at..]) else {
            return incomplete(at, "a frame's header is missing or its checksum is wrong");
        };
        if header.batch != number || header.first.is_some() != (ordinal == 0) {
            return incomplete(at, "a frame of another batch");
        }
        let from = at + header.size();
        let to = from + to_usize(header.len);
        let (Some(payload), Some(crc)) = (body.get(from..to), u32_at(body, to)) else {
            return Err(NoBatch::Invalid {
                offset: at,
                reason: "a frame is longer than its batch",
            });
        };
        chain = crc32c::crc32c_append(chain, &body[at..from - CRC]);
        chain = crc32c::crc32c_append(chain, payload);
        if crc != chain {
            return incomplete(at, "a frame's checksum is wrong");
        }
        let Some(frame) = frame_of(&header, payload) else {
            return Err(NoBatch::Invalid { offset: at, reason: "a frame of an unknown type" });
        };
        prefix.push(frame);
        at += header.frame_size();
        if body.len() < at {
            return Err(NoBatch::Invalid { offset: 0, reason: "a frame leaves its batch" });
        }
    }
    if at != body.len() {
        return Err(NoBatch::Invalid { offset: at, reason: "the batch's length is wrong" });
    }
    Ok(Decoded { batch: Batch { frames: std::mem::take(prefix) }, chain, bytes: at })
}

/// Reads a batch as `decode` does, whatever its number and whatever frame it follows: a bug to be
/// planted.
#[cfg(any(test, feature = "mutants"))]
pub(crate) fn decode_unchained(bytes: &[u8], salt: Salt) -> Option<Decoded> {
    let (len, count) = Header::decode(salt, bytes)?.first?;
    let (mut at, mut frames) = (0, Vec::new());
    for _ in 0..count {
        let header = Header::decode(salt, bytes.get(at..)?)?;
        let from = at + header.size();
        frames.push(frame_of(&header, bytes.get(from..from + to_usize(header.len))?)?);
        at += header.frame_size();
    }
    Some(Decoded { batch: Batch { frames }, chain: 0, bytes: to_usize(len) })
}

/// Makes the checksums of all frames right, as far as their lengths make sense: for fuzzing.
pub(crate) fn reseal(bytes: &mut [u8], salt: Salt, chain: u32) {
    let (mut at, mut chain) = (0, chain);
    while at + HEADER + FIRST_EXTRA <= bytes.len() {
        if u32_at(bytes, at) != Some(salt.magic) {
            at = (at + 1).next_multiple_of(BLOCK_BYTES);
            continue;
        }
        let is_first = bytes[at + 5] & FIRST == FIRST;
        let body = at + if is_first { HEADER + FIRST_EXTRA } else { HEADER };
        let Some(to) = u32_at(bytes, at + 8).and_then(|len| body.checked_add(to_usize(len))) else {
            return;
        };
        if bytes.len() < to + CRC {
            return;
        }
        let crc = crc32c::crc32c_append(salt.seed, &bytes[at..body - CRC]);
        bytes[body - CRC..body].copy_from_slice(&crc.to_le_bytes());
        chain = crc32c::crc32c_append(chain, &bytes[at..body - CRC]);
        chain = crc32c::crc32c_append(chain, &bytes[body..to]);
        bytes[to..to + CRC].copy_from_slice(&chain.to_le_bytes());
        at = (to + CRC).next_multiple_of(ALIGN);
    }
}

fn frame_of(header: &Header, payload: &[u8]) -> Option<Frame> {
    let position = Position { index: Index(header.index), term: Term(header.term) };
    let Position { index, term } = position;
    let number = || u64_at(payload, 0).filter(|_| payload.len() == 8);
    let data = || Bytes::copy_from_slice(payload);
    Some(match header.code {
        1 => {
            let kind = EntryKind::from_number(header.kind)?;
            Frame::Entry(Entry { index, term, kind, data: data() })
        }
        2 => {
            let vote = MemberId(number()?);
            Frame::HardState(HardState { term, vote, commit: index })
        }
        3 => Frame::Boot(number()?),
        4 => Frame::Membership(data()),
        5 => Frame::Install(Install { position, data: data() }),
        6 => Frame::Trim(index),
        7 => Frame::Seal,
        _ => return None,
    })
}

impl EntryKind {
    /// Raft's number of the kind; 1 is the first form of a change of members.
    fn number(self) -> u8 {
        match self {
            EntryKind::Normal => 0,
            EntryKind::ConfChange => 2,
        }
    }

    fn from_number(number: u8) -> Option<EntryKind> {
        match number {
            0 => Some(EntryKind::Normal),
            2 => Some(EntryKind::ConfChange),
            _ => None,
        }
    }
}

pub(crate) fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    let field = bytes.get(at..)?.first_chunk()?;
    Some(u32::from_le_bytes(*field))
}

pub(crate) fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    let field = bytes.get(at..)?.first_chunk()?;
    Some(u64::from_le_bytes(*field))
}

pub(crate) fn to_usize(number: u32) -> usize {
    usize::try_from(number).expect("a usize has at least 32 bits")
}

pub(crate) fn to_u32(number: usize) -> u32 {
    u32::try_from(number).expect("bounded by BATCH_BYTES_MAX")
}

#[cfg(test)]
mod tests;
