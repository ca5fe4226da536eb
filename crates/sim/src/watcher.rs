//! Watching clients: one stream with one watcher each, resumed after every end.

use types::KeyRange;

/// A watching client.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Watcher {
    pub(crate) range: KeyRange,
    pub(crate) prev_kv: bool,
    pub(crate) no_delete: bool,
    /// Its stream in this life of a process, once it is open.
    pub(crate) stream: Option<u64>,
    /// The member that has the stream.
    pub(crate) host: usize,
    /// Lowest revision that it has not been told of; 0 before the first answer.
    pub(crate) next: i64,
    /// Position in the reference's changes from which `next` is looked for.
    pub(crate) at: usize,
    /// True once the creation was answered.
    pub(crate) is_created: bool,
    /// A drain is under way.
    pub(crate) is_draining: bool,
}
