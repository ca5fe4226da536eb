//! The sending side of one call: headers, messages under flow control, trailers.

use super::encode::{Chunk, Parts};
use super::frame::Encoding;
use super::gzip::{PACKER_BYTES, Packer};
use super::metadata::Metadata;
use super::status::{self, Code, Status};
use crate::driver::Shell;
use crate::driver::slot::Slot;
use bytes::Bytes;
use h2::server::SendResponse;
use h2::{Reason, SendStream};
use http::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use http::{Response, StatusCode};
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::time::Sleep;

/// Most bytes handed to h2 at once.
const CHUNK_BYTES_MAX: usize = 64 * 1024;
/// An answer that a client does not take for this long is given up.
pub(super) const STALL_MAX: Duration = Duration::from_secs(30);

const GRPC_ENCODING: HeaderName = HeaderName::from_static("grpc-encoding");
const GRPC_STATUS: HeaderName = HeaderName::from_static("grpc-status");
const GRPC_MESSAGE: HeaderName = HeaderName::from_static("grpc-message");
const CONTENT_TYPE_GRPC: HeaderValue = HeaderValue::from_static("application/grpc");

/// The stream was reset, or its connection is gone: there is nobody to tell.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Gone;

impl From<h2::Error> for Gone {
    fn from(_: h2::Error) -> Gone {
        Gone
    }
}

/// Answers with headers alone: for calls that send no message.
pub fn refuse(respond: &mut SendResponse<Bytes>, http: u16, status: &Status) {
    let mut response = Response::new(());
    *response.status_mut() = StatusCode::from_u16(http).unwrap_or(StatusCode::OK);
    response.headers_mut().insert(CONTENT_TYPE, CONTENT_TYPE_GRPC);
    put_status(response.headers_mut(), status);
    // An error means that the stream is gone.
    let _ = respond.send_response(response, true);
}

fn put_status(headers: &mut HeaderMap, status: &Status) {
    headers.insert(GRPC_STATUS, HeaderValue::from_static(status.code.as_str()));
    let text = status::percent_encode(&status.message);
    let value = HeaderValue::from_str(&text).expect("percent-encoding leaves plain ASCII");
    headers.insert(GRPC_MESSAGE, value);
}

fn ok_trailers() -> HeaderMap {
    let mut trailers = HeaderMap::with_capacity(2);
    trailers.insert(GRPC_STATUS, HeaderValue::from_static(Code::Ok.as_str()));
    // Empty, as grpc-go sends it.
    trailers.insert(GRPC_MESSAGE, HeaderValue::from_static(""));
    trailers
}

/// A call whose headers were sent.
pub struct Outgoing {
    stream: SendStream<Bytes>,
    shell: Rc<Shell>,
    parts: Parts,
    /// Compresses `parts` before anything of it is sent.
    packer: Option<Packer>,
    /// `parts` is ready to be sent.
    packed: bool,
    reader: Option<backend::Reader>,
    cold: Option<Rc<Slot<Vec<Bytes>>>>,
    /// True if something was taken since the stall began to run.
    progress: bool,
    /// Runs while the client takes nothing.
    stall: Option<Pin<Box<Sleep>>>,
    /// Bytes counted by `Shell::hold_answer`.
    held: usize,
}

impl Outgoing {
    /// Sends the headers.
    pub fn open(
        respond: &mut SendResponse<Bytes>,
        metadata: &Metadata,
        shell: &Rc<Shell>,
    ) -> Result<Outgoing, Gone> {
        let mut response = Response::new(());
        response.headers_mut().insert(CONTENT_TYPE, metadata.content_type.clone());
        let packer = (metadata.encoding == Encoding::Gzip).then(Packer::default);
        if packer.is_some() {
            response.headers_mut().insert(GRPC_ENCODING, HeaderValue::from_static("gzip"));
        }
        let stream = respond.send_response(response, false)?;
        Ok(Outgoing {
            stream,
            shell: Rc::clone(shell),
            parts: Parts::default(),
            packer,
            packed: false,
            reader: None,
            cold: None,
            progress: false,
            stall: None,
            held: 0,
        })
    }

    /// The next message to send; the one before was sent. Refused if clients hold back too much.
    pub fn put(&mut self, parts: Parts, reader: Option<backend::Reader>) -> Result<(), Status> {
        assert!(self.parts.remaining() == 0, "one message is sent after another");
        self.uncount();
        let bytes = parts.remaining();
        if CHUNK_BYTES_MAX < bytes {
            let held = bytes + self.packer.as_ref().map_or(0, |_| PACKER_BYTES);
            if !self.shell.hold_answer(held) {
                return Err(Status::new(
                    Code::ResourceExhausted,
                    "mainstay: too many bytes of answers wait to be taken by clients",
                ));
            }
            self.held = held;
        }
        self.shell.metrics.client_sent.inc_by(bytes as u64);
        self.parts = parts;
        self.packed = self.packer.is_none();
        self.reader = reader;
        Ok(())
    }

