//! One HTTP/2 connection: one task that reads requests, and writes answers as they come back.
//!
//! Unary calls live here without a task of their own; streams and programs get one each.

use super::frame::FrameReader;
use super::io::{Drain, LazyIo, lazy};
use super::keepalive::Keepalive;
use super::metadata::{self, Metadata};
use super::method::{Kind, Method};
use super::outgoing::{self, Outgoing};
use super::ping::{GOAWAY_TOO_MANY_PINGS, PingWatch};
use super::service::{self, Prepared};
use super::slab::Slab;
use super::status::{Code, Status};
use super::stream_call::{self, StreamCall};
use crate::driver::Shell;
use crate::driver::inbox::QueueId;
use crate::driver::outbox::{Answer, Outbox, ReplyTo};
use bytes::Bytes;
use h2::RecvStream;
use h2::server::{self, SendResponse};
use http::Request;
use member::RequestId;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};
use tokio::io::{AsyncRead, AsyncWrite};
use types::{OpError, Time};

/// From accepting the socket to the end of the client's preface.
pub const HANDSHAKE_MAX: Duration = Duration::from_secs(10);
/// Unary calls of one connection in flight; reliability SE-8.
pub(super) const CALLS_MAX: usize = 4_096;
const WINDOW_BYTES: u32 = 1024 * 1024;
const HEADER_LIST_BYTES_MAX: u32 = 16 * 1024;
/// Streams that one read may open and reset again. A client that cancels much at once is no
/// attack; more than this closes the connection.
const RESETS_MAX: usize = 1_024;
/// What h2 may hold of one stream's answer.
const SEND_BUFFER_BYTES: usize = 128 * 1024;

/// Serves a connection until it ends.
pub async fn serve<S>(socket: S, sniffed: Bytes, shell: Rc<Shell>)
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let pings = PingWatch::new(shell.config.keepalive_min_time, Instant::now);
    let (io, drain) = lazy(socket, sniffed, pings);
    let mut builder = server::Builder::new();
    builder
        .initial_window_size(WINDOW_BYTES)
        .initial_connection_window_size(WINDOW_BYTES)
        .max_header_list_size(HEADER_LIST_BYTES_MAX)
        .max_send_buffer_size(SEND_BUFFER_BYTES)
        .max_pending_accept_reset_streams(RESETS_MAX)
        .max_concurrent_streams(shell.config.max_concurrent_streams);
    let handshake = builder.handshake::<_, Bytes>(io);
    let Ok(Ok(mut h2)) = tokio::time::timeout(HANDSHAKE_MAX, handshake).await else {
        return;
    };
    let queue = shell.open_queue();
    let config = &shell.config;
    let keepalive =
        Keepalive::new(h2.ping_pong(), config.keepalive_interval, config.keepalive_timeout);
    let mut connection = Connection {
        h2,
        drain,
        keepalive,
        queue,
        outbox: Rc::new(Outbox::default()),
        calls: Slab::default(),
        reading: Vec::new(),
        sending: Vec::new(),
        answers: Vec::new(),
        shell: Rc::clone(&shell),
    };
    (&mut connection).await;
    connection.give_up_all();
    shell.close_queue(queue);
}

struct Connection<S> {
    h2: server::Connection<LazyIo<S>, Bytes>,
    drain: Drain<S>,
    /// Pings to the client; `None` if they are turned off.
    keepalive: Option<Keepalive>,
    shell: Rc<Shell>,
    queue: QueueId,
    outbox: Rc<Outbox>,
    /// Unary calls whose request is being read or answered.
    calls: Slab<Call>,
    /// Calls whose request has not arrived whole.
    reading: Vec<u32>,
    /// Answers that wait for the client's flow control.
    sending: Vec<Outgoing>,
    /// Kept for its memory.
    answers: Vec<(u32, Answer)>,
}

/// A unary call.
struct Call {
    respond: SendResponse<Bytes>,
    method: Method,
    metadata: Metadata,
    body: Option<Body>,
    /// What the member was asked.
    asked: Option<RequestId>,
    /// When the caller stops waiting.
    deadline: Option<Time>,
    /// When it began.
    began: Instant,
    /// Size of its request.
    bytes: usize,
}

struct Body {
    stream: RecvStream,
    frames: FrameReader,
}

