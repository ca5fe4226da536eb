//! What all tasks of the loop's thread share.

use super::calls::Calls;
use super::core::{Core, Figures};
use super::counting::Clients;
use super::inbox::{Inbox, QueueId};
use super::mailbox::Mailbox;
use super::outbox::{Answer, Outbox, ReplyTo};
use super::peers::PeerMail;
use super::slot::Slot;
use super::threads::Threads;
use super::timing::{Asked, Kind, Timings};
use super::watches::{Signal, Watches};
use crate::config::Config;
use crate::grpc::method::Method;
use crate::metrics::{MethodMetrics, Metrics};
use bytes::Bytes;
use member::{Event, Request, RequestId, StreamId};
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::sync::Arc;
use std::task::Waker;
use std::time::{Duration, Instant};
use types::{MemberId, Revision, Term, Time};

/// Bytes of requests that wait to be stepped, over all connections, before bodies are refused.
const WAITING_BYTES_MAX: usize = 256 * 1024 * 1024;
/// Events of one connection that may wait before its watch streams read no more commands.
const COMMANDS_MAX: usize = 1_024;
/// Bytes of answers that clients have yet to take, over all connections; reliability SE-8.
pub(crate) const ANSWER_BYTES_MAX: usize = 512 * 1024 * 1024;

/// Settings, member and queues. Cells are borrowed for single calls only, never across an await.
pub struct Shell {
    /// The settings.
    pub config: Config,
    /// What is counted.
    pub metrics: Metrics,
    pub(super) clients: Clients,
    methods: Vec<MethodMetrics>,
    pub(super) core: RefCell<Box<dyn Core>>,
    pub(super) inbox: RefCell<Inbox>,
    pub(super) calls: RefCell<Calls>,
    pub(super) watches: RefCell<Watches>,
    /// Connections that got answers in this turn.
    pub(super) answered: RefCell<Vec<Rc<Outbox>>>,
    pub(super) loop_waker: RefCell<Option<Waker>>,
    pub(super) mailbox: Arc<Mailbox>,
    pub(super) peer_mail: PeerMail,
    pub(super) threads: Threads,
    pub(super) cold_reads: RefCell<BTreeMap<u64, Rc<Slot<Vec<Bytes>>>>>,
    cold_next: Cell<u64>,
    /// Queue of what the shell itself asks.
    own_queue: QueueId,
    pub(super) facts: Facts,
    answer_bytes: Cell<usize>,
    pub(super) timings: Timings,
    pub(super) leader_lost: tokio::sync::Notify,
    /// Alarms that the metrics have shown.
    pub(super) alarms_seen: RefCell<BTreeSet<(MemberId, &'static str)>>,
    started: Instant,
}

/// What the loop last learned about the member.
#[derive(Debug, Default)]
pub(super) struct Facts {
    pub(super) leader: Cell<Option<MemberId>>,
    pub(super) ready: Cell<bool>,
    pub(super) stopping: Cell<bool>,
    pub(super) stopped: Cell<bool>,
    /// This turn applied a change of the membership.
    pub(super) members_changed: Cell<bool>,
    pub(super) defragmenting: Cell<bool>,
    pub(super) term: Cell<Term>,
    /// When the compaction that is being cleared up was applied.
    pub(super) compacting_since: Cell<Option<Time>>,
    /// This turn did a slice of a compaction.
    pub(super) sliced: Cell<bool>,
    pub(super) ready_waiters: RefCell<Vec<Rc<Slot<()>>>>,
}

impl Shell {
    /// A shell around a member.
    pub fn new(
        config: Config,
        core: Box<dyn Core>,
        mailbox: Arc<Mailbox>,
        threads: Threads,
        started: Instant,
    ) -> Shell {
        let mut inbox = Inbox::default();
        let own_queue = inbox.open();
        let metrics = threads.metrics.clone();
        let clients = Clients::new(&metrics);
        let methods = Method::ALL.iter().map(|method| method.metrics(&metrics)).collect();
        Shell {
            config,
            metrics,
            clients,
            methods,
            core: RefCell::new(core),
            inbox: RefCell::new(inbox),
            calls: RefCell::default(),
            watches: RefCell::default(),
            answered: RefCell::default(),
            loop_waker: RefCell::default(),
            mailbox,
            peer_mail: PeerMail::default(),
            threads,
            cold_reads: RefCell::default(),
            cold_next: Cell::new(0),
            own_queue,
            facts: Facts::default(),
            answer_bytes: Cell::new(0),
            timings: Timings::default(),
            leader_lost: tokio::sync::Notify::new(),
            alarms_seen: RefCell::default(),
            started,
        }
    }

