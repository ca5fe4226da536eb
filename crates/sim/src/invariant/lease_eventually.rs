//! A lease that nobody renews ends (INV-4, upper bound): after the run has healed and rested for
//! the longest TTL and the time of a change of leader, none is left.

use crate::oracle::Oracle;
use crate::report::Violation;

pub(crate) fn check(oracle: &Oracle) -> Result<(), Violation> {
    if oracle.state.leases.is_empty() {
        return Ok(());
    }
    let text = format!("leases {:?} should have run out", oracle.state.leases);
    Err(Violation::new("lease_eventually", text))
}
