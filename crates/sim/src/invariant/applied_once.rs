//! A write is applied once, however often it was offered: values of clients are unique, so no body
//! of a put or a transaction may take effect twice.

use crate::report::Violation;
use bytes::Bytes;
use std::collections::BTreeSet;

/// Notes the body of an entry that takes effect.
pub(crate) fn check(
    bodies: &mut BTreeSet<Bytes>,
    index: usize,
    body: &Bytes,
) -> Result<(), Violation> {
    if bodies.insert(body.clone()) {
        return Ok(());
    }
    let text = format!("entry {index} does again what an earlier one did");
    Err(Violation::new("applied_once", text))
}
