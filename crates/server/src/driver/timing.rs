//! How long requests took, gathered on the loop's thread and handed to the metrics at a scrape.

use crate::metrics::Metrics;
use member::{Request, WriteKind};
use prometheus::HistogramVec;
use prometheus::local::LocalHistogram;
use std::cell::RefCell;
use std::time::Duration;
use types::Time;

/// Kinds of request that metrics tell apart.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    Range,
    ReadTxn,
    Put,
    DeleteRange,
    Txn,
    Compaction,
    LeaseGrant,
    LeaseRevoke,
    Alarm,
    Hash,
    HashKv,
    Defragment,
    Other,
}

/// Kinds that metrics know by a name, in the order of `Kind`; reads go through no log.
const NAMES: [&str; 9] = [
    "Range",
    "ReadonlyTxn",
    "Put",
    "DeleteRange",
    "Txn",
    "Compaction",
    "LeaseGrant",
    "LeaseRevoke",
    "Alarm",
];

impl Kind {
    pub(super) fn of(request: &Request) -> Kind {
        match request {
            Request::Range(_) => Kind::Range,
            Request::ReadTxn(_) => Kind::ReadTxn,
            Request::Write { kind: WriteKind::Put, .. } => Kind::Put,
            Request::Write { kind: WriteKind::DeleteRange, .. } => Kind::DeleteRange,
            Request::Write { kind: WriteKind::Txn, .. } => Kind::Txn,
            Request::Compact { .. } => Kind::Compaction,
            Request::LeaseGrant { .. } => Kind::LeaseGrant,
            Request::LeaseRevoke(_) => Kind::LeaseRevoke,
            Request::Alarm { .. } => Kind::Alarm,
            Request::Hash => Kind::Hash,
            Request::HashKv(_) => Kind::HashKv,
            Request::Defragment => Kind::Defragment,
            _ => Kind::Other,
        }
    }

    fn is_read(self) -> bool {
        matches!(self, Kind::Range | Kind::ReadTxn)
    }
}

/// What was asked, and when.
#[derive(Clone, Copy, Debug)]
pub(super) struct Asked {
    pub(super) kind: Kind,
    pub(super) at: Time,
}

/// One histogram per kind and success; created at the first observation, as etcd's are.
#[derive(Default)]
struct Table([[Option<LocalHistogram>; 2]; NAMES.len()]);

impl Table {
    fn observe(&mut self, kind: Kind, succeeded: bool, seconds: f64, family: &HistogramVec) {
        let Some(name) = NAMES.get(kind as usize) else { return };
        let cell = &mut self.0[kind as usize][usize::from(succeeded)];
        let histogram = cell.get_or_insert_with(|| {
            family.with_label_values(&["v3", name, success(succeeded)]).local()
        });
        histogram.observe(seconds);
    }

    fn flush(&self) {
        self.0.iter().flatten().flatten().for_each(LocalHistogram::flush);
    }
}

fn success(succeeded: bool) -> &'static str {
    if succeeded { "true" } else { "false" }
}

/// All that is gathered.
#[derive(Default)]
pub(super) struct Timings(RefCell<Gathered>);

#[derive(Default)]
struct Gathered {
    applies: Table,
    ranges: [Option<LocalHistogram>; 2],
    /// Reads of this turn that took longer than is worth a warning.
    slow_reads: u64,
    slowest: Duration,
}

impl Timings {
    /// A request was answered after `took`. `share` is its part of the time in which the member
    /// applied and read.
    pub(super) fn answered(
        &self,
        kind: Kind,
        succeeded: bool,
        took: Duration,
        share: Duration,
        metrics: &Metrics,
    ) {
        let gathered = &mut *self.0.borrow_mut();
        let (took, share) = (took.as_secs_f64(), share.as_secs_f64());
        if kind == Kind::Range {
            let cell = &mut gathered.ranges[usize::from(succeeded)];
            let family = &metrics.range_duration;
            let make = || family.with_label_values(&[success(succeeded)]).local();
            cell.get_or_insert_with(make).observe(share);
        } else if !kind.is_read() {
            gathered.applies.observe(kind, succeeded, share, &metrics.apply_duration);
        }
        match kind {
            Kind::Hash => metrics.mvcc_hash.observe(took),
            Kind::HashKv => metrics.mvcc_hash_rev.observe(took),
            Kind::Defragment => metrics.backend_defrag.observe(took),
            _ => {}
        }
    }

    /// Counts a read that is slow, for one log line per turn.
    pub(super) fn note_slow_read(&self, kind: Kind, took: Duration) {
        if kind.is_read() {
            let mut gathered = self.0.borrow_mut();
            gathered.slow_reads += 1;
            gathered.slowest = gathered.slowest.max(took);
        }
    }

    /// Slow reads since the last call, with the time of the slowest.
    pub(super) fn take_slow_reads(&self) -> (u64, Duration) {
        let mut gathered = self.0.borrow_mut();
        (std::mem::take(&mut gathered.slow_reads), std::mem::take(&mut gathered.slowest))
    }

    /// Hands everything to the metrics.
    pub(super) fn flush(&self) {
        let gathered = self.0.borrow();
        gathered.applies.flush();
        gathered.ranges.iter().flatten().for_each(LocalHistogram::flush);
    }
}
