//! One answer in every format.

use expect_test::{Expect, expect};
use proto::etcdserverpb::response_op::Response;
use proto::etcdserverpb::{
    AlarmMember, AlarmResponse, DeleteRangeResponse, LeaseTimeToLiveResponse, Member,
    MemberListResponse, PutResponse, RangeResponse, ResponseHeader, ResponseOp, StatusResponse,
    TxnResponse,
};
use proto::mvccpb::KeyValue;

use crate::printers::{Answer, Display, Health};

fn header() -> Option<ResponseHeader> {
    Some(ResponseHeader { cluster_id: 1, member_id: 255, revision: 7, raft_term: 2 })
}

fn kv() -> KeyValue {
    KeyValue {
        key: "k\n".into(),
        create_revision: 3,
        mod_revision: 7,
        version: 2,
        value: "v<".into(),
        lease: 0x1234,
    }
}

fn check(format: &str, answer: &Answer<'_>, expected: Expect) {
    let display = Display::new(format, false).unwrap();
    let text = match display.render(answer) {
        Ok(bytes) => String::from_utf8(bytes).unwrap(),
        Err(failure) => format!("exit {}: {}", failure.code, failure.text.unwrap_or_default()),
    };
    expected.assert_eq(&text);
}

#[test]
fn nested_answers_of_a_transaction_keep_their_order() {
    let operation = |response| ResponseOp { response: Some(response) };
    let inner = TxnResponse { succeeded: true, ..TxnResponse::default() };
    let answer = TxnResponse {
        header: header(),
        succeeded: false,
        responses: vec![
            operation(Response::ResponseRange(RangeResponse {
                kvs: vec![kv()],
                count: 1,
                more: true,
                ..RangeResponse::default()
            })),
            operation(Response::ResponsePut(PutResponse { prev_kv: Some(kv()), header: None })),
            operation(Response::ResponseDeleteRange(DeleteRangeResponse {
                deleted: 1,
                ..DeleteRangeResponse::default()
            })),
            operation(Response::ResponseTxn(inner)),
        ],
    };
    let answer = Answer::Txn(&answer);
    check(
        "simple",
        &answer,
        expect![[r#"
        FAILURE

        k

        v<

        OK
        k

        v<

        1

        unexpected response
    "#]],
    );
    check(
        "json",
        &answer,
        expect![[r#"
        {"header":{"cluster_id":1,"member_id":255,"revision":7,"raft_term":2},"responses":[{"Response":{"response_range":{"kvs":[{"key":"awo=","create_revision":3,"mod_revision":7,"version":2,"value":"djw=","lease":4660}],"more":true,"count":1}}},{"Response":{"response_put":{"prev_kv":{"key":"awo=","create_revision":3,"mod_revision":7,"version":2,"value":"djw=","lease":4660}}}},{"Response":{"response_delete_range":{"deleted":1}}},{"Response":{"response_txn":{"succeeded":true}}}]}
    "#]],
    );
    check("table", &answer, expect!["exit 4: table not supported as output format"]);
}

#[test]
fn an_alarm_is_named() {
    let alarms =
        vec![AlarmMember { member_id: 255, alarm: 1 }, AlarmMember { member_id: 255, alarm: 2 }];
    let answer = AlarmResponse { header: header(), alarms };
    check(
        "simple",
        &Answer::Alarms(&answer),
        expect![[r#"
        memberID:255 alarm:NOSPACE
        memberID:255 alarm:CORRUPT
    "#]],
    );
    check(
        "json",
        &Answer::Alarms(&answer),
        expect![[r#"
        {"header":{"cluster_id":1,"member_id":255,"revision":7,"raft_term":2},"alarms":[{"memberID":255,"alarm":1},{"memberID":255,"alarm":2}]}
    "#]],
    );
    check(
        "fields",
        &Answer::Alarms(&answer),
        expect![[r#"
        "ClusterID" : 1
        "MemberID" : 255
        "Revision" : 7
        "RaftTerm" : 2
        "MemberID" : 255
        "AlarmType" : NOSPACE

        "MemberID" : 255
        "AlarmType" : CORRUPT

    "#]],
    );
}

#[test]
fn a_lease_with_keys_lists_them() {
    let answer = LeaseTimeToLiveResponse {
        header: header(),
        id: 0x1234,
        ttl: 5,
        granted_ttl: 10,
        keys: vec!["a".into(), "b".into()],
    };
    check(
        "simple",
        &Answer::TimeToLive(&answer, true),
        expect![[r#"
        lease 0000000000001234 granted with TTL(10s), remaining(5s), attached keys([a b])
    "#]],
    );
    check(
        "simple",
        &Answer::TimeToLive(&answer, false),
        expect![[r#"
        lease 0000000000001234 granted with TTL(10s), remaining(5s)
    "#]],
    );
}

#[test]
fn members_that_have_not_started_and_learners_show() {
    let members = vec![
        Member {
            id: 255,
            name: "a&b".to_owned(),
            peer_ur_ls: vec!["http://p1".to_owned(), "http://p2".to_owned()],
            client_ur_ls: vec!["http://c".to_owned()],
            is_learner: true,
        },
        Member { id: 16, peer_ur_ls: vec!["http://p3".to_owned()], ..Member::default() },
    ];
    let answer = MemberListResponse { header: header(), members };
    check(
        "simple",
        &Answer::Members(&answer),
        expect![[r#"
        ff, started, a&b, http://p1,http://p2, http://c, true
        10, unstarted, , http://p3, , false
    "#]],
    );
    check(
        "json",
        &Answer::Members(&answer),
        expect![[r#"
        {"header":{"cluster_id":1,"member_id":255,"revision":7,"raft_term":2},"members":[{"ID":255,"name":"a\u0026b","peerURLs":["http://p1","http://p2"],"clientURLs":["http://c"],"isLearner":true},{"ID":16,"peerURLs":["http://p3"]}]}
    "#]],
    );
    check(
        "table",
        &Answer::Members(&answer),
        expect![[r#"
        ┌────┬───────────┬──────┬─────────────────────┬──────────────┬────────────┐
        │ ID │  STATUS   │ NAME │     PEER ADDRS      │ CLIENT ADDRS │ IS LEARNER │
        ├────┼───────────┼──────┼─────────────────────┼──────────────┼────────────┤
        │ ff │   started │  a&b │ http://p1,http://p2 │     http://c │       true │
        │ 10 │ unstarted │      │           http://p3 │              │      false │
        └────┴───────────┴──────┴─────────────────────┴──────────────┴────────────┘
    "#]],
    );
}

#[test]
fn a_status_without_a_size_is_no_division_by_zero() {
    let status = StatusResponse { header: header(), leader: 255, ..StatusResponse::default() };
    let list = [("h:1".to_owned(), status)];
    check(
        "simple",
        &Answer::Status(&list),
        expect![[r#"
        h:1, ff, , , 0 B, 0 B, 0%, 0 B, true, false, 0, 0, 0, , , false
    "#]],
    );
}

#[test]
fn nothing_to_list_is_null_in_json() {
    check(
        "json",
        &Answer::Status(&[]),
        expect![[r#"
        null
    "#]],
    );
    check("simple", &Answer::Health(&[]), expect![""]);
}

#[test]
fn an_unhealthy_endpoint_carries_its_error() {
    let health = [Health {
        endpoint: "h:1".to_owned(),
        took: "1ms".to_owned(),
        error: "context deadline exceeded".to_owned(),
    }];
    check(
        "json",
        &Answer::Health(&health),
        expect![[r#"
        [{"endpoint":"h:1","health":false,"took":"1ms","error":"context deadline exceeded"}]
    "#]],
    );
    check(
        "protobuf",
        &Answer::Health(&health),
        expect!["exit 4: protobuf not supported as output format"],
    );
}

#[test]
fn an_unknown_format_is_refused() {
    assert_eq!(Display::new("yaml", false).unwrap_err().code, 4);
}
