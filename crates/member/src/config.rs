//! Settings of a member, and why it may refuse to start.

use crate::compactor::AutoCompaction;
use std::fmt;
use std::time::Duration;
use types::{ClusterId, MemberId, limits};

/// Settings of a member.
#[derive(Clone, Debug)]
pub struct Config {
    /// Who this member is.
    pub member: MemberId,
    /// The cluster it belongs to.
    pub cluster: ClusterId,
    /// Its name.
    pub name: String,
    /// Where peers reach it.
    pub peer_urls: Vec<String>,
    /// The members of a new cluster, this one among them; this one alone if there are none. Read
    /// on a fresh disk only.
    pub founders: Vec<Founder>,
    /// True for a member that joins a cluster: it has no founders, and learns who is a member
    /// from the log. Read on a fresh disk only.
    pub joins: bool,
    /// Refuse membership changes that could cost the quorum.
    pub strict_reconfig: bool,
    /// Learners that a cluster may have.
    pub learners_max: usize,
    /// Where clients reach it.
    pub client_urls: Vec<String>,
    /// Number of this start of the process: one more than the last one in the log.
    pub boot: u64,
    /// Seed of election timeouts.
    pub seed: u64,
    /// Time between heartbeats; one tick of raft.
    pub heartbeat: Duration,
    /// Time without a leader before an election.
    pub election: Duration,
    /// Ask for votes before the term is raised.
    pub pre_vote: bool,
    /// Largest log entry that a client may cause.
    pub request_bytes_max: usize,
    /// Unflushed bytes from which a flush is due.
    pub flush_bytes: usize,
    /// Bytes of the log since the last flush from which a flush is due.
    pub flush_log_bytes: u64,
    /// Age of the oldest unflushed change from which a flush is due.
    pub flush_interval: Duration,
    /// Unflushed bytes at which apply waits for the backend.
    pub unflushed_bytes_max: usize,
    /// Bytes of applied entries kept in memory for slow members.
    pub log_bytes_max: usize,
    /// Applied entries kept in the log for slow members; none if there is no other member.
    pub catch_up_entries: u64,
    /// What compacts by itself.
    pub auto_compaction: Option<AutoCompaction>,
    /// How often an idle watcher that asked for it is told of progress.
    pub progress_interval: Duration,
    /// A planted bug of the node, for the tests that prove that it is found.
    pub mutant: Option<node::Mutant>,
}

/// A member of a new cluster.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Founder {
    /// Its id.
    pub id: MemberId,
    /// Where peers reach it.
    pub peer_urls: Vec<String>,
}

impl Config {
    /// Settings with the defaults of etcd where it has them.
    pub fn new(member: MemberId, cluster: ClusterId, boot: u64) -> Config {
        Config {
            member,
            cluster,
            name: "default".to_owned(),
            peer_urls: Vec::new(),
            founders: Vec::new(),
            joins: false,
            strict_reconfig: true,
            learners_max: limits::LEARNERS_MAX,
            client_urls: Vec::new(),
            boot,
            seed: 0,
            heartbeat: Duration::from_millis(100),
            election: Duration::from_millis(1000),
            pre_vote: true,
            request_bytes_max: limits::REQUEST_BYTES_MAX,
            flush_bytes: limits::FLUSH_BYTES,
            flush_log_bytes: limits::FLUSH_LOG_BYTES,
            flush_interval: limits::FLUSH_INTERVAL,
            unflushed_bytes_max: limits::UNFLUSHED_BYTES_MAX,
            log_bytes_max: limits::LOG_BYTES_MAX,
            catch_up_entries: limits::CATCH_UP_ENTRIES,
            auto_compaction: None,
            progress_interval: limits::WATCH_PROGRESS_INTERVAL,
            mutant: None,
        }
    }

    /// How long a request waits if its caller does not say: 5 s and two election timeouts.
    pub fn request_timeout(&self) -> Duration {
        limits::REQUEST_TIMEOUT_BASE + 2 * self.election
    }

    /// The members of a new cluster.
    pub(crate) fn founders(&self) -> Vec<Founder> {
        if self.joins {
            return Vec::new();
        }
        // A sole founder is this member, wherever it is reached by now.
        if self.founders.len() < 2 {
            return vec![Founder { id: self.member, peer_urls: self.peer_urls.clone() }];
        }
        self.founders.clone()
    }

    pub(crate) fn node(&self) -> node::Config {
        let heartbeat_ms = self.heartbeat.as_millis().max(1);
        let election_ticks = usize::try_from(self.election.as_millis() / heartbeat_ms);
        let mut config = node::Config::new(self.member, self.boot);
        config.seed = self.seed;
        config.election_ticks = election_ticks.unwrap_or(usize::MAX).max(2);
        config.pre_vote = self.pre_vote;
        config.log_bytes_max = self.log_bytes_max;
        config.mutant = self.mutant;
        config
    }
}

/// Why a member refuses to start. The process ends with code 65.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum StartError {
    /// Log and data do not belong together.
    Node(node::StartError),
    /// The membership stored with the data cannot be read.
    ConfState,
    /// This member is not in the membership stored with the data, or not among the founders.
    NotAMember(MemberId),
    /// This member was removed from the cluster.
    Removed(MemberId),
    /// The ids of two members end with the same two bytes, which tell their proposals apart.
    SameProposer(MemberId, MemberId),
}

impl fmt::Display for StartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StartError::Node(error) => write!(f, "log and data do not belong together: {error}"),
            StartError::ConfState => f.write_str("the stored membership cannot be read"),
            StartError::NotAMember(id) => {
                write!(f, "member {:x} is not in the membership", id.0)
            }
            StartError::Removed(id) => write!(
                f,
                "member {:x} was removed from the cluster and cannot come back; add a new one with \
                 an empty data folder",
                id.0
            ),
            StartError::SameProposer(one, other) => write!(
                f,
                "the ids {:x} and {:x} end with the same two bytes: give one of the two another \
                 peer URL, or the new cluster another token",
                one.0, other.0
            ),
        }
    }
}

impl std::error::Error for StartError {}

impl From<node::StartError> for StartError {
    fn from(error: node::StartError) -> StartError {
        StartError::Node(error)
    }
}
