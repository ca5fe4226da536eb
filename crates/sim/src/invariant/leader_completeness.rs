//! Leader completeness (INV-8): whoever becomes leader in a term has every entry that was committed
//! in an earlier one.

use crate::host::Host;
use crate::oracle::Oracle;
use crate::report::Violation;
use types::Term;

pub(crate) fn check(host: &Host, oracle: &Oracle, term: Term) -> Result<(), Violation> {
    for index in 1..=oracle.index() {
        let Some((committed, _)) = oracle.entry(index) else { break };
        if term <= *committed {
            break;
        }
        if !host.record.holds(index, *committed) {
            let (id, last) = (host.id, host.record.last());
            let text = format!(
                "{id} leads in term {term} without entry {index} of term {committed}; its log \
                 has {last} entries"
            );
            return Err(Violation::new("leader_completeness", text));
        }
    }
    Ok(())
}
