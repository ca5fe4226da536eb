//! Three members that talk to each other: proposals and reads anywhere, changes of leader.

use super::rig::{Answer, CLUSTER, Rig, put, put_with_lease};
use crate::request::{Request, RequestId, Response};
use crate::{Config, Event, Founder, StartError};
use bytes::Bytes;
use std::collections::BTreeSet;
use std::time::Duration;
use types::{KeyRange, LeaseId, MemberId, OpError, RangeOp};

pub(super) const MEMBERS: [MemberId; 3] = [MemberId(1), MemberId(2), MemberId(3)];

pub(super) struct Cluster {
    pub(super) rigs: Vec<Rig>,
    /// Members that nobody hears and that hear nobody.
    pub(super) cut: BTreeSet<usize>,
    /// While set, messages are lost for which it is true.
    loses: fn(&Bytes) -> bool,
}

impl Cluster {
    pub(super) fn new() -> Cluster {
        Cluster::with(|_| {})
    }

    pub(super) fn with(change: fn(&mut Config)) -> Cluster {
        let rig = |member: &MemberId| {
            let mut config = Config::new(*member, CLUSTER, 1);
            let urls = |id: &MemberId| vec![format!("http://127.0.0.1:{}", id.0)];
            let founder = |id: &MemberId| Founder { id: *id, peer_urls: urls(id) };
            config.founders = MEMBERS.iter().map(founder).collect();
            change(&mut config);
            Rig::with(config, store::Config::default())
        };
        let rigs = MEMBERS.iter().map(rig).collect();
        let mut cluster = Cluster { rigs, cut: BTreeSet::new(), loses: |_| false };
        cluster.pass(Duration::from_secs(5));
        cluster
    }

    /// Delivers until nobody has anything to say.
    pub(super) fn deliver(&mut self) {
        loop {
            let mut is_quiet = true;
            for from in 0..self.rigs.len() {
                if self.rigs[from].is_stopped {
                    continue;
                }
                self.rigs[from].turn();
                let id = self.rigs[from].config.member;
                for (to, message) in std::mem::take(&mut self.rigs[from].sent) {
                    let to = self.rigs.iter().position(|rig| rig.config.member == to);
                    let Some(to) = to.filter(|to| !self.rigs[*to].is_stopped) else { continue };
                    let is_cut = self.cut.contains(&from) || self.cut.contains(&to);
                    if !is_cut && !(self.loses)(&message) {
                        is_quiet = false;
                        self.rigs[to].step(Event::Peer { from: id, message });
                    }
                }
            }
            if is_quiet {
                break;
            }
        }
    }

    pub(super) fn pass(&mut self, time: Duration) {
        let step = Duration::from_millis(20);
        let mut passed = Duration::ZERO;
        while passed < time {
            for rig in self.rigs.iter_mut().filter(|rig| !rig.is_stopped) {
                rig.pass(step);
            }
            self.deliver();
            passed += step;
        }
    }

    pub(super) fn leader(&self) -> usize {
        let leads = |rig: &Rig| rig.member.leads();
        let is_alive = |at: &usize| !self.cut.contains(at) && !self.rigs[*at].is_stopped;
        let alive = (0..self.rigs.len()).filter(is_alive);
        let leaders: Vec<usize> = alive.filter(|at| leads(&self.rigs[*at])).collect();
        assert_eq!(leaders.len(), 1, "one leads");
        leaders[0]
    }

    pub(super) fn follower(&self) -> usize {
        (self.leader() + 1) % MEMBERS.len()
    }

    /// Waits for an answer while time goes on.
    pub(super) fn wait(&mut self, at: usize, id: RequestId) -> Answer {
        for _ in 0..1000 {
            if let Some(answer) = self.rigs[at].answers.remove(&id) {
                return answer;
            }
            self.pass(Duration::from_millis(20));
        }
        panic!("no answer in 20 s");
    }

    pub(super) fn ask(&mut self, at: usize, request: Request) -> Answer {
        let id = self.rigs[at].send(request);
        self.wait(at, id)
    }

    pub(super) fn get(&mut self, at: usize, key: &str) -> usize {
        let range = KeyRange::single(key.as_bytes().to_vec());
        match self.ask(at, Request::Range(RangeOp { range, ..RangeOp::default() })) {
            Ok(Response::Range(outcome)) => outcome.items.len(),
            other => panic!("{other:?}"),
        }
    }
}

fn revision(answer: Answer) -> i64 {
    match answer {
        Ok(Response::Put(outcome)) => outcome.revision,
        other => panic!("{other:?}"),
    }
}

