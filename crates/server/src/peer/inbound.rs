//! The peer port's HTTP/2 side: lanes that other members opened.

use super::wire::{self, GONE, Lane, Local, Refused};
use super::{CONNECT_MAX, Counted, Hub, MESSAGE_BYTES_MAX, Standing};
use crate::grpc::frame::FrameReader;
use bytes::Bytes;
use h2::RecvStream;
use h2::server::SendResponse;
use http::{Request, Response};
use std::future::poll_fn;
use std::rc::Rc;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::timeout;
use types::MemberId;

/// A sender may be this far ahead of what was taken.
const WINDOW_BYTES: u32 = 4 * 1024 * 1024;
const FRAME_BYTES_MAX: u32 = 1024 * 1024;
const HEADER_LIST_BYTES_MAX: u32 = 16 * 1024;
/// A lane is one stream; another one is on its way when a sender begins anew.
const STREAMS_MAX: u32 = 4;

/// Serves one connection of another member until it ends.
pub async fn serve<S>(socket: S, hub: Rc<dyn Hub>, local: Local)
where
    S: AsyncRead + AsyncWrite + Unpin + 'static,
{
    let mut builder = h2::server::Builder::new();
    builder
        .initial_window_size(WINDOW_BYTES)
        .initial_connection_window_size(WINDOW_BYTES)
        .max_frame_size(FRAME_BYTES_MAX)
        .max_header_list_size(HEADER_LIST_BYTES_MAX)
        .max_concurrent_streams(STREAMS_MAX);
    let Ok(Ok(mut h2)) = timeout(CONNECT_MAX, builder.handshake::<_, Bytes>(socket)).await else {
        return;
    };
    let mut lanes = Lanes::default();
    while let Some(accepted) = h2.accept().await {
        match accepted {
            Ok((request, respond)) => lanes.start(request, respond, &hub, &local),
            Err(error) => {
                tracing::debug!(%error, "a peer's connection ended");
                return;
            }
        }
    }
}

/// The lanes of one connection; they end with it.
#[derive(Default)]
struct Lanes {
    tasks: JoinSet<()>,
    current: Option<AbortHandle>,
}

impl Lanes {
    fn start(
        &mut self,
        request: Request<RecvStream>,
        mut respond: SendResponse<Bytes>,
        hub: &Rc<dyn Hub>,
        local: &Local,
    ) {
        let from = match check(&request, hub, local) {
            Ok(from) => from,
            Err(refused) => return refuse(&mut respond, &refused),
        };
        // The body stays open: its end tells the sender that nobody listens any more.
        let Ok(open) = respond.send_response(Response::new(()), false) else { return };
        let hub = Rc::clone(hub);
        let task = self.tasks.spawn_local(async move {
            let why = read(request.into_body(), from, &hub).await;
            hub.count(from, Counted::ReceiveFailed);
            tracing::debug!(peer = %from, why, "a peer's lane ended");
            drop(open);
        });
        // Finished tasks are let go of, and a newer request of the lane ends the older one.
        while self.tasks.try_join_next().is_some() {}
        if let Some(older) = self.current.replace(task) {
            older.abort();
        }
    }
}

fn check(
    request: &Request<RecvStream>,
    hub: &Rc<dyn Hub>,
    local: &Local,
) -> Result<MemberId, Refused> {
    if Lane::parse(request.uri().path()).is_none() {
        return Err(Refused { status: 404, text: "404 page not found" });
    }
    let from = wire::sender(local, request.headers()).inspect_err(|refused| {
        tracing::warn!(reason = refused.text, "refused a peer's connection");
    })?;
    match hub.standing(from) {
        Standing::Welcome => Ok(from),
        Standing::Removed => Err(Refused {
            status: GONE,
            text: "the member has been permanently removed from the cluster",
        }),
    }
}

fn refuse(respond: &mut SendResponse<Bytes>, refused: &Refused) {
    let mut head = Response::new(());
    *head.status_mut() =
        http::StatusCode::from_u16(refused.status).unwrap_or(http::StatusCode::FORBIDDEN);
    // A sender that went away needs no answer.
    if let Ok(mut body) = respond.send_response(head, false) {
        let _ = body.send_data(Bytes::from_static(refused.text.as_bytes()), true);
    }
}

/// Gives every message to the hub; says why the lane ended.
async fn read(mut body: RecvStream, from: MemberId, hub: &Rc<dyn Hub>) -> &'static str {
    let mut frames = FrameReader::default();
    while let Some(chunk) = body.data().await {
        let Ok(chunk) = chunk else { return "the sender reset it" };
        let bytes = chunk.len();
        frames.push(chunk);
        loop {
            let frame = match frames.next(MESSAGE_BYTES_MAX) {
                Ok(Some(frame)) => frame,
                Ok(None) => break,
                Err(_) => return "a frame is malformed",
            };
            let Some(message) = wire::open(frame) else { return "a message was damaged" };
            poll_fn(|cx| hub.poll_room(cx)).await;
            if hub.standing(from) == Standing::Removed {
                return "the member was removed";
            }
            hub.message(from, message);
        }
        hub.count(from, Counted::Received(bytes));
        if body.flow_control().release_capacity(bytes).is_err() {
            return "flow control";
        }
    }
    "the sender ended it"
}
