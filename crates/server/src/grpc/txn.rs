//! `TxnRequest` as the edge sees it: decoded with bounded recursion, whatever depth was sent.
//!
//! What is in a transaction is read by `proto::wire`, as it is when the log entry is applied. Here
//! an operation may be empty or too deep: what is wrong with it is said in etcd's order.

use bytes::{Bytes, BytesMut};
use prost::encoding::{DecodeContext, WireType, decode_key, decode_varint, skip_field};
use proto::wire;
use types::limits::TXN_DEPTH_MAX;
use types::{Compare, DeleteOp, PutOp, RangeOp};

/// Messages within messages that Go's decoder reads; its constant.
const MESSAGE_DEPTH_MAX: usize = 10_000;

/// A transaction as sent.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Txn {
    /// Conditions.
    pub compare: Vec<Compare>,
    /// Operations if they hold.
    pub success: Vec<TxnOp>,
    /// Operations if not.
    pub failure: Vec<TxnOp>,
}

/// One operation as sent.
#[derive(Clone, PartialEq, Debug)]
pub enum TxnOp {
    /// A read.
    Range(RangeOp),
    /// A write of one key.
    Put(PutOp),
    /// A delete.
    Delete(DeleteOp),
    /// A nested transaction.
    Txn(Txn),
    /// A nested transaction below `limits::TXN_DEPTH_MAX`, not decoded.
    TooDeep,
    /// No arm of the union was set.
    Empty,
}

/// The bytes are no `TxnRequest`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Malformed {
    /// Not protobuf.
    Wire,
    /// Nested deeper than etcd reads.
    Depth,
}

impl Malformed {
    /// Go's words.
    pub fn text(self) -> &'static str {
        match self {
            Malformed::Wire => "proto: cannot parse invalid wire-format data",
            Malformed::Depth => "proto: exceeded maximum recursion depth",
        }
    }
}

impl From<prost::DecodeError> for Malformed {
    fn from(_: prost::DecodeError) -> Malformed {
        Malformed::Wire
    }
}

impl From<wire::Error> for Malformed {
    fn from(_: wire::Error) -> Malformed {
        Malformed::Wire
    }
}

impl Txn {
    /// Decodes a transaction.
    pub fn decode(bytes: Bytes) -> Result<Txn, Malformed> {
        decode_txn(bytes, 0)
    }
}

/// The next field that holds bytes; others are skipped.
fn next(bytes: &mut Bytes) -> Result<Option<(u32, Bytes)>, Malformed> {
    while !bytes.is_empty() {
        let (field, kind) = decode_key(bytes)?;
        if kind != WireType::LengthDelimited {
            skip_field(kind, field, bytes, DecodeContext::default())?;
            continue;
        }
        let len = decode_varint(bytes)?;
        match usize::try_from(len) {
            Ok(len) if len <= bytes.len() => return Ok(Some((field, bytes.split_to(len)))),
            _ => return Err(Malformed::Wire),
        }
    }
    Ok(None)
}

fn decode_txn(mut bytes: Bytes, depth: usize) -> Result<Txn, Malformed> {
    let mut txn = Txn::default();
    while let Some((field, value)) = next(&mut bytes)? {
        match field {
            1 => txn.compare.push(wire::compare(&value)?),
            2 => txn.success.push(decode_op(value, depth)?),
            3 => txn.failure.push(decode_op(value, depth)?),
            _ => {}
        }
    }
    Ok(txn)
}

/// The last arm of the union wins; the same arm again merges into the one before.
fn decode_op(mut bytes: Bytes, depth: usize) -> Result<TxnOp, Malformed> {
    let mut arm: Option<(u32, Bytes)> = None;
    while let Some((field, value)) = next(&mut bytes)? {
        if (1..=4).contains(&field) {
            arm = Some(match arm.take() {
                Some((before, first)) if before == field => {
                    let mut both = BytesMut::from(&first[..]);
                    both.extend_from_slice(&value);
                    (field, both.freeze())
                }
                _ => (field, value),
            });
        }
    }
    Ok(match arm {
        None => TxnOp::Empty,
        Some((1, body)) => TxnOp::Range(wire::range(&body)?),
        Some((2, body)) => TxnOp::Put(wire::put(&body)?),
        Some((3, body)) => TxnOp::Delete(wire::delete_range(&body)?),
        Some((_, body)) if depth + 1 < TXN_DEPTH_MAX => TxnOp::Txn(decode_txn(body, depth + 1)?),
        Some((_, body)) => {
            check_deep(body, 2 * depth + 3)?;
            TxnOp::TooDeep
        }
    })
}

/// Walks transactions that are not decoded, without recursion. `level` counts messages.
fn check_deep(body: Bytes, level: usize) -> Result<(), Malformed> {
    let mut open = vec![(body, level)];
    while let Some((mut bytes, level)) = open.pop() {
        if MESSAGE_DEPTH_MAX < level {
            return Err(Malformed::Depth);
        }
        let is_txn = level % 2 == 1;
        while let Some((field, value)) = next(&mut bytes)? {
            if (is_txn && (field == 2 || field == 3)) || (!is_txn && field == 4) {
                open.push((value, level + 1));
            }
        }
    }
    Ok(())
}

/// Entry for fuzzing: any bytes decode or are refused, and what decodes can be validated.
pub fn fuzz(data: &[u8]) {
    if let Ok(txn) = Txn::decode(Bytes::copy_from_slice(data)) {
        let _ = super::validate::txn(&txn, 128);
        let _ = super::validate::txn_cost(&txn);
    }
}

#[cfg(test)]
mod tests;
