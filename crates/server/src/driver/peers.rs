//! Other members: what they sent and was not stepped yet, and what is sent to them.

use super::shell::Shell;
use crate::config::url::Url;
use crate::peer::{Counted, Hub, Lane, Local, Peers, Standing};
use crate::version;
use bytes::Bytes;
use member::{Class, Event};
use std::cell::{Cell, OnceCell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};
use types::MemberId;

/// Bytes of messages that may wait to be stepped; the rest waits at the senders.
const WAITING_BYTES_MAX: usize = 16 * 1024 * 1024;
/// Messages that may wait to be stepped.
const WAITING_MAX: usize = 4_096;

/// The driver's side of the peer port.
#[derive(Default)]
pub(super) struct PeerMail {
    events: RefCell<VecDeque<Event>>,
    bytes: Cell<usize>,
    /// Connections that hold a message back.
    waiting: RefCell<Vec<Waker>>,
    peers: OnceCell<Peers>,
}

impl PeerMail {
    fn push(&self, event: Event, bytes: usize) {
        self.events.borrow_mut().push_back(event);
        self.bytes.set(self.bytes.get() + bytes);
    }

    /// Everything that came since the last turn. Heartbeats must not wait behind clients.
    pub(super) fn take(&self) -> VecDeque<Event> {
        self.bytes.set(0);
        self.waiting.borrow_mut().drain(..).for_each(Waker::wake);
        std::mem::take(&mut self.events.borrow_mut())
    }

    pub(super) fn is_empty(&self) -> bool {
        self.events.borrow().is_empty()
    }

    pub(super) fn send(&self, to: MemberId, class: Class, message: Bytes) {
        let lane = match class {
            Class::Heartbeat => Lane::Heartbeats,
            Class::Append | Class::Other => Lane::Appends,
        };
        if let Some(peers) = self.peers.get() {
            peers.send(to, lane, message);
        }
    }
}

impl Shell {
    /// Who this member is on the peer port.
    pub fn local(&self) -> Local {
        Local {
            cluster: self.config.cluster_id,
            member: self.config.member_id,
            version: version::SERVER,
        }
    }

    /// Reaches the members that there are now, and no others.
    pub fn connect_peers(self: &Rc<Self>) {
        let hub: Rc<dyn Hub> = Rc::<Shell>::clone(self);
        let peers = self.peer_mail.peers.get_or_init(|| Peers::new(self.local(), hub));
        let members = self.core.borrow().peers();
        let parsed = members.into_iter().map(|(id, urls)| {
            (id, urls.iter().filter_map(|url| Url::parse(url).ok()).collect::<Vec<Url>>())
        });
        peers.set(&parsed.collect::<Vec<_>>());
    }
}

impl Hub for Shell {
    fn message(&self, from: MemberId, message: Bytes) {
        let bytes = message.len();
        self.peer_mail.push(Event::Peer { from, message }, bytes);
        self.wake_loop();
    }

    fn poll_room(&self, cx: &mut Context<'_>) -> Poll<()> {
        let mail = &self.peer_mail;
        if mail.bytes.get() < WAITING_BYTES_MAX && mail.events.borrow().len() < WAITING_MAX {
            return Poll::Ready(());
        }
        mail.waiting.borrow_mut().push(cx.waker().clone());
        Poll::Pending
    }

    fn standing(&self, member: MemberId) -> Standing {
        match self.core.borrow().is_removed(member) {
            true => Standing::Removed,
            false => Standing::Welcome,
        }
    }

    fn unreachable(&self, member: MemberId) {
        self.peer_mail.push(Event::Unreachable(member), 0);
        self.wake_loop();
    }

    fn removed(&self) {
        tracing::error!("the member has been permanently removed from the cluster; stopping");
        self.stop();
    }

    fn count(&self, member: MemberId, what: Counted) {
        let metrics = &self.metrics;
        let id = format!("{:x}", member.0);
        match what {
            Counted::Sent(bytes) => {
                metrics.peer_sent.with_label_values(&[&id]).inc_by(bytes as u64);
            }
            Counted::SendFailed => metrics.peer_sent_failures.with_label_values(&[&id]).inc(),
            Counted::Received(bytes) => {
                metrics.peer_received.with_label_values(&[&id]).inc_by(bytes as u64);
            }
            Counted::ReceiveFailed => {
                metrics.peer_received_failures.with_label_values(&[&id]).inc();
            }
            Counted::RoundTrip(took) => {
                metrics.peer_round_trip.with_label_values(&[&id]).observe(took.as_secs_f64());
            }
            Counted::Active(active) => {
                let event = if active { Event::Connected } else { Event::Disconnected };
                self.peer_mail.push(event(member), 0);
                self.wake_loop();
                let local = format!("{:x}", self.config.member_id.0);
                let labels = [local.as_str(), id.as_str()];
                metrics.active_peers.with_label_values(&labels).set(i64::from(active));
                if active {
                    metrics.known_peers.with_label_values(&labels).set(1);
                } else {
                    metrics.disconnected_peers.with_label_values(&labels).inc();
                }
            }
        }
    }
}
