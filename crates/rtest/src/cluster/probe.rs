//! One client per member that writes without a break, to see when writes stand still.

use anyhow::{Result, bail};
use client::{Call, Client};
use proto::etcdserverpb::PutRequest;
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::{Duration, Instant};
use tokio::task::JoinHandle;

/// Patience with one write.
const PATIENCE: Duration = Duration::from_secs(1);
/// Between two writes.
const PACE: Duration = Duration::from_millis(5);

/// The moments at which a member acknowledged a write.
pub struct Probe {
    moments: Rc<RefCell<Vec<Instant>>>,
    task: JoinHandle<()>,
}

impl Probe {
    /// Begins to write at one member.
    pub fn start(client: Client, number: usize, stop: Rc<Cell<bool>>) -> Probe {
        let moments = Rc::new(RefCell::new(Vec::new()));
        let seen = Rc::clone(&moments);
        let request = PutRequest { key: format!("probe/{number}").into(), ..PutRequest::default() };
        let task = tokio::task::spawn_local(async move {
            while !stop.get() {
                if client.put(&request, &Call::within(PATIENCE)).await.is_ok() {
                    seen.borrow_mut().push(Instant::now());
                }
                crate::wait::pause(PACE).await;
            }
        });
        Probe { moments, task }
    }

    /// Waits for its end.
    pub async fn end(self) -> Result<()> {
        Ok(self.task.await?)
    }

    /// Waits until each of these members acknowledged some writes after a moment.
    pub async fn until_all_since(
        probes: &[Probe],
        members: &[usize],
        since: Instant,
        patience: Duration,
    ) -> Result<()> {
        let deadline = Instant::now() + patience;
        let resumed = |at: &usize| {
            let moments = probes[*at].moments.borrow();
            10 <= moments.iter().rev().take_while(|moment| since < **moment).count()
        };
        while !members.iter().all(resumed) {
            if deadline < Instant::now() {
                bail!("not within {patience:?}");
            }
            crate::wait::pause(Duration::from_millis(5)).await;
        }
        Ok(())
    }

    /// The longest time around and after a moment in which one of these members acknowledged
    /// nothing.
    pub fn longest_gap(probes: &[Probe], members: &[usize], since: Instant) -> Duration {
        let gap = |at: &usize| {
            let moments = probes[*at].moments.borrow();
            let after = moments.windows(2).filter(|pair| since < pair[1]);
            after.map(|pair| pair[1] - pair[0]).max().unwrap_or_default()
        };
        members.iter().map(gap).max().unwrap_or_default()
    }
}
