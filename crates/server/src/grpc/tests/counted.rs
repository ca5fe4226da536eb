//! What a scrape shows of the calls before it.

use super::super::frame::framed;
use super::rig::{Incoming, with_server};
use crate::http::Ask;
use prost::Message;
use proto::etcdserverpb as pb;

#[test]
fn a_write_is_counted_from_the_call_to_the_disk() {
    with_server(&[], async |rig| {
        let mut client = rig.connect().await;
        let put = pb::PutRequest { key: "a".into(), ..Default::default() };
        let headers = [("client-api-version", "3.7")];
        client.call_raw("/etcdserverpb.KV/Put", &headers, framed(&put)).await;
        let range = pb::RangeRequest { key: "a".into(), ..Default::default() };
        let _: pb::RangeResponse = client.call("/etcdserverpb.KV/Range", &range).await;
        rig.shell.refresh_metrics();
        let text = rig.shell.metrics.render();
        for line in [
            "etcd_server_client_requests_total{client_api_version=\"3.7\",type=\"unary\"} 1",
            "etcd_server_client_requests_total{client_api_version=\"unknown\",type=\"unary\"} 1",
            "etcd_server_request_duration_seconds_count{success=\"true\",type=\"Put\"} 1",
            "etcd_server_request_duration_seconds_count{success=\"true\",type=\"Range\"} 1",
            "etcd_server_range_duration_seconds_count{success=\"true\"} 1",
            "etcd_server_apply_duration_seconds_count{op=\"Put\",success=\"true\",version=\"v3\"} 1",
        ] {
            assert!(text.contains(&format!("{line}\n")), "{line}\n{text}");
        }
        assert!(!text.contains("etcd_disk_wal_fsync_duration_seconds_count 0\n"));
    });
}

#[test]
fn watchers_streams_and_events_are_counted_at_a_scrape() {
    with_server(&[], async |rig| {
        let mut client = rig.connect().await;
        let (response, mut stream) = client.open("/etcdserverpb.Watch/Watch", &[]).await;
        for _ in 0..2 {
            let create = pb::WatchCreateRequest { key: "a".into(), ..Default::default() };
            let union = pb::watch_request::RequestUnion::CreateRequest(create);
            let request = pb::WatchRequest { request_union: Some(union) };
            stream.send_data(framed(&request), false).unwrap();
        }
        let mut incoming = Incoming::new(response.await.unwrap().into_body());
        for id in 0..2 {
            let created = pb::WatchResponse::decode(incoming.next().await.unwrap()).unwrap();
            assert!(created.created && created.watch_id == id);
        }
        let put = pb::PutRequest { key: "a".into(), value: "1".into(), ..Default::default() };
        client.call::<pb::PutResponse>("/etcdserverpb.KV/Put", &put).await;
        crate::serve::pages(&rig.shell).ask.refresh(&rig.shell.metrics);
        let text = rig.shell.metrics.render();
        for line in [
            "etcd_debugging_mvcc_watcher_total 2",
            "etcd_debugging_mvcc_watch_stream_total 1",
            "etcd_debugging_mvcc_slow_watcher_total 0",
            "etcd_debugging_mvcc_events_total 2",
        ] {
            assert!(text.contains(&format!("{line}\n")), "{line}\n{text}");
        }
    });
}