    /// Sends as much as the client has room for; ready once the message is with h2. A client that
    /// takes nothing for `STALL_MAX` is given up.
    pub fn poll_send(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Gone>> {
        if let Poll::Ready(sent) = self.poll_send_patiently(cx) {
            self.stall = None;
            return Poll::Ready(sent);
        }
        if std::mem::take(&mut self.progress) {
            self.stall = None;
        }
        let stall = self.stall.get_or_insert_with(|| Box::pin(tokio::time::sleep(STALL_MAX)));
        ready!(stall.as_mut().poll(cx));
        self.stream.send_reset(Reason::CANCEL);
        Poll::Ready(Err(Gone))
    }

    /// The same for streams that may stand still as long as the client likes.
    pub fn poll_send_patiently(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Gone>> {
        if !self.packed {
            ready!(self.poll_pack(cx))?;
        }
        while 0 < self.parts.remaining() {
            let want = self.parts.remaining().min(CHUNK_BYTES_MAX);
            let room = ready!(self.poll_room(want, cx))?;
            self.progress = true;
            match ready!(self.poll_chunk(want.min(room), cx))? {
                Some(bytes) => self.stream.send_data(bytes, false)?,
                None => break,
            }
        }
        self.uncount();
        Poll::Ready(Ok(()))
    }

    /// The next bytes to send, `None` at the end.
    fn poll_chunk(
        &mut self,
        bytes_max: usize,
        cx: &mut Context<'_>,
    ) -> Poll<Result<Option<Bytes>, Gone>> {
        loop {
            if let Some(slot) = &self.cold {
                let records = ready!(slot.poll(cx));
                self.parts.warm(records);
                self.cold = None;
            }
            match self.parts.next_chunk(bytes_max) {
                Chunk::Bytes(bytes) => return Poll::Ready(Ok(Some(bytes))),
                Chunk::End => return Poll::Ready(Ok(None)),
                Chunk::Cold(revisions) => {
                    let Some(reader) = &self.reader else {
                        tracing::error!("an answer with cold records came without a reader");
                        self.stream.send_reset(Reason::INTERNAL_ERROR);
                        return Poll::Ready(Err(Gone));
                    };
                    self.cold = Some(self.shell.read_cold(reader, revisions));
                }
            }
        }
    }

    /// Compresses what is to be sent, a piece each time it is polled: others have their turn in
    /// between.
    fn poll_pack(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Gone>> {
        self.progress = true;
        let chunk = ready!(self.poll_chunk(CHUNK_BYTES_MAX, cx))?;
        let Some(packer) = &mut self.packer else { return Poll::Ready(Ok(())) };
        packer.push(&chunk.unwrap_or_default());
        if 0 < self.parts.remaining() {
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        self.parts = Parts::whole(packer.take());
        self.packed = true;
        Poll::Ready(Ok(()))
    }

    /// Waits for room for at least one byte.
    pub fn poll_room(&mut self, want: usize, cx: &mut Context<'_>) -> Poll<Result<usize, Gone>> {
        self.stream.reserve_capacity(want);
        loop {
            let room = self.stream.capacity();
            if 0 < room {
                return Poll::Ready(Ok(room));
            }
            match ready!(self.stream.poll_capacity(cx)) {
                Some(Ok(_)) => {}
                _ => return Poll::Ready(Err(Gone)),
            }
        }
    }

    /// Gives room back that `poll_room` reserved: an idle stream must not hold the
    /// connection's window.
    pub fn release_room(&mut self) {
        self.stream.reserve_capacity(0);
    }

    /// Ready when the client reset the stream or went away.
    pub fn poll_gone(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        self.stream.poll_reset(cx).map(drop)
    }

    /// Sends one message.
    pub async fn send(&mut self, parts: Parts) -> Result<(), Gone> {
        if self.put(parts, None).is_err() {
            self.stream.send_reset(Reason::CANCEL);
            return Err(Gone);
        }
        std::future::poll_fn(|cx| self.poll_send(cx)).await
    }

    /// Ends the call well.
    pub fn finish(mut self) {
        let _ = self.stream.send_trailers(ok_trailers());
    }

    /// Ends the call with an error after its headers.
    pub fn fail(mut self, status: &Status) {
        let mut trailers = HeaderMap::with_capacity(2);
        put_status(&mut trailers, status);
        let _ = self.stream.send_trailers(trailers);
    }

    fn uncount(&mut self) {
        self.shell.release_answer(std::mem::take(&mut self.held));
    }
}

impl Drop for Outgoing {
    fn drop(&mut self) {
        self.uncount();
    }
}
