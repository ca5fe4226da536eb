//! compacted <= flushed <= applied <= committed <= last (INV-15), at every step. Within a life
//! `Member` asserts it; across a restart what the backend holds must be covered by the log.

use crate::report::Violation;

pub(crate) fn check(backend: &backend::Meta, log: &wal::Recovered) -> Result<(), Violation> {
    let (applied, last) = (backend.applied, log.last().index);
    if last < applied {
        let text = format!("the backend holds entry {applied}, the log ends at {last}");
        return Err(Violation::new("state_order", text));
    }
    if backend.revision < backend.compacted {
        let (revision, compacted) = (backend.revision, backend.compacted);
        let text = format!("compacted at {compacted}, but the revision is {revision}");
        return Err(Violation::new("state_order", text));
    }
    Ok(())
}
