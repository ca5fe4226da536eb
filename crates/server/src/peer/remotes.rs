//! The other members as this one reaches them.

use super::outbound;
use super::queue::Queue;
use super::wire::{Lane, Local};
use super::{Counted, Hub};
use crate::config::url::Url;
use bytes::Bytes;
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::{Duration, Instant};
use tokio::task::JoinHandle;
use types::MemberId;

/// What a cluster knows of a member.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Standing {
    /// It is one of the members, or may be one that this member has not heard of yet.
    Welcome,
    /// It was removed and never comes back.
    Removed,
}

/// Every other member.
pub struct Peers {
    local: Local,
    hub: Rc<dyn Hub>,
    remotes: RefCell<BTreeMap<MemberId, Running>>,
}

/// A member with the tasks that keep its lanes.
struct Running {
    remote: Rc<Remote>,
    tasks: Vec<JoinHandle<()>>,
}

/// One other member.
pub(super) struct Remote {
    pub(super) id: MemberId,
    pub(super) local: Local,
    pub(super) hub: Rc<dyn Hub>,
    urls: RefCell<Vec<Url>>,
    lanes: [LaneState; Lane::ALL.len()],
    /// Since when at least one lane is connected.
    active: Cell<Option<Instant>>,
}

#[derive(Default)]
struct LaneState {
    queue: Queue,
    connected: Cell<bool>,
    /// The last failure was said already.
    said: Cell<bool>,
}

impl Peers {
    /// No members yet.
    pub fn new(local: Local, hub: Rc<dyn Hub>) -> Peers {
        Peers { local, hub, remotes: RefCell::default() }
    }

    /// Makes these the members that are dialled: new ones are begun, others ended, URLs replaced.
    pub fn set(&self, members: &[(MemberId, Vec<Url>)]) {
        let mut remotes = self.remotes.borrow_mut();
        remotes.retain(|id, running| {
            let stays = members.iter().any(|(member, _)| member == id);
            if !stays {
                running.end();
            }
            stays
        });
        for (id, urls) in members.iter().filter(|(id, _)| *id != self.local.member) {
            match remotes.get(id) {
                Some(running) => running.remote.urls.borrow_mut().clone_from(urls),
                None => {
                    remotes.insert(*id, self.begin(*id, urls.clone()));
                }
            }
        }
    }

    fn begin(&self, id: MemberId, urls: Vec<Url>) -> Running {
        let remote = Rc::new(Remote {
            id,
            local: self.local.clone(),
            hub: Rc::clone(&self.hub),
            urls: RefCell::new(urls),
            lanes: Default::default(),
            active: Cell::new(None),
        });
        let run = |lane| tokio::task::spawn_local(outbound::run(Rc::clone(&remote), lane));
        let tasks = Lane::ALL.into_iter().map(run).collect();
        Running { remote, tasks }
    }

    /// Queues a message; false if the member is unknown or too much waits for it.
    pub fn send(&self, to: MemberId, lane: Lane, message: Bytes) -> bool {
        let remotes = self.remotes.borrow();
        let sent = remotes.get(&to).is_some_and(|running| {
            let remote = &running.remote;
            // What cannot be sent now is sent again by raft; old messages are of no use.
            remote.lane(lane).connected.get() && remote.queue(lane).push(message)
        });
        drop(remotes);
        if !sent {
            self.hub.count(to, Counted::SendFailed);
            self.hub.unreachable(to);
        }
        sent
    }

    /// Since how long a member has been connected.
    pub fn active_for(&self, member: MemberId) -> Option<Duration> {
        let remotes = self.remotes.borrow();
        remotes.get(&member)?.remote.active.get().map(|since| since.elapsed())
    }
}

impl Running {
    fn end(&self) {
        self.tasks.iter().for_each(JoinHandle::abort);
        self.remote.set_active(false);
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.tasks.iter().for_each(JoinHandle::abort);
    }
}

impl Remote {
    fn lane(&self, lane: Lane) -> &LaneState {
        &self.lanes[lane as usize]
    }

    pub(super) fn queue(&self, lane: Lane) -> &Queue {
        &self.lane(lane).queue
    }

    pub(super) fn urls(&self) -> Vec<Url> {
        self.urls.borrow().clone()
    }

    /// The other side took the lane's request.
    pub(super) fn connected(&self, lane: Lane) {
        let state = self.lane(lane);
        state.connected.set(true);
        state.said.set(false);
        tracing::info!(remote_peer_id = %hex(self.id), ?lane, "connected to a peer");
        self.set_active(true);
    }

    /// The lane broke, or could not be made.
    pub(super) fn failed(&self, lane: Lane, why: &str) {
        let state = self.lane(lane);
        state.connected.set(false);
        if state.queue.clear() {
            self.hub.count(self.id, Counted::SendFailed);
            self.hub.unreachable(self.id);
        }
        let id = hex(self.id);
        if state.said.replace(true) {
            tracing::debug!(remote_peer_id = %id, ?lane, why, "still not connected to a peer");
        } else {
            tracing::warn!(remote_peer_id = %id, ?lane, why, "not connected to a peer");
        }
        if !self.lanes.iter().any(|state| state.connected.get()) {
            self.set_active(false);
        }
    }

    fn set_active(&self, active: bool) {
        if active == self.active.get().is_some() {
            return;
        }
        self.active.set(active.then(Instant::now));
        self.hub.count(self.id, Counted::Active(active));
        let peer_id = hex(self.id);
        if active {
            tracing::info!(%peer_id, "peer became active");
        } else {
            tracing::warn!(%peer_id, "peer became inactive (message send to peer failed)");
        }
    }
}

fn hex(id: MemberId) -> String {
    format!("{:x}", id.0)
}
