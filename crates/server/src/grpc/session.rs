//! What the lock and election programs share: requests of the member in the place of a client.

use super::status::Status;
use super::stream_call::{End, StreamCall, unexpected};
use super::watch::HubStream;
use crate::driver::Shell;
use crate::driver::inbox::QueueId;
use bytes::Bytes;
use member::event::WatchCommand;
use member::{Header, Request, Response, WriteKind};
use prost::Message;
use proto::{etcdserverpb as pb, mvccpb};
use std::rc::Rc;
use types::op::{SortOrder, SortTarget};
use types::outcome::{Item, OpOutcome, RangeOutcome, TxnOutcome};
use types::range::prefix_end;
use types::{KeyRange, LeaseId, RangeOp, Time};

/// TTL of a lease that a session grants by itself; clientv3's default.
const SESSION_TTL: i64 = 60;

/// Asks on behalf of one call. Owns what it needs, so that it can outlive the call for cleaning
/// up.
#[derive(Clone)]
pub struct Session {
    shell: Rc<Shell>,
    queue: QueueId,
    deadline: Option<Time>,
}

/// An answer with its header.
pub struct Answered<T> {
    /// The header.
    pub header: Header,
    /// The answer.
    pub value: T,
}

impl Session {
    /// A session for a call.
    pub fn new(call: &StreamCall) -> Session {
        Session { shell: Rc::clone(&call.shell), queue: call.queue, deadline: call.deadline }
    }

    async fn ask(&self, request: Request, bytes: usize) -> Result<Answered<Response>, Status> {
        let answer = self.shell.ask(self.queue, request, self.deadline, bytes).await;
        match answer.result {
            Err(error) => Err(Status::from(error).as_unknown()),
            Ok(mut value) => {
                if let Some(reader) = &answer.reader {
                    warm(&self.shell, reader, &mut value).await;
                }
                Ok(Answered { header: answer.header, value })
            }
        }
    }

    /// The lease of the call: the given one, or a new one that nobody keeps alive. A given lease is
    /// not renewed: etcd's session is orphaned before its keep-alive is sent.
    pub async fn lease(&self, given: i64) -> Result<i64, Status> {
        if given != 0 {
            return Ok(given);
        }
        let grant = Request::LeaseGrant { id: LeaseId(0), ttl: SESSION_TTL };
        let granted = self.ask(grant, 0).await?;
        match granted.value {
            Response::LeaseGrant { id, .. } => Ok(id.0),
            other => Err(unexpected(&granted.header, &other)),
        }
    }

    /// Runs a transaction.
    pub async fn txn(&self, txn: pb::TxnRequest) -> Result<Answered<TxnOutcome>, Status> {
        let body: Bytes = txn.encode_to_vec().into();
        let bytes = body.len();
        let request = Request::Write { kind: WriteKind::Txn, body, quota_cost: 0 };
        let answered = self.ask(request, bytes).await?;
        match answered.value {
            Response::Txn(outcome) => {
                let header = Header { revision: outcome.revision, ..answered.header };
                Ok(Answered { header, value: outcome })
            }
            other => Err(unexpected(&answered.header, &other)),
        }
    }

    /// Deletes one key.
    pub async fn delete(&self, key: Bytes) -> Result<Header, Status> {
        if key.is_empty() {
            return Err(Status::from(types::OpError::EmptyKey).as_unknown());
        }
        let delete = pb::DeleteRangeRequest { key, ..Default::default() };
        let body: Bytes = delete.encode_to_vec().into();
        let request = Request::Write { kind: WriteKind::DeleteRange, body, quota_cost: 0 };
        let answered = self.ask(request, 0).await?;
        match answered.value {
            Response::Delete(outcome) => {
                Ok(Header { revision: outcome.revision, ..answered.header })
            }
            other => Err(unexpected(&answered.header, &other)),
        }
    }

    /// Reads an interval.
    pub async fn range(&self, op: RangeOp) -> Result<Answered<Vec<mvccpb::KeyValue>>, Status> {
        let answered = self.ask(Request::Range(op), 0).await?;
        match answered.value {
            Response::Range(outcome) => {
                let header = Header { revision: outcome.revision, ..answered.header };
                Ok(Answered { header, value: records(&outcome)? })
            }
            other => Err(unexpected(&answered.header, &other)),
        }
    }

    /// The oldest key under a prefix.
    pub async fn oldest(&self, prefix: &[u8]) -> Result<Answered<Vec<mvccpb::KeyValue>>, Status> {
        self.range(first_created(prefix)).await
    }

    /// Waits until no key under `prefix` is older than `create_revision`.
    pub async fn wait_for_older(&self, prefix: &[u8], create_revision: i64) -> Result<(), Status> {
        loop {
            let youngest = RangeOp {
                sort_order: SortOrder::Descend,
                max_create_revision: create_revision - 1,
                ..first_created(prefix)
            };
            if create_revision <= 1 {
                return Ok(());
            }
            let found = self.range(youngest).await?;
            let Some(kv) = found.value.into_iter().next() else { return Ok(()) };
            self.wait_for_delete(kv.key, found.header.revision).await?;
        }
    }

