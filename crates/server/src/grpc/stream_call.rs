//! Calls that have a task of their own: streams, and programs of several steps.

use super::connection::message_bytes_max;
use super::encode::Parts;
use super::frame::{self, FrameReader};
use super::metadata::Metadata;
use super::method::Method;
use super::outgoing::{self, Gone, Outgoing};
use super::status::{Code, Status};
use super::txn::Malformed;
use super::{election, health, lease, lock, range_stream, watch};
use crate::driver::Shell;
use crate::driver::inbox::QueueId;
use crate::driver::outbox::Answer;
use bytes::Bytes;
use h2::RecvStream;
use h2::server::SendResponse;
use member::{Header, Request, Response};
use std::future::Future;
use std::rc::Rc;
use std::task::{Context, Poll};
use std::time::Instant;
use types::Time;

/// One call with its task.
pub struct StreamCall {
    /// The shared state.
    pub shell: Rc<Shell>,
    /// The connection's queue.
    pub queue: QueueId,
    /// When the caller stops waiting.
    pub deadline: Option<Time>,
    method: Method,
    metadata: Metadata,
    respond: SendResponse<Bytes>,
    incoming: Incoming,
    outgoing: Option<Outgoing>,
}

/// The receiving side.
struct Incoming {
    stream: RecvStream,
    frames: FrameReader,
    bytes_max: usize,
}

/// Why a stream handler ends early.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum End {
    /// With this status.
    Status(Status),
    /// The client went away.
    Gone,
}

impl From<Status> for End {
    fn from(status: Status) -> End {
        End::Status(status)
    }
}

impl From<types::OpError> for End {
    fn from(error: types::OpError) -> End {
        End::Status(error.into())
    }
}

impl From<Gone> for End {
    fn from(_: Gone) -> End {
        End::Gone
    }
}

/// The status of a call whose caller's time is over.
pub fn deadline_exceeded() -> Status {
    Status::new(Code::DeadlineExceeded, "context deadline exceeded")
}

/// Runs a call to its end.
pub async fn serve(mut call: StreamCall, began: Instant) {
    let (method, shell) = (call.method, Rc::clone(&call.shell));
    let limit = call.metadata.timeout;
    let wants_leader = call.metadata.require_leader;
    let run = async {
        if !wants_leader {
            return run(method, &mut call).await;
        }
        tokio::select! {
            biased;
            ended = run(method, &mut call) => ended,
            () = shell.leader_lost() => Err(Status::from(types::OpError::NoLeader).into()),
        }
    };
    let ended = match limit {
        None => run.await,
        Some(limit) => match tokio::time::timeout(limit, run).await {
            Ok(ended) => ended,
            Err(_) => Err(deadline_exceeded().into()),
        },
    };
    let code = match &ended {
        Ok(()) => Code::Ok,
        Err(End::Status(status)) => status.code,
        Err(End::Gone) => Code::Canceled,
    };
    shell.call_ended(method, code, began, 0);
    if matches!(code, Code::Internal | Code::ResourceExhausted)
        && let Some(api) = stream_api(method)
    {
        shell.metrics.stream_failures.with_label_values(&["receive", api]).inc();
    }
    match ended {
        Ok(()) => call.finish(),
        Err(End::Status(status)) => call.fail(&status),
        Err(End::Gone) => {}
    }
}

/// The name under which failures of a stream are counted.
fn stream_api(method: Method) -> Option<&'static str> {
    match method {
        Method::Watch => Some("watch"),
        Method::LeaseKeepAlive => Some("lease-keepalive"),
        _ => None,
    }
}

async fn run(method: Method, call: &mut StreamCall) -> Result<(), End> {
    match method {
        Method::RangeStream => range_stream::serve(call).await,
        Method::Watch => watch::serve(call).await,
        Method::LeaseKeepAlive => lease::keep_alive(call).await,
        Method::Lock | Method::Unlock => lock::serve(method, call).await,
        Method::Campaign | Method::Proclaim | Method::Leader | Method::Observe | Method::Resign => {
            election::serve(method, call).await
        }
        Method::HealthWatch => health::watch(call).await,
        other => Err(Status::not_implemented(other.name()).into()),
    }
}

impl StreamCall {
    /// A call whose headers were checked.
    pub fn new(
        shell: Rc<Shell>,
        queue: QueueId,
        method: Method,
        metadata: Metadata,
        respond: SendResponse<Bytes>,
        stream: RecvStream,
    ) -> StreamCall {
        let bytes_max = message_bytes_max(&shell);
        let deadline = shell.deadline(metadata.timeout);
        let frames = FrameReader::new(metadata.encoding);
        let incoming = Incoming { stream, frames, bytes_max };
        StreamCall { shell, queue, deadline, method, metadata, respond, incoming, outgoing: None }
    }

    /// The next message; `None` once the client has sent its last.
    pub async fn receive(&mut self) -> Result<Option<Bytes>, End> {
        std::future::poll_fn(|cx| self.poll_receive(cx)).await
    }

