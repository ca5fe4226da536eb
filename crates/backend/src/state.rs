//! Layouts of what a commit frame, a table file and the manifest carry: the state as a whole,
//! and changes of small tables. All numbers are little-endian.

use crate::format::{Cursor, to_u32};
use crate::job::{Delta, Meta, TableId};
use bytes::Bytes;
use types::{Index, Term};

/// Bytes of one delta before key and value.
const DELTA_HEADER: usize = 12;

/// Bytes of an encoded meta.
pub(crate) fn meta_len(meta: &Meta) -> usize {
    5 * 8 + 4 + meta.conf_state.len()
}

/// Appends a meta.
pub(crate) fn encode_meta(out: &mut Vec<u8>, meta: &Meta) {
    out.extend_from_slice(&meta.applied.0.to_le_bytes());
    out.extend_from_slice(&meta.term.0.to_le_bytes());
    out.extend_from_slice(&meta.revision.to_le_bytes());
    out.extend_from_slice(&meta.compacted.to_le_bytes());
    out.extend_from_slice(&meta.live_bytes.to_le_bytes());
    out.extend_from_slice(&to_u32(meta.conf_state.len()).to_le_bytes());
    out.extend_from_slice(&meta.conf_state);
}

/// Reads a meta.
pub(crate) fn decode_meta(cursor: &mut Cursor<'_>) -> Option<Meta> {
    Some(Meta {
        applied: Index(cursor.u64()?),
        term: Term(cursor.u64()?),
        revision: cursor.i64()?,
        compacted: cursor.i64()?,
        live_bytes: cursor.i64()?,
        conf_state: cursor.bytes()?,
    })
}

/// Bytes of an encoded delta.
pub(crate) fn delta_len(key: &[u8], value: Option<&Bytes>) -> usize {
    DELTA_HEADER + key.len() + value.map_or(0, Bytes::len)
}

/// Appends a delta.
pub(crate) fn encode_delta(out: &mut Vec<u8>, table: TableId, key: &[u8], value: Option<&Bytes>) {
    out.extend_from_slice(&[table.0, u8::from(value.is_some()), 0, 0]);
    out.extend_from_slice(&to_u32(key.len()).to_le_bytes());
    out.extend_from_slice(&to_u32(value.map_or(0, Bytes::len)).to_le_bytes());
    out.extend_from_slice(key);
    out.extend_from_slice(value.map_or(&[], |value| value));
}

/// Reads a delta.
pub(crate) fn decode_delta(cursor: &mut Cursor<'_>) -> Option<Delta> {
    let (table, put) = (TableId(cursor.u8()?), cursor.u8()?);
    cursor.take(2)?;
    let (key_len, value_len) = (cursor.u32()?, cursor.u32()?);
    let key = Bytes::copy_from_slice(cursor.take(usize::try_from(key_len).ok()?)?);
    let value = cursor.take(usize::try_from(value_len).ok()?)?;
    Some(Delta { table, key, value: (put == 1).then(|| Bytes::copy_from_slice(value)) })
}
