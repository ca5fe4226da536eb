//! Answers of the key-value service, written by hand-computed lengths around stored bytes.
//!
//! ```text
//! outcome ──▶ Parts: headers as bytes, records as items ──▶ chunks as the client has room
//! ```

mod parts;

pub use parts::{Chunk, Parts};

use super::frame;
use bytes::{BufMut, BytesMut};
use member::Header;
use parts::Part;
use prost::encoding::{encode_varint, encoded_len_varint};
use std::collections::VecDeque;
use types::outcome::{DeleteOutcome, Item, OpOutcome, PutOutcome, RangeOutcome, TxnOutcome};

/// Field numbers shifted with their wire type: messages and bytes.
const fn message_tag(field: u8) -> u8 {
    field << 3 | 2
}

/// Field numbers shifted with their wire type: varints.
const fn varint_tag(field: u8) -> u8 {
    field << 3
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
        Parts::new(self.parts, self.len)
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
