//! A watcher to be, and the texts of refusals.

use bytes::Bytes;
use types::KeyRange;

/// A watcher to be, as the client asks for it.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Create {
    /// The keys to watch; an empty key stands for the smallest one.
    pub range: KeyRange,
    /// First revision wanted; 0 means only what comes after the creation.
    pub start_revision: i64,
    /// The id; 0 lets the stream choose.
    pub watch_id: i64,
    /// Send empty messages now and then while idle.
    pub progress_notify: bool,
    /// Leave puts out.
    pub no_put: bool,
    /// Leave deletes out.
    pub no_delete: bool,
    /// With the record before each change.
    pub prev_kv: bool,
    /// Large messages may be cut between events.
    pub fragment: bool,
}

impl Create {
    /// The interval in its checked form: an empty key becomes the smallest one.
    pub(crate) fn normalized_range(&self) -> KeyRange {
        let key = if self.range.key.is_empty() {
            Bytes::from_static(&[0])
        } else {
            self.range.key.clone()
        };
        KeyRange { key, end: self.range.end.clone() }
    }
}

/// Why a watcher is refused, in etcd's words.
pub mod reason {
    /// The id is in use on this stream.
    pub const DUPLICATE_ID: &str = "mvcc: duplicate watch ID provided on the WatchStream";
    /// The upper bound is not above the first key.
    pub const EMPTY_RANGE: &str = "mvcc: watcher range is empty";
    /// A negative start.
    pub const COMPACTED: &str = "etcdserver: mvcc: required revision has been compacted";
    /// The stream holds as many watchers as it may; etcd has no such bound.
    pub const TOO_MANY: &str = "mainstay: too many watchers on one stream";
}
