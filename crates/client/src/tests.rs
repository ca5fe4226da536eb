//! The client against a server of a few lines, in the same process.

use std::net::SocketAddr;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, Response};
use prost::Message;
use proto::etcdserverpb::{PutRequest, PutResponse, RangeRequest, RangeResponse, ResponseHeader};
use proto::mvccpb::KeyValue;
use tokio::net::TcpListener;

use crate::frame::{self, Decoder};
use crate::{Call, Client, Code, Config, Conn, Endpoint, Status};

/// Serves every call with the same data chunks and trailers; a call to `/silent` never ends.
async fn serve(chunks: Vec<Bytes>, trailers: &[(&'static str, &'static str)]) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let trailers: HeaderMap = trailers
        .iter()
        .map(|&(name, value)| (name.parse().unwrap(), value.parse().unwrap()))
        .collect();
    tokio::spawn(async move {
        loop {
            let (socket, _) = listener.accept().await.unwrap();
            let (chunks, trailers) = (chunks.clone(), trailers.clone());
            tokio::spawn(async move {
                let mut connection = h2::server::handshake(socket).await.unwrap();
                let mut held = Vec::new();
                while let Some(Ok((request, mut respond))) = connection.accept().await {
                    if request.uri().path() == "/silent" {
                        held.push(respond);
                        continue;
                    }
                    let mut body = respond.send_response(Response::new(()), false).unwrap();
                    for chunk in &chunks {
                        body.send_data(chunk.clone(), false).unwrap();
                    }
                    body.send_trailers(trailers.clone()).unwrap();
                }
            });
        }
    });
    address
}

fn run(test: impl Future<Output = ()>) {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(test);
}

fn answer() -> PutResponse {
    PutResponse {
        header: Some(ResponseHeader { revision: 7, ..ResponseHeader::default() }),
        prev_kv: None,
    }
}

#[test]
fn a_unary_answer_arrives_whole_or_cut_at_any_byte() {
    run(async {
        let framed = frame::encode(&answer());
        for cut in 0..framed.len() {
            let chunks = vec![framed.slice(..cut), framed.slice(cut..)];
            let address = serve(chunks, &[("grpc-status", "0")]).await;
            let client = Client::connect(&address.to_string()).await.unwrap();
            let got = client.put(&PutRequest::default(), &Call::default()).await;
            assert_eq!(got, Ok(answer()), "cut at {cut}");
        }
    });
}

#[test]
fn a_failure_carries_code_and_decoded_text() {
    run(async {
        let trailers = [("grpc-status", "11"), ("grpc-message", "50%25 %E2%82%AC %zz")];
        let address = serve(vec![], &trailers).await;
        let client = Client::connect(&address.to_string()).await.unwrap();
        let got = client.put(&PutRequest::default(), &Call::default()).await;
        let expected = Status::new(Code::OUT_OF_RANGE, "50% € %zz");
        assert_eq!(got, Err(expected.clone()));
        assert_eq!(expected.to_string(), "rpc error: code = OutOfRange desc = 50% € %zz");
    });
}

#[test]
fn a_missing_status_is_a_failure_even_with_a_message() {
    run(async {
        let address = serve(vec![frame::encode(&answer())], &[]).await;
        let client = Client::connect(&address.to_string()).await.unwrap();
        let got = client.put(&PutRequest::default(), &Call::default()).await;
        assert_eq!(got.unwrap_err().code, Code::INTERNAL);
    });
}

#[test]
fn a_refusing_endpoint_is_skipped() {
    run(async {
        let closed = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let refused = closed.local_addr().unwrap();
        drop(closed);
        let address = serve(vec![frame::encode(&answer())], &[("grpc-status", "0")]).await;
        let endpoints = [refused.to_string(), format!("http://{address}")];
        let client = Client::new(Config::new(endpoints)).unwrap();
        let got = client.put(&PutRequest::default(), &Call::default()).await;
        assert_eq!(got, Ok(answer()));
    });
}

#[test]
fn without_any_server_a_call_fails_at_once_or_waits_until_its_deadline() {
    run(async {
        let closed = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let refused = closed.local_addr().unwrap().to_string();
        drop(closed);
        let client = Client::new(Config::new([refused])).unwrap();
        let now = client.get("k").await.unwrap_err();
        assert_eq!(now.code, Code::UNAVAILABLE);
        let call = Call::within(Duration::from_millis(60));
        let late = client.status(&call).await.unwrap_err();
        assert_eq!(late.code, Code::DEADLINE_EXCEEDED);
        assert!(late.message.contains("refused"), "{late}");
    });
}

