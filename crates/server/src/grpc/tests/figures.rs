//! Metrics of the whole server: each kind of request moves the figures that speak of it.

use super::super::frame::framed;
use super::super::status::Code;
use super::rig::{Client, Incoming, Rig, with_server};
use prost::Message;
use proto::etcdserverpb as pb;
use std::collections::BTreeMap;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

type Scrape = BTreeMap<String, f64>;

async fn scrape(rig: &Rig) -> Scrape {
    let mut socket = TcpStream::connect(rig.address).await.unwrap();
    let request = b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    socket.write_all(request).await.unwrap();
    let mut text = String::new();
    socket.read_to_string(&mut text).await.unwrap();
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    let parse = |line: &str| {
        let (name, value) = line.rsplit_once(' ')?;
        Some((name.to_string(), value.parse().ok()?))
    };
    lines.filter_map(parse).collect()
}

/// Scrapes before and after, and compares the differences with what is expected; a name that is
/// not there counts as 0.
async fn moves(rig: &Rig, expected: &[(&str, f64)], work: impl AsyncFnOnce()) {
    let before = scrape(rig).await;
    work().await;
    let after = scrape(rig).await;
    let value = |scrape: &Scrape, name: &str| scrape.get(name).copied().unwrap_or(0.0);
    for (name, by) in expected {
        let moved = value(&after, name) - value(&before, name);
        assert!((moved - by).abs() < 1e-9, "{name} moved by {moved}, not by {by}");
    }
}

fn put(key: &str) -> pb::PutRequest {
    pb::PutRequest { key: key.to_string().into(), value: "1234".into(), ..Default::default() }
}

fn op(request: pb::request_op::Request) -> pb::RequestOp {
    pb::RequestOp { request: Some(request) }
}

async fn grant(client: &mut Client, ttl: i64) -> i64 {
    let request = pb::LeaseGrantRequest { ttl, id: 0 };
    client.call::<pb::LeaseGrantResponse>("/etcdserverpb.Lease/LeaseGrant", &request).await.id
}

#[test]
fn requests_of_keys_move_their_figures() {
    with_server(&[], async |rig| {
        let mut client = rig.connect().await;
        let one = "etcd_server_request_duration_seconds_count";
        let expected = [
            ("etcd_mvcc_put_total", 1.0),
            ("etcd_mvcc_txn_total", 0.0),
            ("etcd_debugging_mvcc_current_revision", 1.0),
            ("etcd_debugging_mvcc_keys_total", 1.0),
            ("etcd_debugging_mvcc_total_put_size_in_bytes", 5.0),
            ("etcd_server_proposals_applied_total", 1.0),
            ("etcd_server_proposals_committed_total", 1.0),
            ("etcd_server_proposals_pending", 0.0),
            ("etcd_disk_wal_fsync_duration_seconds_count", 1.0),
            (&format!("{one}{{success=\"true\",type=\"Put\"}}"), 1.0),
            (
                "etcd_server_apply_duration_seconds_count{op=\"Put\",success=\"true\",version=\"v3\"}",
                1.0,
            ),
            (
                "etcd_server_client_requests_total{client_api_version=\"unknown\",type=\"unary\"}",
                1.0,
            ),
            ("etcd_network_client_grpc_received_bytes_total", 9.0),
        ];
        moves(&rig, &expected, async || {
            client.call::<pb::PutResponse>("/etcdserverpb.KV/Put", &put("a")).await;
        })
        .await;
        let expected = [
            ("etcd_mvcc_range_total", 1.0),
            ("etcd_server_range_duration_seconds_count{success=\"true\"}", 1.0),
            (&format!("{one}{{success=\"true\",type=\"Range\"}}"), 1.0),
        ];
        moves(&rig, &expected, async || {
            let request = pb::RangeRequest { key: "a".into(), ..Default::default() };
            client.call::<pb::RangeResponse>("/etcdserverpb.KV/Range", &request).await;
        })
        .await;
        let expected = [
            ("etcd_mvcc_txn_total", 1.0),
            ("etcd_mvcc_put_total", 1.0),
            ("etcd_mvcc_delete_total", 1.0),
            ("etcd_mvcc_range_total", 1.0),
            (&format!("{one}{{success=\"true\",type=\"Txn\"}}"), 1.0),
        ];
        moves(&rig, &expected, async || {
            use pb::request_op::Request;
            let range = pb::RangeRequest { key: "a".into(), ..Default::default() };
            let delete = pb::DeleteRangeRequest { key: "a".into(), ..Default::default() };
            let success = vec![
                op(Request::RequestRange(range)),
                op(Request::RequestPut(put("b"))),
                op(Request::RequestDeleteRange(delete)),
            ];
            let request = pb::TxnRequest { success, ..Default::default() };
            client.call::<pb::TxnResponse>("/etcdserverpb.KV/Txn", &request).await;
        })
        .await;
        let failed = format!("{one}{{success=\"false\",type=\"Put\"}}");
        let expected = [("etcd_mvcc_put_total", 0.0), (failed.as_str(), 1.0)];
        moves(&rig, &expected, async || {
            let request = pb::PutRequest { lease: 99, ..put("c") };
            let ended = client.fail("/etcdserverpb.KV/Put", &request).await;
            assert!(ended.is(Code::NotFound), "{ended:?}");
        })
        .await;
    });
}

