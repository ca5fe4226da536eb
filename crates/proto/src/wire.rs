//! Requests as received into `types`, by hand: keys and values stay slices of the request's bytes.
//!
//! As protobuf demands: fields in any order, the last one of a scalar wins, repeated messages of
//! one field merge, unknown fields and fields of another wire type are skipped.

use bytes::{Buf, Bytes, BytesMut};
use types::op::{CompareResult, CompareTarget, SortOrder, SortTarget};
use types::{Compare, DeleteOp, KeyRange, LeaseId, Op, PutOp, RangeOp, TxnOp, limits};

/// Groups within groups that are skipped; Go's constant.
const GROUP_DEPTH_MAX: usize = 10_000;

/// Why bytes are not a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Error {
    /// Not protobuf.
    Malformed,
    /// Transactions nest deeper than `limits::TXN_DEPTH_MAX`.
    TooDeep,
    /// An operation of a transaction is empty; etcd answers with its "key not found".
    EmptyOp,
}

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Error::Malformed => "malformed message",
            Error::TooDeep => "transactions nest too deep",
            Error::EmptyOp => "empty operation",
        })
    }
}

impl std::error::Error for Error {}

/// The value of a field.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Value {
    Varint(u64),
    Bytes(Bytes),
    Other,
}

impl Value {
    fn int(&self) -> Option<i64> {
        match self {
            Value::Varint(bits) => Some(bits.cast_signed()),
            _ => None,
        }
    }

    /// An enum's number: protobuf keeps the low 32 bits.
    fn number(&self) -> Option<i32> {
        let low = |bits: u64| u32::try_from(bits & 0xffff_ffff).expect("32 bits").cast_signed();
        match self {
            Value::Varint(bits) => Some(low(*bits)),
            _ => None,
        }
    }

    fn flag(&self) -> Option<bool> {
        self.int().map(|bits| bits != 0)
    }

    fn bytes(self) -> Option<Bytes> {
        match self {
            Value::Bytes(bytes) => Some(bytes),
            _ => None,
        }
    }
}

/// The fields of a message, in order.
struct Fields {
    rest: Bytes,
}

impl Fields {
    fn of(message: &Bytes) -> Fields {
        Fields { rest: message.clone() }
    }

    /// The next field's number and value; `None` at the end.
    fn next(&mut self) -> Result<Option<(u32, Value)>, Error> {
        if self.rest.is_empty() {
            return Ok(None);
        }
        let tag = self.varint()?;
        let number = u32::try_from(tag >> 3).map_err(|_| Error::Malformed)?;
        if number == 0 || 0x1fff_ffff < number {
            return Err(Error::Malformed);
        }
        let value = match tag & 7 {
            0 => Value::Varint(self.varint()?),
            1 => self.skip(8)?,
            2 => {
                let len = usize::try_from(self.varint()?).map_err(|_| Error::Malformed)?;
                if self.rest.len() < len {
                    return Err(Error::Malformed);
                }
                Value::Bytes(self.rest.split_to(len))
            }
            5 => self.skip(4)?,
            3 => self.skip_group(number)?,
            _ => return Err(Error::Malformed),
        };
        Ok(Some((number, value)))
    }

    /// Skips a group, which no message of ours has, with the groups in it.
    fn skip_group(&mut self, number: u32) -> Result<Value, Error> {
        let mut open = vec![number];
        while let Some(inner) = open.last() {
            let tag = self.varint()?;
            let number = u32::try_from(tag >> 3).map_err(|_| Error::Malformed)?;
            if number == 0 || 0x1fff_ffff < number {
                return Err(Error::Malformed);
            }
            match tag & 7 {
                0 => drop(self.varint()?),
                1 => drop(self.skip(8)?),
                2 => {
                    let len = usize::try_from(self.varint()?).map_err(|_| Error::Malformed)?;
                    self.skip(len)?;
                }
                3 if open.len() < GROUP_DEPTH_MAX => open.push(number),
                4 if *inner == number => drop(open.pop()),
                5 => drop(self.skip(4)?),
                _ => return Err(Error::Malformed),
            }
        }
        Ok(Value::Other)
    }

    fn skip(&mut self, len: usize) -> Result<Value, Error> {
        if self.rest.len() < len {
            return Err(Error::Malformed);
        }
        self.rest.advance(len);
        Ok(Value::Other)
    }

    fn varint(&mut self) -> Result<u64, Error> {
        let mut value = 0_u64;
        for at in 0..10 {
            let byte = *self.rest.get(at).ok_or(Error::Malformed)?;
            let bits = u64::from(byte & 0x7f);
            if at == 9 && 1 < byte {
                return Err(Error::Malformed);
            }
            value |= bits << (7 * at);
            if byte < 0x80 {
                self.rest.advance(at + 1);
                return Ok(value);
            }
        }
        Err(Error::Malformed)
    }
}

/// Calls `set` with each field.
fn each(
    message: &Bytes,
    mut set: impl FnMut(u32, Value) -> Result<(), Error>,
) -> Result<(), Error> {
    let mut fields = Fields::of(message);
    while let Some((number, value)) = fields.next()? {
        set(number, value)?;
    }
    Ok(())
}

fn assign<T>(to: &mut T, value: Option<T>) {
    if let Some(value) = value {
        *to = value;
    }
}

/// Reads a `PutRequest`.
pub fn put(message: &Bytes) -> Result<PutOp, Error> {
    let mut op = PutOp::default();
    each(message, |number, value| {
        match number {
            1 => assign(&mut op.key, value.bytes()),
            2 => assign(&mut op.value, value.bytes()),
            3 => assign(&mut op.lease, value.int().map(LeaseId)),
            4 => assign(&mut op.prev_kv, value.flag()),
            5 => assign(&mut op.ignore_value, value.flag()),
            6 => assign(&mut op.ignore_lease, value.flag()),
            _ => {}
        }
        Ok(())
    })?;
    Ok(op)
}

