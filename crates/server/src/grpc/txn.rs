//! `TxnRequest` as the edge sees it: decoded with bounded recursion, whatever depth was sent.
//!
//! prost stops at 100 nested messages; etcd's limits allow about 128 nested transactions, two
//! messages each. Only transactions are walked here, everything in them is prost's.

use bytes::{Buf, Bytes};
use prost::Message;
use prost::encoding::{DecodeContext, WireType, decode_key, decode_varint, skip_field};
use proto::etcdserverpb as pb;

/// Deeper nesting than any budget of operations allows is not decoded: each level spends at least
/// one operation, and no flag goes beyond this many by default. A larger `--max-txn-ops` does not
/// deepen it: the stack is finite.
pub const DEPTH_MAX: usize = 130;

/// A transaction as sent.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Txn {
    /// Conditions.
    pub compare: Vec<pb::Compare>,
    /// Operations if they hold.
    pub success: Vec<TxnOp>,
    /// Operations if not.
    pub failure: Vec<TxnOp>,
}

/// One operation as sent.
#[derive(Clone, PartialEq, Debug)]
pub enum TxnOp {
    /// A read.
    Range(pb::RangeRequest),
    /// A write of one key.
    Put(pb::PutRequest),
    /// A delete.
    Delete(pb::DeleteRangeRequest),
    /// A nested transaction.
    Txn(Txn),
    /// A nested transaction below `DEPTH_MAX`, not decoded.
    TooDeep,
    /// No arm of the union was set.
    Empty,
}

/// The bytes are no `TxnRequest`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Malformed(pub String);

impl From<prost::DecodeError> for Malformed {
    fn from(error: prost::DecodeError) -> Malformed {
        Malformed(error.to_string())
    }
}

impl Txn {
    /// Decodes a transaction.
    pub fn decode(bytes: Bytes) -> Result<Txn, Malformed> {
        decode_txn(bytes, 0)
    }
}

/// Takes a length-delimited field.
fn take(bytes: &mut Bytes, wire: WireType) -> Result<Bytes, Malformed> {
    if wire != WireType::LengthDelimited {
        return Err(Malformed(format!("invalid wire type: {wire:?}")));
    }
    let len = decode_varint(bytes)?;
    match usize::try_from(len) {
        Ok(len) if len <= bytes.len() => Ok(bytes.split_to(len)),
        _ => Err(Malformed("unexpected EOF".to_string())),
    }
}

fn decode_txn(mut bytes: Bytes, depth: usize) -> Result<Txn, Malformed> {
    let mut txn = Txn::default();
    while bytes.has_remaining() {
        let (field, wire) = decode_key(&mut bytes)?;
        match field {
            1 => txn.compare.push(pb::Compare::decode(take(&mut bytes, wire)?)?),
            2 => txn.success.push(decode_op(take(&mut bytes, wire)?, depth)?),
            3 => txn.failure.push(decode_op(take(&mut bytes, wire)?, depth)?),
            _ => skip_field(wire, field, &mut bytes, DecodeContext::default())?,
        }
    }
    Ok(txn)
}

/// The last arm of the union wins, as in every protobuf decoder.
fn decode_op(mut bytes: Bytes, depth: usize) -> Result<TxnOp, Malformed> {
    let mut op = TxnOp::Empty;
    while bytes.has_remaining() {
        let (field, wire) = decode_key(&mut bytes)?;
        op = match field {
            1 => TxnOp::Range(pb::RangeRequest::decode(take(&mut bytes, wire)?)?),
            2 => TxnOp::Put(pb::PutRequest::decode(take(&mut bytes, wire)?)?),
            3 => TxnOp::Delete(pb::DeleteRangeRequest::decode(take(&mut bytes, wire)?)?),
            4 => {
                let nested = take(&mut bytes, wire)?;
                if depth + 1 < DEPTH_MAX {
                    TxnOp::Txn(decode_txn(nested, depth + 1)?)
                } else {
                    TxnOp::TooDeep
                }
            }
            _ => {
                skip_field(wire, field, &mut bytes, DecodeContext::default())?;
                op
            }
        };
    }
    Ok(op)
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
