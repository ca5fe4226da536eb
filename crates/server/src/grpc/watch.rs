//! `etcdserverpb.Watch`: requests go to the hub as they come; messages are taken from it when the
//! client has room, and not before, so that a slow client costs no memory.

use super::encode::Parts;
use super::frame;
use super::status::{Code, Status};
use super::stream_call::{End, StreamCall, decode_streamed};
use crate::driver::Shell;
use crate::driver::watches::Signal;
use crate::metrics::Metrics;
use bytes::{BufMut, Bytes, BytesMut};
use member::event::WatchCommand;
use member::{Event, StreamId};
use prost::encoding::{encode_varint, encoded_len_varint};
use proto::etcdserverpb as pb;
use std::rc::Rc;
use std::task::{Context, Poll};
use std::time::Instant;
use types::KeyRange;
use types::limits::WATCH_STREAM_QUEUE_BYTES_MAX;

/// Bytes taken from the hub at once.
const DRAIN_BYTES_MAX: usize = 256 * 1024;
/// Room asked for before messages are taken.
const ROOM_BYTES: usize = 64 * 1024;
/// Pieces of events up to this size are copied together.
const COPY_BYTES_MAX: usize = 8 * 1024;

/// A stream of the hub, closed when dropped.
pub struct HubStream {
    shell: Rc<Shell>,
    queue: crate::driver::inbox::QueueId,
    /// Its id in the hub.
    pub id: StreamId,
    signal: Rc<Signal>,
}

impl HubStream {
    /// Opens a stream.
    pub fn open(shell: &Rc<Shell>, queue: crate::driver::inbox::QueueId) -> HubStream {
        let (id, signal) = shell.open_watch();
        let stream = HubStream { shell: Rc::clone(shell), queue, id, signal };
        stream.command(WatchCommand::Open, 0);
        stream
    }

    /// Gives the hub a command.
    pub fn command(&self, command: WatchCommand, bytes: usize) {
        let event = Event::Watch { stream: self.id, command };
        self.shell.push(self.queue, event, bytes);
    }

    /// False while commands should wait.
    pub fn accepts_command(&self) -> bool {
        self.shell.accepts_command(self.id, self.queue)
    }

    /// Ready once after each time that messages came.
    pub fn poll_ready(&self, cx: &mut Context<'_>) -> Poll<()> {
        self.signal.poll(cx)
    }

    /// Takes messages; asks for another look if more are queued.
    pub fn drain(&self, bytes_max: usize, out: &mut Vec<watch::Message>) -> bool {
        self.shell.drain_watch(self.id, bytes_max, out)
    }
}

impl Drop for HubStream {
    fn drop(&mut self) {
        self.command(WatchCommand::Close, 0);
        self.shell.close_watch(self.id);
    }
}

/// Serves one stream.
pub async fn serve(call: &mut StreamCall) -> Result<(), End> {
    let hub = HubStream::open(&call.shell, call.queue);
    let mut stream = WatchStream {
        call,
        hub,
        half_closed: false,
        more: false,
        messages: Vec::new(),
        sending: None,
    };
    let ended = std::future::poll_fn(|cx| stream.poll(cx)).await;
    match ended {
        End::Gone => Err(Status::new(Code::Canceled, "etcdserver: watch canceled").into()),
        other => Err(other),
    }
}

struct WatchStream<'a> {
    call: &'a mut StreamCall,
    hub: HubStream,
    /// The client sends no more; the stream goes on.
    half_closed: bool,
    /// The hub has messages.
    more: bool,
    messages: Vec<watch::Message>,
    /// A batch of messages waits for room.
    sending: Option<Batch>,
}

impl WatchStream<'_> {
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<End> {
        while !self.half_closed {
            if !self.hub.accepts_command() {
                // The loop is about to take what waits.
                cx.waker().wake_by_ref();
                break;
            }
            match self.call.poll_receive(cx) {
                Poll::Pending => break,
                Poll::Ready(Ok(Some(message))) => {
                    if let Err(status) = self.request(message) {
                        return Poll::Ready(status.into());
                    }
                }
                Poll::Ready(Ok(None)) => self.half_closed = true,
                Poll::Ready(Err(end)) => return Poll::Ready(end),
            }
        }
        if self.call.poll_gone(cx).is_ready() {
            return Poll::Ready(End::Gone);
        }
        match self.poll_send(cx) {
            Err(end) => Poll::Ready(end),
            Ok(()) => Poll::Pending,
        }
    }

    fn request(&mut self, message: Bytes) -> Result<(), Status> {
        use pb::watch_request::RequestUnion;
        let bytes = message.len();
        let request: pb::WatchRequest = decode_streamed(message)?;
        let command = match request.request_union {
            Some(RequestUnion::CreateRequest(request)) => WatchCommand::Create(create(request)),
            Some(RequestUnion::CancelRequest(request)) => WatchCommand::Cancel(request.watch_id),
            Some(RequestUnion::ProgressRequest(_)) => WatchCommand::Progress,
            None => return Ok(()),
        };
        self.hub.command(command, bytes);
        Ok(())
    }

    /// Sends while there are messages and room for them.
    fn poll_send(&mut self, cx: &mut Context<'_>) -> Result<(), End> {
        loop {
            if let Some(batch) = &self.sending {
                let batch = *batch;
                match self.call.outgoing()?.poll_send_patiently(cx) {
                    Poll::Pending => return Ok(()),
                    Poll::Ready(sent) => sent?,
                }
                batch.sent(&self.call.shell.metrics);
                self.sending = None;
            }
            while self.hub.poll_ready(cx).is_ready() {
                self.more = true;
            }
            if !self.more {
                self.call.release_room();
                return Ok(());
            }
            if self.call.outgoing()?.poll_room(ROOM_BYTES, cx)?.is_pending() {
                return Ok(());
            }
            self.more = self.hub.drain(DRAIN_BYTES_MAX, &mut self.messages);
            if self.messages.is_empty() {
                continue;
            }
            self.call.count_sent(self.messages.len());
            let batch = Batch::of(&self.messages);
            let head = Head::new(&self.call.shell);
            let parts = encode(&head, &mut self.messages);
            self.call.outgoing()?.put(parts, None)?;
            self.sending = Some(batch);
        }
    }
}

