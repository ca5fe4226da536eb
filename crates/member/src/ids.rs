//! Sources of ids: deterministic, and different in every life of the process.

use types::{LeaseId, MemberId};

/// Ids of proposals: 16 bits of the member, then 48 bits that begin anew with every boot.
#[derive(Debug)]
pub(crate) struct ProposalIds {
    next: u64,
}

const COUNTER_BITS: u32 = 32;
const MEMBER_BITS: u32 = 16;

/// What the ids of a member's proposals begin with.
pub(crate) fn proposer(member: MemberId) -> u64 {
    member.0 << (u64::BITS - MEMBER_BITS)
}

impl ProposalIds {
    pub(crate) fn new(member: MemberId, boot: u64) -> ProposalIds {
        let prefix = proposer(member);
        let boot = (boot << COUNTER_BITS) & (u64::MAX >> MEMBER_BITS);
        ProposalIds { next: prefix | boot | 1 }
    }

    pub(crate) fn next(&mut self) -> u64 {
        let id = self.next;
        self.next += 1;
        id
    }

    pub(crate) fn peek(&self) -> u64 {
        self.next
    }
}

/// Ids of leases that a client leaves open: positive, scattered.
#[derive(Debug)]
pub(crate) struct LeaseIds {
    state: u64,
}

impl LeaseIds {
    pub(crate) fn new(member: MemberId, boot: u64, seed: u64) -> LeaseIds {
        let state = member.0 ^ boot.wrapping_mul(0xd6e8_feb8_6659_fd93) ^ seed.rotate_left(32);
        LeaseIds { state }
    }

    /// The next id for which `is_taken` is false.
    pub(crate) fn next(&mut self, is_taken: impl Fn(LeaseId) -> bool) -> LeaseId {
        loop {
            let id = i64::try_from(self.draw() >> 1).expect("63 bits");
            if id != 0 && !is_taken(LeaseId(id)) {
                return LeaseId(id);
            }
        }
    }

    /// splitmix64.
    fn draw(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let value = self.state;
        let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        value ^ (value >> 31)
    }
}
