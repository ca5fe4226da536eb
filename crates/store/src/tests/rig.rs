//! A store with what a member does around it: numbers entries, fetches cold records, flushes.

use crate::{Applied, CatchUp, Config, Entry, Error, Outcome, Store};
use backend::{Backend, FlushJob};
use bytes::Bytes;
use prost::Message as _;
use proto::etcdserverpb as pb;
use proto::log::{self, Kind};
use std::sync::Arc;
use types::{Index, OpError, Term};
use vfs::sim::SimDisk;
use watch::{Message, StreamId};

/// Ids as member 1 makes them.
const FIRST_ID: u64 = 1 << 48;

pub(crate) struct Rig {
    pub(crate) store: Store,
    config: Config,
    disk: Arc<SimDisk>,
    backend: Backend,
    pub(crate) term: Term,
    next_id: u64,
    /// Everything applied, to be replayed after a restart.
    pub(crate) log: Vec<(Index, Term, Bytes)>,
    pub(crate) fetches: usize,
    /// Keys in one slice of an entry.
    pub(crate) keys_max: usize,
    /// A flush that is not through yet: it ends between two slices.
    in_flight: Option<FlushJob>,
}

impl Rig {
    pub(crate) fn new(config: Config) -> Rig {
        let disk = Arc::new(SimDisk::new());
        let (backend, mut recovered) =
            Backend::create(disk.clone(), "backend", backend_config()).unwrap();
        let store = Store::restore(config.clone(), &mut recovered).unwrap();
        Rig {
            store,
            config,
            disk,
            backend,
            term: Term(2),
            next_id: FIRST_ID,
            log: Vec::new(),
            fetches: 0,
            keys_max: usize::MAX,
            in_flight: None,
        }
    }

    /// Applies a request as one entry.
    pub(crate) fn request(&mut self, kind: Kind, request: &impl prost::Message) -> Applied {
        self.fenced(kind, request, 0)
    }

    pub(crate) fn fenced(
        &mut self,
        kind: Kind,
        request: &impl prost::Message,
        fence_term: u64,
    ) -> Applied {
        let body = request.encode_to_vec().into();
        self.next_id += 1;
        let id = self.next_id;
        let entry = log::Entry { id, fence_term, floor: id, kind, body, fence_index: 0 };
        self.entry(entry.encode())
    }

    /// Applies an entry.
    pub(crate) fn entry(&mut self, data: Bytes) -> Applied {
        let entry = Entry::decode(&data).unwrap();
        let index = self.store.applied().next();
        self.log.push((index, self.term, data));
        self.fetch_for(|store| store.needs(&entry));
        let mut applied = self.store.apply_slice(index, self.term, &entry, self.keys_max);
        loop {
            if let Some(applied) = applied {
                return applied;
            }
            self.end_flush();
            self.catch_up();
            applied = self.store.resume(self.keys_max);
        }
    }

    /// Fetches until `needs` names nothing.
    pub(crate) fn fetch_for(&mut self, needs: impl Fn(&Store) -> Vec<types::Revision>) {
        for _ in 0..3 {
            let cold = needs(&self.store);
            if cold.is_empty() {
                return;
            }
            self.fetch(&cold);
        }
        panic!("records stay cold after they were fetched");
    }

    fn fetch(&mut self, cold: &[types::Revision]) {
        self.fetches += 1;
        let found = self.store.reader().get_many(cold).unwrap();
        let records: Vec<_> =
            found.into_iter().map(|record| record.expect("cold records are stored")).collect();
        self.store.warm(records);
    }

    pub(crate) fn put(&mut self, key: &str, value: &str) -> i64 {
        self.put_with(key, value, 0).unwrap()
    }

    pub(crate) fn put_with(&mut self, key: &str, value: &str, lease: i64) -> Result<i64, OpError> {
        let request = pb::PutRequest {
            key: key.to_owned().into(),
            value: value.to_owned().into(),
            lease,
            ..Default::default()
        };
        match self.request(Kind::Put, &request).result? {
            Outcome::Put(put) => Ok(put.revision),
            other => panic!("{other:?} is no answer of a put"),
        }
    }

    pub(crate) fn delete(&mut self, key: &str, end: &str) -> types::outcome::DeleteOutcome {
        let request = pb::DeleteRangeRequest {
            key: key.to_owned().into(),
            range_end: end.to_owned().into(),
            ..Default::default()
        };
        match self.request(Kind::DeleteRange, &request).result.unwrap() {
            Outcome::Delete(outcome) => outcome,
            other => panic!("{other:?} is no answer of a delete"),
        }
    }

    pub(crate) fn compact(&mut self, revision: i64) -> Result<(), OpError> {
        let request = pb::CompactionRequest { revision, physical: false };
        self.request(Kind::Compaction, &request).result.map(drop)
    }

    pub(crate) fn grant(&mut self, id: i64, ttl: i64) -> Result<(), OpError> {
        self.request(Kind::LeaseGrant, &pb::LeaseGrantRequest { id, ttl }).result.map(drop)
    }

