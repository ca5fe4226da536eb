//! Connections: pings, addresses with a zone, large bodies, flags of discovery.

use super::ask::put;
use super::http::{address, status_of};
use super::place::Place;
use super::process::{forget_peak, resident, resident_peak};
use anyhow::{Context, Result, ensure};
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
const HEADERS: u8 = 1;
const SETTINGS: u8 = 4;
const PING: u8 = 6;
const GOAWAY: u8 = 7;

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap_or(0).to_be_bytes();
    let mut frame = length[1..].to_vec();
    frame.extend([kind, flags]);
    frame.extend(stream.to_be_bytes());
    frame.extend(payload);
    frame
}

/// The head of a gRPC call, its fields as literals without an index.
fn head(path: &str, authority: &str) -> Vec<u8> {
    let fields = [
        (":method", "POST"),
        (":scheme", "http"),
        (":path", path),
        (":authority", authority),
        ("content-type", "application/grpc"),
        ("te", "trailers"),
    ];
    let mut block = Vec::new();
    for (name, value) in fields {
        block.push(0);
        for text in [name, value] {
            block.push(u8::try_from(text.len()).unwrap_or(0));
            block.extend(text.as_bytes());
        }
    }
    frame(HEADERS, 4, 1, &block)
}

/// Pings at a steady pace; what the server's GOAWAY said, if it came.
async fn ping(stream: &mut TcpStream, count: u32, pace: Duration) -> Result<Option<(u32, String)>> {
    let mut bytes = Vec::new();
    for n in 0..count {
        // A connection that is closed has said why.
        let _ = stream.write_all(&frame(PING, 0, 0, &u64::from(n).to_be_bytes())).await;
        let end = Instant::now() + pace;
        while let Some(left) = end.checked_duration_since(Instant::now()) {
            let mut chunk = [0; 4096];
            let read = tokio::time::timeout(left, stream.read(&mut chunk)).await;
            let Ok(read) = read else { break };
            let read = read.unwrap_or(0);
            bytes.extend_from_slice(&chunk[..read]);
            if let Some(goaway) = goaway_in(&bytes) {
                return Ok(Some(goaway));
            }
            ensure!(read != 0, "the connection was closed without a GOAWAY");
        }
    }
    Ok(None)
}

/// Code and text of the first GOAWAY with an error among whole frames.
fn goaway_in(mut bytes: &[u8]) -> Option<(u32, String)> {
    while let Some((head, rest)) = bytes.split_at_checked(9) {
        let length = u32::from_be_bytes([0, head[0], head[1], head[2]]);
        let (payload, rest) = rest.split_at_checked(usize::try_from(length).ok()?)?;
        if head[3] == GOAWAY {
            let code = u32::from_be_bytes(payload.get(4..8)?.try_into().ok()?);
            let text = String::from_utf8_lossy(payload.get(8..)?).into_owned();
            if code != 0 {
                return Some((code, text));
            }
        }
        bytes = rest;
    }
    None
}

pub(crate) async fn uc_113_too_many_pings_are_told_so(place: &Place) -> Result<()> {
    let (mut server, _client) = place.serve(&[]).await?;
    let mut stream = TcpStream::connect(address(&server)).await?;
    stream.write_all(PREFACE).await?;
    stream.write_all(&frame(SETTINGS, 0, 0, &[])).await?;
    let goaway = ping(&mut stream, 10, Duration::from_millis(200)).await?;
    let expected = (11, "too_many_pings".to_string());
    ensure!(goaway.as_ref() == Some(&expected), "10 pings in 2 s: {goaway:?}");
    server.kill()?;

    let (server, _client) = place.serve(&["--grpc-keepalive-min-time=500ms"]).await?;
    let mut stream = TcpStream::connect(address(&server)).await?;
    stream.write_all(PREFACE).await?;
    stream.write_all(&frame(SETTINGS, 0, 0, &[])).await?;
    stream.write_all(&head("/etcdserverpb.Watch/Watch", &address(&server))).await?;
    let goaway = ping(&mut stream, 8, Duration::from_millis(700)).await?;
    ensure!(goaway.is_none(), "a ping each 700 ms with a floor of 500 ms: {goaway:?}");
    Ok(())
}

