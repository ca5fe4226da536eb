//! One lane to one member: dial, send, and dial again.

use super::dial::dial;
use super::remotes::Remote;
use super::wire::{self, GONE, Lane};
use super::{CONNECT_MAX, Counted, PING_INTERVAL, SILENCE_MAX};
use bytes::Bytes;
use h2::client::ResponseFuture;
use h2::{Ping, PingPong, SendStream};
use std::fmt::Display;
use std::future::poll_fn;
use std::time::{Duration, Instant};
use tokio::net::TcpStream;
use tokio::time::{sleep, timeout};

/// After the first failure; it doubles.
const PAUSE_MIN: Duration = Duration::from_millis(50);
/// Between two attempts at most: a member that came back is heard within a heartbeat or ten.
const PAUSE_MAX: Duration = Duration::from_millis(500);
/// What one DATA frame may carry.
const FRAME_BYTES_MAX: u32 = 1024 * 1024;
/// Text of a refusal that is read.
const REFUSAL_BYTES_MAX: usize = 1_024;

/// How a lane came to its end.
enum Broken {
    /// Worth another attempt.
    Failed(String),
    /// The other side says that this member was removed.
    Removed,
}

fn failed(what: &str, error: impl Display) -> Broken {
    Broken::Failed(format!("{what}: {error}"))
}

/// Keeps a lane connected until the task is aborted.
pub(super) async fn run(remote: std::rc::Rc<Remote>, lane: Lane) {
    let mut pause = PAUSE_MIN;
    loop {
        let began = Instant::now();
        match attempt(&remote, lane).await {
            Broken::Removed => return remote.hub.removed(),
            Broken::Failed(why) => remote.failed(lane, &why),
        }
        if SILENCE_MAX < began.elapsed() {
            pause = PAUSE_MIN;
        }
        sleep(pause).await;
        pause = (2 * pause).min(PAUSE_MAX);
    }
}

async fn attempt(remote: &Remote, lane: Lane) -> Broken {
    let urls = remote.urls();
    let (socket, authority) = match dial(&urls).await {
        Ok(dialled) => dialled,
        Err((url, error)) => return failed(&format!("cannot dial {url}"), error),
    };
    let shaken = timeout(CONNECT_MAX, handshake(remote, lane, socket, &authority)).await;
    let link = match shaken {
        Ok(Ok(link)) => link,
        Ok(Err(error)) => return failed("handshake", error),
        Err(_) => return failed("handshake", "timed out"),
    };
    link.drive(remote, lane).await
}

/// A connection whose request was sent.
struct Link {
    connection: h2::client::Connection<TcpStream, Bytes>,
    pings: PingPong,
    response: ResponseFuture,
    body: SendStream<Bytes>,
}

async fn handshake(
    remote: &Remote,
    lane: Lane,
    socket: TcpStream,
    authority: &str,
) -> Result<Link, Box<dyn std::error::Error>> {
    let mut builder = h2::client::Builder::new();
    builder.max_frame_size(FRAME_BYTES_MAX).max_send_buffer_size(FRAME_BYTES_MAX as usize);
    let (mut requests, mut connection) = builder.handshake(socket).await?;
    let pings = connection.ping_pong().ok_or("no pings")?;
    let head = wire::request(&remote.local, remote.id, lane, authority)?;
    let (response, body) = requests.send_request(head, false)?;
    Ok(Link { connection, pings, response, body })
}

impl Link {
    async fn drive(self, remote: &Remote, lane: Lane) -> Broken {
        let Link { connection, pings, response, body } = self;
        tokio::select! {
            biased;
            ended = listen(response, remote, lane) => ended,
            ended = connection => match ended {
                Ok(()) => failed("connection", "closed by the peer"),
                Err(error) => failed("connection", error),
            },
            ended = ping(pings, remote) => ended,
            ended = send(body, remote, lane) => ended,
        }
    }
}

/// Waits for the answer's head, then for the end of its body.
async fn listen(response: ResponseFuture, remote: &Remote, lane: Lane) -> Broken {
    let response = match response.await {
        Ok(response) => response,
        Err(error) => return failed("no answer", error),
    };
    let status = response.status().as_u16();
    let mut body = response.into_body();
    if status == 200 {
        remote.connected(lane);
        return match body.data().await {
            Some(Err(error)) => failed("answer", error),
            _ => failed("answer", "ended by the peer"),
        };
    }
    let mut text = Vec::new();
    while let Some(Ok(chunk)) = body.data().await {
        text.extend_from_slice(&chunk);
        if REFUSAL_BYTES_MAX < text.len() {
            break;
        }
    }
    match status {
        GONE => Broken::Removed,
        _ => failed(&format!("refused with {status}"), String::from_utf8_lossy(&text).trim_end()),
    }
}

/// Pings for ever; ends once the peer is silent.
async fn ping(mut pings: PingPong, remote: &Remote) -> Broken {
    loop {
        let began = Instant::now();
        match timeout(SILENCE_MAX, pings.ping(Ping::opaque())).await {
            Ok(Ok(_)) => {
                remote.hub.count(remote.id, Counted::RoundTrip(began.elapsed()));
            }
            Ok(Err(error)) => return failed("ping", error),
            Err(_) => return failed("ping", "no answer"),
        }
        sleep(PING_INTERVAL).await;
    }
}

/// Sends what is queued, for ever.
async fn send(mut body: SendStream<Bytes>, remote: &Remote, lane: Lane) -> Broken {
    let queue = remote.queue(lane);
    loop {
        let mut piece = poll_fn(|cx| queue.poll_gather(cx)).await;
        let bytes = piece.len();
        while !piece.is_empty() {
            body.reserve_capacity(piece.len());
            let room = match poll_fn(|cx| body.poll_capacity(cx)).await {
                Some(Ok(room)) => room.min(piece.len()),
                Some(Err(error)) => return failed("sending", error),
                None => return failed("sending", "the stream ended"),
            };
            if let Err(error) = body.send_data(piece.split_to(room), false) {
                return failed("sending", error);
            }
        }
        remote.hub.count(remote.id, Counted::Sent(bytes));
    }
}
