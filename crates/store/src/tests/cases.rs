//! One behaviour a test.

use super::rig::Rig;
use crate::{AlarmKind, Config, Entry, LeaseFact, MemberRow, Outcome};
use bytes::Bytes;
use prost::Message as _;
use proto::etcdserverpb as pb;
use proto::log::{self, Kind};
use proto::membershippb;
use std::time::Duration;
use types::{Index, KeyRange, MemberId, OpError, Term, Time};
use watch::{Create, StreamId};

fn rig() -> Rig {
    Rig::new(Config::default())
}

fn put_op(key: &str, value: &str) -> pb::RequestOp {
    let put = pb::PutRequest {
        key: key.to_owned().into(),
        value: value.to_owned().into(),
        ..Default::default()
    };
    pb::RequestOp { request: Some(pb::request_op::Request::RequestPut(put)) }
}

fn range_op(key: &str, revision: i64) -> pb::RequestOp {
    let range = pb::RangeRequest { key: key.to_owned().into(), revision, ..Default::default() };
    pb::RequestOp { request: Some(pb::request_op::Request::RequestRange(range)) }
}

fn txn(rig: &mut Rig, success: Vec<pb::RequestOp>) -> Result<Outcome, OpError> {
    rig.request(Kind::Txn, &pb::TxnRequest { success, ..Default::default() }).result
}

fn alarm(rig: &mut Rig, action: i32, member_id: u64, alarm: i32) -> Vec<(MemberId, AlarmKind)> {
    match rig.request(Kind::Alarm, &pb::AlarmRequest { action, member_id, alarm }).result {
        Ok(Outcome::Alarm(list)) => list,
        other => panic!("{other:?}"),
    }
}

/// UC-038: a range at a compacted or future revision fails the transaction as a whole.
#[test]
fn a_txn_with_an_unreadable_range_changes_nothing() {
    let mut rig = rig();
    for _ in 0..5 {
        rig.put("a", "1");
    }
    rig.compact(4).unwrap();
    for (revision, error) in
        [(2, OpError::Compacted), (10_000, OpError::FutureRevision), (-1, OpError::Compacted)]
    {
        let orders = [
            vec![put_op("b", "1"), range_op("a", revision)],
            vec![range_op("a", revision), put_op("b", "1")],
        ];
        for ops in orders {
            assert_eq!(txn(&mut rig, ops), Err(error));
        }
    }
    assert_eq!(rig.store.revision(), 6);
    let chain = rig.store.chain();
    rig.flush();
    rig.restart().unwrap();
    assert_eq!((rig.store.revision(), rig.store.chain()), (6, chain));
    assert_eq!(rig.range("b", "", 0).unwrap(), "");
}

/// UC-048: a watch from the compacted revision that is a delete gets that delete, also when all
/// of history comes from the backend.
#[test]
fn a_watch_from_a_compacted_delete_gets_the_delete() {
    let mut rig = Rig::new(Config {
        mvcc: mvcc::Config { resident_bytes: 0, recent_bytes: 0 },
        ..Config::default()
    });
    for _ in 0..3 {
        rig.put("k", "v");
    }
    rig.delete("k", "");
    rig.put("k", "v");
    rig.compact(5).unwrap();
    while !rig.store.compact_step(1) {}
    for restarts in [false, true] {
        rig.flush();
        if restarts {
            rig.restart().unwrap();
        }
        let stream = StreamId(1);
        rig.store.hub_mut().open(stream, Time(0), Duration::from_secs(600));
        let range = KeyRange::single("k");
        let create = Create { range, start_revision: 5, prev_kv: true, ..Create::default() };
        rig.store.hub_mut().create(stream, &create);
        rig.catch_up();
        assert_eq!(rig.drain(stream), ["#0 rev 6 created", "#0 rev 6 -k@5 +k@6"]);
        rig.store.hub_mut().close(stream);
    }
}