#[test]
fn compaction_and_upkeep_move_their_figures() {
    with_server(&["--quota-backend-bytes=100000"], async |rig| {
        let mut client = rig.connect().await;
        for _ in 0..5 {
            client.call::<pb::PutResponse>("/etcdserverpb.KV/Put", &put("a")).await;
        }
        let expected = [
            // It was -1.
            ("etcd_debugging_mvcc_compact_revision", 7.0),
            ("etcd_debugging_mvcc_db_compaction_keys_total", 4.0),
            ("etcd_debugging_mvcc_db_compaction_total_duration_milliseconds_count", 1.0),
        ];
        moves(&rig, &expected, async || {
            let request = pb::CompactionRequest { revision: 6, physical: true };
            client.call::<pb::CompactionResponse>("/etcdserverpb.KV/Compact", &request).await;
        })
        .await;
        let figures = scrape(&rig).await;
        for name in [
            "etcd_debugging_mvcc_db_compaction_last",
            "etcd_debugging_mvcc_index_compaction_pause_duration_milliseconds_count",
            "etcd_disk_backend_commit_duration_seconds_count",
            "etcd_disk_wal_write_bytes_total",
            "etcd_mvcc_db_total_size_in_bytes",
            "etcd_mvcc_db_total_size_in_use_in_bytes",
            "etcd_cluster_version{cluster_version=\"3.7\"}",
            "etcd_server_has_leader",
            "etcd_server_is_leader",
            "etcd_server_leader_changes_seen_total",
            "etcd_network_client_grpc_sent_bytes_total",
        ] {
            assert!(0.0 < figures[name], "{name} is {}", figures[name]);
        }
        let expected = [
            ("etcd_mvcc_hash_rev_duration_seconds_count", 1.0),
            ("etcd_disk_backend_defrag_duration_seconds_count", 1.0),
            ("etcd_disk_defrag_inflight", 0.0),
        ];
        moves(&rig, &expected, async || {
            let request = pb::HashKvRequest::default();
            let path = "/etcdserverpb.Maintenance/HashKV";
            client.call::<pb::HashKvResponse>(path, &request).await;
            let request = pb::DefragmentRequest::default();
            let path = "/etcdserverpb.Maintenance/Defragment";
            client.call::<pb::DefragmentResponse>(path, &request).await;
        })
        .await;
        let member = format!("{:x}", rig.shell.config.member_id.0);
        let alarm = format!(
            "etcd_debugging_server_alarms{{alarm_type=\"NOSPACE\",server_id=\"{member}\"}}"
        );
        moves(&rig, &[(&alarm, 1.0)], async || {
            let request = pb::PutRequest { value: vec![0; 200_000].into(), ..put("big") };
            client.fail("/etcdserverpb.KV/Put", &request).await;
            let list = pb::AlarmRequest::default();
            let path = "/etcdserverpb.Maintenance/Alarm";
            client.call::<pb::AlarmResponse>(path, &list).await;
        })
        .await;
        moves(&rig, &[(&alarm, -1.0)], async || {
            let member_id = rig.shell.config.member_id.0;
            let request = pb::AlarmRequest { action: 2, alarm: 1, member_id };
            let path = "/etcdserverpb.Maintenance/Alarm";
            client.call::<pb::AlarmResponse>(path, &request).await;
        })
        .await;
    });
}

