//! One change of a key, and its encoding as a watch event.

use crate::message::{EventBytes, Pieces};
use bytes::{BufMut, Bytes, BytesMut};
use types::Revision;

/// One change of a key, as storage has it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Change {
    /// The key.
    pub key: Bytes,
    /// When.
    pub revision: Revision,
    /// True for a delete.
    pub tombstone: bool,
    /// The encoded `mvccpb.KeyValue`; of a delete, only its field `key`.
    pub kv: Bytes,
    /// The encoded record before this revision. `None` if there was none, if it is compacted, or
    /// if no watcher of the key asks for it.
    pub prev: Option<Bytes>,
}

/// Events up to this size are copied into one piece; larger ones splice the stored bytes.
const COPY_BYTES_MAX: usize = 4096;

const TAG_EVENTS: u8 = 11 << 3 | 2;
const TAG_TYPE: u8 = 1 << 3;
const TAG_KV: u8 = 2 << 3 | 2;
const TAG_PREV_KV: u8 = 3 << 3 | 2;
const TAG_MOD_REVISION: u8 = 3 << 3;
const TYPE_DELETE: u8 = 1;

/// The lazily made encodings of one change.
#[derive(Default)]
pub(crate) struct Encodings {
    plain: Option<EventBytes>,
    with_prev: Option<EventBytes>,
}

impl Encodings {
    /// The encoding of `change`, made at the first call.
    pub(crate) fn get(&mut self, change: &Change, prev_kv: bool) -> EventBytes {
        let prev = change.prev.as_ref().filter(|_| prev_kv);
        let slot = if prev.is_some() { &mut self.with_prev } else { &mut self.plain };
        slot.get_or_insert_with(|| encode(change, prev)).clone()
    }
}

fn encode(change: &Change, prev: Option<&Bytes>) -> EventBytes {
    let kv = if change.tombstone { tombstone_kv(change) } else { change.kv.clone() };
    let mut event_len = 1 + varint_len(kv.len()) + kv.len();
    if change.tombstone {
        event_len += 2;
    }
    if let Some(prev) = prev {
        event_len += 1 + varint_len(prev.len()) + prev.len();
    }
    let len = 1 + varint_len(event_len) + event_len;
    let mut head = BytesMut::with_capacity(if len <= COPY_BYTES_MAX { len } else { 32 });
    head.put_u8(TAG_EVENTS);
    put_varint(&mut head, event_len);
    if change.tombstone {
        head.put_slice(&[TAG_TYPE, TYPE_DELETE]);
    }
    head.put_u8(TAG_KV);
    put_varint(&mut head, kv.len());
    let pieces = if len <= COPY_BYTES_MAX {
        head.put_slice(&kv);
        if let Some(prev) = prev {
            head.put_u8(TAG_PREV_KV);
            put_varint(&mut head, prev.len());
            head.put_slice(prev);
        }
        Pieces::One(head.freeze())
    } else {
        let mut pieces = vec![head.freeze(), kv];
        if let Some(prev) = prev {
            let mut head = BytesMut::with_capacity(8);
            head.put_u8(TAG_PREV_KV);
            put_varint(&mut head, prev.len());
            pieces.extend([head.freeze(), prev.clone()]);
        }
        Pieces::Many(pieces.into())
    };
    EventBytes { pieces, len }
}

/// A delete's event carries its revision beside the key.
fn tombstone_kv(change: &Change) -> Bytes {
    let mut kv = BytesMut::with_capacity(change.kv.len() + 11);
    kv.put_slice(&change.kv);
    kv.put_u8(TAG_MOD_REVISION);
    let main = u64::try_from(change.revision.main).expect("revisions of changes are positive");
    put_varint64(&mut kv, main);
    kv.freeze()
}

fn varint_len(value: usize) -> usize {
    let bits = usize::BITS - (value | 1).leading_zeros();
    usize::try_from(bits.div_ceil(7)).expect("at most 10")
}

fn put_varint(out: &mut BytesMut, value: usize) {
    put_varint64(out, u64::try_from(value).expect("usize fits u64"));
}

fn put_varint64(out: &mut BytesMut, mut value: u64) {
    while value >= 0x80 {
        let low = u8::try_from(value & 0x7f).expect("seven bits");
        out.put_u8(low | 0x80);
        value >>= 7;
    }
    out.put_u8(u8::try_from(value).expect("below 0x80"));
}