/// UC-069: a negative lease id, its keys and all, is there after a restart.
#[test]
fn a_lease_with_a_negative_id_survives_a_restart() {
    for flushed in [false, true] {
        let mut rig = rig();
        rig.grant(-5, 600).unwrap();
        rig.put_with("k", "v", -5).unwrap();
        if flushed {
            rig.flush();
        }
        rig.restart().unwrap();
        let lease = rig.store.leases().get(types::LeaseId(-5)).unwrap();
        assert_eq!((lease.ttl, lease.keys().count()), (600, 1));
        assert_eq!(rig.revoke(-5), Ok(()));
        assert_eq!(rig.range("k", "", 0).unwrap(), "");
    }
}

/// UC-070.
#[test]
fn an_absurd_ttl_is_refused() {
    let mut rig = rig();
    assert_eq!(rig.grant(1, 9_000_000_000), Ok(()));
    assert_eq!(rig.grant(2, 9_000_000_001), Err(OpError::LeaseTtlTooLarge));
    assert_eq!(rig.grant(1, 60), Err(OpError::LeaseExists));
    assert_eq!(rig.revoke(2), Err(OpError::LeaseNotFound));
}

#[test]
fn a_revoke_deletes_all_keys_in_one_revision_in_byte_order() {
    let mut rig = rig();
    rig.grant(7, 60).unwrap();
    for key in ["b", "a", "c"] {
        rig.put_with(key, "v", 7).unwrap();
    }
    rig.put("c", "detached");
    let stream = StreamId(1);
    rig.store.hub_mut().open(stream, Time(0), Duration::from_secs(600));
    let range = KeyRange::new("a", "z");
    rig.store.hub_mut().create(stream, &Create { range, ..Create::default() });
    let applied = rig.request(Kind::LeaseRevoke, &pb::LeaseRevokeRequest { id: 7 });
    assert_eq!(applied.facts, [LeaseFact::Revoked(types::LeaseId(7))]);
    assert_eq!(applied.revision, 6);
    assert_eq!(rig.drain(stream)[1..], ["#0 rev 6 -a@6 -b@6"]);
    rig.grant(8, 60).unwrap();
    rig.revoke(8).unwrap();
    assert_eq!(rig.store.revision(), 6, "without keys the revision stays");
}

#[test]
fn a_proposal_is_applied_once_under_its_id() {
    let mut rig = rig();
    let put = pb::PutRequest { key: b"k".as_ref().into(), ..Default::default() };
    let body: Bytes = put.encode_to_vec().into();
    let entry = |id: u64, floor: u64| {
        let kind = Kind::Put;
        log::Entry { id, floor, kind, body: body.clone(), ..log::Entry::default() }.encode()
    };
    let id = |n: u64| (3 << 48) + n;
    assert!(matches!(rig.entry(entry(id(1), id(1))).result, Ok(Outcome::Put(_))));
    assert_eq!(rig.entry(entry(id(1), id(1))).result, Ok(Outcome::Duplicate));
    assert!(matches!(rig.entry(entry(id(3), id(2))).result, Ok(Outcome::Put(_))));
    assert_eq!(rig.entry(entry(id(1), id(1))).result, Ok(Outcome::Duplicate), "below the floor");
    assert!(matches!(rig.entry(entry(id(2), id(2))).result, Ok(Outcome::Put(_))));
    assert!(matches!(rig.entry(entry(0, 0)).result, Ok(Outcome::Put(_))), "without an id");
    assert_eq!(rig.store.figures().request_ids, 2, "what lies below the floor is forgotten");
    rig.flush();
    rig.restart().unwrap();
    assert_eq!(rig.entry(entry(id(2), id(2))).result, Ok(Outcome::Duplicate), "after a restart");
    assert_eq!(rig.entry(entry(id(3), id(2))).result, Ok(Outcome::Duplicate));
    assert_eq!(rig.store.revision(), 5);
}