#[test]
fn members_whose_proposals_could_not_be_told_apart_are_refused() {
    let mut config = Config::new(MemberId(1), CLUSTER, 1);
    let founder = |id: u64| Founder { id: MemberId(id), peer_urls: Vec::new() };
    config.founders = vec![founder(1), founder(0x1_0001)];
    let refused = Rig::try_start(config).err();
    assert_eq!(refused, Some(StartError::SameProposer(MemberId(1), MemberId(0x1_0001))));
}

#[test]
fn every_member_takes_writes_and_reads() {
    let mut cluster = Cluster::new();
    for at in 0..3 {
        let key = format!("k{at}");
        assert_eq!(revision(cluster.ask(at, put(&key, "v"))), 2 + i64::try_from(at).unwrap());
        for reader in 0..3 {
            assert_eq!(cluster.get(reader, &key), 1);
        }
    }
    cluster.pass(Duration::from_secs(1));
    let chains: BTreeSet<u32> = cluster.rigs.iter().map(|rig| rig.member.store().chain()).collect();
    assert_eq!(chains.len(), 1);
    let names = |rig: &Rig| rig.member.store().members().all(|row| row.name == "default");
    assert!(cluster.rigs.iter().all(names), "all have published themselves");
}

#[test]
fn a_write_outlives_its_leader_and_is_done_once() {
    let mut cluster = Cluster::new();
    let (leader, follower) = (cluster.leader(), cluster.follower());
    // The follower hears nothing more of the leader once that has its proposal.
    let id = cluster.rigs[follower].send(put("a", "1"));
    cluster.rigs[follower].turn();
    for (to, message) in std::mem::take(&mut cluster.rigs[follower].sent) {
        let to = MEMBERS.iter().position(|id| *id == to).unwrap();
        cluster.rigs[to].step(Event::Peer { from: MEMBERS[follower], message });
    }
    cluster.rigs[leader].turn();
    let third = 3 - leader - follower;
    for (to, message) in std::mem::take(&mut cluster.rigs[leader].sent) {
        if to == MEMBERS[third] {
            cluster.rigs[third].step(Event::Peer { from: MEMBERS[leader], message });
        }
    }
    cluster.cut.insert(leader);
    let first = revision(cluster.wait(follower, id));
    assert_eq!(revision(cluster.ask(third, put("b", "1"))), first + 1, "nothing came between");
}

#[test]
fn a_proposal_that_is_lost_on_its_way_is_offered_again() {
    let mut cluster = Cluster::new();
    let follower = cluster.follower();
    cluster.loses = |message| message.len() > 40 && message.windows(4).any(|part| part == b"lost");
    let id = cluster.rigs[follower].send(put("lost", "1"));
    cluster.pass(Duration::from_millis(200));
    assert!(!cluster.rigs[follower].answers.contains_key(&id));
    cluster.loses = |_| false;
    assert!(cluster.wait(follower, id).is_ok());
}

#[test]
fn a_slow_member_gets_what_left_memory_from_the_log_of_the_leader() {
    let mut cluster = Cluster::with(|config| config.log_bytes_max = 0);
    let (leader, slow) = (cluster.leader(), cluster.follower());
    cluster.cut.insert(slow);
    for at in 0..200 {
        cluster.ask(leader, put(&format!("k{at}"), &"v".repeat(20_000))).unwrap();
    }
    cluster.pass(Duration::from_secs(5));
    cluster.cut.clear();
    cluster.pass(Duration::from_secs(5));
    assert!(3 < cluster.rigs[leader].log_fetches, "a fetch is bounded");
    let chains: BTreeSet<u32> = cluster.rigs.iter().map(|rig| rig.member.store().chain()).collect();
    assert_eq!(chains.len(), 1, "it has caught up");
}

#[test]
fn a_leader_without_a_quorum_serves_no_linearizable_read() {
    let mut cluster = Cluster::new();
    let leader = cluster.leader();
    cluster.ask(leader, put("a", "1")).unwrap();
    cluster.cut.insert(leader);
    let range = KeyRange::single(&b"a"[..]);
    let read = Request::Range(RangeOp { range, ..RangeOp::default() });
    let id = cluster.rigs[leader].send(read);
    let answer = cluster.wait(leader, id);
    assert_eq!(answer, Err(OpError::Timeout), "as etcd says it");
}

#[test]
fn a_read_survives_a_change_of_leader() {
    let mut cluster = Cluster::new();
    let leader = cluster.leader();
    cluster.ask(leader, put("a", "1")).unwrap();
    cluster.cut.insert(leader);
    let other = (leader + 1) % 3;
    assert_eq!(cluster.get(other, "a"), 1);
}

