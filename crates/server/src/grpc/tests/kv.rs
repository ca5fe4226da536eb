//! Key-value calls through the whole server.

use super::super::frame::framed;
use super::super::status::Code;
use super::rig::with_server;
use prost::Message;
use proto::etcdserverpb as pb;

fn put(key: &str, value: Vec<u8>) -> pb::PutRequest {
    pb::PutRequest { key: key.to_string().into(), value: value.into(), ..Default::default() }
}

fn prefix(key: &str) -> pb::RangeRequest {
    let end = types::range::prefix_end(key.as_bytes());
    pb::RangeRequest { key: key.to_string().into(), range_end: end, ..Default::default() }
}

#[test]
fn a_put_is_answered_and_read_back() {
    with_server(&[], async |rig| {
        let mut client = rig.connect().await;
        let answer: pb::PutResponse =
            client.call("/etcdserverpb.KV/Put", &put("a", b"1".to_vec())).await;
        let header = answer.header.unwrap();
        assert_eq!((header.revision, header.member_id), (2, rig.shell.config.member_id.0));
        let found: pb::RangeResponse = client.call("/etcdserverpb.KV/Range", &prefix("a")).await;
        assert_eq!((found.count, found.kvs[0].value.as_ref()), (1, b"1".as_slice()));
    });
}

#[test]
fn an_answer_larger_than_the_clients_window_arrives_whole() {
    with_server(&[], async |rig| {
        let mut client = rig.connect().await;
        for at in 0..6_u8 {
            let value = vec![at; 500_000];
            let request = put(&format!("k{at}"), value);
            client.call::<pb::PutResponse>("/etcdserverpb.KV/Put", &request).await;
        }
        let found: pb::RangeResponse = client.call("/etcdserverpb.KV/Range", &prefix("k")).await;
        assert_eq!(found.kvs.len(), 6);
        for (at, kv) in (0_u8..).zip(&found.kvs) {
            assert!(kv.value.len() == 500_000 && kv.value.iter().all(|byte| *byte == at));
        }
    });
}

#[test]
fn a_streamed_range_is_the_range_in_chunks_at_one_revision() {
    with_server(&[], async |rig| {
        let mut client = rig.connect().await;
        for at in 0..35 {
            let request = put(&format!("k{at:02}"), b"v".to_vec());
            client.call::<pb::PutResponse>("/etcdserverpb.KV/Put", &request).await;
        }
        let request = framed(&pb::RangeRequest { limit: 33, ..prefix("k") });
        let (_, messages, ended) =
            client.call_raw("/etcdserverpb.KV/RangeStream", &[], request).await;
        assert!(ended.is(Code::Ok), "{ended:?}");
        let chunks: Vec<pb::RangeResponse> = messages
            .into_iter()
            .map(|message| {
                pb::RangeStreamResponse::decode(message).unwrap().range_response.unwrap()
            })
            .collect();
        let sizes: Vec<usize> = chunks.iter().map(|chunk| chunk.kvs.len()).collect();
        assert_eq!(sizes, [10, 20, 3]);
        assert!(chunks[..2].iter().all(|chunk| chunk.header.is_none() && chunk.count == 0));
        let last = &chunks[2];
        assert_eq!((last.header.unwrap().revision, last.count, last.more), (36, 35, true));
    });
}

#[test]
fn over_the_quota_comes_before_the_shape_and_raises_the_alarm() {
    with_server(&["--quota-backend-bytes=1000"], async |rig| {
        let mut client = rig.connect().await;
        let full = client.fail("/etcdserverpb.KV/Put", &put("", vec![0; 2000])).await;
        assert!(full.is(Code::ResourceExhausted), "{full:?}");
        assert_eq!(full.message, "etcdserver: mvcc: database space exceeded");
        let list = pb::AlarmRequest::default();
        let alarms: pb::AlarmResponse = client.call("/etcdserverpb.Maintenance/Alarm", &list).await;
        assert_eq!(alarms.alarms.len(), 1);
        let small = client.fail("/etcdserverpb.KV/Put", &put("a", vec![])).await;
        assert!(small.is(Code::ResourceExhausted), "{small:?}");
    });
}
