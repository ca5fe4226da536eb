//! What a scrape shows of the calls before it.

use super::super::frame::framed;
use super::rig::with_server;
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
