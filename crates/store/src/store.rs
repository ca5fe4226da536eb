//! The state itself, and what can be read of it at any time.

use crate::alarm::{AlarmKind, Alarms};
use crate::apply::Suspended;
use crate::catch_up::Fetched;
use crate::cluster::{Cluster, MemberRow};
use crate::counters::Counters;
use crate::flush::Unflushed;
use crate::window::Window;
use lease::Table;
use mvcc::Keyspace;
use types::{Index, MemberId, Record, Term, limits};
use watch::Hub;

/// What a member chooses for its store.
#[derive(Clone, PartialEq, Debug)]
pub struct Config {
    /// Memory of the keyspace.
    pub mvcc: mvcc::Config,
    /// Bounds of the watch hub.
    pub watch: watch::Config,
    /// The quota: 0 is the default, negative is none.
    pub quota_bytes: i64,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            mvcc: mvcc::Config::default(),
            watch: watch::Config::default(),
            quota_bytes: limits::QUOTA_BYTES_DEFAULT,
        }
    }
}

/// Figures for Status and metrics.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Figures {
    /// Revision of the keyspace.
    pub revision: i64,
    /// Compacted revision; -1 if never.
    pub compacted: i64,
    /// Keys at the newest revision.
    pub keys: usize,
    /// What the quota counts.
    pub live_bytes: i64,
    /// The quota in force; negative is none.
    pub quota_bytes: i64,
    /// Leases.
    pub leases: usize,
    /// Records in memory.
    pub resident_bytes: usize,
    /// Request ids remembered.
    pub request_ids: usize,
    /// What was done since the start.
    pub counters: Counters,
}

/// The replicated state machine.
pub struct Store {
    pub(crate) config: Config,
    pub(crate) keyspace: Keyspace,
    pub(crate) leases: Table,
    pub(crate) hub: Hub,
    pub(crate) alarms: Alarms,
    pub(crate) cluster: Cluster,
    pub(crate) window: Window,
    pub(crate) chain: u32,
    pub(crate) applied: Index,
    pub(crate) term: Term,
    pub(crate) unflushed: Unflushed,
    pub(crate) reader: backend::Reader,
    /// An entry that is being applied slice by slice.
    pub(crate) suspended: Option<Suspended>,
    /// History that waits for previous records.
    pub(crate) fetched: Option<Fetched>,
    /// True while records were warmed and not used up.
    pub(crate) is_warm: bool,
    /// True if the keyspace has yet to hear of a flush.
    pub(crate) is_flushed: bool,
    pub(crate) counters: Counters,
}

impl std::fmt::Debug for Store {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Store({}@{}, revision {})", self.applied, self.term, self.revision())
    }
}

impl Store {
    /// Index of the last entry applied.
    pub fn applied(&self) -> Index {
        self.applied
    }

    /// Term of the last entry applied.
    pub fn applied_term(&self) -> Term {
        self.term
    }

    /// Revision of the keyspace.
    pub fn revision(&self) -> i64 {
        self.keyspace.revision()
    }

    /// The compacted revision; -1 if never.
    pub fn compacted(&self) -> i64 {
        self.keyspace.compacted()
    }

    /// The keyspace.
    pub fn keyspace(&self) -> &Keyspace {
        &self.keyspace
    }

    /// The leases.
    pub fn leases(&self) -> &Table {
        &self.leases
    }

    /// The watch hub.
    pub fn hub(&self) -> &Hub {
        &self.hub
    }

    /// The watch hub, for streams and their commands.
    pub fn hub_mut(&mut self) -> &mut Hub {
        &mut self.hub
    }

    /// Reads what is durable: what cold items are read with.
    pub fn reader(&self) -> &backend::Reader {
        &self.reader
    }

    /// The chain of hashes over everything applied: equal at equal index on every member.
    pub fn chain(&self) -> u32 {
        self.chain
    }

    /// True if a proposal with this id was applied, or is too old to be.
    pub fn has_seen(&self, id: u64) -> bool {
        self.window.contains(id)
    }

    /// The active alarms of one kind, or all.
    pub fn alarms(&self, kind: Option<AlarmKind>) -> Vec<(MemberId, AlarmKind)> {
        self.alarms.list(kind)
    }

    /// The members, by id.
    pub fn members(&self) -> impl Iterator<Item = &MemberRow> {
        self.cluster.members.values()
    }

    /// True if this member was removed: it never comes back.
    pub fn is_removed(&self, member: MemberId) -> bool {
        self.cluster.removed.contains(&member)
    }

    /// The cluster version, once decided.
    pub fn cluster_version(&self) -> Option<&str> {
        self.cluster.version.as_deref()
    }

    /// The downgrade target, while a downgrade goes on.
    pub fn downgrade(&self) -> Option<&str> {
        self.cluster.downgrade.as_deref()
    }

    /// The quota in force; negative is none.
    pub fn quota_bytes(&self) -> i64 {
        match self.config.quota_bytes {
            0 => limits::QUOTA_BYTES_DEFAULT,
            bytes => bytes,
        }
    }

    /// True if a write of this cost does not fit. What costs nothing always fits.
    pub fn over_quota(&self, cost: i64) -> bool {
        let quota = self.quota_bytes();
        0 < cost && 0 <= quota && quota <= self.keyspace.live_bytes().saturating_add(cost)
    }

    /// Figures for Status and metrics.
    pub fn figures(&self) -> Figures {
        Figures {
            revision: self.revision(),
            compacted: self.compacted(),
            keys: self.keyspace.key_count(),
            live_bytes: self.keyspace.live_bytes(),
            quota_bytes: self.quota_bytes(),
            leases: self.leases.len(),
            resident_bytes: self.keyspace.resident_bytes(),
            request_ids: self.window.len(),
            counters: self.counters,
        }
    }

    /// Records that `needs`, `needs_for_range`, `needs_for_txn` or `catch_up` named, read from
    /// the backend. What asked for them is to be tried again right after.
    pub fn warm(&mut self, records: impl IntoIterator<Item = Record>) {
        self.keyspace.warm(records);
        self.is_warm = true;
    }

    /// What an entry reads was used, be it warmed or not: it may leave memory. While an entry is
    /// cut, it goes on needing what `needs` did not name because it was there.
    pub(crate) fn cool(&mut self) {
        if self.is_suspended() {
            return;
        }
        if std::mem::take(&mut self.is_warm) {
            self.keyspace.release_warm();
        }
        if std::mem::take(&mut self.is_flushed) {
            self.keyspace.flushed(self.reader.meta().revision);
        }
    }
}
