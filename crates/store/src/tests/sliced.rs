//! Entries that are applied slice by slice, and what happens meanwhile.

use super::rig::Rig;
use crate::{Applied, Config, Entry};
use bytes::Bytes;
use proto::etcdserverpb as pb;
use proto::log::{self, Kind};
use std::time::Duration;
use types::{KeyRange, Time};
use watch::{Create, StreamId};

const STREAM: StreamId = StreamId(1);

/// A store that keeps next to nothing in memory once it is flushed.
fn small() -> Rig {
    let mvcc = mvcc::Config { resident_bytes: 0, recent_bytes: 0 };
    Rig::new(Config { mvcc, ..Config::default() })
}

fn watch_all(rig: &mut Rig, prev_kv: bool) {
    let range = KeyRange::new("a", "z");
    rig.store.hub_mut().create(STREAM, &Create { range, prev_kv, ..Create::default() });
}

fn delete(key: &str, end: &str) -> pb::DeleteRangeRequest {
    pb::DeleteRangeRequest {
        key: key.to_owned().into(),
        range_end: end.to_owned().into(),
        ..Default::default()
    }
}

/// Applies the first slice of an entry, of one key.
fn begin(rig: &mut Rig, kind: Kind, request: &impl prost::Message) -> Option<Applied> {
    let body = Bytes::from(request.encode_to_vec());
    let data = log::Entry { kind, body, ..log::Entry::default() }.encode();
    let entry = Entry::decode(&data).unwrap();
    let index = rig.store.applied().next();
    assert_eq!(rig.store.needs(&entry), []);
    rig.store.apply_slice(index, rig.term, &entry, 1)
}

#[test]
fn a_watcher_made_between_slices_is_told_of_all_with_the_values_before() {
    let mut rig = small();
    rig.store.hub_mut().open(STREAM, Time(0), Duration::from_secs(600));
    for key in ["a", "b", "c"] {
        rig.put(key, "v");
    }
    rig.flush();
    assert_eq!(begin(&mut rig, Kind::DeleteRange, &delete("a", "z")), None);
    watch_all(&mut rig, true);
    while rig.store.resume(1).is_none() {}
    rig.catch_up();
    assert_eq!(rig.drain(STREAM), ["#0 rev 4 created", "#0 rev 5 -a@5<2 -b@5<3 -c@5<4"]);
}

#[test]
fn what_an_entry_reads_stays_in_memory_until_it_is_whole() {
    let mut rig = small();
    rig.store.hub_mut().open(STREAM, Time(0), Duration::from_secs(600));
    watch_all(&mut rig, true);
    for key in ["a", "b", "c"] {
        rig.put(key, "v");
    }
    rig.begin_flush();
    assert_eq!(begin(&mut rig, Kind::DeleteRange, &delete("a", "z")), None);
    rig.end_flush();
    while rig.store.resume(1).is_none() {}
    assert_eq!(rig.drain(STREAM).last().unwrap(), "#0 rev 5 -a@5<2 -b@5<3 -c@5<4");
}

#[test]
fn a_transaction_is_cut_within_its_deletes() {
    let op = |request| pb::RequestOp { request: Some(request) };
    let delete = |key, end| op(pb::request_op::Request::RequestDeleteRange(delete(key, end)));
    let put = |key: &str| {
        let key = key.to_owned().into();
        let put = pb::PutRequest { key, value: "new".into(), ..Default::default() };
        op(pb::request_op::Request::RequestPut(put))
    };
    let inner = pb::TxnRequest {
        success: vec![delete("c", "f"), put("c"), delete("f", "h")],
        ..Default::default()
    };
    let txn = pb::TxnRequest {
        success: vec![
            delete("a", "c"),
            op(pb::request_op::Request::RequestTxn(inner)),
            put("z"),
            delete("h", "i"),
        ],
        ..Default::default()
    };
    let lives = [1, 3, usize::MAX].map(|keys_max| {
        let mut rig = Rig::new(Config::default());
        rig.store.hub_mut().open(STREAM, Time(0), Duration::from_secs(600));
        watch_all(&mut rig, true);
        for key in ["a", "b", "c", "d", "e", "f", "g", "h"] {
            rig.put(key, "v");
        }
        rig.keys_max = keys_max;
        let applied = rig.request(Kind::Txn, &txn);
        assert_eq!(rig.range("a", "zz", 0).unwrap(), "c=new@10 z=new@10");
        (applied, rig.drain(STREAM), rig.store.chain(), rig.store.figures())
    });
    assert_eq!(lives[0], lives[1]);
    assert_eq!(lives[0], lives[2]);
}

#[test]
fn reads_see_nothing_of_a_revoke_before_it_is_whole() {
    let mut rig = Rig::new(Config::default());
    rig.grant(7, 60).unwrap();
    for key in ["a", "b", "c"] {
        rig.put_with(key, "v", 7).unwrap();
    }
    let revoke = pb::LeaseRevokeRequest { id: 7 };
    assert_eq!(begin(&mut rig, Kind::LeaseRevoke, &revoke), None);
    for _ in 0..2 {
        assert_eq!(rig.range("a", "z", 0).unwrap(), "a=v@2 b=v@3 c=v@4");
        assert!(rig.store.leases().contains(types::LeaseId(7)));
        let _ = rig.store.resume(1);
    }
    assert!(!rig.store.is_suspended());
    assert_eq!(rig.range("a", "z", 0).unwrap(), "");
    assert!(rig.store.leases().is_empty());
}