    pub(crate) fn revoke(&mut self, id: i64) -> Result<(), OpError> {
        self.request(Kind::LeaseRevoke, &pb::LeaseRevokeRequest { id }).result.map(drop)
    }

    /// The values of an interval at a revision, as text.
    pub(crate) fn range(&mut self, key: &str, end: &str, revision: i64) -> Result<String, OpError> {
        let op = types::RangeOp {
            range: types::KeyRange::new(key.to_owned(), end.to_owned()),
            revision,
            ..Default::default()
        };
        let outcome = self.store.range(&op)?;
        let reader = self.store.reader().clone();
        let texts: Vec<String> = outcome
            .items
            .iter()
            .map(|item| match item {
                types::outcome::Item::Resident(kv) => show_kv(kv),
                types::outcome::Item::Cold { revision, .. } => {
                    show_kv(&reader.get(*revision).unwrap().expect("stored").kv)
                }
            })
            .collect();
        Ok(texts.join(" "))
    }

    pub(crate) fn flush(&mut self) {
        self.begin_flush();
        self.end_flush();
    }

    /// Begins a flush that goes on beside what follows.
    pub(crate) fn begin_flush(&mut self) {
        self.end_flush();
        self.in_flight = Some(self.store.take_flush(Bytes::new()));
    }

    /// Ends the flush that is under way, if there is one.
    pub(crate) fn end_flush(&mut self) {
        if let Some(job) = self.in_flight.take() {
            let reader = self.backend.flush(&job).unwrap();
            self.store.flushed(reader);
        }
    }

    /// Ends the process and starts again: what was flushed comes from the backend, the rest from
    /// the log.
    pub(crate) fn restart(&mut self) -> Result<(), Error> {
        self.in_flight = None;
        let (backend, mut recovered) =
            Backend::open(self.disk.clone(), "backend", backend_config()).unwrap();
        self.backend = backend;
        self.store = Store::restore(self.config.clone(), &mut recovered)?;
        let applied = self.store.applied();
        for (index, term, data) in self.log.clone() {
            if applied < index {
                let entry = Entry::decode(&data)?;
                self.fetch_for(|store| store.needs(&entry));
                self.store.apply(index, term, &entry);
            }
        }
        Ok(())
    }

    /// Lets every watcher catch up, as far as streams have room.
    pub(crate) fn catch_up(&mut self) {
        let mut next = self.store.catch_up();
        loop {
            next = match next {
                CatchUp::Idle => return,
                CatchUp::Progressed => self.store.catch_up(),
                CatchUp::Fetch(cold) => {
                    self.fetch(&cold);
                    self.store.catch_up()
                }
                CatchUp::History { from, to, bytes_max } => {
                    let found = self.store.reader().scan(from, to, bytes_max).unwrap();
                    self.store.history(from, to, found.records)
                }
            };
        }
    }

    /// All that waits on a stream, as text.
    pub(crate) fn drain(&mut self, stream: StreamId) -> Vec<String> {
        let mut out = Vec::new();
        while self.store.hub_mut().drain(stream, usize::MAX, &mut out) {}
        out.iter().map(show_message).collect()
    }
}

fn backend_config() -> backend::Config {
    backend::Config { segment_bytes: 64 * 1024, ..backend::Config::default() }
}

pub(crate) fn show_kv(kv: &Bytes) -> String {
    let kv = proto::mvccpb::KeyValue::decode(kv.clone()).unwrap();
    let text = |bytes: &Bytes| String::from_utf8_lossy(bytes).into_owned();
    format!("{}={}@{}", text(&kv.key), text(&kv.value), kv.mod_revision)
}

/// A message as a client would decode it.
pub(crate) fn decode(message: &Message) -> pb::WatchResponse {
    let bytes: Vec<u8> = message.events.pieces().flat_map(|piece| piece.to_vec()).collect();
    assert_eq!(bytes.len(), message.events.bytes(), "lengths are known without the bytes");
    let decoded = pb::WatchResponse::decode(bytes.as_slice()).unwrap();
    assert_eq!(decoded.events.len(), message.events.count());
    decoded
}

pub(crate) fn show_message(message: &Message) -> String {
    let mut text = format!("#{} rev {}", message.watch_id, message.revision);
    if message.created {
        text += " created";
    }
    if message.canceled {
        text += " canceled";
    }
    if message.compact_revision != 0 {
        text += &format!(" compacted {}", message.compact_revision);
    }
    if let Some(reason) = message.cancel_reason {
        text += &format!(" ({reason})");
    }
    if message.fragment {
        text += " fragment";
    }
    for event in decode(message).events {
        let kv = event.kv.unwrap();
        let sign = if event.r#type == 1 { "-" } else { "+" };
        let key = String::from_utf8_lossy(&kv.key);
        text += &format!(" {sign}{key}@{}", kv.mod_revision);
        if let Some(prev) = event.prev_kv {
            text += &format!("<{}", prev.mod_revision);
        }
    }
    text
}
