//! A watcher that resumes after each restart, and what its events are held against.

use crate::recorder::{Change, Recorder};
use anyhow::{Result, ensure};
use client::{Call, Client};
use proto::etcdserverpb::WatchCreateRequest;
use proto::mvccpb::event::EventType;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// Everything a watcher of all keys was sent, over all restarts.
#[derive(Debug, Default)]
pub struct Watched {
    /// Changes in the order of their events.
    pub changes: Vec<Change>,
    /// The first revision that was not delivered yet.
    pub next: i64,
}

impl Watched {
    /// A watcher from the first revision on.
    pub fn new() -> Watched {
        Watched { changes: Vec::new(), next: 1 }
    }

    /// Takes everything up to and including `revision` from a fresh stream.
    pub async fn catch_up(&mut self, client: &Client, revision: i64) -> Result<()> {
        let mut stream = client.watch(&Call::default()).await.map_err(failed)?;
        let create = WatchCreateRequest {
            key: "w/".into(),
            range_end: "w0".into(),
            start_revision: self.next,
            ..WatchCreateRequest::default()
        };
        stream.create(create).map_err(failed)?;
        let deadline = Instant::now() + Duration::from_secs(10);
        let mut ended = revision < self.next;
        while !ended {
            ensure!(Instant::now() < deadline, "the watch does not reach revision {revision}");
            // An answer only comes once the watcher has caught up: ask again until then.
            stream.progress().map_err(failed)?;
            let answer = tokio::time::timeout(Duration::from_millis(50), stream.next()).await;
            let Ok(answer) = answer else { continue };
            let answer =
                answer.ok_or_else(|| anyhow::anyhow!("the watch ended"))?.map_err(failed)?;
            ensure!(!answer.canceled, "the watch was cancelled: {answer:?}");
            for event in &answer.events {
                let kv = event.kv.clone().unwrap_or_default();
                self.changes.push(Change {
                    revision: kv.mod_revision,
                    key: String::from_utf8_lossy(&kv.key).into_owned(),
                    value: (event.r#type() == EventType::Put)
                        .then(|| String::from_utf8_lossy(&kv.value).into_owned()),
                });
                self.next = self.next.max(kv.mod_revision + 1);
            }
            let progressed = answer.events.is_empty() && !answer.created;
            let header = answer.header.map_or(0, |header| header.revision);
            ended = revision < self.next || (progressed && revision <= header);
        }
        Ok(())
    }

    /// Holds the events against what clients were told and against what is served.
    pub fn judge(&self, recorder: &mut Recorder) {
        let mut found = BTreeMap::new();
        let mut last = 0;
        for change in &self.changes {
            if change.revision < last {
                let text = format!("event {change:?} comes after revision {last}");
                recorder.violations.push(text);
            }
            last = change.revision;
            let place = (change.revision, change.key.clone());
            if found.insert(place, change.value.clone()).is_some() {
                recorder.violations.push(format!("event {change:?} came twice"));
            }
        }
        for change in &recorder.changes {
            let event = found.get(&(change.revision, change.key.clone()));
            if event != Some(&change.value) {
                recorder
                    .violations
                    .push(format!("{change:?} was acknowledged, its event: {event:?}"));
            }
        }
        let mut replay = BTreeMap::new();
        for change in &self.changes {
            match &change.value {
                Some(value) => replay.insert(change.key.clone(), (value.clone(), change.revision)),
                None => replay.remove(&change.key),
            };
        }
        for (name, key) in &recorder.keys {
            if replay.get(name) != key.known.as_ref() {
                let text =
                    format!("{name} is {:?}, its events say {:?}", key.known, replay.get(name));
                recorder.violations.push(text);
            }
        }
    }
}

fn failed(status: client::Status) -> anyhow::Error {
    anyhow::anyhow!("{status:?}")
}
