//! Answers of the key-value service, written by hand-computed lengths around stored bytes.
//!
//! ```text
//! outcome ──▶ Parts: headers as bytes, records as items ──▶ chunks as the client has room
//! ```
//!
//! A record in an answer is the stored encoding itself; a large answer is never materialised.

use super::frame;
use bytes::{BufMut, Bytes, BytesMut};
use member::Header;
use prost::encoding::{encode_varint, encoded_len_varint};
use std::collections::VecDeque;
use types::Revision;
use types::outcome::{DeleteOutcome, Item, OpOutcome, PutOutcome, RangeOutcome, TxnOutcome};

/// Field numbers shifted with their wire type: messages and bytes.
const fn message_tag(field: u8) -> u8 {
    field << 3 | 2
}

/// Field numbers shifted with their wire type: varints.
const fn varint_tag(field: u8) -> u8 {
    field << 3
}

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
enum Part {
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
    /// A message of plain bytes.
    pub fn whole(bytes: Bytes) -> Parts {
        let remaining = bytes.len();
        Parts { parts: VecDeque::from([Part::Bytes(bytes)]), remaining, open: Bytes::new() }
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
        Parts { parts, remaining, open: Bytes::new() }
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

/// Collects the parts of one message.
struct Builder {
    buf: BytesMut,
    parts: VecDeque<Part>,
    len: usize,
}

impl Builder {
    /// A builder that begins with the gRPC prefix of a message of `len` bytes.
    fn framed(len: usize) -> Builder {
        let mut buf = BytesMut::with_capacity(128);
        buf.put_slice(&frame::prefix(len));
        Builder { buf, parts: VecDeque::new(), len: frame::PREFIX_LEN + len }
    }

    fn message(&mut self, field: u8, len: usize) {
        self.buf.put_u8(message_tag(field));
        encode_varint(len as u64, &mut self.buf);
    }

    fn varint(&mut self, field: u8, value: i64) {
        if value != 0 {
            self.buf.put_u8(varint_tag(field));
            encode_varint(value.cast_unsigned(), &mut self.buf);
        }
    }

    fn items(&mut self, field: u8, items: Vec<Item>) {
        if items.is_empty() {
            return;
        }
        if !self.buf.is_empty() {
            self.parts.push_back(Part::Bytes(self.buf.split().freeze()));
        }
        self.parts.push_back(Part::Items { tag: message_tag(field), items: items.into_iter() });
    }

    fn finish(mut self) -> Parts {
        if !self.buf.is_empty() {
            self.parts.push_back(Part::Bytes(self.buf.freeze()));
        }
        Parts { parts: self.parts, remaining: self.len, open: Bytes::new() }
    }
}

fn varint_len(value: i64) -> usize {
    if value == 0 { 0 } else { 1 + encoded_len_varint(value.cast_unsigned()) }
}

/// Length of a field that holds a message of `len` bytes.
fn field_len(len: usize) -> usize {
    1 + encoded_len_varint(len as u64) + len
}

fn items_len(items: &[Item]) -> usize {
    items.iter().map(|item| field_len(item.encoded_len())).sum()
}

/// The header's fields in wire order.
#[derive(Clone, Copy)]
struct HeaderFields([i64; 4]);

impl HeaderFields {
    fn full(header: &Header) -> HeaderFields {
        let (cluster, member) = (header.cluster.0, header.member.0);
        let term = header.term.0.cast_signed();
        HeaderFields([cluster.cast_signed(), member.cast_signed(), header.revision, term])
    }

    fn revision(revision: i64) -> HeaderFields {
        HeaderFields([0, 0, revision, 0])
    }

    fn empty() -> HeaderFields {
        HeaderFields([0; 4])
    }

    fn len(&self) -> usize {
        self.0.iter().map(|value| varint_len(*value)).sum()
    }

    fn put(&self, builder: &mut Builder) {
        builder.message(1, self.len());
        for (field, value) in (1..).zip(self.0) {
            builder.varint(field, value);
        }
    }
}

/// Body of a `RangeResponse` after its header.
struct RangeBody {
    kvs: Vec<Item>,
    more: bool,
    count: i64,
}

impl RangeBody {
    fn len(&self) -> usize {
        items_len(&self.kvs) + usize::from(self.more) * 2 + varint_len(self.count)
    }

    fn put(self, builder: &mut Builder) {
        builder.items(2, self.kvs);
        builder.varint(3, i64::from(self.more));
        builder.varint(4, self.count);
    }
}

/// Framed `RangeResponse`.
pub fn range(header: &Header, outcome: RangeOutcome) -> Parts {
    let header = HeaderFields::full(&Header { revision: outcome.revision, ..*header });
    let body = RangeBody { kvs: outcome.items, more: outcome.more, count: outcome.count };
    let mut builder = Builder::framed(field_len(header.len()) + body.len());
    header.put(&mut builder);
    body.put(&mut builder);
    builder.finish()
}

/// Framed `RangeStreamResponse`: a chunk in the middle has no header, the last one has all.
pub fn range_stream(last: Option<&Header>, kvs: Vec<Item>, more: bool, count: i64) -> Parts {
    let header = last.map(HeaderFields::full);
    let body = RangeBody { kvs, more, count };
    let inner = header.map_or(0, |header| field_len(header.len())) + body.len();
    let mut builder = Builder::framed(field_len(inner));
    builder.message(1, inner);
    if let Some(header) = header {
        header.put(&mut builder);
    }
    body.put(&mut builder);
    builder.finish()
}

/// Length of the `RangeResponse` that etcd would size a chunk of `RangeStream` by.
pub fn range_response_len(outcome: &RangeOutcome) -> usize {
    let header = HeaderFields::revision(outcome.revision);
    field_len(header.len())
        + items_len(&outcome.items)
        + usize::from(outcome.more) * 2
        + varint_len(outcome.count)
}

/// Framed `PutResponse`.
pub fn put(header: &Header, outcome: PutOutcome) -> Parts {
    let header = HeaderFields::full(&Header { revision: outcome.revision, ..*header });
    let kvs: Vec<Item> = outcome.prev.into_iter().collect();
    let mut builder = Builder::framed(field_len(header.len()) + items_len(&kvs));
    header.put(&mut builder);
    builder.items(2, kvs);
    builder.finish()
}

/// Framed `DeleteRangeResponse`.
pub fn delete(header: &Header, outcome: DeleteOutcome) -> Parts {
    let header = HeaderFields::full(&Header { revision: outcome.revision, ..*header });
    let len = field_len(header.len()) + varint_len(outcome.deleted) + items_len(&outcome.prev);
    let mut builder = Builder::framed(len);
    header.put(&mut builder);
    builder.varint(2, outcome.deleted);
    builder.items(3, outcome.prev);
    builder.finish()
}

/// Framed `TxnResponse`.
pub fn txn(header: &Header, outcome: TxnOutcome) -> Parts {
    let header = HeaderFields::full(&Header { revision: outcome.revision, ..*header });
    let plan = TxnPlan::of(header, &outcome);
    let mut builder = Builder::framed(plan.len);
    plan.put(outcome, &mut builder);
    builder.finish()
}

/// Lengths of a transaction's answer and of what is nested in it, computed once per node.
struct TxnPlan {
    header: HeaderFields,
    len: usize,
    ops: Vec<OpPlan>,
}

/// Length of one operation's answer, and the plan of a nested transaction.
struct OpPlan {
    len: usize,
    nested: Option<TxnPlan>,
}

impl TxnPlan {
    fn of(header: HeaderFields, outcome: &TxnOutcome) -> TxnPlan {
        let ops: Vec<OpPlan> = outcome.outcomes.iter().map(OpPlan::of).collect();
        let responses: usize = ops.iter().map(|op| field_len(field_len(op.len))).sum();
        let succeeded = usize::from(outcome.succeeded) * 2;
        TxnPlan { header, len: field_len(header.len()) + succeeded + responses, ops }
    }

    fn put(self, outcome: TxnOutcome, builder: &mut Builder) {
        self.header.put(builder);
        builder.varint(2, i64::from(outcome.succeeded));
        for (plan, outcome) in self.ops.into_iter().zip(outcome.outcomes) {
            builder.message(3, field_len(plan.len));
            plan.put(outcome, builder);
        }
    }
}

impl OpPlan {
    fn of(outcome: &OpOutcome) -> OpPlan {
        let header_len = |revision: i64| field_len(HeaderFields::revision(revision).len());
        let len = match outcome {
            OpOutcome::Range(range) => {
                header_len(range.revision)
                    + items_len(&range.items)
                    + usize::from(range.more) * 2
                    + varint_len(range.count)
            }
            OpOutcome::Put(put) => {
                let prev = put.prev.as_ref().map_or(0, |item| field_len(item.encoded_len()));
                header_len(put.revision) + prev
            }
            OpOutcome::Delete(delete) => {
                header_len(delete.revision) + varint_len(delete.deleted) + items_len(&delete.prev)
            }
            OpOutcome::Txn(txn) => {
                let plan = TxnPlan::of(HeaderFields::empty(), txn);
                return OpPlan { len: plan.len, nested: Some(plan) };
            }
        };
        OpPlan { len, nested: None }
    }

    fn put(self, outcome: OpOutcome, builder: &mut Builder) {
        match outcome {
            OpOutcome::Range(range) => {
                builder.message(1, self.len);
                HeaderFields::revision(range.revision).put(builder);
                RangeBody { kvs: range.items, more: range.more, count: range.count }.put(builder);
            }
            OpOutcome::Put(put) => {
                builder.message(2, self.len);
                HeaderFields::revision(put.revision).put(builder);
                builder.items(2, put.prev.into_iter().collect());
            }
            OpOutcome::Delete(delete) => {
                builder.message(3, self.len);
                HeaderFields::revision(delete.revision).put(builder);
                builder.varint(2, delete.deleted);
                builder.items(3, delete.prev);
            }
            OpOutcome::Txn(txn) => {
                builder.message(4, self.len);
                if let Some(plan) = self.nested {
                    plan.put(txn, builder);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