#[test]
fn expiry_of_another_term_or_of_an_earlier_lease_does_nothing() {
    let mut rig = rig();
    rig.grant(7, 60).unwrap();
    let revoke = pb::LeaseRevokeRequest { id: 7 };
    let stale = rig.term.0 - 1;
    assert_eq!(rig.fenced(Kind::LeaseRevoke, &revoke, stale).result, Ok(Outcome::Fenced));
    let decided = rig.store.applied();
    rig.revoke(7).unwrap();
    rig.grant(7, 60).unwrap();
    let checkpoint = pb::LeaseCheckpointRequest {
        checkpoints: vec![pb::LeaseCheckpoint { id: 7, remaining_ttl: 5 }],
    };
    let fenced = |kind, body: Vec<u8>, rig: &Rig| {
        let (fence_term, fence_index) = (rig.term.0, decided.0);
        let body = body.into();
        log::Entry { fence_term, fence_index, kind, body, ..log::Entry::default() }.encode()
    };
    let entry = fenced(Kind::LeaseRevoke, revoke.encode_to_vec(), &rig);
    assert_eq!(rig.entry(entry).result, Ok(Outcome::Fenced));
    let entry = fenced(Kind::LeaseCheckpoint, checkpoint.encode_to_vec(), &rig);
    assert_eq!(rig.entry(entry).facts, []);
    assert_eq!(rig.fenced(Kind::LeaseCheckpoint, &checkpoint, rig.term.0).facts.len(), 1);
    rig.flush();
    rig.restart().unwrap();
    assert_eq!(rig.store.leases().get(types::LeaseId(7)).unwrap().restart_ttl(), 5);
    assert!(rig.fenced(Kind::LeaseRevoke, &revoke, rig.term.0).result.is_ok());
    assert!(rig.store.leases().is_empty());
}

#[test]
fn over_the_quota_a_write_is_applied_and_said_so_and_deletes_cost_nothing() {
    let mut rig = Rig::new(Config { quota_bytes: 1000, ..Config::default() });
    let put = |value: usize| pb::PutRequest {
        key: b"k".as_ref().into(),
        value: vec![b'v'; value].into(),
        ..Default::default()
    };
    assert!(!rig.request(Kind::Put, &put(600)).over_quota);
    assert_eq!(rig.store.figures().live_bytes, 256 + 601);
    assert!(rig.store.over_quota(143), "the sum must stay below the quota");
    assert!(!rig.store.over_quota(142));
    assert!(!rig.store.over_quota(0));
    let applied = rig.request(Kind::Put, &put(1));
    assert!(applied.over_quota && applied.result.is_ok());
    let grant = rig.request(Kind::LeaseGrant, &pb::LeaseGrantRequest { id: 1, ttl: 60 });
    assert!(grant.over_quota && grant.result.is_ok());
    rig.delete("k", "");
    rig.compact(rig.store.revision()).unwrap();
    assert!(!rig.request(Kind::Put, &put(100)).over_quota, "compaction gives room at once");
    assert!(!Rig::new(Config { quota_bytes: -1, ..Config::default() }).store.over_quota(i64::MAX));
    assert_eq!(
        Rig::new(Config { quota_bytes: 0, ..Config::default() }).store.quota_bytes(),
        2 << 30
    );
}

#[test]
fn the_no_space_alarm_refuses_what_adds_and_nothing_else() {
    let mut rig = rig();
    rig.put("a", "1");
    rig.grant(1, 60).unwrap();
    assert_eq!(alarm(&mut rig, 1, 9, 1), [(MemberId(9), AlarmKind::NoSpace)]);
    assert_eq!(alarm(&mut rig, 1, 9, 1), [(MemberId(9), AlarmKind::NoSpace)], "again, harmless");
    assert_eq!(rig.put_with("a", "2", 0), Err(OpError::NoSpace));
    assert_eq!(rig.grant(2, 60), Err(OpError::NoSpace));
    assert_eq!(txn(&mut rig, vec![put_op("a", "2")]), Err(OpError::NoSpace));
    assert!(txn(&mut rig, vec![range_op("a", 0)]).is_ok());
    assert_eq!(rig.delete("a", "").deleted, 1);
    assert_eq!(rig.revoke(1), Ok(()));
    assert_eq!(rig.compact(3), Ok(()));
    rig.flush();
    rig.restart().unwrap();
    assert_eq!(rig.put_with("a", "2", 0), Err(OpError::NoSpace), "it is still on");
    assert_eq!(alarm(&mut rig, 2, 0, 1), [], "no member 0 has raised it");
    assert_eq!(alarm(&mut rig, 2, 9, 1), [(MemberId(9), AlarmKind::NoSpace)]);
    assert_eq!(alarm(&mut rig, 2, 9, 1), []);
    assert_eq!(rig.put_with("a", "2", 0), Ok(4));
}