/// A link-local address with a zone works, or the start is refused; nothing else is bound.
pub(crate) async fn uc_115_an_address_with_a_zone_is_not_mistaken(place: &Place) -> Result<()> {
    let port = std::net::TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
    let url = format!("http://[fe80::1234%25lo]:{port}");
    let client = format!("--listen-client-urls={url}");
    let advertise = format!("--advertise-client-urls={url}");
    let peer = "--listen-peer-urls=http://127.0.0.1:0";
    let ended = place.server_ends(&[&client, &advertise, peer], Duration::from_secs(10))?;
    ensure!(ended.code.is_some_and(|code| code != 0), "ended with {:?}", ended.code);
    ensure!(ended.text.contains("fe80"), "the address is not named: {}", ended.text);
    for host in ["127.0.0.1", "[::1]"] {
        let other = std::net::TcpStream::connect(format!("{host}:{port}"));
        ensure!(other.is_err(), "{host} is bound instead");
    }
    Ok(())
}

/// Bodies of 1 GiB at the addresses of peers and clients: refused or cut off, not kept.
pub(crate) async fn uc_119_large_bodies_are_not_kept(place: &Place) -> Result<()> {
    let (server, client) = place.serve(&[]).await?;
    put(&client, "k", "v").await?;
    let before = resident(&server)?;
    forget_peak(&server)?;
    for host in [server.peer_address(), address(&server)] {
        for path in ["/leases", "/leases/internal", "/members/promote/1"] {
            if let Some(status) = pour(&host, path).await.with_context(|| path.to_string())? {
                let is_refused = (400..500).contains(&status) || status == 500;
                ensure!(is_refused, "{path} at {host} says {status}");
            }
        }
    }
    let peak = resident_peak(&server)?;
    ensure!(peak < before + (50 << 20), "{} MiB, then {} MiB", before >> 20, peak >> 20);
    put(&client, "k", "v").await.map(|_| ())
}

/// Sends up to 64 MiB of a body that is said to have 1 GiB; the status, if one came.
async fn pour(host: &str, path: &str) -> Result<Option<u16>> {
    let Ok(mut stream) = TcpStream::connect(host).await else { return Ok(None) };
    let head =
        format!("POST {path} HTTP/1.1\r\nHost: {host}\r\nContent-Length: 1073741824\r\n\r\n");
    stream.write_all(head.as_bytes()).await?;
    let chunk = vec![b'x'; 1 << 20];
    for _ in 0..64 {
        let written = tokio::time::timeout(Duration::from_secs(1), stream.write_all(&chunk)).await;
        if !matches!(written, Ok(Ok(()))) {
            break;
        }
    }
    // What is not written is not needed: the answer may have come long ago.
    let _ = stream.shutdown().await;
    let mut answer = vec![0; 1024];
    let read = tokio::time::timeout(Duration::from_secs(2), stream.read(&mut answer)).await;
    let read = read.ok().and_then(Result::ok).unwrap_or(0);
    Ok(status_of(&String::from_utf8_lossy(&answer[..read])))
}

pub(crate) async fn uc_120_half_a_discovery_is_refused(place: &Place) -> Result<()> {
    let token = "--discovery-token=0123456789";
    let endpoints = "--discovery-endpoints=http://127.0.0.1:1";
    let url = "--discovery=http://127.0.0.1:1/token";
    let peer = "--listen-peer-urls=http://127.0.0.1:0";
    let client = "--listen-client-urls=http://127.0.0.1:0";
    let advertise = "--advertise-client-urls=http://127.0.0.1:1";
    for flags in [&[token][..], &[endpoints], &[token, "--discovery-endpoints="], &[url, token]] {
        let mut all = vec![peer, client, advertise];
        all.extend(flags);
        let ended = place.server_ends(&all, Duration::from_secs(10));
        let ended = ended.with_context(|| format!("{flags:?}"))?;
        ensure!(ended.code.is_some_and(|code| code != 0), "{flags:?} ended with {:?}", ended.code);
        ensure!(ended.text.contains("discovery"), "{flags:?}: {}", ended.text);
    }
    Ok(())
}
