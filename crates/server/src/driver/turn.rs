//! One turn of the loop: what arrived, the member's steps, what it wants done.

use super::core::Core;
use super::mailbox::Mail;
use super::outbox::{Answer, ReplyTo};
use super::shell::Shell;
use super::timing::Kind;
use crate::config::duration;
use member::effect::Note;
use member::{Effect, Effects, Event};
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tokio::time::{Instant, Sleep};
use types::Time;

/// The loop itself, as a future that ends when the member has stopped.
pub struct Loop {
    shell: Rc<Shell>,
    heartbeat: Duration,
    tick: Pin<Box<Sleep>>,
    mail: Vec<Mail>,
    arrivals: Vec<Event>,
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
        for event in shell.peer_mail.take() {
            core.step(now, event, &mut self.effects);
        }
        shell.inbox.borrow_mut().take_turn(&mut self.arrivals);
        for event in self.arrivals.drain(..) {
            core.step(now, event, &mut self.effects);
        }
        // What is to be written is on its way before the rest of the turn begins.
        core.begin_turn(now, &mut self.effects);
        let began = self.execute(&shell, now);
        core.end_turn(now, &mut self.effects);
        self.schedule(&**core, cx);
        drop(core);
        let ended = self.execute(&shell, began);
        if shell.facts.members_changed.take() {
            tracing::info!("the membership of the cluster changed");
            shell.connect_peers();
        }
        shell.warn_of_slow(ended.since(began));
        for outbox in shell.answered.borrow_mut().drain(..) {
            outbox.wake();
        }
    }

    /// Does what the member wants done since `began`; the time at which it began with that.
    fn execute(&mut self, shell: &Shell, began: Time) -> Time {
        let now = shell.now();
        let is_reply = |effect: &&Effect| matches!(effect, Effect::Reply { .. });
        let replies = self.effects.iter().filter(is_reply).count();
        let replies = u32::try_from(replies).unwrap_or(u32::MAX).max(1);
        let share = now.since(began) / replies;
        for effect in self.effects.drain(..) {
            shell.execute(effect, now, share);
        }
        now
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
        if !self.shell.inbox.borrow().is_empty() || !self.shell.peer_mail.is_empty() {
            cx.waker().wake_by_ref();
        }
        Poll::Pending
    }
}

impl Shell {
    /// Does one thing that the member wants done.
    fn execute(&self, effect: Effect, now: Time, share: Duration) {
        match effect {
            Effect::Reply { id, header, result, reader } => {
                self.facts.term.set(header.term);
                let Some((to, asked)) = self.calls.borrow_mut().remove(id) else { return };
                let took = now.since(asked.at);
                self.timings.answered(asked.kind, result.is_ok(), took, share, &self.metrics);
                if self.config.warn_apply < took {
                    self.timings.note_slow_read(asked.kind, took);
                }
                if asked.kind == Kind::Defragment {
                    self.set_defragmenting(false);
                }
                self.answer(to, Answer { header, result, reader });
            }
            Effect::WatchReady(stream) => self.watches.borrow().set_ready(stream),
            Effect::Note(note) => self.note(&note, now),
            Effect::Stopped => self.facts.stopped.set(true),
            Effect::Fatal(error) => super::fatal::refuse(&error),
            Effect::Send { to, class, message } => self.peer_mail.send(to, class, message),
            other => self.threads.execute(other),
        }
    }

    /// Says what took longer in this turn than is worth a warning; at most two lines, however many
    /// requests it were.
    fn warn_of_slow(&self, applying: Duration) {
        if self.facts.sliced.take() {
            self.metrics.index_compaction_pause.observe(applying.as_secs_f64() * 1_000.0);
        }
        let expected = self.config.warn_apply;
        if expected < applying {
            self.metrics.slow_apply.inc();
            say_slow(applying, expected, "", 1);
        }
        let (count, slowest) = self.timings.take_slow_reads();
        if 0 < count {
            self.metrics.slow_apply.inc_by(count);
            say_slow(slowest, expected, "read-only range ", count);
        }
    }

    fn answer(&self, to: ReplyTo, answer: Answer) {
        match to {
            ReplyTo::Call { outbox, call } => {
                if outbox.push(call, answer) {
                    self.answered.borrow_mut().push(outbox);
                }
            }
            ReplyTo::Waiter(slot) => slot.fill(answer),
            ReplyTo::Nobody => {}
        }
    }

    fn note(&self, note: &Note, now: Time) {
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
            Note::LeaderChanged(leader) => {
                self.facts.leader.set(*leader);
                self.metrics.leader_changes.inc_by(u64::from(leader.is_some()));
            }
            Note::Ready => {
                self.facts.ready.set(true);
                for slot in self.facts.ready_waiters.borrow_mut().drain(..) {
                    slot.fill(());
                }
            }
            Note::NoSpaceAlarm => tracing::warn!("alarm raised: NOSPACE"),
            Note::Compacted(revision) => {
                self.facts.compacting_since.set(Some(now));
                self.metrics.compaction_last.set(unix_seconds());
                tracing::info!(revision, "compacted the keyspace");
            }
            Note::HashAwaited => self.threads.hurry.store(true, Ordering::Relaxed),
            Note::CompactionSlice => self.facts.sliced.set(true),
            Note::LeaseGranted(ttl) => {
                let ttl = u32::try_from(*ttl).unwrap_or(u32::MAX);
                self.metrics.lease_ttl.observe(f64::from(ttl));
            }
            Note::CompactionFinished(revision) => {
                if let Some(since) = self.facts.compacting_since.take() {
                    let took = now.since(since).as_secs_f64() * 1_000.0;
                    self.metrics.compaction_total.observe(took);
                }
                tracing::info!(compact_revision = revision, "finished scheduled compaction");
            }
            Note::LeasesExpired(count) => tracing::debug!(count, "leases expired"),
            Note::PeerRefused { from, why } => {
                tracing::warn!(peer = %from, why, "passed over a message of another member");
            }
            Note::Removed => tracing::error!("this member was removed from the cluster"),
            Note::MembersChanged => self.facts.members_changed.set(true),
            Note::NeedsSnapshot(to) => {
                tracing::warn!(peer = %to, "a member needs entries that are gone");
            }
            Note::Applied(_) => {}
        }
    }
}

/// etcd's line for requests that took too long to apply or to read.
#[cold]
fn say_slow(took: Duration, expected: Duration, prefix: &str, count: u64) {
    let fields = serde_json::json!({
        "took": duration::format(took),
        "expected-duration": duration::format(expected),
        "prefix": prefix,
        "count": count,
    });
    tracing::warn!(%fields, "apply request took too long");
}

fn unix_seconds() -> i64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(now.as_secs()).unwrap_or(i64::MAX)
}