#[test]
fn a_silent_server_is_left_at_the_deadline() {
    run(async {
        let address = serve(vec![], &[]).await;
        let client = Client::connect(&address.to_string()).await.unwrap();
        let call = Call::within(Duration::from_millis(30));
        let got = client.unary_raw("/silent", b"", &call).await;
        assert_eq!(got, Err(Status::deadline()));
    });
}

#[test]
fn a_stream_yields_each_message_then_its_end() {
    run(async {
        let part = |key: &'static str| {
            frame::encode(&RangeResponse {
                kvs: vec![KeyValue { key: key.into(), ..KeyValue::default() }],
                ..RangeResponse::default()
            })
        };
        let joined = Bytes::from([part("a"), part("b")].concat());
        let chunks = vec![joined.slice(..9), joined.slice(9..), part("c")];
        for (status, end) in [("0", None), ("14", Some(Code::UNAVAILABLE))] {
            let trailers: &'static [_] = Box::leak(Box::new([("grpc-status", status)]));
            let address = serve(chunks.clone(), trailers).await;
            let client = Client::connect(&address.to_string()).await.unwrap();
            let mut stream = client
                .server_stream::<RangeRequest, RangeResponse>(
                    "/stream",
                    &RangeRequest::default(),
                    &Call::default(),
                )
                .await
                .unwrap();
            for key in ["a", "b", "c"] {
                let got = stream.next().await.unwrap().unwrap();
                assert_eq!(got.kvs[0].key, key);
            }
            let got = stream.next().await.map(|failed| failed.unwrap_err().code);
            assert_eq!(got, end);
            assert!(stream.next().await.is_none());
        }
    });
}

#[test]
fn a_prepared_call_can_be_made_many_times_at_once() {
    run(async {
        let address = serve(vec![frame::encode(&answer())], &[("grpc-status", "0")]).await;
        let endpoint = Endpoint::parse(&address.to_string()).unwrap();
        let mut conn = Conn::dial(&endpoint, &Config::default()).await.unwrap();
        let prepared = conn.prepare("/put", &Call::default()).unwrap();
        let framed = frame::encode(&PutRequest::default());
        let calls: Vec<_> = (0..200)
            .map(|_| {
                let (mut conn, prepared) = (conn.clone(), prepared.clone());
                let framed = framed.clone();
                tokio::spawn(async move { conn.unary(&prepared, framed).await })
            })
            .collect();
        for call in calls {
            let bytes = call.await.unwrap().unwrap();
            assert_eq!(PutResponse::decode(bytes), Ok(answer()));
        }
        assert!(conn.unary(&prepared, framed).await.is_ok());
    });
}

#[test]
fn a_message_above_the_limit_is_refused_in_both_directions() {
    run(async {
        let address = serve(vec![frame::encode(&answer())], &[("grpc-status", "0")]).await;
        let config = Config {
            receive_bytes_max: 3,
            send_bytes_max: 4,
            ..Config::new([address.to_string()])
        };
        let client = Client::new(config).unwrap();
        let got = client.unary_raw("/put", b"", &Call::default()).await;
        assert_eq!(got.unwrap_err().code, Code::RESOURCE_EXHAUSTED);
        let sent = client.unary_raw("/put", b"12345", &Call::default()).await;
        assert_eq!(sent.unwrap_err().message, "trying to send message larger than max (5 vs. 4)");
    });
}

#[test]
fn compressed_answers_are_refused() {
    let mut decoder = Decoder::default();
    decoder.push(&[1, 0, 0, 0, 0]);
    assert_eq!(decoder.take(10).unwrap_err().code, Code::INTERNAL);
}

#[test]
fn endpoints_are_parsed_as_etcd_does() {
    let address = |text| Endpoint::parse(text).map(|endpoint| endpoint.address());
    assert_eq!(address("127.0.0.1:2379").unwrap(), "127.0.0.1:2379");
    assert_eq!(address(" http://h:1/ ").unwrap(), "h:1");
    assert_eq!(address("h").unwrap(), "h:2379");
    assert_eq!(address("[::1]").unwrap(), "[::1]:2379");
    assert_eq!(address("[::1]:5").unwrap(), "[::1]:5");
    assert!(address("https://h:1").is_err());
    assert!(address("ftp://h:1").is_err());
    assert!(address("").is_err());
}
