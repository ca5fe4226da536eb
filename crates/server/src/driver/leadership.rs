//! Ends the streams of clients that want a leader, once there has been none for a while.

use super::shell::Shell;
use std::rc::Rc;
use std::time::Duration;

/// Looks without a leader after which streams end; etcd's constant. It looks once per election
/// timeout.
const MISSES_MAX: u32 = 3;

/// Looks without a leader, one after another.
#[derive(Default, Debug)]
struct Misses(u32);

impl Misses {
    /// True if it is time to end the streams.
    fn look(&mut self, has_leader: bool) -> bool {
        self.0 = if has_leader { 0 } else { self.0 + 1 };
        if self.0 < MISSES_MAX {
            return false;
        }
        self.0 = 0;
        true
    }
}

/// Runs as long as the server.
pub async fn watch(shell: Rc<Shell>) {
    let interval = Duration::from_millis(shell.config.election_ms);
    let mut misses = Misses::default();
    loop {
        tokio::time::sleep(interval).await;
        if misses.look(shell.leader().is_some()) {
            shell.end_leaderless_streams();
        }
    }
}

impl Shell {
    /// Ends the streams that want a leader.
    pub fn end_leaderless_streams(&self) {
        self.leader_lost.notify_waiters();
    }

    /// Waits until the leader has been missed for too long.
    pub async fn leader_lost(&self) {
        self.leader_lost.notified().await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_looks_in_a_row_without_a_leader_end_the_streams() {
        let mut misses = Misses::default();
        let looks = [false, false, true, false, false, false, false, false, false];
        let ends = looks.map(|has_leader| misses.look(has_leader));
        assert_eq!(ends, [false, false, false, false, false, true, false, false, true]);
    }
}
