//! Between raft's types and ours.

use crate::config::Config;
use raft::eraftpb;
use types::{Index, MemberId, Term};
use wal::HardState;

pub(crate) fn raft_config(config: &Config, applied: Index) -> raft::Config {
    raft::Config {
        id: config.member.0,
        election_tick: config.election_ticks,
        heartbeat_tick: config.heartbeat_ticks,
        applied: applied.0,
        max_size_per_msg: config.message_bytes_max,
        max_inflight_msgs: config.inflight_max,
        check_quorum: true,
        pre_vote: config.pre_vote,
        min_election_tick: config.election_ticks,
        max_election_tick: 2 * config.election_ticks,
        read_only_option: raft::ReadOnlyOption::Safe,
        skip_bcast_commit: false,
        // Raft 0.7 would put entries into an empty append that is under way, also if the progress of
        // that member was set back meanwhile and the entries do not follow it.
        batch_append: false,
        priority: 0,
        max_uncommitted_size: config.uncommitted_bytes_max,
        max_committed_size_per_ready: config.ready_bytes_max,
    }
}

pub(crate) fn hard_state_to_raft(from: HardState) -> eraftpb::HardState {
    eraftpb::HardState {
        term: from.term.0,
        vote: from.vote.0,
        commit: from.commit.0,
        ..eraftpb::HardState::default()
    }
}

pub(crate) fn hard_state_from_raft(from: &eraftpb::HardState) -> HardState {
    HardState { term: Term(from.term), vote: MemberId(from.vote), commit: Index(from.commit) }
}

/// Ticks without a leader before an election, from `least` to one less than twice as many: a hash
/// of what tells this attempt apart from all others.
pub(crate) fn election_ticks(seed: u64, parts: [u64; 3], least: usize) -> usize {
    let spread = u64::try_from(least).expect("a tick count fits 64 bits");
    let hash = parts.into_iter().fold(seed, |hash, part| mix(hash ^ part));
    least + usize::try_from(hash % spread).expect("less than a tick count")
}

/// The finaliser of splitmix64.
fn mix(value: u64) -> u64 {
    let value = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}
