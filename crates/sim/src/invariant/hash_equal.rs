//! HashKV equals etcd's value for the same history (part of INV-13): the same compacted revision
//! and revision give the same hash, whatever was flushed, evicted or rewritten.

use crate::compare;
use crate::report::Violation;
use model::Model;

pub(crate) fn check(
    model: &Model,
    hash: u32,
    compacted: i64,
    revision: i64,
) -> Result<(), Violation> {
    let wanted = compare::hash_kv(model, compacted, revision);
    if hash != wanted {
        let text = format!(
            "the hash at {revision}, compacted at {compacted}, is {hash:08x}, it should be \
             {wanted:08x}"
        );
        return Err(Violation::new("hash_equal", text));
    }
    Ok(())
}