#[test]
fn leases_move_their_figures() {
    with_server(&[], async |rig| {
        let mut client = rig.connect().await;
        let expected = [
            ("etcd_debugging_lease_granted_total", 2.0),
            ("etcd_debugging_lease_ttl_total_sum", 160.0),
            ("etcd_debugging_lease_renewed_total", 1.0),
            ("etcd_debugging_lease_revoked_total", 1.0),
            ("etcd_debugging_server_lease_expired_total", 0.0),
            // One per key of the lease.
            ("etcd_mvcc_delete_total", 1.0),
        ];
        moves(&rig, &expected, async || {
            let lease = grant(&mut client, 100).await;
            grant(&mut client, 60).await;
            let request = pb::PutRequest { lease, ..put("a") };
            client.call::<pb::PutResponse>("/etcdserverpb.KV/Put", &request).await;
            let request = pb::LeaseKeepAliveRequest { id: lease };
            client.call_raw("/etcdserverpb.Lease/LeaseKeepAlive", &[], framed(&request)).await;
            let request = pb::LeaseRevokeRequest { id: lease };
            let path = "/etcdserverpb.Lease/LeaseRevoke";
            client.call::<pb::LeaseRevokeResponse>(path, &request).await;
        })
        .await;
    });
}

#[test]
fn watch_gauges_return_to_zero() {
    with_server(&[], async |rig| {
        let mut client = rig.connect().await;
        let gauges = [
            "etcd_debugging_mvcc_watch_stream_total",
            "etcd_debugging_mvcc_watcher_total",
            "etcd_debugging_mvcc_pending_events_total",
            "etcd_debugging_mvcc_slow_watcher_total",
        ];
        let (response, mut requests) = client.open("/etcdserverpb.Watch/Watch", &[]).await;
        for _ in 0..3 {
            let create = pb::WatchCreateRequest { key: "a".into(), ..Default::default() };
            let union = pb::watch_request::RequestUnion::CreateRequest(create);
            let request = pb::WatchRequest { request_union: Some(union) };
            requests.send_data(framed(&request), false).unwrap();
        }
        let (_, body) = response.await.unwrap().into_parts();
        let mut answers = Incoming::new(body);
        for _ in 0..3 {
            let answer = pb::WatchResponse::decode(answers.next().await.unwrap()).unwrap();
            assert!(answer.created);
        }
        let expected = [
            ("etcd_debugging_mvcc_events_total", 3.0),
            ("etcd_debugging_server_watch_send_loop_watch_stream_duration_seconds_count", 1.0),
        ];
        moves(&rig, &expected, async || {
            client.call::<pb::PutResponse>("/etcdserverpb.KV/Put", &put("a")).await;
            for _ in 0..3 {
                let answer = pb::WatchResponse::decode(answers.next().await.unwrap()).unwrap();
                assert_eq!(answer.events.len(), 1);
            }
        })
        .await;
        let figures = scrape(&rig).await;
        assert_eq!(gauges.map(|name| figures[name]), [1.0, 3.0, 0.0, 0.0]);
        requests.send_reset(h2::Reason::CANCEL);
        drop(answers);
        let is_zero = |figures: &Scrape| gauges.iter().all(|name| figures[*name] == 0.0);
        for _ in 0..1_000 {
            if is_zero(&scrape(&rig).await) {
                return;
            }
        }
        panic!("a closed stream is still counted");
    });
}
