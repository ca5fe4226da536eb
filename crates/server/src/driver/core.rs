//! What the shell needs of a member: the seam that tests stand in for.

use member::{Effects, Event, Member, StreamId};
use types::{MemberId, Time};

/// A member, or something that answers like one.
pub trait Core {
    /// Takes one event.
    fn step(&mut self, now: Time, event: Event, effects: &mut Effects);

    /// First half of a turn: hands out what is to be written.
    fn begin_turn(&mut self, now: Time, effects: &mut Effects);

    /// Second half of a turn: applies and answers.
    fn end_turn(&mut self, now: Time, effects: &mut Effects);

    /// When `Event::Tick` is due at the latest; now if a turn left work behind.
    fn next_deadline(&self, now: Time) -> Time;

    /// Takes messages of a watch stream up to `bytes_max` (at least one if there is any). True if
    /// more are queued.
    fn drain_watch(
        &mut self,
        stream: StreamId,
        bytes_max: usize,
        out: &mut Vec<watch::Message>,
    ) -> bool;

    /// False while a watch stream's commands should not be read.
    fn watch_accepts(&self, stream: StreamId) -> bool;

    /// True if a write of this cost must be refused for lack of space; raises the alarm then.
    fn over_quota(&mut self, cost: i64) -> bool;

    /// The members of the cluster with the URLs at which peers reach them.
    fn peers(&self) -> Vec<(MemberId, Vec<String>)>;

    /// True if this member was removed from the cluster.
    fn is_removed(&self, member: MemberId) -> bool;

    /// Figures for metrics.
    fn figures(&self) -> Figures;
}

/// Figures for metrics.
#[derive(Clone, Default, Debug)]
pub struct Figures {
    /// Of the store.
    pub store: store::Figures,
    /// Of watches.
    pub watch: watch::Gauges,
    /// The leader, if known.
    pub leader: Option<MemberId>,
    /// Committed index.
    pub committed: u64,
    /// Applied index.
    pub applied: u64,
    /// Bytes of the backend's files.
    pub db_bytes: u64,
    /// The cluster's version, once decided.
    pub cluster_version: Option<String>,
    /// What the member counted.
    pub member: member::Counters,
    /// Proposals that somebody waits for.
    pub proposals_pending: usize,
    /// Alarms that are on.
    pub alarms: Vec<(MemberId, &'static str)>,
}

impl Core for Member {
    fn step(&mut self, now: Time, event: Event, effects: &mut Effects) {
        Member::step(self, now, event, effects);
    }

    fn begin_turn(&mut self, now: Time, effects: &mut Effects) {
        Member::begin_turn(self, now, effects);
    }

    fn end_turn(&mut self, now: Time, effects: &mut Effects) {
        Member::end_turn(self, now, effects);
    }

    fn next_deadline(&self, now: Time) -> Time {
        Member::next_deadline(self, now)
    }

    fn drain_watch(
        &mut self,
        stream: StreamId,
        bytes_max: usize,
        out: &mut Vec<watch::Message>,
    ) -> bool {
        Member::drain_watch(self, stream, bytes_max, out)
    }

    fn watch_accepts(&self, stream: StreamId) -> bool {
        Member::watch_accepts(self, stream)
    }

    fn over_quota(&mut self, cost: i64) -> bool {
        Member::over_quota(self, cost)
    }

    fn peers(&self) -> Vec<(MemberId, Vec<String>)> {
        self.store().members().map(|row| (row.id, row.peer_urls.clone())).collect()
    }

    fn is_removed(&self, member: MemberId) -> bool {
        self.store().is_removed(member)
    }

    fn figures(&self) -> Figures {
        let (store, node) = (self.store(), self.node_status());
        Figures {
            store: store.figures(),
            watch: store.hub().gauges(),
            leader: node.leader,
            committed: node.committed.0,
            applied: store.applied().0,
            db_bytes: store.reader().size(),
            cluster_version: store.cluster_version().map(str::to_string),
            member: self.counters(),
            proposals_pending: self.proposals_pending(),
            alarms: store
                .alarms(None)
                .into_iter()
                .map(|(member, kind)| (member, alarm_name(kind)))
                .collect(),
        }
    }
}

fn alarm_name(kind: store::AlarmKind) -> &'static str {
    match kind {
        store::AlarmKind::NoSpace => "NOSPACE",
        store::AlarmKind::Corrupt => "CORRUPT",
    }
}
