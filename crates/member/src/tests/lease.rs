//! Leases: granted, renewed, expired, never early; and what a restart gives them.

use super::rig::{Rig, put_with_lease};
use crate::effect::Note;
use crate::request::{Request, Response};
use std::time::Duration;
use types::{LeaseId, OpError};

fn grant(rig: &mut Rig, ttl: i64) -> (LeaseId, i64) {
    match rig.ask(Request::LeaseGrant { id: LeaseId(0), ttl }) {
        Ok(Response::LeaseGrant { id, ttl }) => (id, ttl),
        other => panic!("{other:?}"),
    }
}

fn keep_alive(rig: &mut Rig, id: LeaseId) -> i64 {
    match rig.ask(Request::LeaseKeepAlive(id)) {
        Ok(Response::LeaseKeepAlive { ttl, .. }) => ttl,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_lease_gets_a_positive_id_and_at_least_the_minimum_ttl() {
    let mut rig = Rig::new();
    let (id, ttl) = grant(&mut rig, 0);
    assert!(0 < id.0);
    assert_eq!(ttl, 2);
    assert_ne!(grant(&mut rig, 5).0, id);
    let too_long = Request::LeaseGrant { id: LeaseId(1), ttl: 9_000_000_001 };
    assert_eq!(rig.ask(too_long), Err(OpError::LeaseTtlTooLarge));
}

#[test]
fn a_lease_ends_after_its_ttl_with_its_keys_and_renewal_defers_it() {
    let mut rig = Rig::new();
    let (id, ttl) = grant(&mut rig, 5);
    rig.ask(put_with_lease("a", "1", id.0)).unwrap();
    rig.pass(Duration::from_secs(4));
    assert_eq!(keep_alive(&mut rig, id), ttl);
    rig.pass(Duration::from_secs(4));
    assert_eq!(rig.get("a").as_deref(), Some("1"), "renewed for {ttl} s");
    rig.pass(Duration::from_secs(2));
    assert_eq!(rig.get("a"), None);
    assert!(rig.notes.contains(&Note::LeasesExpired(1)));
    assert_eq!(keep_alive(&mut rig, id), 0);
}

#[test]
fn a_restart_gives_a_lease_its_full_ttl_and_one_election_timeout() {
    let mut rig = Rig::new();
    let (id, _) = grant(&mut rig, 5);
    rig.ask(put_with_lease("a", "1", id.0)).unwrap();
    rig.pass(Duration::from_secs(4));
    let mut rig = rig.restart();
    rig.pass(Duration::from_millis(5900));
    assert_eq!(rig.get("a").as_deref(), Some("1"));
    rig.pass(Duration::from_secs(1));
    assert_eq!(rig.get("a"), None);
}

#[test]
fn many_leases_that_end_together_are_revoked_in_bulk() {
    let mut rig = Rig::new();
    for _ in 0..1200 {
        rig.send(Request::LeaseGrant { id: LeaseId(0), ttl: 2 });
    }
    rig.turn();
    assert_eq!(rig.member.store().leases().len(), 1200);
    rig.pass(Duration::from_millis(2500));
    assert_eq!(rig.member.store().leases().len(), 0);
}

#[test]
fn the_revokes_of_many_leases_follow_one_another_at_once() {
    let mut rig = Rig::new();
    for _ in 0..1200 {
        rig.send(Request::LeaseGrant { id: LeaseId(0), ttl: 2 });
    }
    rig.turn();
    while rig.member.store().leases().len() == 1200 {
        rig.now = rig.member.next_deadline(rig.now);
        rig.step(crate::Event::Tick);
    }
    rig.turn();
    assert_eq!(rig.member.store().leases().len(), 0, "without a second tick");
    let batches = rig.notes.iter().filter_map(|note| match note {
        Note::LeasesExpired(count) => Some(*count),
        _ => None,
    });
    assert_eq!(batches.collect::<Vec<_>>(), [500, 500, 200]);
}
