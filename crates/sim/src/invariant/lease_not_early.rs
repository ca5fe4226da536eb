//! No lease ends early (INV-4): with T the time at which the client sent its last successful grant
//! or renewal, no revoke by expiry is applied before T + 0.99 * TTL.

use crate::report::Violation;
use types::Time;

pub(crate) fn check(now: Time, id: i64, renewed: Time, ttl: i64) -> Result<(), Violation> {
    let ttl_ms = u64::try_from(ttl).unwrap_or(0) * 1000;
    let lived_ms = u64::try_from(now.since(renewed).as_millis()).unwrap_or(u64::MAX);
    if lived_ms < ttl_ms * 99 / 100 {
        let text = format!("lease {id} of {ttl} s was ended {lived_ms} ms after its renewal");
        return Err(Violation::new("lease_not_early", text));
    }
    Ok(())
}
