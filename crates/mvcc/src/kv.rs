//! The encoding of `mvccpb.KeyValue`, written by hand: fields by number, defaults left out.
//!
//! ```text
//! 1 key   2 create_revision   3 mod_revision   4 version   5 value   6 lease
//! ```

use bytes::Bytes;
use std::ops::Range;

const KEY: u8 = 1 << 3 | 2;
const CREATE: u8 = 2 << 3;
const MOD: u8 = 3 << 3;
const VERSION: u8 = 4 << 3;
const VALUE: u8 = 5 << 3 | 2;
const LEASE: u8 = 6 << 3;

/// The numbers of a record.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Numbers {
    /// Main revision of the key's creation.
    pub create: i64,
    /// Main revision of this version.
    pub modified: i64,
    /// Changes since creation, from 1.
    pub version: i64,
    /// Attached lease; 0 if none.
    pub lease: i64,
}

/// A record taken apart; the byte fields are ranges of the encoding.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Parts {
    /// The key.
    pub key: Range<usize>,
    /// The value.
    pub value: Range<usize>,
    /// The rest.
    pub numbers: Numbers,
}

/// The bytes are no encoded `KeyValue` of ours.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Malformed;

fn varint_len(number: u64) -> usize {
    let bits = 64 - (number | 1).leading_zeros() as usize;
    bits.div_ceil(7)
}

fn number_len(number: i64) -> usize {
    if number == 0 { 0 } else { 1 + varint_len(number.cast_unsigned()) }
}

fn bytes_len(len: usize) -> usize {
    if len == 0 { 0 } else { 1 + varint_len(len as u64) + len }
}

/// Length of the encoding.
pub fn encoded_len(key_len: usize, value_len: usize, numbers: &Numbers) -> usize {
    bytes_len(key_len) + bytes_len(value_len) + numbers_len(numbers)
}

fn numbers_len(numbers: &Numbers) -> usize {
    number_len(numbers.create)
        + number_len(numbers.modified)
        + number_len(numbers.version)
        + number_len(numbers.lease)
}

/// Length of the value inside an encoding of `len` bytes.
pub fn value_len(len: usize, key_len: usize, numbers: &Numbers) -> usize {
    let field = len - bytes_len(key_len) - numbers_len(numbers);
    // The field is tag + varint + value; the varint's width follows from the field's length.
    (1..=10)
        .map(|width| field.saturating_sub(1 + width))
        .find(|value| bytes_len(*value) == field)
        .unwrap_or(0)
}

pub(crate) fn put_varint(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number.to_le_bytes()[0] | 0x80);
        number >>= 7;
    }
    out.push(number.to_le_bytes()[0]);
}

fn put_number(out: &mut Vec<u8>, tag: u8, number: i64) {
    if number != 0 {
        out.push(tag);
        put_varint(out, number.cast_unsigned());
    }
}

fn put_bytes(out: &mut Vec<u8>, tag: u8, parts: [&[u8]; 2]) {
    let len = parts[0].len() + parts[1].len();
    if len != 0 {
        out.push(tag);
        put_varint(out, len as u64);
        out.extend_from_slice(parts[0]);
        out.extend_from_slice(parts[1]);
    }
}

/// Appends the encoding of a key (in two parts), its numbers and a value.
pub(crate) fn encode_into(out: &mut Vec<u8>, key: [&[u8]; 2], numbers: &Numbers, value: &[u8]) {
    put_bytes(out, KEY, key);
    put_number(out, CREATE, numbers.create);
    put_number(out, MOD, numbers.modified);
    put_number(out, VERSION, numbers.version);
    put_bytes(out, VALUE, [value, &[]]);
    put_number(out, LEASE, numbers.lease);
}

/// The encoding of a record.
pub fn encode(key: &[u8], numbers: &Numbers, value: &[u8]) -> Bytes {
    let mut out = Vec::with_capacity(encoded_len(key.len(), value.len(), numbers));
    encode_into(&mut out, [key, &[]], numbers, value);
    out.into()
}

/// Length of a tombstone.
pub(crate) fn tombstone_len(key_len: usize) -> usize {
    bytes_len(key_len)
}

/// Appends the encoding of a tombstone: only the key, here in two parts.
pub(crate) fn encode_tombstone_into(out: &mut Vec<u8>, key: [&[u8]; 2]) {
    put_bytes(out, KEY, key);
}

pub(crate) fn take_varint(kv: &[u8], at: &mut usize) -> Result<u64, Malformed> {
    let mut number = 0;
    for shift in (0..64).step_by(7) {
        let byte = *kv.get(*at).ok_or(Malformed)?;
        *at += 1;
        number |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Ok(number);
        }
    }
    Err(Malformed)
}

fn take_bytes(kv: &[u8], at: &mut usize) -> Result<Range<usize>, Malformed> {
    let len = usize::try_from(take_varint(kv, at)?).map_err(|_| Malformed)?;
    let start = *at;
    let end = start.checked_add(len).filter(|end| *end <= kv.len()).ok_or(Malformed)?;
    *at = end;
    Ok(start..end)
}

/// Takes a record apart.
pub fn parse(kv: &[u8]) -> Result<Parts, Malformed> {
    let (mut parts, mut at) = (Parts::default(), 0);
    while at < kv.len() {
        let tag = kv[at];
        at += 1;
        match tag {
            KEY => parts.key = take_bytes(kv, &mut at)?,
            VALUE => parts.value = take_bytes(kv, &mut at)?,
            CREATE => parts.numbers.create = take_varint(kv, &mut at)?.cast_signed(),
            MOD => parts.numbers.modified = take_varint(kv, &mut at)?.cast_signed(),
            VERSION => parts.numbers.version = take_varint(kv, &mut at)?.cast_signed(),
            LEASE => parts.numbers.lease = take_varint(kv, &mut at)?.cast_signed(),
            _ => return Err(Malformed),
        }
    }
    Ok(parts)
}

/// The key of a record, which its encoding begins with; empty if the bytes are malformed.
pub fn key(kv: &[u8]) -> &[u8] {
    if kv.first() != Some(&KEY) {
        return &[];
    }
    let mut at = 1;
    take_bytes(kv, &mut at).map_or(&[], |range| &kv[range])
}

/// The value of a record, sharing its memory; empty if the bytes are malformed.
pub fn value(kv: &Bytes) -> Bytes {
    parse(kv).map_or_else(|_| Bytes::new(), |parts| kv.slice(parts.value))
}