    /// The time of the core's clock.
    pub fn now(&self) -> Time {
        Time::default() + self.started.elapsed()
    }

    /// The moment that a caller with this timeout gives up.
    pub fn deadline(&self, timeout: Option<Duration>) -> Option<Time> {
        timeout.map(|timeout| self.now() + timeout)
    }

    /// A queue for a new connection.
    pub fn open_queue(&self) -> QueueId {
        self.inbox.borrow_mut().open()
    }

    /// The connection ended.
    pub fn close_queue(&self, queue: QueueId) {
        self.inbox.borrow_mut().close(queue);
    }

    /// Gives an event of `bytes` bytes to the loop.
    pub fn push(&self, queue: QueueId, event: Event, bytes: usize) {
        self.inbox.borrow_mut().push(queue, event, bytes);
        self.wake_loop();
    }

    pub(super) fn wake_loop(&self) {
        if let Some(waker) = &*self.loop_waker.borrow() {
            waker.wake_by_ref();
        }
    }

    /// True if more requests wait than may.
    pub fn is_flooded(&self) -> bool {
        WAITING_BYTES_MAX < self.inbox.borrow().bytes()
    }

    /// Requests that wait for an answer of the member.
    pub fn waiting_calls(&self) -> usize {
        self.calls.borrow().len()
    }

    /// Asks the member; the answer goes `to` where it is waited for.
    pub fn request(
        &self,
        queue: QueueId,
        to: ReplyTo,
        request: Request,
        deadline: Option<Time>,
        bytes: usize,
    ) -> RequestId {
        let asked = Asked { kind: Kind::of(&request), at: self.now() };
        let id = self.calls.borrow_mut().insert(to, asked);
        self.push(queue, Event::Request { id, request, deadline }, bytes);
        id
    }

    /// Nobody waits for the answer any more; nothing happens if it came before.
    pub fn cancel(&self, queue: QueueId, id: RequestId) {
        let mut calls = self.calls.borrow_mut();
        match calls.get_mut(id) {
            None => return,
            // Its end is looked at whoever asked.
            Some((to, asked)) if asked.kind == Kind::Defragment => {
                *to = ReplyTo::Nobody;
                return;
            }
            Some(_) => calls.remove(id),
        };
        self.push(queue, Event::Cancel(id), 0);
    }

    /// Asks the member and waits for the answer; dropped before it came, the request is cancelled.
    pub async fn ask(
        &self,
        queue: QueueId,
        request: Request,
        deadline: Option<Time>,
        bytes: usize,
    ) -> Answer {
        let slot = Rc::new(Slot::default());
        let to = ReplyTo::Waiter(Rc::clone(&slot));
        let id = self.request(queue, to, request, deadline, bytes);
        let _asking = Asking { shell: self, queue, id };
        std::future::poll_fn(|cx| slot.poll(cx)).await
    }

    /// Asks on behalf of the shell itself: health checks, compaction.
    pub async fn ask_own(&self, request: Request, deadline: Option<Time>) -> Answer {
        self.ask(self.own_queue, request, deadline, 0).await
    }

    /// True if a write of this cost finds no space. If so the alarm is raised, as etcd does.
    pub fn refuse_for_space(&self, cost: i64) -> bool {
        let refused = cost != 0 && self.core.borrow_mut().over_quota(cost);
        if refused {
            // The alarm is on its way before the caller can ask for it.
            self.wake_loop();
        }
        refused
    }