#[test]
fn the_corrupt_alarm_refuses_every_write_and_wins() {
    let mut rig = rig();
    rig.put("a", "1");
    assert_eq!(alarm(&mut rig, 1, 9, 0), [], "no kind, no alarm");
    alarm(&mut rig, 1, 9, 1);
    alarm(&mut rig, 1, 8, 2);
    assert_eq!(rig.put_with("a", "2", 0), Err(OpError::Corrupt));
    assert_eq!(rig.grant(1, 60), Err(OpError::Corrupt));
    assert_eq!(rig.revoke(1), Err(OpError::Corrupt));
    assert_eq!(rig.compact(1), Err(OpError::Corrupt));
    assert_eq!(txn(&mut rig, vec![range_op("a", 0)]), Err(OpError::Corrupt));
    assert_eq!(rig.range("a", "", 0).unwrap(), "a=1@2", "reads go on");
    let all = [(MemberId(9), AlarmKind::NoSpace), (MemberId(8), AlarmKind::Corrupt)];
    assert_eq!(alarm(&mut rig, 0, 77, 0), all);
    assert_eq!(alarm(&mut rig, 0, 0, 2), all[1..]);
}

#[test]
fn compaction_is_checked_and_the_first_may_be_at_zero() {
    let mut rig = rig();
    rig.put("a", "1");
    assert_eq!(rig.compact(-1), Err(OpError::Compacted));
    assert_eq!(rig.compact(0), Ok(()));
    assert_eq!(rig.compact(0), Err(OpError::Compacted));
    assert_eq!(rig.compact(3), Err(OpError::FutureRevision));
    assert_eq!(rig.compact(2), Ok(()));
    assert_eq!(rig.range("a", "", 1), Err(OpError::Compacted));
    assert_eq!(rig.range("a", "", 2).unwrap(), "a=1@2");
}

#[test]
fn a_large_delete_is_cut_and_reads_see_the_state_before_until_it_is_done() {
    let mut rig = rig();
    for n in 0..10 {
        rig.put(&format!("k{n}"), "v");
    }
    let stream = StreamId(1);
    rig.store.hub_mut().open(stream, Time(0), Duration::from_secs(600));
    let range = KeyRange::new("k", "l");
    rig.store.hub_mut().create(stream, &Create { range, prev_kv: true, ..Create::default() });
    let request = pb::DeleteRangeRequest {
        key: b"k".as_ref().into(),
        range_end: b"l".as_ref().into(),
        prev_kv: true,
    };
    let body = request.encode_to_vec().into();
    let data = log::Entry { kind: Kind::DeleteRange, body, ..log::Entry::default() }.encode();
    let entry = Entry::decode(&data).unwrap();
    let mut applied = rig.store.apply_slice(rig.store.applied().next(), rig.term, &entry, 3);
    let mut slices = 1;
    while applied.is_none() {
        assert!(rig.store.is_suspended());
        assert_eq!(rig.range("k3", "", 0).unwrap(), "k3=v@5");
        assert!(rig.drain(stream).len() <= 1, "no event is cut inside an entry");
        assert!(!rig.store.compact_step(10));
        applied = rig.store.resume(3);
        slices += 1;
    }
    let Ok(Outcome::Delete(outcome)) = applied.unwrap().result else { panic!("a delete") };
    assert_eq!((outcome.deleted, outcome.prev.len(), outcome.revision), (10, 10, 12));
    assert_eq!(slices, 4);
    assert_eq!(rig.drain(stream).len(), 1, "all of it in one message");
}

