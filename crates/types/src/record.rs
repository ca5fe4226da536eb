//! One version of a key, as it is stored.

use crate::Revision;
use bytes::Bytes;

/// One version of a key.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Record {
    /// When this version came to be.
    pub revision: Revision,
    /// True if this version is the delete marker that ends the key's generation.
    pub tombstone: bool,
    /// The encoded `mvccpb.KeyValue`; of a tombstone, only its field `key`.
    pub kv: Bytes,
}
