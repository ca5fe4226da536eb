//! Members join, get a vote, move and leave, with etcd's checks and errors.

use super::cluster::{Cluster, MEMBERS};
use super::rig::{CLUSTER, Rig, put};
use crate::request::{MemberInfo, Request, Response};
use crate::{Config, Event, Founder, StartError, identity};
use std::collections::BTreeSet;
use std::time::Duration;
use types::{MemberId, OpError};

/// Three members that have been connected to each other for long enough.
fn connected() -> Cluster {
    let mut cluster = Cluster::new();
    for at in 0..3 {
        for other in MEMBERS {
            cluster.rigs[at].step(Event::Connected(other));
        }
    }
    cluster.pass(Duration::from_secs(6));
    cluster
}

fn urls(port: u16) -> Vec<String> {
    vec![format!("http://127.0.0.1:{port}")]
}

fn add(port: u16, is_learner: bool) -> Request {
    Request::MemberAdd { peer_urls: urls(port), is_learner, seconds: 1_700_000_000 }
}

fn members(answer: Result<Response, OpError>) -> Vec<MemberInfo> {
    match answer {
        Ok(Response::Members(members) | Response::MemberAdded(_, members)) => members,
        other => panic!("{other:?}"),
    }
}

/// A member joins on a machine of its own.
fn join(cluster: &mut Cluster, port: u16, is_learner: bool) -> usize {
    let follower = cluster.follower();
    let joined = match cluster.ask(follower, add(port, is_learner)) {
        Ok(Response::MemberAdded(joined, _)) => joined,
        other => panic!("{other:?}"),
    };
    assert_eq!(joined.id, identity::joining_member_id(&urls(port), 1_700_000_000));
    assert_eq!((joined.is_learner, joined.name.as_str()), (is_learner, ""));
    let mut config = Config::new(joined.id, CLUSTER, 1);
    config.joins = true;
    let mut rig = Rig::with(config, store::Config::default());
    rig.now = cluster.rigs[0].now;
    cluster.rigs.push(rig);
    cluster.pass(Duration::from_secs(3));
    cluster.rigs.len() - 1
}

#[test]
fn a_learner_follows_from_the_first_entry_on_and_gets_a_vote_when_it_is_ready() {
    let mut cluster = connected();
    for at in 0..30 {
        cluster.ask(at % 3, put(&format!("k{at}"), "v")).unwrap();
    }
    let learner = join(&mut cluster, 9, true);
    let id = cluster.rigs[learner].config.member;
    let chains = |cluster: &Cluster| -> BTreeSet<u32> {
        cluster.rigs.iter().map(|rig| rig.member.store().chain()).collect()
    };
    assert_eq!(chains(&cluster).len(), 1, "it has caught up");
    assert_eq!(cluster.ask(0, add(10, true)), Err(OpError::TooManyLearners));
    cluster.cut.insert(learner);
    for at in 0..40 {
        cluster.ask(at % 3, put(&format!("l{at}"), "v")).unwrap();
    }
    let (leader, follower) = (cluster.leader(), cluster.follower());
    for at in [leader, follower] {
        let early = cluster.ask(at, Request::MemberPromote(id));
        assert_eq!(early, Err(OpError::LearnerNotReady), "at {at}, leader {leader}");
    }
    cluster.cut.clear();
    cluster.pass(Duration::from_secs(3));
    let promoted = members(cluster.ask(follower, Request::MemberPromote(id)));
    assert_eq!(promoted.len(), 4);
    cluster.pass(Duration::from_secs(1));
    let again = cluster.ask(follower, Request::MemberPromote(id));
    assert_eq!(again, Err(OpError::MemberNotLearner));
    let listed = members(cluster.ask(learner, Request::MemberList { linearizable: true }));
    assert!(listed.iter().all(|one| !one.is_learner && !one.name.is_empty()));
    assert_eq!(chains(&cluster).len(), 1);
}

#[test]
fn a_removed_member_stops_and_never_comes_back() {
    let mut cluster = connected();
    let follower = cluster.follower();
    let id = MEMBERS[follower];
    let leader = cluster.leader();
    cluster.ask(leader, Request::MemberRemove(id)).unwrap();
    cluster.pass(Duration::from_secs(6));
    assert!(cluster.rigs[follower].is_stopped, "it was told");
    assert_eq!(cluster.ask(leader, Request::MemberRemove(id)), Err(OpError::MemberNotFound));
    let moved = Request::MemberUpdate { id, peer_urls: urls(7) };
    assert_eq!(cluster.ask(leader, moved), Err(OpError::MemberNotFound));
    cluster.ask(leader, put("a", "1")).unwrap();
    assert_eq!(members(cluster.ask(leader, Request::MemberList { linearizable: true })).len(), 2);
}