#[test]
fn leases_are_renewed_and_looked_at_through_any_member() {
    let mut cluster = Cluster::new();
    let (leader, follower) = (cluster.leader(), cluster.follower());
    let id = LeaseId(77);
    cluster.ask(follower, Request::LeaseGrant { id, ttl: 4 }).unwrap();
    cluster.ask(leader, put_with_lease("a", "1", 77)).unwrap();
    for _ in 0..5 {
        cluster.pass(Duration::from_secs(3));
        let answer = cluster.ask(follower, Request::LeaseKeepAlive(id));
        assert_eq!(answer, Ok(Response::LeaseKeepAlive { id, ttl: 4 }));
    }
    match cluster.ask(follower, Request::LeaseTimeToLive { id, keys: true }) {
        Ok(Response::LeaseTimeToLive { ttl, granted_ttl: 4, keys, .. }) => {
            assert!((3..=4).contains(&ttl));
            assert_eq!(keys, [Bytes::from_static(b"a")]);
        }
        other => panic!("{other:?}"),
    }
    cluster.pass(Duration::from_secs(7));
    assert_eq!(cluster.get(follower, "a"), 0);
    let answer = cluster.ask(follower, Request::LeaseKeepAlive(id));
    assert_eq!(answer, Ok(Response::LeaseKeepAlive { id, ttl: 0 }));
}

#[test]
fn a_lease_gets_its_whole_time_and_an_election_more_from_a_new_leader() {
    let mut cluster = Cluster::new();
    let id = LeaseId(7);
    cluster.ask(0, Request::LeaseGrant { id, ttl: 6 }).unwrap();
    cluster.ask(0, put_with_lease("a", "1", 7)).unwrap();
    cluster.pass(Duration::from_secs(5));
    let leader = cluster.leader();
    cluster.cut.insert(leader);
    let other = (leader + 1) % 3;
    cluster.pass(Duration::from_secs(4));
    assert_eq!(cluster.get(other, "a"), 1, "the new leader counts anew");
    cluster.pass(Duration::from_secs(8));
    assert_eq!(cluster.get(other, "a"), 0);
}

#[test]
fn without_a_leader_a_renewal_says_so() {
    let mut cluster = Cluster::new();
    cluster.ask(0, Request::LeaseGrant { id: LeaseId(7), ttl: 60 }).unwrap();
    let (leader, follower) = (cluster.leader(), cluster.follower());
    cluster.cut.insert(leader);
    cluster.cut.insert(follower);
    let answer = cluster.ask(follower, Request::LeaseKeepAlive(LeaseId(7)));
    assert_eq!(answer, Err(OpError::NoLeader));
    let answer = cluster.ask(follower, put("a", "1"));
    assert_eq!(answer, Err(OpError::TimeoutConnectionLost));
}

#[test]
fn leadership_moves_when_asked_and_no_write_is_lost_or_doubled() {
    let mut cluster = Cluster::new();
    let (leader, follower) = (cluster.leader(), cluster.follower());
    let to = MEMBERS[follower];
    assert_eq!(cluster.ask(follower, Request::MoveLeader(to)), Err(OpError::NotLeader));
    let unknown = cluster.ask(leader, Request::MoveLeader(MemberId(9)));
    assert_eq!(unknown, Err(OpError::BadLeaderTransferee));
    let moved = cluster.rigs[leader].send(Request::MoveLeader(to));
    let writes: Vec<(usize, RequestId)> =
        (0..9).map(|at| (at % 3, cluster.rigs[at % 3].send(put(&format!("k{at}"), "v")))).collect();
    assert_eq!(cluster.wait(leader, moved), Ok(Response::MoveLeader));
    assert_eq!(cluster.leader(), follower);
    let seen = writes.into_iter().map(|(at, id)| revision(cluster.wait(at, id)));
    let seen: BTreeSet<i64> = seen.collect();
    assert_eq!(seen, (2..11).collect());
}

#[test]
fn a_leader_that_stops_hands_over_first() {
    let mut cluster = Cluster::new();
    let leader = cluster.leader();
    let id = cluster.rigs[leader].send(put("a", "1"));
    cluster.rigs[leader].step(Event::Stop);
    cluster.pass(Duration::from_millis(100));
    assert!(cluster.rigs[leader].answers[&id].is_ok(), "what was on its way is done");
    assert_ne!(cluster.leader(), leader);
    cluster.pass(Duration::from_secs(1));
    assert!(cluster.rigs[leader].is_stopped);
}