/// Reads a `DeleteRangeRequest`.
pub fn delete_range(message: &Bytes) -> Result<DeleteOp, Error> {
    let mut op = DeleteOp::default();
    each(message, |number, value| {
        match number {
            1 => assign(&mut op.range.key, value.bytes()),
            2 => assign(&mut op.range.end, value.bytes()),
            3 => assign(&mut op.prev_kv, value.flag()),
            _ => {}
        }
        Ok(())
    })?;
    Ok(op)
}

/// Reads a `RangeRequest`.
pub fn range(message: &Bytes) -> Result<RangeOp, Error> {
    let mut op = RangeOp::default();
    each(message, |number, value| {
        match number {
            1 => assign(&mut op.range.key, value.bytes()),
            2 => assign(&mut op.range.end, value.bytes()),
            3 => assign(&mut op.limit, value.int()),
            4 => assign(&mut op.revision, value.int()),
            5 => assign(&mut op.sort_order, value.number().map(sort_order)),
            6 => assign(&mut op.sort_target, value.number().map(sort_target)),
            7 => assign(&mut op.serializable, value.flag()),
            8 => assign(&mut op.keys_only, value.flag()),
            9 => assign(&mut op.count_only, value.flag()),
            10 => assign(&mut op.min_mod_revision, value.int()),
            11 => assign(&mut op.max_mod_revision, value.int()),
            12 => assign(&mut op.min_create_revision, value.int()),
            13 => assign(&mut op.max_create_revision, value.int()),
            _ => {}
        }
        Ok(())
    })?;
    Ok(op)
}

fn sort_order(number: i32) -> SortOrder {
    match number {
        0 => SortOrder::None,
        1 => SortOrder::Ascend,
        2 => SortOrder::Descend,
        _ => SortOrder::Unknown,
    }
}

fn sort_target(number: i32) -> SortTarget {
    match number {
        0 => SortTarget::Key,
        1 => SortTarget::Version,
        2 => SortTarget::Create,
        3 => SortTarget::Mod,
        4 => SortTarget::Value,
        _ => SortTarget::Unknown,
    }
}

/// Reads a `TxnRequest`.
pub fn txn(message: &Bytes) -> Result<TxnOp, Error> {
    txn_at(message, 1)
}

fn txn_at(message: &Bytes, depth: usize) -> Result<TxnOp, Error> {
    if limits::TXN_DEPTH_MAX < depth {
        return Err(Error::TooDeep);
    }
    let mut op = TxnOp::default();
    each(message, |number, value| {
        match (number, value) {
            (1, Value::Bytes(body)) => op.compare.push(compare(&body)?),
            (2, Value::Bytes(body)) => op.success.push(request_op(&body, depth)?),
            (3, Value::Bytes(body)) => op.failure.push(request_op(&body, depth)?),
            _ => {}
        }
        Ok(())
    })?;
    Ok(op)
}

fn request_op(message: &Bytes, depth: usize) -> Result<Op, Error> {
    let mut arm: Option<(u32, Bytes)> = None;
    each(message, |number, value| {
        if let (1..=4, Value::Bytes(body)) = (number, value) {
            arm = Some(match arm.take() {
                // The same arm again merges into the one before.
                Some((before, first)) if before == number => (number, concat(&first, &body)),
                _ => (number, body),
            });
        }
        Ok(())
    })?;
    let (number, body) = arm.ok_or(Error::EmptyOp)?;
    Ok(match number {
        1 => Op::Range(range(&body)?),
        2 => Op::Put(put(&body)?),
        3 => Op::Delete(delete_range(&body)?),
        _ => Op::Txn(txn_at(&body, depth + 1)?),
    })
}

fn concat(first: &Bytes, second: &Bytes) -> Bytes {
    let mut both = BytesMut::with_capacity(first.len() + second.len());
    both.extend_from_slice(first);
    both.extend_from_slice(second);
    both.freeze()
}

/// Reads a `Compare`.
pub fn compare(message: &Bytes) -> Result<Compare, Error> {
    let (mut result, mut target) = (0, 0);
    let mut range = KeyRange::default();
    let mut arm = (0, Value::Other);
    each(message, |number, value| {
        match (number, &value) {
            (1, _) => assign(&mut result, value.number()),
            (2, _) => assign(&mut target, value.number()),
            (3, _) => assign(&mut range.key, value.bytes()),
            (64, _) => assign(&mut range.end, value.bytes()),
            (4..=6 | 8, Value::Varint(_)) | (7, Value::Bytes(_)) => arm = (number, value),
            _ => {}
        }
        Ok(())
    })?;
    let int = |number| if arm.0 == number { arm.1.int().unwrap_or(0) } else { 0 };
    let target = match target {
        0 => CompareTarget::Version(int(4)),
        1 => CompareTarget::Create(int(5)),
        2 => CompareTarget::Mod(int(6)),
        3 if arm.0 == 7 => CompareTarget::Value(arm.1.bytes().unwrap_or_default()),
        3 => CompareTarget::Value(Bytes::new()),
        4 => CompareTarget::Lease(int(8)),
        _ => CompareTarget::Unknown,
    };
    let result = match result {
        0 => CompareResult::Equal,
        1 => CompareResult::Greater,
        2 => CompareResult::Less,
        3 => CompareResult::NotEqual,
        _ => CompareResult::Unknown,
    };
    Ok(Compare { range, result, target })
}