#[test]
fn a_leader_that_is_removed_hands_over_and_refuses_to_start_again() {
    let mut cluster = connected();
    let (leader, follower) = (cluster.leader(), cluster.follower());
    let id = MEMBERS[leader];
    cluster.ask(follower, Request::MemberRemove(id)).unwrap();
    cluster.pass(Duration::from_secs(3));
    assert!(cluster.rigs[leader].is_stopped);
    cluster.ask(follower, put("a", "1")).unwrap();
    assert_ne!(cluster.leader(), leader);
    assert_eq!(cluster.rigs.swap_remove(leader).try_restart().err(), Some(StartError::Removed(id)));
}

#[test]
fn members_move_but_not_to_where_another_is() {
    let mut cluster = connected();
    let id = MEMBERS[1];
    let taken = Request::MemberUpdate { id, peer_urls: urls(3) };
    assert_eq!(cluster.ask(0, taken), Err(OpError::PeerUrlExists));
    assert_eq!(cluster.ask(0, add(3, false)), Err(OpError::PeerUrlExists));
    let moved = members(cluster.ask(0, Request::MemberUpdate { id, peer_urls: urls(22) }));
    assert_eq!(moved[1].peer_urls, urls(22));
    let unknown = Request::MemberUpdate { id: MemberId(99), peer_urls: urls(23) };
    assert_eq!(cluster.ask(0, unknown), Err(OpError::MemberNotFound));
}

#[test]
fn a_change_that_could_cost_the_quorum_is_refused() {
    let mut cluster = connected();
    let leader = cluster.leader();
    let others: Vec<usize> = (0..3).filter(|at| *at != leader).collect();
    cluster.rigs[leader].step(Event::Disconnected(MEMBERS[others[0]]));
    assert_eq!(cluster.ask(leader, add(9, false)), Err(OpError::Unhealthy));
    let healthy = Request::MemberRemove(MEMBERS[others[1]]);
    assert_eq!(cluster.ask(leader, healthy), Err(OpError::Unhealthy));
    let down = Request::MemberRemove(MEMBERS[others[0]]);
    assert_eq!(members(cluster.ask(leader, down)).len(), 2, "one that is down may go");
}

#[test]
fn a_new_voter_that_never_started_blocks_the_next_one() {
    let mut cluster = connected();
    let leader = cluster.leader();
    members(cluster.ask(leader, add(9, false)));
    assert_eq!(cluster.ask(leader, put("a", "1")).map(drop), Ok(()));
    members(cluster.ask(leader, add(10, false)));
    let third = cluster.ask(leader, add(11, false));
    assert_eq!(third, Err(OpError::NotEnoughStarted), "three of six are no quorum");
}

#[test]
fn the_last_voter_cannot_leave() {
    let mut rig = Rig::new();
    let id = rig.config.member;
    assert_eq!(rig.ask(Request::MemberRemove(id)), Err(OpError::NotEnoughStarted));
}

#[test]
fn a_restart_finds_members_and_learners_as_they_were() {
    let mut cluster = connected();
    let learner = join(&mut cluster, 9, true);
    let id = cluster.rigs[learner].config.member;
    cluster.pass(Duration::from_secs(5));
    let follower = cluster.follower();
    let rig = cluster.rigs.remove(follower);
    cluster.rigs.insert(follower, rig.restart());
    let rig = cluster.rigs.remove(learner);
    cluster.rigs.insert(learner, rig.restart());
    cluster.pass(Duration::from_secs(5));
    cluster.ask(follower, put("a", "1")).unwrap();
    let promoted = members(cluster.ask(follower, Request::MemberPromote(id)));
    assert_eq!(promoted.len(), 4);
}

#[test]
fn a_member_keeps_its_founders_when_its_settings_name_others() {
    let other = |id| Founder { id: MemberId(id), peer_urls: urls(9) };
    for named in [vec![other(77)], vec![other(77), other(78)]] {
        let mut rig = Rig::new();
        rig.put("k", "v").unwrap();
        rig.config.founders = named;
        let mut rig = rig.restart();
        assert_eq!(rig.get("k").as_deref(), Some("v"));
    }
    let mut cluster = connected();
    cluster.ask(0, put("k", "v")).unwrap();
    let mut rig = cluster.rigs.remove(0);
    rig.config.founders = vec![other(77), other(78)];
    let member = rig.try_restart().unwrap();
    let ids: Vec<MemberId> = member.store().members().map(|row| row.id).collect();
    assert_eq!(ids, MEMBERS);
}
