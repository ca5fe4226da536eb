//! A message that is sent piece by piece: a record in it is the stored encoding itself, and a large
//! answer is never materialised.

use bytes::{BufMut, Bytes, BytesMut};
use prost::encoding::{encode_varint, encoded_len_varint};
use std::collections::VecDeque;
use types::Revision;
use types::outcome::Item;

/// A record at least this large is sent as the stored bytes, without a copy.
const COPY_BYTES_MAX: usize = 8 * 1024;

/// A message to be sent piece by piece.
#[derive(Debug, Default)]
pub struct Parts {
    parts: VecDeque<Part>,
    /// Bytes that are still to be taken.
    remaining: usize,
    /// A record that was begun.
    open: Bytes,
}

/// A run of bytes, or of records that each become one field.
#[derive(Debug)]
pub(super) enum Part {
    Bytes(Bytes),
    Items { tag: u8, items: std::vec::IntoIter<Item> },
}

/// What can be taken from an answer at the moment.
#[derive(Debug)]
pub enum Chunk {
    /// Bytes to send.
    Bytes(Bytes),
    /// The next record must first be read: give it to `Parts::warm`.
    Cold(Vec<Revision>),
    /// Everything was taken.
    End,
}

impl Parts {
    /// A message of `len` bytes in these parts.
    pub(super) fn new(parts: VecDeque<Part>, len: usize) -> Parts {
        Parts { parts, remaining: len, open: Bytes::new() }
    }

    /// A message of plain bytes.
    pub fn whole(bytes: Bytes) -> Parts {
        let remaining = bytes.len();
        Parts::new(VecDeque::from([Part::Bytes(bytes)]), remaining)
    }

    /// A message, or several, of pieces that already are in order.
    pub fn pieces(pieces: impl IntoIterator<Item = Bytes>) -> Parts {
        let parts: VecDeque<Part> =
            pieces.into_iter().filter(|bytes| !bytes.is_empty()).map(Part::Bytes).collect();
        let len = |part: &Part| match part {
            Part::Bytes(bytes) => bytes.len(),
            Part::Items { .. } => 0,
        };
        let remaining = parts.iter().map(len).sum();
        Parts::new(parts, remaining)
    }

    /// Bytes that are still to be taken, the gRPC prefix included.
    pub fn remaining(&self) -> usize {
        self.remaining
    }

    /// Takes at least one byte and at most `bytes_max`, if there is one that needs no disk.
    pub fn next_chunk(&mut self, bytes_max: usize) -> Chunk {
        let bytes_max = bytes_max.max(1);
        if !self.open.is_empty() {
            return self.take_open(bytes_max);
        }
        if let Some(bytes) = self.take_plain(bytes_max) {
            return Chunk::Bytes(bytes);
        }
        let mut out = BytesMut::with_capacity(bytes_max.min(self.remaining));
        while let Some(part) = self.parts.front_mut() {
            match part {
                Part::Bytes(bytes) if bytes.len() <= bytes_max - out.len() => {
                    out.put_slice(bytes);
                    self.parts.pop_front();
                }
                Part::Bytes(bytes) => {
                    let head = bytes.split_to(bytes_max - out.len());
                    out.put_slice(&head);
                    break;
                }
                Part::Items { tag, items } => match items.as_slice().first() {
                    None => {
                        self.parts.pop_front();
                    }
                    Some(Item::Cold { .. }) => break,
                    Some(Item::Resident(kv)) => {
                        let field = 1 + encoded_len_varint(kv.len() as u64);
                        let room = bytes_max - out.len();
                        if room < field + kv.len() && !out.is_empty() {
                            break;
                        }
                        out.put_u8(*tag);
                        encode_varint(kv.len() as u64, &mut out);
                        let Some(Item::Resident(kv)) = items.next() else { break };
                        if kv.len() < COPY_BYTES_MAX && kv.len() + field <= room {
                            out.put_slice(&kv);
                        } else {
                            self.open = kv;
                            break;
                        }
                    }
                },
            }
        }
        self.finish(out)
    }

    /// Takes from a run of bytes without a copy, where a copy would join nothing.
    fn take_plain(&mut self, bytes_max: usize) -> Option<Bytes> {
        let alone = self.parts.len() == 1;
        let Some(Part::Bytes(bytes)) = self.parts.front_mut() else { return None };
        if !alone && bytes.len() < COPY_BYTES_MAX {
            return None;
        }
        let taken = bytes.split_to(bytes.len().min(bytes_max));
        if bytes.is_empty() {
            self.parts.pop_front();
        }
        self.remaining -= taken.len();
        Some(taken).filter(|taken| !taken.is_empty())
    }

    fn finish(&mut self, out: BytesMut) -> Chunk {
        if !out.is_empty() {
            self.remaining -= out.len();
            return Chunk::Bytes(out.freeze());
        }
        match self.parts.front() {
            Some(Part::Items { items, .. }) => Chunk::Cold(cold_run(items.as_slice())),
            _ => Chunk::End,
        }
    }

    fn take_open(&mut self, bytes_max: usize) -> Chunk {
        let bytes = self.open.split_to(self.open.len().min(bytes_max));
        self.remaining -= bytes.len();
        Chunk::Bytes(bytes)
    }

    /// Gives the records that `Chunk::Cold` asked for, in its order.
    pub fn warm(&mut self, records: Vec<Bytes>) {
        let Some(Part::Items { items, .. }) = self.parts.front_mut() else {
            return;
        };
        let slice = items.as_mut_slice();
        for (item, kv) in slice.iter_mut().filter(|item| is_cold(item)).zip(records) {
            assert_eq!(item.encoded_len(), kv.len(), "a cold record differs from its index");
            *item = Item::Resident(kv);
        }
    }

    /// True if a record must be read from the disk.
    pub fn has_cold(&self) -> bool {
        self.parts.iter().any(|part| match part {
            Part::Bytes(_) => false,
            Part::Items { items, .. } => items.as_slice().iter().any(is_cold),
        })
    }

    /// All of it at once; only for an answer without cold records.
    pub fn into_bytes(mut self) -> Bytes {
        let mut out = BytesMut::with_capacity(self.remaining);
        loop {
            match self.next_chunk(usize::MAX) {
                Chunk::Bytes(bytes) if out.is_empty() && self.remaining == 0 => return bytes,
                Chunk::Bytes(bytes) => out.extend_from_slice(&bytes),
                Chunk::Cold(_) | Chunk::End => return out.freeze(),
            }
        }
    }
}

fn is_cold(item: &Item) -> bool {
    matches!(item, Item::Cold { .. })
}

/// The cold records to read next: up to 256 of them and 1 MiB, so that a helper works in windows.
fn cold_run(items: &[Item]) -> Vec<Revision> {
    const COUNT_MAX: usize = 256;
    const BYTES_MAX: usize = 1024 * 1024;
    let mut bytes = 0;
    let mut revisions = Vec::new();
    for item in items {
        let Item::Cold { revision, len } = item else { continue };
        if revisions.len() == COUNT_MAX || (BYTES_MAX < bytes + *len as usize && 0 < bytes) {
            break;
        }
        bytes += *len as usize;
        revisions.push(*revision);
    }
    revisions
}