/// Messages that are sent together.
#[derive(Clone, Copy, Debug)]
struct Batch {
    began: Instant,
    events: u32,
    /// Answers to create and cancel are among them.
    has_control: bool,
}

impl Batch {
    fn of(messages: &[watch::Message]) -> Batch {
        let events: usize = messages.iter().map(|message| message.events.count()).sum();
        let has_control = messages.iter().any(|message| message.created || message.canceled);
        Batch {
            began: Instant::now(),
            events: u32::try_from(events).unwrap_or(u32::MAX),
            has_control,
        }
    }

    /// All of them left.
    fn sent(self, metrics: &Metrics) {
        let seconds = self.began.elapsed().as_secs_f64();
        if 0 < self.events {
            metrics.watch_send.observe(seconds);
            metrics.watch_send_event.observe(seconds / f64::from(self.events));
        } else if self.has_control {
            metrics.watch_send_control.observe(seconds);
        } else {
            metrics.watch_send_progress.observe(seconds);
        }
    }
}

/// A create request as the hub takes it.
pub fn create(request: pb::WatchCreateRequest) -> watch::Create {
    const NOPUT: i32 = 0;
    const NODELETE: i32 = 1;
    watch::Create {
        range: KeyRange::new(request.key, request.range_end),
        start_revision: request.start_revision,
        watch_id: request.watch_id,
        progress_notify: request.progress_notify,
        no_put: request.filters.contains(&NOPUT),
        no_delete: request.filters.contains(&NODELETE),
        prev_kv: request.prev_kv,
        fragment: request.fragment,
    }
}

/// The parts of a header that all messages share.
pub struct Head {
    cluster: u64,
    member: u64,
    term: u64,
}

impl Head {
    /// As of now.
    pub fn new(shell: &Shell) -> Head {
        Head {
            cluster: shell.config.cluster_id.0,
            member: shell.config.member_id.0,
            term: shell.term().0,
        }
    }

    fn len(&self, revision: i64) -> usize {
        [self.cluster, self.member, revision.cast_unsigned(), self.term]
            .iter()
            .map(|value| if *value == 0 { 0 } else { 1 + encoded_len_varint(*value) })
            .sum()
    }

    fn put(&self, revision: i64, out: &mut BytesMut) {
        let values = [self.cluster, self.member, revision.cast_unsigned(), self.term];
        for (field, value) in (1u8..).zip(values) {
            put_varint(field, value, out);
        }
    }
}

fn put_varint(field: u8, value: u64, out: &mut BytesMut) {
    if value != 0 {
        out.put_u8(field << 3);
        encode_varint(value, out);
    }
}

/// Encodes messages one after another, events spliced in; empties the list.
pub fn encode(head: &Head, messages: &mut Vec<watch::Message>) -> Parts {
    let mut pieces = Vec::new();
    let mut out = BytesMut::new();
    for message in messages.drain(..) {
        encode_one(head, &message, &mut out, &mut pieces);
    }
    pieces.push(out.freeze());
    Parts::pieces(pieces)
}

fn encode_one(head: &Head, message: &watch::Message, out: &mut BytesMut, pieces: &mut Vec<Bytes>) {
    const HEADER: u8 = 1 << 3 | 2;
    const CANCEL_REASON: u8 = 6 << 3 | 2;
    // The answer to a start before what is kept carries no revision.
    let revision = message.revision;
    let header_len = head.len(revision);
    let numbers = [
        (2, message.watch_id.cast_unsigned()),
        (3, u64::from(message.created)),
        (4, u64::from(message.canceled)),
        (5, message.compact_revision.cast_unsigned()),
    ];
    let mut len = 1 + encoded_len_varint(header_len as u64) + header_len;
    for (_, value) in numbers {
        len += if value == 0 { 0 } else { 1 + encoded_len_varint(value) };
    }
    if let Some(reason) = message.cancel_reason {
        len += 1 + encoded_len_varint(reason.len() as u64) + reason.len();
    }
    len += usize::from(message.fragment) * 2 + message.events.bytes();
    out.reserve(frame::PREFIX_LEN + len.min(COPY_BYTES_MAX));
    out.put_slice(&frame::prefix(len));
    out.put_u8(HEADER);
    encode_varint(header_len as u64, out);
    head.put(revision, out);
    for (field, value) in numbers {
        put_varint(field, value, out);
    }
    if let Some(reason) = message.cancel_reason {
        out.put_u8(CANCEL_REASON);
        encode_varint(reason.len() as u64, out);
        out.put_slice(reason.as_bytes());
    }
    put_varint(7, u64::from(message.fragment), out);
    for piece in message.events.pieces() {
        if piece.len() < COPY_BYTES_MAX {
            out.put_slice(piece);
        } else {
            pieces.push(out.split().freeze());
            pieces.push(piece.clone());
        }
    }
}

const _: () = assert!(DRAIN_BYTES_MAX < WATCH_STREAM_QUEUE_BYTES_MAX);
