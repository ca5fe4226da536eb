//! What the transport refuses, and what it lets through.

use super::super::frame::{self, framed};
use super::super::gzip::Packer;
use super::super::status::Code;
use super::rig::{Incoming, with_server};
use bytes::Bytes;
use h2::{Ping, Reason};
use prost::Message;
use proto::etcdserverpb as pb;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

#[test]
fn http_1_and_grpc_share_the_port() {
    with_server(&[], async |rig| {
        let mut socket = TcpStream::connect(rig.address).await.unwrap();
        socket
            .write_all(b"GET /version HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
            .await
            .unwrap();
        let mut answer = String::new();
        socket.read_to_string(&mut answer).await.unwrap();
        assert!(answer.starts_with("HTTP/1.1 200 OK"), "{answer}");
        assert!(answer.contains("\"etcdserver\":\"3.7."), "{answer}");
    });
}

#[test]
fn an_unknown_method_is_answered_by_headers_alone() {
    with_server(&[], async |rig| {
        let mut client = rig.connect().await;
        let path = "/etcdserverpb.KV/Nothing";
        let (head, messages, ended) = client.call_raw(path, &[], Bytes::new()).await;
        assert_eq!((head.status().as_u16(), messages.len()), (200, 0));
        assert!(ended.is(Code::Unimplemented));
        assert_eq!(ended.message, "unknown method Nothing for service etcdserverpb.KV");
    });
}

#[test]
fn a_message_over_the_limit_is_refused_before_it_arrives() {
    with_server(&[], async |rig| {
        let mut client = rig.connect().await;
        let prefix = Bytes::copy_from_slice(&frame::prefix(2_097_153));
        let (_, _, ended) = client.call_raw("/etcdserverpb.KV/Put", &[], prefix).await;
        assert!(ended.is(Code::ResourceExhausted));
        let text = "grpc: received message larger than max (2097153 vs. 2097152)";
        assert_eq!(ended.message, text);
    });
}

#[test]
fn answers_are_compressed_as_requests_are() {
    with_server(&[], async |rig| {
        let mut client = rig.connect().await;
        let gzip = [("grpc-encoding", "gzip")];
        // Bytes that hardly pack, so that the answer leaves in many pieces.
        let value: Vec<u8> =
            (0u64..1_000_000).map(|at| (at.wrapping_mul(at) >> 7).to_le_bytes()[0]).collect();
        let put = pb::PutRequest { key: "a".into(), value: value.into(), ..Default::default() };
        let mut packer = Packer::default();
        packer.push(&framed(&put));
        let (head, _, ended) = client.call_raw("/etcdserverpb.KV/Put", &gzip, packer.take()).await;
        assert!(ended.is(Code::Ok), "{ended:?}");
        assert_eq!(head.headers()["grpc-encoding"], "gzip");
        let get = pb::RangeRequest { key: "a".into(), ..Default::default() };
        for (headers, encoding) in [(&gzip[..], Some("gzip")), (&[], None)] {
            let (head, messages, ended) =
                client.call_raw("/etcdserverpb.KV/Range", headers, framed(&get)).await;
            assert!(ended.is(Code::Ok), "{ended:?}");
            assert_eq!(head.headers().get("grpc-encoding").map(|v| v.to_str().unwrap()), encoding);
            let found = pb::RangeResponse::decode(messages[0].clone()).unwrap();
            assert_eq!(found.kvs[0].value, put.value);
        }
    });
}

#[test]
fn a_watch_outlives_the_clients_half_close_and_ends_with_a_reset() {
    with_server(&[], async |rig| {
        let mut client = rig.connect().await;
        let (response, mut stream) = client.open("/etcdserverpb.Watch/Watch", &[]).await;
        let create = pb::WatchCreateRequest { key: "a".into(), ..Default::default() };
        let union = pb::watch_request::RequestUnion::CreateRequest(create);
        let request = pb::WatchRequest { request_union: Some(union) };
        stream.send_data(framed(&request), true).unwrap();
        let mut incoming = Incoming::new(response.await.unwrap().into_body());
        let created = pb::WatchResponse::decode(incoming.next().await.unwrap()).unwrap();
        assert!(created.created && created.watch_id == 0);
        let put = pb::PutRequest { key: "a".into(), value: "1".into(), ..Default::default() };
        client.call::<pb::PutResponse>("/etcdserverpb.KV/Put", &put).await;
        let event = pb::WatchResponse::decode(incoming.next().await.unwrap()).unwrap();
        assert_eq!((event.events.len(), event.header.unwrap().revision), (1, 2));
        stream.send_reset(Reason::CANCEL);
    });
}

#[test]
fn a_client_that_pings_too_much_is_sent_away() {
    with_server(&[], async |rig| {
        let socket = TcpStream::connect(rig.address).await.unwrap();
        let (_sender, mut connection) = h2::client::handshake(socket).await.unwrap();
        let mut pings = connection.ping_pong().unwrap();
        let ended = tokio::task::spawn_local(connection);
        while pings.ping(Ping::opaque()).await.is_ok() {}
        let error = ended.await.unwrap().unwrap_err();
        assert_eq!(error.reason(), Some(Reason::ENHANCE_YOUR_CALM), "{error}");
    });
}

#[test]
fn an_answer_that_is_not_taken_leaves_others_alone() {
    with_server(&[], async |rig| {
        let mut stuck = rig.connect().await;
        let value = vec![7; 1_000_000];
        let put = pb::PutRequest { key: "a".into(), value: value.into(), ..Default::default() };
        stuck.call::<pb::PutResponse>("/etcdserverpb.KV/Put", &put).await;
        let get = pb::RangeRequest { key: "a".into(), ..Default::default() };
        let (response, mut stream) = stuck.open("/etcdserverpb.KV/Range", &[]).await;
        stream.send_data(framed(&get), true).unwrap();
        // The body is never read: its window stays full.
        let _held = response.await.unwrap();
        let mut other = rig.connect().await;
        let found: pb::RangeResponse = other.call("/etcdserverpb.KV/Range", &get).await;
        assert_eq!(found.kvs[0].value.len(), 1_000_000);
        let small = pb::RangeRequest { key: "b".into(), ..Default::default() };
        let none: pb::RangeResponse = other.call("/etcdserverpb.KV/Range", &small).await;
        assert_eq!(none.count, 0);
    });
}

#[test]
fn calls_that_are_reset_at_once_leave_the_connection_whole() {
    with_server(&[], async |rig| {
        let mut client = rig.connect().await;
        for _ in 0..100 {
            let (_response, mut stream) = client.open("/etcdserverpb.KV/Range", &[]).await;
            stream.send_data(Bytes::from_static(&[0, 0]), false).unwrap();
            stream.send_reset(Reason::CANCEL);
        }
        let get = pb::RangeRequest { key: "a".into(), ..Default::default() };
        let found: pb::RangeResponse = client.call("/etcdserverpb.KV/Range", &get).await;
        assert_eq!(found.count, 0);
    });
}

#[test]
fn a_client_that_answers_no_ping_is_cut_off_and_one_that_does_is_not() {
    let flags = ["--grpc-keepalive-interval=10ms", "--grpc-keepalive-timeout=500ms"];
    with_server(&flags, async |rig| {
        let mut client = rig.connect().await;
        let mut silent = TcpStream::connect(rig.address).await.unwrap();
        // The preface and an empty SETTINGS frame.
        silent.write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0").await.unwrap();
        let mut received = Vec::new();
        // Ends when the server closes the connection, which may be a reset.
        let _ = silent.read_to_end(&mut received).await;
        assert!(received.windows(5).any(|frame| frame == b"\0\0\x08\x06\0"), "no ping came");
        let range = pb::RangeRequest { key: "a".into(), ..Default::default() };
        client.call::<pb::RangeResponse>("/etcdserverpb.KV/Range", &range).await;
    });
}

#[test]
fn streams_that_want_a_leader_end_when_it_is_lost() {
    with_server(&[], async |rig| {
        let mut client = rig.connect().await;
        let (wanting, _requests) =
            client.open("/etcdserverpb.Watch/Watch", &[("hasleader", "true")]).await;
        let (_patient, _others) = client.open("/etcdserverpb.Watch/Watch", &[]).await;
        let range = pb::RangeRequest { key: "a".into(), ..Default::default() };
        client.call::<pb::RangeResponse>("/etcdserverpb.KV/Range", &range).await;
        rig.shell.end_leaderless_streams();
        let (head, body) = wanting.await.unwrap().into_parts();
        let mut incoming = Incoming::new(body);
        assert_eq!(incoming.next().await, None);
        let ended = incoming.ended(&head.headers).await;
        assert!(ended.is(Code::Unavailable), "{ended:?}");
        assert_eq!(ended.message, "etcdserver: no leader");
        assert_eq!(rig.shell.figures().watch.streams, 1);
    });
}
