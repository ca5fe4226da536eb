//! Where a server keeps its data and where clients reach it: a log apart from the data, values that
//! are on the disk alone, local sockets.

use super::super::frame::framed;
use super::super::listen::{self, Connections};
use super::super::status::Code;
use super::rig::{Client, Rig, config, open, with_server, with_server_in};
use crate::config::url::Url;
use crate::driver::start;
use prost::Message;
use proto::etcdserverpb as pb;
use tokio::net::UnixStream;

const RANGE: &str = "/etcdserverpb.KV/Range";

async fn put(client: &mut Client, key: &str, value: Vec<u8>) {
    let (key, value) = (key.to_string().into(), value.into());
    let put = pb::PutRequest { key, value, ..Default::default() };
    client.call::<pb::PutResponse>("/etcdserverpb.KV/Put", &put).await;
}

async fn get(client: &mut Client, key: &str) -> Option<Vec<u8>> {
    let get = pb::RangeRequest { key: key.to_string().into(), ..Default::default() };
    let found: pb::RangeResponse = client.call(RANGE, &get).await;
    found.kvs.first().map(|kv| kv.value.to_vec())
}

#[test]
fn the_log_may_lie_apart_and_a_start_without_it_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let (data, log) = (folder.path().join("data"), folder.path().join("log"));
    let apart = format!("--wal-dir={}", log.display());
    with_server_in(&data, &[&apart], async |rig| {
        put(&mut rig.connect().await, "a", b"1".to_vec()).await;
    });
    let is_segment = |name: &str| name.ends_with(".wal");
    let names = std::fs::read_dir(&log).unwrap();
    let mut names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    assert!(names.any(|name| is_segment(&name)), "the log is where it was asked for");
    assert!(!data.join("member/wal").exists(), "and nowhere else");

    let error = open(&mut config(&data, &[])).map(|_| ()).unwrap_err();
    let text = error.to_string();
    assert!(text.contains("member/data holds data, but there is no log beside it"), "{text}");
    assert!(text.contains("--wal-dir"), "{text}");
    assert_eq!(start::report(&error), 65);

    with_server_in(&data, &[&apart], async |rig| {
        assert_eq!(get(&mut rig.connect().await, "a").await, Some(b"1".to_vec()));
    });
}

/// 200 values that all differ, and 4 MB together.
fn value(n: u32) -> Vec<u8> {
    (0..20_000_u32).map(|at| u8::try_from((n * 31 + at * 7 + at / 251) % 251).unwrap()).collect()
}

/// Makes everything durable, so that it may leave memory.
async fn flush(client: &mut Client, revision: i64) {
    let compact = pb::CompactionRequest { revision, physical: true };
    client.call::<pb::CompactionResponse>("/etcdserverpb.KV/Compact", &compact).await;
}

#[test]
fn values_that_left_memory_are_streamed_from_the_disk() {
    with_server(&["--resident-bytes=100000"], async |rig: Rig| {
        let mut client = rig.connect().await;
        for n in 0..200 {
            put(&mut client, &format!("k{n:03}"), value(n)).await;
        }
        flush(&mut client, 2).await;
        let resident = rig.shell.figures().store.resident_bytes;
        assert!(resident < 1_000_000, "{resident} bytes are in memory");
        let range = pb::RangeRequest {
            key: "k".into(),
            range_end: types::range::prefix_end(b"k"),
            ..Default::default()
        };
        let check = |kvs: &[proto::mvccpb::KeyValue]| {
            assert_eq!(kvs.len(), 200);
            for (n, kv) in (0..).zip(kvs) {
                assert_eq!(
                    (&kv.key[..], kv.mod_revision),
                    (format!("k{n:03}").as_bytes(), 2 + i64::from(n))
                );
                assert!(kv.value == value(n), "value {n} is another one");
            }
        };
        let whole: pb::RangeResponse = client.call(RANGE, &range).await;
        check(&whole.kvs);

        let path = "/etcdserverpb.KV/RangeStream";
        let (_, messages, ended) = client.call_raw(path, &[], framed(&range)).await;
        assert!(ended.is(Code::Ok), "{ended:?}");
        assert!(1 < messages.len(), "one message");
        let kvs = messages.into_iter().flat_map(|message| {
            let chunk = pb::RangeStreamResponse::decode(message).unwrap();
            chunk.range_response.unwrap().kvs
        });
        check(&kvs.collect::<Vec<_>>());

        let op = |request| pb::RequestOp { request: Some(request) };
        let txn = pb::TxnRequest {
            success: vec![
                op(pb::request_op::Request::RequestRange(range.clone())),
                op(pb::request_op::Request::RequestDeleteRange(pb::DeleteRangeRequest {
                    key: range.key.clone(),
                    range_end: range.range_end.clone(),
                    prev_kv: true,
                })),
            ],
            ..Default::default()
        };
        let answer: pb::TxnResponse = client.call("/etcdserverpb.KV/Txn", &txn).await;
        for response in answer.responses {
            match response.response.unwrap() {
                pb::response_op::Response::ResponseRange(range) => check(&range.kvs),
                pb::response_op::Response::ResponseDeleteRange(delete) => check(&delete.prev_kvs),
                other => panic!("{other:?}"),
            }
        }
    });
}

#[test]
fn a_local_socket_is_served_as_a_port_is_and_a_stale_one_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("client.sock");
    // What a process that was killed left behind.
    drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
    let url = Url::parse(&format!("unix://{}", path.display())).unwrap();
    with_server(&[], async |rig| {
        let mut listeners = listen::bind(&url, &rig.shell.config).unwrap();
        assert_eq!(listeners.len(), 1);
        rig.accept(listeners.remove(0), Connections::default());
        let mut local = Client::over(UnixStream::connect(&path).await.unwrap()).await;
        put(&mut local, "a", b"1".to_vec()).await;
        assert_eq!(get(&mut rig.connect().await, "a").await, Some(b"1".to_vec()));
    });
}
