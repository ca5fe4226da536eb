//! The revision of headers never decreases (INV-12): not across restarts either, once the member
//! serves.

use crate::report::Violation;

pub(crate) fn check(revision: i64, seen: i64) -> Result<(), Violation> {
    if revision < seen {
        let text = format!("a header says {revision} after one said {seen}");
        return Err(Violation::new("revision_monotonic", text));
    }
    Ok(())
}
