//! What clients may hold: time, calls, connections and bytes of answers. Timers are those of the
//! server; the tests move the clock.

use super::super::connection::{CALLS_MAX, HANDSHAKE_MAX};
use super::super::frame::framed;
use super::super::listen::{Connections, Listener};
use super::super::outgoing::STALL_MAX;
use super::super::status::Code;
use super::rig::{Client, Incoming, Rig, with_server};
use crate::driver::shell::ANSWER_BYTES_MAX;
use h2::{Reason, RecvStream};
use proto::etcdserverpb as pb;
use std::net::SocketAddr;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

const RANGE: &str = "/etcdserverpb.KV/Range";
/// What HTTP/2 lets a server send before a client takes anything.
const WINDOW_BYTES: usize = 65_535;
const VALUE_BYTES: usize = 1_000_000;

/// Lets time pass for all timers of this thread.
async fn pass(time: Duration) {
    tokio::time::pause();
    tokio::time::advance(time).await;
    tokio::time::resume();
}

fn get(key: &str) -> pb::RangeRequest {
    pb::RangeRequest { key: key.to_string().into(), ..Default::default() }
}

async fn put_large(client: &mut Client) {
    let value = vec![7; VALUE_BYTES].into();
    let put = pb::PutRequest { key: "large".into(), value, ..Default::default() };
    client.call::<pb::PutResponse>("/etcdserverpb.KV/Put", &put).await;
}

/// Asks for the large value and takes the first window of the answer, without making room.
async fn half_taken(client: &mut Client) -> RecvStream {
    let (response, mut stream) = client.open(RANGE, &[]).await;
    stream.send_data(framed(&get("large")), true).unwrap();
    let mut body = response.await.unwrap().into_body();
    let mut taken = 0;
    while taken < WINDOW_BYTES {
        taken += body.data().await.unwrap().unwrap().len();
    }
    body
}

#[test]
fn an_answer_that_nobody_takes_is_reset_and_its_connection_goes_on() {
    with_server(&[], async |rig| {
        let mut client = rig.connect().await;
        put_large(&mut client).await;
        let mut body = half_taken(&mut client).await;
        pass(STALL_MAX - Duration::from_secs(1)).await;
        body.flow_control().release_capacity(WINDOW_BYTES).unwrap();
        let mut rest = 0;
        while let Some(chunk) = body.data().await {
            let len = chunk.unwrap().len();
            body.flow_control().release_capacity(len).unwrap();
            rest += len;
        }
        assert!(VALUE_BYTES < WINDOW_BYTES + rest, "a client that is slow gets all of it");

        let mut body = half_taken(&mut client).await;
        pass(STALL_MAX + Duration::from_secs(1)).await;
        let error = body.data().await.unwrap().unwrap_err();
        assert_eq!(error.reason(), Some(Reason::CANCEL));
        drop(body);
        let found: pb::RangeResponse = client.call(RANGE, &get("large")).await;
        assert_eq!(found.kvs[0].value.len(), VALUE_BYTES);
    });
}

#[test]
fn answers_beyond_the_bytes_that_may_wait_are_refused_and_small_ones_are_not() {
    with_server(&[], async |rig| {
        let mut client = rig.connect().await;
        put_large(&mut client).await;
        assert!(rig.shell.hold_answer(ANSWER_BYTES_MAX - VALUE_BYTES));
        let (_, messages, ended) = client.call_raw(RANGE, &[], framed(&get("large"))).await;
        assert_eq!((messages.len(), ended.code.as_str()), (0, Code::ResourceExhausted.as_str()));
        let text = "mainstay: too many bytes of answers wait to be taken by clients";
        assert_eq!(ended.message, text);
        let small: pb::RangeResponse = client.call(RANGE, &get("a")).await;
        assert_eq!(small.count, 0);
        rig.shell.release_answer(ANSWER_BYTES_MAX - VALUE_BYTES);
        let found: pb::RangeResponse = client.call(RANGE, &get("large")).await;
        assert_eq!(found.count, 1);
    });
}

#[test]
fn calls_beyond_the_limit_of_a_connection_are_refused_until_one_ends() {
    with_server(&[], async |rig| {
        let mut client = rig.connect().await;
        let mut waiting = Vec::new();
        for _ in 0..CALLS_MAX {
            // The request never comes.
            waiting.push(client.open(RANGE, &[]).await);
        }
        let refused = client.fail(RANGE, &get("a")).await;
        assert!(refused.is(Code::Unknown), "{refused:?}");
        assert_eq!(refused.message, "etcdserver: too many requests");
        let mut other = rig.connect().await;
        other.call::<pb::RangeResponse>(RANGE, &get("a")).await;
        waiting.pop();
        // The call that ended is seen as such a turn later.
        loop {
            let (_, messages, ended) = client.call_raw(RANGE, &[], framed(&get("a"))).await;
            if !messages.is_empty() {
                break;
            }
            assert_eq!(ended, refused);
        }
    });
}

/// Asks for a page over HTTP/1; nothing if the connection was closed instead.
async fn version(address: SocketAddr) -> String {
    let mut socket = TcpStream::connect(address).await.unwrap();
    let request = b"GET /version HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
    let mut answer = String::new();
    // Errors tell of the same end, as a reset.
    let _ = socket.write_all(request).await;
    let _ = socket.read_to_string(&mut answer).await;
    answer
}

/// A second port of the server, on which only one connection fits.
async fn port_for_one(rig: &Rig) -> SocketAddr {
    let socket = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = socket.local_addr().unwrap();
    rig.accept(Listener::Tcp(socket), Connections::with_room_for(1));
    address
}

#[test]
fn connections_beyond_the_limit_are_closed_at_once_until_one_ends() {
    with_server(&[], async |rig| {
        let address = port_for_one(&rig).await;
        let mut first = Client::over(TcpStream::connect(address).await.unwrap()).await;
        first.call::<pb::RangeResponse>(RANGE, &get("a")).await;
        assert_eq!(version(address).await, "", "there is no room for it");
        first.call::<pb::RangeResponse>(RANGE, &get("a")).await;
        drop(first);
        while version(address).await.is_empty() {}
    });
}

#[test]
fn a_client_that_does_not_say_what_it_speaks_is_cut_off() {
    with_server(&[], async |rig| {
        for said in [&b""[..], b"PRI * HTTP/2.0\r\n"] {
            let mut socket = TcpStream::connect(rig.address).await.unwrap();
            socket.write_all(said).await.unwrap();
            // An answer on a later connection: the first one was accepted, and its timer runs.
            assert!(version(rig.address).await.starts_with("HTTP/1.1 200"));
            pass(HANDSHAKE_MAX + Duration::from_secs(1)).await;
            let mut received = Vec::new();
            assert_eq!(socket.read_to_end(&mut received).await.unwrap(), 0);
        }
        let mut client = rig.connect().await;
        let (response, mut stream) = client.open(RANGE, &[]).await;
        pass(2 * HANDSHAKE_MAX).await;
        stream.send_data(framed(&get("a")), true).unwrap();
        let mut incoming = Incoming::new(response.await.unwrap().into_body());
        assert!(incoming.next().await.is_some(), "who has spoken may be silent");
    });
}
