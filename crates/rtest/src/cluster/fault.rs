//! What happens to members.

use super::members::Members;
use crate::dice::Dice;
use anyhow::Result;
use clap::ValueEnum;
use std::time::Duration;

/// One kind of fault.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, ValueEnum)]
pub enum Fault {
    /// SIGKILL of the leader.
    KillLeader,
    /// SIGKILL of another member.
    KillFollower,
    /// SIGTERM of the leader: a planned hand-over.
    StopLeader,
    /// SIGSTOP of the leader, for longer than an election.
    PauseLeader,
    /// SIGKILL of all but one.
    KillMajority,
    /// SIGKILL of everybody.
    KillAll,
}

/// How long a paused leader sleeps.
const PAUSE: Duration = Duration::from_millis(3_000);

impl Fault {
    /// Every fault, in the order of the rounds.
    pub const ALL: [Fault; 6] = [
        Fault::KillLeader,
        Fault::KillFollower,
        Fault::StopLeader,
        Fault::PauseLeader,
        Fault::KillMajority,
        Fault::KillAll,
    ];

    /// True if the others can go on.
    pub fn keeps_quorum(self) -> bool {
        !matches!(self, Fault::KillMajority | Fault::KillAll)
    }

    /// Does it; gives the members that it hit.
    pub async fn strike(self, members: &mut Members, dice: &mut Dice) -> Result<Vec<usize>> {
        let count = members.len();
        let leader = members.leader().await?;
        let any = usize::try_from(dice.below(u64::try_from(count)?))?;
        let follower = if any == leader { (any + 1) % count } else { any };
        let hit: Vec<usize> = match self {
            Fault::KillLeader | Fault::StopLeader | Fault::PauseLeader => vec![leader],
            Fault::KillFollower => vec![follower],
            Fault::KillMajority => (0..count).filter(|at| *at != follower).collect(),
            Fault::KillAll => (0..count).collect(),
        };
        for at in &hit {
            let server = members.server(*at);
            match self {
                Fault::PauseLeader => server.pause(true)?,
                Fault::StopLeader => {
                    server.terminate()?;
                    server.wait(Duration::from_secs(10))?;
                }
                _ => server.kill()?,
            }
        }
        if self == Fault::PauseLeader {
            crate::wait::pause(PAUSE).await;
        }
        Ok(hit)
    }

    /// Undoes it.
    pub fn heal(self, members: &mut Members, hit: &[usize]) -> Result<()> {
        for at in hit {
            match self {
                Fault::PauseLeader => members.server(*at).pause(false)?,
                _ => members.server(*at).start()?,
            }
        }
        Ok(())
    }
}
