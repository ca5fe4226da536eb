//! Entries and what they come to.

use super::rig::Rig;
use crate::Config;
use proto::etcdserverpb as pb;
use proto::log::Kind;
use std::time::Duration;
use types::{KeyRange, OpError, Time};
use watch::{Create, StreamId};

fn rig() -> Rig {
    Rig::new(Config::default())
}

#[test]
fn a_first_life_of_a_store() {
    let mut rig = rig();
    let stream = StreamId(1);
    rig.store.hub_mut().open(stream, Time(0), Duration::from_secs(600));
    let all = KeyRange::new("a", "z");
    rig.store.hub_mut().create(stream, &Create { range: all, prev_kv: true, ..Create::default() });
    assert_eq!(rig.put("a", "1"), 2);
    assert_eq!(rig.grant(7, 60), Ok(()));
    assert_eq!(rig.put_with("b", "2", 7), Ok(3));
    assert_eq!(rig.put_with("c", "2", 8), Err(OpError::LeaseNotFound));
    rig.flush();
    assert_eq!(rig.range("a", "z", 0).unwrap(), "a=1@2 b=2@3");
    assert_eq!(rig.revoke(7), Ok(()));
    assert_eq!(rig.delete("a", "").deleted, 1);
    assert_eq!(rig.range("a", "z", 3).unwrap(), "a=1@2 b=2@3");
    assert_eq!(rig.compact(4), Ok(()));
    assert_eq!(rig.range("a", "z", 3), Err(OpError::Compacted));
    assert_eq!(
        rig.drain(stream),
        [
            "#0 rev 1 created",
            "#0 rev 2 +a@2",
            "#0 rev 3 +b@3",
            "#0 rev 4 -b@4<3",
            "#0 rev 5 -a@5<2",
        ]
    );
    rig.restart().unwrap();
    assert_eq!(rig.range("a", "z", 0).unwrap(), "");
    assert_eq!(rig.store.revision(), 5);
}

#[test]
fn a_key_deleted_and_put_again_by_one_transaction_begins_without_a_previous_value() {
    let mut rig = rig();
    let (live, late) = (StreamId(1), StreamId(2));
    let all = KeyRange::new("a", "z");
    let create = Create { range: all, prev_kv: true, ..Create::default() };
    rig.store.hub_mut().open(live, Time(0), Duration::from_secs(600));
    rig.store.hub_mut().create(live, &create);
    rig.put("b", "1");
    let op = |request| pb::RequestOp { request: Some(request) };
    let delete = pb::DeleteRangeRequest { key: "b".into(), ..Default::default() };
    let put = pb::PutRequest { key: "b".into(), value: "2".into(), ..Default::default() };
    let txn = pb::TxnRequest {
        success: vec![
            op(pb::request_op::Request::RequestDeleteRange(delete)),
            op(pb::request_op::Request::RequestPut(put)),
        ],
        ..Default::default()
    };
    rig.request(Kind::Txn, &txn);
    let created = "#0 rev 1 created".to_string();
    let events = "#0 rev 3 -b@3<2 +b@3".to_string();
    assert_eq!(rig.drain(live), [created, "#0 rev 2 +b@2".to_string(), events.clone()]);
    rig.store.hub_mut().open(late, Time(0), Duration::from_secs(600));
    rig.store.hub_mut().create(late, &Create { start_revision: 3, ..create });
    rig.catch_up();
    assert_eq!(rig.drain(late), ["#0 rev 3 created".to_string(), events]);
}
