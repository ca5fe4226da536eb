//! One turn of the loop: what arrived, the member's steps, what it wants done.

use super::core::Core;
use super::inbox::Arrival;
use super::mailbox::Mail;
use super::outbox::{Answer, ReplyTo};
use super::shell::Shell;
use member::effect::Note;
use member::{Effect, Effects, Event};
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::time::{Instant, Sleep};

/// The loop itself, as a future that ends when the member has stopped.
pub struct Loop {
    shell: Rc<Shell>,
    heartbeat: Duration,
    tick: Pin<Box<Sleep>>,
    mail: Vec<Mail>,
    arrivals: Vec<Arrival>,
    effects: Effects,
}

impl Loop {
    /// A loop that ticks once per heartbeat interval.
    pub fn new(shell: Rc<Shell>) -> Loop {
        let heartbeat = Duration::from_millis(shell.config.heartbeat_ms);
        Loop {
            shell,
            heartbeat,
            tick: Box::pin(tokio::time::sleep(Duration::ZERO)),
            mail: Vec::new(),
            arrivals: Vec::new(),
            effects: Effects::new(),
        }
    }

    fn turn(&mut self, cx: &mut Context<'_>) {
        let shell = Rc::clone(&self.shell);
        let now = shell.now();
        let mut core = shell.core.borrow_mut();
        if self.tick.as_mut().poll(cx).is_ready() || core.next_deadline(now) <= now {
            core.step(now, Event::Tick, &mut self.effects);
        }
        shell.mailbox.take(cx.waker(), &mut self.mail);
        for mail in self.mail.drain(..) {
            match mail {
                Mail::Event(event) => core.step(now, event, &mut self.effects),
                Mail::Cold { read, records } => {
                    if let Some(slot) = shell.cold_reads.borrow_mut().remove(&read) {
                        slot.fill(records);
                    }
                }
            }
        }
        shell.inbox.borrow_mut().take_turn(&mut self.arrivals);
        for arrival in self.arrivals.drain(..) {
            let event = match arrival {
                Arrival::Event(event) => event,
                Arrival::Request { to, request, deadline } => {
                    let id = shell.calls.borrow_mut().insert(to);
                    Event::Request { id, request, deadline }
                }
            };
            core.step(now, event, &mut self.effects);
        }
        // What is to be written is on its way before the rest of the turn begins.
        core.begin_turn(now, &mut self.effects);
        self.execute(&shell);
        let began = Instant::now().into_std();
        core.end_turn(now, &mut self.effects);
        shell.applied(began, &self.effects);
        self.schedule(&**core, cx);
        drop(core);
        self.execute(&shell);
        for outbox in shell.answered.borrow_mut().drain(..) {
            outbox.wake();
        }
    }

    fn execute(&mut self, shell: &Shell) {
        for effect in self.effects.drain(..) {
            shell.execute(effect);
        }
    }

    /// Sets the next tick, or another turn at once if this one left work behind.
    fn schedule(&mut self, core: &dyn Core, cx: &mut Context<'_>) {
        let now = self.shell.now();
        let due = core.next_deadline(now);
        if due <= now {
            cx.waker().wake_by_ref();
            return;
        }
        let at = Instant::now() + due.since(now).min(self.heartbeat);
        if self.tick.is_elapsed() || at < self.tick.deadline() {
            self.tick.as_mut().reset(at);
            // Registers the new time; it cannot be over yet.
            let _ = self.tick.as_mut().poll(cx);
        }
    }
}

impl Future for Loop {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        {
            let mut waker = self.shell.loop_waker.borrow_mut();
            if !waker.as_ref().is_some_and(|held| held.will_wake(cx.waker())) {
                *waker = Some(cx.waker().clone());
            }
        }
        self.turn(cx);
        if self.shell.facts.stopped.get() {
            return Poll::Ready(());
        }
        if !self.shell.inbox.borrow().is_empty() {
            cx.waker().wake_by_ref();
        }
        Poll::Pending
    }
}

impl Shell {
    /// Does one thing that the member wants done.
    fn execute(&self, effect: Effect) {
        match effect {
            Effect::Reply { id, header, result, reader } => {
                self.facts.term.set(header.term);
                let to = self.calls.borrow_mut().remove(id);
                self.answer(to, Answer { header, result, reader });
            }
            Effect::WatchReady(stream) => self.watches.borrow().set_ready(stream),
            Effect::Note(note) => self.note(&note),
            Effect::Stopped => self.facts.stopped.set(true),
            Effect::Fatal(error) => super::fatal::refuse(&error),
            Effect::Send { to, .. } => {
                tracing::warn!(peer = %to, "a message to another member was dropped");
            }
            other => self.threads.execute(other),
        }
    }

    fn answer(&self, to: Option<ReplyTo>, answer: Answer) {
        match to {
            Some(ReplyTo::Call { outbox, call }) => {
                if outbox.push(call, answer) {
                    self.answered.borrow_mut().push(outbox);
                }
            }
            Some(ReplyTo::Waiter(slot)) => slot.fill(answer),
            Some(ReplyTo::Nobody) | None => {}
        }
    }

    fn note(&self, note: &Note) {
        match note {
            Note::BecameLeader(term) => {
                self.facts.term.set(*term);
                self.facts.leader.set(Some(self.config.member_id));
                tracing::info!(
                    member_id = %format_args!("{:x}", self.config.member_id.0),
                    term = term.0,
                    "became leader"
                );
            }
            Note::LeaderChanged(leader) => self.facts.leader.set(*leader),
            Note::Ready => {
                self.facts.ready.set(true);
                for slot in self.facts.ready_waiters.borrow_mut().drain(..) {
                    slot.fill(());
                }
            }
            Note::NoSpaceAlarm => tracing::warn!("alarm raised: NOSPACE"),
            Note::Compacted(revision) => {
                tracing::info!(revision, "compacted the keyspace");
            }
            Note::CompactionFinished(revision) => {
                tracing::info!(compact_revision = revision, "finished scheduled compaction");
            }
            Note::LeasesExpired(count) => tracing::debug!(count, "leases expired"),
            Note::Applied(_) => {}
        }
    }
}
