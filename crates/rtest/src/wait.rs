//! The one pause of the gates: between two looks for a condition that has a deadline, to pace a
//! load, or to pick the moment of a kill. Never in place of a condition.

use std::time::Duration;

/// Lets this much time pass.
pub async fn pause(time: Duration) {
    tokio::time::sleep(time).await;
}
