//! Key intervals in the form that Range, DeleteRange, Watch, Compare and permissions share.

use bytes::Bytes;

/// An interval of keys, as sent: an empty `end` means the single key, an `end` of one zero byte
/// means every key from `key` on, anything else is the exclusive upper bound.
#[derive(Clone, PartialEq, Eq, Hash, Default, Debug)]
pub struct KeyRange {
    /// First key.
    pub key: Bytes,
    /// Upper bound in the form above.
    pub end: Bytes,
}

impl KeyRange {
    /// Exactly one key.
    pub fn single(key: impl Into<Bytes>) -> KeyRange {
        KeyRange { key: key.into(), end: Bytes::new() }
    }

    /// The interval as sent by a client.
    pub fn new(key: impl Into<Bytes>, end: impl Into<Bytes>) -> KeyRange {
        KeyRange { key: key.into(), end: end.into() }
    }

    /// True for a single key.
    pub fn is_single(&self) -> bool {
        self.end.is_empty()
    }

    /// True if there is no upper bound.
    pub fn is_open_ended(&self) -> bool {
        self.end.as_ref() == [0]
    }

    /// True if no key can lie inside: an upper bound at or below the first key.
    pub fn is_empty(&self) -> bool {
        !self.is_single() && !self.is_open_ended() && self.end <= self.key
    }

    /// The exclusive upper bound, if the interval is neither single nor open-ended.
    pub fn bound(&self) -> Option<&[u8]> {
        if self.is_single() || self.is_open_ended() { None } else { Some(&self.end) }
    }

    /// True if `key` lies inside.
    pub fn contains(&self, key: &[u8]) -> bool {
        if self.is_single() {
            return key == self.key;
        }
        self.key.as_ref() <= key && self.bound().is_none_or(|end| key < end)
    }
}

/// The exclusive upper bound of all keys that start with `prefix`: `prefix` with its last byte
/// below 0xff incremented and the rest dropped; one zero byte ("no bound") if there is none.
pub fn prefix_end(prefix: &[u8]) -> Bytes {
    match prefix.iter().rposition(|byte| *byte < 0xff) {
        Some(at) => {
            let mut end = prefix[..=at].to_vec();
            end[at] += 1;
            end.into()
        }
        None => Bytes::from_static(&[0]),
    }
}