impl<S: AsyncRead + AsyncWrite + Unpin> Future for Connection<S> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let this = &mut *self;
        this.outbox.register(cx.waker());
        this.send_answers(cx);
        this.poll_sending(cx);
        this.poll_reading(cx);
        let open = this.poll_accept(cx);
        if this.drain.take_reset() {
            this.give_up_reset(cx);
        }
        if this.drain.too_many_pings() {
            this.drain.append(GOAWAY_TOO_MANY_PINGS);
            let _ = this.drain.poll_drain(cx);
            tracing::debug!("closed a connection for too many pings");
            return Poll::Ready(());
        }
        let is_dead =
            this.keepalive.as_mut().is_some_and(|keepalive| keepalive.poll_dead(cx).is_ready());
        match this.drain.poll_drain(cx) {
            Poll::Ready(Err(_)) => Poll::Ready(()),
            _ if is_dead => {
                tracing::debug!("closed a connection that does not answer pings");
                Poll::Ready(())
            }
            _ if !open => Poll::Ready(()),
            _ => Poll::Pending,
        }
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> Connection<S> {
    /// Takes new streams; false once the connection is closed.
    fn poll_accept(&mut self, cx: &mut Context<'_>) -> bool {
        loop {
            match self.h2.poll_accept(cx) {
                Poll::Ready(Some(Ok((request, respond)))) => self.start(request, respond, cx),
                Poll::Ready(Some(Err(error))) => {
                    tracing::debug!(%error, "a connection ended");
                    return false;
                }
                Poll::Ready(None) => return false,
                Poll::Pending => return true,
            }
        }
    }

    fn start(
        &mut self,
        request: Request<RecvStream>,
        mut respond: SendResponse<Bytes>,
        cx: &mut Context<'_>,
    ) {
        crate::log::authority(request.uri());
        let metadata = match metadata::parse(&request) {
            Ok(metadata) => metadata,
            Err(refusal) => {
                return outgoing::refuse(&mut respond, refusal.http, &refusal.status);
            }
        };
        let path = request.uri().path_and_query().map_or("", |path| path.as_str());
        let method = Method::parse(path).and_then(|method| {
            metadata.check_leader(self.shell.leader().is_some())?;
            Ok(method)
        });
        let method = match method {
            Ok(method) => method,
            Err(status) => return outgoing::refuse(&mut respond, 200, &status),
        };
        let began = self.shell.call_began(method, request.headers());
        let stream = request.into_body();
        if method.kind() != Kind::Unary {
            let shell = Rc::clone(&self.shell);
            let call = StreamCall::new(shell, self.queue, method, metadata, respond, stream);
            tokio::task::spawn_local(stream_call::serve(call, began));
            return;
        }
        if CALLS_MAX <= self.calls.count() + self.sending.len() || self.shell.is_flooded() {
            let status = Status::from(OpError::TooManyRequests);
            self.shell.call_ended(method, status.code, began, 0);
            return outgoing::refuse(&mut respond, 200, &status);
        }
        let body = Some(Body { stream, frames: FrameReader::new(metadata.encoding) });
        let deadline = self.shell.deadline(metadata.timeout);
        let call = Call { respond, method, metadata, body, asked: None, deadline, began, bytes: 0 };
        let call = self.calls.insert(call);
        if self.poll_body(call, cx).is_pending() {
            self.reading.push(call);
        }
    }

    fn poll_reading(&mut self, cx: &mut Context<'_>) {
        let mut at = 0;
        while at < self.reading.len() {
            if self.poll_body(self.reading[at], cx).is_ready() {
                self.reading.swap_remove(at);
            } else {
                at += 1;
            }
        }
    }

    /// Reads a request; ready once it was handed on, refused, or given up by the client.
    fn poll_body(&mut self, id: u32, cx: &mut Context<'_>) -> Poll<()> {
        let bytes_max = message_bytes_max(&self.shell);
        let Some(call) = self.calls.get_mut(id) else { return Poll::Ready(()) };
        let Some(body) = &mut call.body else { return Poll::Ready(()) };
        let message = loop {
            match body.frames.next(bytes_max) {
                Err(status) => break Err(status),
                Ok(Some(message)) => break Ok(message),
                Ok(None) => {}
            }
            match body.stream.poll_data(cx) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(Some(Ok(chunk))) => {
                    // Fails only if the stream is gone, which the next read tells.
                    let _ = body.stream.flow_control().release_capacity(chunk.len());
                    body.frames.push(chunk);
                }
                Poll::Ready(Some(Err(_))) => {
                    if let Some(call) = self.calls.remove(id) {
                        self.shell.call_ended(call.method, Code::Canceled, call.began, 0);
                    }
                    return Poll::Ready(());
                }
                Poll::Ready(None) => break Err(stream_call::ended(body.frames.held_bytes())),
            }
        };
        call.body = None;
        match message {
            Ok(message) => self.dispatch(id, message, cx),
            Err(status) => self.refuse(id, &status),
        }
        Poll::Ready(())
    }

    /// Hands a whole request to its service, and what that makes of it to the loop.
    fn dispatch(&mut self, id: u32, message: Bytes, cx: &mut Context<'_>) {
        let Some(call) = self.calls.get_mut(id) else { return };
        let (bytes, deadline) = (message.len(), call.deadline);
        self.shell.count(call.method).received.inc();
        self.shell.metrics.client_received.inc_by(bytes as u64);
        call.bytes = bytes;
        if deadline.is_some_and(|deadline| deadline <= self.shell.now()) {
            return self.refuse(id, &stream_call::deadline_exceeded());
        }
        match service::prepare(call.method, message, &self.shell) {
            Ok(Prepared::Ask(request)) => {
                let to = ReplyTo::Call { outbox: Rc::clone(&self.outbox), call: id };
                call.asked = Some(self.shell.request(self.queue, to, request, deadline, bytes));
            }
            Ok(Prepared::Done(parts)) => {
                if let Some(call) = self.calls.remove(id) {
                    self.send(call, parts, None, cx);
                }
            }
            Err(status) => self.refuse(id, &status),
        }
    }

    fn refuse(&mut self, id: u32, status: &Status) {
        if let Some(mut call) = self.calls.remove(id) {
            self.shell.call_ended(call.method, status.code, call.began, call.bytes);
            outgoing::refuse(&mut call.respond, 200, status);
        }
    }

    /// Gives up the calls that the client has reset.
    fn give_up_reset(&mut self, cx: &mut Context<'_>) {
        for id in 0..self.calls.end() {
            let call = self.calls.get_mut(id).filter(|call| call.asked.is_some());
            if call.is_some_and(|call| call.respond.poll_reset(cx).is_ready()) {
                self.give_up(id);
            }
        }
    }

    /// Nobody waits for any answer: the connection has ended.
    fn give_up_all(&mut self) {
        for id in 0..self.calls.end() {
            self.give_up(id);
        }
    }

    fn give_up(&mut self, id: u32) {
        let Some(call) = self.calls.remove(id) else { return };
        self.shell.call_ended(call.method, Code::Canceled, call.began, call.bytes);
        if let Some(asked) = call.asked {
            self.shell.cancel(self.queue, asked);
        }
    }

    fn send_answers(&mut self, cx: &mut Context<'_>) {
        let mut answers = std::mem::take(&mut self.answers);
        self.outbox.take(&mut answers);
        for (id, answer) in answers.drain(..) {
            let Some(call) = self.calls.remove(id) else { continue };
            match service::answer(call.method, answer.header, answer.result, &self.shell) {
                Ok(parts) => self.send(call, parts, answer.reader, cx),
                Err(status) => {
                    let mut respond = call.respond;
                    self.shell.call_ended(call.method, status.code, call.began, call.bytes);
                    outgoing::refuse(&mut respond, 200, &status);
                }
            }
        }
        self.answers = answers;
    }

    fn send(
        &mut self,
        mut call: Call,
        parts: super::encode::Parts,
        reader: Option<backend::Reader>,
        cx: &mut Context<'_>,
    ) {
        self.shell.count(call.method).sent.inc();
        self.shell.call_ended(call.method, Code::Ok, call.began, call.bytes);
        let Ok(mut outgoing) = Outgoing::open(&mut call.respond, &call.metadata, &self.shell)
        else {
            return;
        };
        if let Err(status) = outgoing.put(parts, reader) {
            return outgoing.fail(&status);
        }
        match outgoing.poll_send(cx) {
            Poll::Ready(Ok(())) => outgoing.finish(),
            Poll::Ready(Err(_)) => {}
            Poll::Pending => self.sending.push(outgoing),
        }
    }

    fn poll_sending(&mut self, cx: &mut Context<'_>) {
        let mut at = 0;
        while at < self.sending.len() {
            match self.sending[at].poll_send(cx) {
                Poll::Pending => at += 1,
                Poll::Ready(result) => {
                    let outgoing = self.sending.swap_remove(at);
                    if result.is_ok() {
                        outgoing.finish();
                    }
                }
            }
        }
    }
}

/// Largest message taken from a client.
pub fn message_bytes_max(shell: &Shell) -> usize {
    shell.config.max_request_bytes + types::limits::GRPC_OVERHEAD_BYTES
}