    /// Waits until a key is deleted at or after `revision`.
    async fn wait_for_delete(&self, key: Bytes, revision: i64) -> Result<(), Status> {
        let mut watcher = self.watch(KeyRange::single(key), revision);
        loop {
            let (_, events) = watcher.next().await?;
            if events.iter().any(is_delete) {
                return Ok(());
            }
        }
    }

    /// Watches an interval from a revision on.
    pub fn watch(&self, range: KeyRange, start_revision: i64) -> Watcher {
        let stream = HubStream::open(&self.shell, self.queue);
        let create = watch::Create { range, start_revision, ..Default::default() };
        stream.command(WatchCommand::Create(create), 0);
        Watcher { stream, messages: Vec::new() }
    }

    /// Runs to the end even if the call is dropped: for cleaning up.
    pub fn detach(self, work: impl AsyncFnOnce(Session) + 'static) {
        let unhurried = Session { deadline: None, ..self };
        tokio::task::spawn_local(work(unhurried));
    }

    /// The header of a message that a watcher got.
    pub fn header(&self, revision: i64) -> Header {
        Header {
            cluster: self.shell.config.cluster_id,
            member: self.shell.config.member_id,
            revision,
            term: self.shell.term(),
        }
    }
}

/// True for a delete.
pub fn is_delete(event: &mvccpb::Event) -> bool {
    event.r#type == i32::from(mvccpb::event::EventType::Delete)
}

/// The oldest key under a prefix.
pub fn first_created(prefix: &[u8]) -> RangeOp {
    RangeOp {
        range: KeyRange::new(Bytes::copy_from_slice(prefix), prefix_end(prefix)),
        limit: 1,
        sort_order: SortOrder::Ascend,
        sort_target: SortTarget::Create,
        ..RangeOp::default()
    }
}

/// The same as a request.
pub fn first_created_request(prefix: &[u8]) -> pb::RangeRequest {
    pb::RangeRequest {
        key: Bytes::copy_from_slice(prefix),
        range_end: prefix_end(prefix),
        limit: 1,
        sort_order: i32::from(pb::range_request::SortOrder::Ascend),
        sort_target: i32::from(pb::range_request::SortTarget::Create),
        ..Default::default()
    }
}

/// One watcher of a session.
pub struct Watcher {
    stream: HubStream,
    messages: Vec<watch::Message>,
}

impl Watcher {
    /// The next events, with the revision of their header.
    pub async fn next(&mut self) -> Result<(i64, Vec<mvccpb::Event>), Status> {
        loop {
            let more = self.stream.drain(usize::MAX, &mut self.messages);
            if let Some(message) = (!self.messages.is_empty()).then(|| self.messages.remove(0)) {
                if message.canceled {
                    return Err(Status::from(types::OpError::Compacted).as_unknown());
                }
                let events = decode_events(&message)?;
                if events.is_empty() {
                    continue;
                }
                return Ok((message.revision, events));
            }
            if !more {
                std::future::poll_fn(|cx| self.stream.poll_ready(cx)).await;
            }
        }
    }
}

fn decode_events(message: &watch::Message) -> Result<Vec<mvccpb::Event>, Status> {
    let mut bytes = Vec::with_capacity(message.events.bytes());
    for piece in message.events.pieces() {
        bytes.extend_from_slice(piece);
    }
    let response: pb::WatchResponse = super::stream_call::decode(bytes.into())?;
    Ok(response.events)
}

/// The decoded records of a range.
pub fn records(outcome: &RangeOutcome) -> Result<Vec<mvccpb::KeyValue>, Status> {
    let resident = outcome.items.iter().filter_map(|item| match item {
        Item::Resident(kv) => Some(kv.clone()),
        Item::Cold { .. } => None,
    });
    resident.map(super::stream_call::decode).collect()
}

/// Reads the cold records of an answer.
async fn warm(shell: &Rc<Shell>, reader: &backend::Reader, response: &mut Response) {
    let mut ranges: Vec<&mut RangeOutcome> = match response {
        Response::Range(outcome) => vec![outcome],
        Response::Txn(outcome) => outcome
            .outcomes
            .iter_mut()
            .filter_map(|outcome| match outcome {
                OpOutcome::Range(range) => Some(range),
                _ => None,
            })
            .collect(),
        _ => Vec::new(),
    };
    for item in ranges.iter_mut().flat_map(|range| &mut range.items) {
        if let Item::Cold { revision, .. } = item {
            let slot = shell.read_cold(reader, vec![*revision]);
            let records = std::future::poll_fn(|cx| slot.poll(cx)).await;
            if let Some(kv) = records.into_iter().next() {
                *item = Item::Resident(kv);
            }
        }
    }
}

/// Runs a program to its end, or until the client goes away.
pub async fn until_gone<T>(
    call: &mut StreamCall,
    work: impl Future<Output = Result<T, Status>>,
) -> Result<T, End> {
    Ok(call.while_connected(work).await??)
}