#[test]
fn a_lease_with_many_keys_is_revoked_in_slices() {
    let mut rig = rig();
    rig.grant(7, 60).unwrap();
    for n in 0..10 {
        rig.put_with(&format!("k{n}"), "v", 7).unwrap();
    }
    let body = pb::LeaseRevokeRequest { id: 7 }.encode_to_vec().into();
    let data = log::Entry { kind: Kind::LeaseRevoke, body, ..log::Entry::default() }.encode();
    let entry = Entry::decode(&data).unwrap();
    let mut applied = rig.store.apply_slice(rig.store.applied().next(), rig.term, &entry, 4);
    while applied.is_none() {
        assert!(rig.store.leases().contains(types::LeaseId(7)), "gone only with its keys");
        assert_eq!(rig.range("k9", "", 0).unwrap(), "k9=v@11");
        applied = rig.store.resume(4);
    }
    assert_eq!(rig.store.revision(), 12);
    assert!(rig.store.leases().is_empty());
    rig.store.leases().check();
}

#[test]
fn members_version_and_downgrade_are_kept() {
    let mut rig = rig();
    let row = MemberRow {
        id: MemberId(5),
        peer_urls: vec!["http://a:2380".into()],
        ..MemberRow::default()
    };
    rig.store.set_member(row.clone());
    rig.store.set_member(MemberRow { id: MemberId(6), is_learner: true, ..row.clone() });
    rig.store.remove_member(MemberId(6));
    let attributes =
        membershippb::Attributes { name: "m5".into(), client_urls: vec!["http://a:2379".into()] };
    let publish = membershippb::ClusterMemberAttrSetRequest {
        member_id: 5,
        member_attributes: Some(attributes),
    };
    rig.request(Kind::ClusterMemberAttrSet, &publish);
    let version = membershippb::ClusterVersionSetRequest { ver: "3.7.0".into() };
    rig.request(Kind::ClusterVersionSet, &version);
    let downgrade = |enabled| membershippb::DowngradeInfoSetRequest { enabled, ver: "3.6".into() };
    rig.request(Kind::DowngradeInfoSet, &downgrade(true));
    rig.flush();
    rig.restart().unwrap();
    let members: Vec<MemberRow> = rig.store.members().cloned().collect();
    let client_urls = vec!["http://a:2379".into()];
    assert_eq!(members, [MemberRow { name: "m5".into(), client_urls, ..row }]);
    assert_eq!(rig.store.cluster_version(), Some("3.7.0"));
    assert_eq!(rig.store.downgrade(), Some("3.6"));
    rig.request(Kind::DowngradeInfoSet, &downgrade(false));
    assert_eq!(rig.store.downgrade(), None);
}

#[test]
fn an_entry_that_asks_for_nothing_only_moves_the_applied_index() {
    let mut rig = rig();
    assert_eq!(rig.entry(Bytes::new()).result, Ok(Outcome::Noop));
    assert_eq!((rig.store.applied(), rig.store.revision()), (Index(1), 1));
    let garbage = Entry::decode(&Bytes::from_static(b"\x22\x02\x0a\x09"));
    assert!(garbage.is_err(), "a put that is cut short");
}

#[test]
fn the_applied_index_and_term_move_with_the_data() {
    let mut rig = rig();
    rig.put("a", "1");
    rig.term = Term(5);
    rig.put("a", "2");
    rig.flush();
    rig.log.clear();
    rig.restart().unwrap();
    assert_eq!((rig.store.applied(), rig.store.applied_term()), (Index(2), Term(5)));
    assert_eq!(rig.range("a", "", 0).unwrap(), "a=2@3");
    assert_eq!(rig.range("a", "", 2).unwrap(), "a=1@2");
}