    /// The next message; `None` once the client has sent its last.
    pub fn poll_receive(&mut self, cx: &mut Context<'_>) -> Poll<Result<Option<Bytes>, End>> {
        let incoming = &mut self.incoming;
        loop {
            match incoming.frames.next(incoming.bytes_max) {
                Err(status) => return Poll::Ready(Err(status.into())),
                Ok(Some(message)) => {
                    self.shell.count(self.method).received.inc();
                    self.shell.metrics.client_received.inc_by(message.len() as u64);
                    return Poll::Ready(Ok(Some(message)));
                }
                Ok(None) => {}
            }
            match incoming.stream.poll_data(cx) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(Some(Ok(chunk))) => {
                    // Fails only if the stream is gone, which the next read tells.
                    let _ = incoming.stream.flow_control().release_capacity(chunk.len());
                    incoming.frames.push(chunk);
                }
                Poll::Ready(Some(Err(_))) => return Poll::Ready(Err(End::Gone)),
                Poll::Ready(None) if incoming.frames.held_bytes() == 0 => {
                    return Poll::Ready(Ok(None));
                }
                Poll::Ready(None) => {
                    return Poll::Ready(Err(ended(incoming.frames.held_bytes()).into()));
                }
            }
        }
    }

    /// The only message of a call with one request.
    pub async fn receive_one<M: prost::Message + Default>(&mut self) -> Result<M, End> {
        Ok(decode(self.receive_only().await?)?)
    }

    /// The only message of a call with one request, as bytes.
    pub async fn receive_only(&mut self) -> Result<Bytes, End> {
        match self.receive().await? {
            Some(message) => Ok(message),
            None => Err(ended(0).into()),
        }
    }

    /// Sends one message.
    pub async fn send(&mut self, parts: Parts) -> Result<(), End> {
        self.count_sent(1);
        Ok(self.outgoing()?.send(parts).await?)
    }

    /// Sends a message with records that may have to be read first.
    pub async fn send_with(
        &mut self,
        parts: Parts,
        reader: Option<backend::Reader>,
    ) -> Result<(), End> {
        self.count_sent(1);
        let outgoing = self.outgoing()?;
        outgoing.put(parts, reader)?;
        Ok(std::future::poll_fn(|cx| outgoing.poll_send(cx)).await?)
    }

    /// Sends one message that prost encodes.
    pub async fn send_message(&mut self, message: &impl prost::Message) -> Result<(), End> {
        self.send(Parts::whole(frame::framed(message))).await
    }

    /// Counts messages that are about to be sent.
    pub fn count_sent(&self, messages: usize) {
        self.shell.count(self.method).sent.inc_by(messages as u64);
    }

    /// The sending side; the headers are sent first.
    pub fn outgoing(&mut self) -> Result<&mut Outgoing, Gone> {
        if self.outgoing.is_none() {
            self.outgoing = Some(Outgoing::open(&mut self.respond, &self.metadata, &self.shell)?);
        }
        self.outgoing.as_mut().ok_or(Gone)
    }

    /// Gives back room that was asked for but is not used.
    pub fn release_room(&mut self) {
        if let Some(outgoing) = &mut self.outgoing {
            outgoing.release_room();
        }
    }

    /// Ready when the client reset the call or went away.
    pub fn poll_gone(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        match &mut self.outgoing {
            Some(outgoing) => outgoing.poll_gone(cx),
            None => self.respond.poll_reset(cx).map(drop),
        }
    }

    /// Runs `work` unless the client goes away first.
    pub async fn while_connected<T>(&mut self, work: impl Future<Output = T>) -> Result<T, End> {
        let mut work = std::pin::pin!(work);
        std::future::poll_fn(|cx| {
            if let Poll::Ready(value) = work.as_mut().poll(cx) {
                return Poll::Ready(Ok(value));
            }
            self.poll_gone(cx).map(|()| Err(End::Gone))
        })
        .await
    }

    /// Asks the member.
    pub async fn ask(&self, request: Request, bytes: usize) -> Answer {
        self.shell.ask(self.queue, request, self.deadline, bytes).await
    }

    fn finish(mut self) {
        match self.outgoing {
            Some(outgoing) => outgoing.finish(),
            None => outgoing::refuse(&mut self.respond, 200, &Status::new(Code::Ok, "")),
        }
    }

    fn fail(mut self, status: &Status) {
        match self.outgoing {
            Some(outgoing) => outgoing.fail(status),
            None => outgoing::refuse(&mut self.respond, 200, status),
        }
    }
}

/// The status of a body that ends within a message, after `held` bytes of it.
pub fn ended(held: usize) -> Status {
    let text = if held < frame::PREFIX_LEN { "EOF" } else { "unexpected EOF" };
    Status::new(Code::Unknown, text)
}

/// Decodes the request of a unary call.
pub fn decode<M: prost::Message + Default>(message: Bytes) -> Result<M, Status> {
    M::decode(message).map_err(|error| malformed(go_text(&error)))
}

/// Decodes a message of a stream.
pub fn decode_streamed<M: prost::Message + Default>(message: Bytes) -> Result<M, Status> {
    M::decode(message).map_err(|error| {
        let why = go_text(&error);
        let text = format!("grpc: failed to unmarshal the received message: {why}");
        Status::new(Code::Internal, text)
    })
}

/// What Go's decoder says of the same bytes.
fn go_text(error: &prost::DecodeError) -> &'static str {
    if error.to_string().contains("UTF-8") {
        "string field contains invalid UTF-8"
    } else {
        Malformed::Wire.text()
    }
}

/// The status of bytes that are not the message they should be.
pub fn malformed(why: &str) -> Status {
    Status::new(Code::Internal, format!("grpc: error unmarshalling request: {why}"))
}

/// An answer of a kind that its request cannot have.
pub fn unexpected(header: &Header, response: &Response) -> Status {
    tracing::error!(?header, ?response, "the member answered with another kind of answer");
    Status::new(Code::Internal, "mainstay: unexpected answer")
}