    /// Counters of a method.
    pub fn count(&self, method: Method) -> &MethodMetrics {
        &self.methods[method as usize]
    }

    /// Figures for metrics.
    pub fn figures(&self) -> Figures {
        self.core.borrow().figures()
    }

    /// False while a watch stream's commands should wait.
    pub fn accepts_command(&self, stream: StreamId, queue: QueueId) -> bool {
        self.inbox.borrow().len(queue) < COMMANDS_MAX && self.core.borrow().watch_accepts(stream)
    }

    /// Takes messages of a watch stream; true if more are queued.
    pub fn drain_watch(
        &self,
        stream: StreamId,
        bytes_max: usize,
        out: &mut Vec<watch::Message>,
    ) -> bool {
        self.core.borrow_mut().drain_watch(stream, bytes_max, out)
    }

    /// Reads cold records; they arrive in the slot.
    pub fn read_cold(
        &self,
        reader: &backend::Reader,
        revisions: Vec<Revision>,
    ) -> Rc<Slot<Vec<Bytes>>> {
        let read = self.cold_next.get();
        self.cold_next.set(read + 1);
        let slot = Rc::new(Slot::default());
        self.cold_reads.borrow_mut().insert(read, Rc::clone(&slot));
        self.threads.read_cold(read, reader.clone(), revisions);
        slot
    }

    /// The leader as last learned.
    pub fn leader(&self) -> Option<MemberId> {
        self.facts.leader.get()
    }

    /// True while a defragmentation runs.
    pub fn is_defragmenting(&self) -> bool {
        self.facts.defragmenting.get()
    }

    /// True once the member published itself.
    pub fn is_ready(&self) -> bool {
        self.facts.ready.get()
    }

    /// True once the server is about to end.
    pub fn is_stopping(&self) -> bool {
        self.facts.stopping.get()
    }

    /// Waits until the member published itself.
    pub async fn ready(&self) {
        if self.is_ready() {
            return;
        }
        let slot = Rc::new(Slot::default());
        self.facts.ready_waiters.borrow_mut().push(Rc::clone(&slot));
        std::future::poll_fn(|cx| slot.poll(cx)).await;
    }

    /// Ends the member; the loop returns once it has stopped.
    pub fn stop(&self) {
        if !self.facts.stopping.replace(true) {
            self.push(self.own_queue, Event::Stop, 0);
        }
    }

    /// The term as last learned.
    pub fn term(&self) -> Term {
        self.facts.term.get()
    }

    /// A defragmentation began or ended.
    pub fn set_defragmenting(&self, running: bool) {
        self.facts.defragmenting.set(running);
    }

    /// Names a watch stream, and gives what tells of its messages.
    pub fn open_watch(&self) -> (StreamId, Rc<Signal>) {
        self.watches.borrow_mut().open()
    }

    /// The watch stream ended.
    pub fn close_watch(&self, stream: StreamId) {
        self.watches.borrow_mut().close(stream);
    }

    /// Counts the bytes of an answer that is about to be sent piece by piece; false if too many
    /// wait already.
    pub fn hold_answer(&self, bytes: usize) -> bool {
        let held = self.answer_bytes.get();
        if 0 < held && ANSWER_BYTES_MAX < held + bytes {
            return false;
        }
        self.answer_bytes.set(held + bytes);
        true
    }

    /// Uncounts what `hold_answer` counted.
    pub fn release_answer(&self, bytes: usize) {
        self.answer_bytes.set(self.answer_bytes.get().saturating_sub(bytes));
    }
}

/// A request whose answer a task waits for.
struct Asking<'a> {
    shell: &'a Shell,
    queue: QueueId,
    id: RequestId,
}

impl Drop for Asking<'_> {
    fn drop(&mut self) {
        self.shell.cancel(self.queue, self.id);
    }
}
