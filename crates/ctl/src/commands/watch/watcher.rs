//! The watchers of one run: one stream for all, opened again where it breaks, each watcher
//! resumed after the last event that was printed.

use std::process::Command;
use std::time::Duration;

use client::{Status, WatchStream};
use proto::etcdserverpb::WatchResponse;

use super::arguments::Wanted;
use super::event_environment;
use crate::printers::Answer;
use crate::session::Session;
use crate::text::quote::quote;
use crate::{Failure, complain, say};

/// Pause before a broken stream is opened again.
const REOPEN_PAUSE: Duration = Duration::from_millis(100);

const COMPACTED: &str = "etcdserver: mvcc: required revision has been compacted";

/// Watchers over one stream.
#[derive(Debug)]
pub(super) struct Watchers<'a> {
    session: &'a Session,
    stream: Option<WatchStream>,
    /// In the order of their creation on the stream.
    list: Vec<Watcher>,
}

#[derive(Debug)]
struct Watcher {
    wanted: Wanted,
    /// `None` until the server has confirmed it.
    id: Option<i64>,
}

impl<'a> Watchers<'a> {
    pub(super) fn new(session: &'a Session) -> Watchers<'a> {
        Watchers { session, stream: None, list: Vec::new() }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Adds a watcher.
    pub(super) fn add(&mut self, wanted: Wanted) {
        if let Some(stream) = &mut self.stream {
            // A broken stream is noticed by the next step, which creates all of them again.
            let _ = stream.create(wanted.create.clone());
        }
        self.list.push(Watcher { wanted, id: None });
    }

    /// Asks for the progress of all watchers.
    pub(super) async fn progress(&mut self) -> Result<(), Failure> {
        if self.stream.is_none() {
            self.open().await?;
        }
        let stream = self.stream.as_mut().expect("just opened");
        Ok(stream.progress()?)
    }

    /// Waits for one answer and prints it. Nothing is lost where the future is dropped.
    pub(super) async fn step(&mut self) -> Result<(), Failure> {
        if self.list.is_empty() && self.stream.is_none() {
            return std::future::pending().await;
        }
        if self.stream.is_none() {
            self.open().await?;
        }
        let stream = self.stream.as_mut().expect("just opened");
        match stream.next().await {
            Some(Ok(answer)) => self.handle(&answer),
            Some(Err(status)) if !is_transient(&status) => Err(status.into()),
            Some(Err(_)) | None => {
                self.stream = None;
                tokio::time::sleep(REOPEN_PAUSE).await;
                Ok(())
            }
        }
    }

    async fn open(&mut self) -> Result<(), Failure> {
        let call = self.session.patient_call().with("hasleader", "true");
        let mut stream = self.session.client.watch(&call).await?;
        for watcher in &mut self.list {
            watcher.id = None;
            stream.create(watcher.wanted.create.clone())?;
        }
        self.stream = Some(stream);
        Ok(())
    }

    fn handle(&mut self, answer: &WatchResponse) -> Result<(), Failure> {
        if answer.created && !answer.canceled {
            self.confirm(answer);
            return Ok(());
        }
        let revision = answer.header.unwrap_or_default().revision;
        let is_progress = answer.events.is_empty() && !answer.canceled;
        if is_progress && answer.watch_id == -1 {
            for watcher in &mut self.list {
                watcher.wanted.create.start_revision = revision + 1;
            }
            return self.progress_notify(answer, self.list.len());
        }
        let at = self.list.iter().position(|watcher| {
            watcher.id == Some(answer.watch_id) || (answer.created && watcher.id.is_none())
        });
        let Some(at) = at else { return Ok(()) };
        if answer.canceled {
            self.list.remove(at);
            if let Some(stream) = &mut self.stream {
                // etcd keeps a compacted watcher, and answers no progress, until it is told to
                // forget it. A broken stream is noticed by the next step.
                let _ = stream.cancel(answer.watch_id);
            }
            complain(&format!("watch was canceled ({})", cancel_reason(answer)));
            return self.session.print(&Answer::Watch(answer));
        }
        let watcher = &mut self.list[at];
        watcher.wanted.create.start_revision = revision.max(last_revision(answer)) + 1;
        if is_progress {
            return self.progress_notify(answer, 1);
        }
        self.session.print(&Answer::Watch(answer))?;
        self.run_command(at, revision, answer)
    }

    /// Remembers the id of the oldest watcher without one, and where a resume has to begin.
    fn confirm(&mut self, answer: &WatchResponse) {
        if let Some(watcher) = self.list.iter_mut().find(|watcher| watcher.id.is_none()) {
            watcher.id = Some(answer.watch_id);
            let start = &mut watcher.wanted.create.start_revision;
            if *start == 0 {
                *start = answer.header.unwrap_or_default().revision + 1;
            }
        }
    }

    fn progress_notify(&self, answer: &WatchResponse, times: usize) -> Result<(), Failure> {
        let revision = answer.header.unwrap_or_default().revision;
        for _ in 0..times {
            say(format!("progress notify: {revision}\n").as_bytes());
            self.session.print(&Answer::Watch(answer))?;
        }
        Ok(())
    }

    fn run_command(&self, at: usize, revision: i64, answer: &WatchResponse) -> Result<(), Failure> {
        let Some((program, args)) = self.list[at].wanted.command.split_first() else {
            return Ok(());
        };
        for event in &answer.events {
            let status = Command::new(program)
                .args(args)
                .stdin(std::process::Stdio::null())
                .envs(event_environment(revision, event))
                .status();
            let why = match status {
                Ok(status) if status.success() => continue,
                Ok(status) => status.to_string().replace("exit status: ", "exit status "),
                Err(error) => error.to_string(),
            };
            let words: Vec<String> = std::iter::once(program)
                .chain(args)
                .map(|word| quote(word.as_encoded_bytes()))
                .collect();
            complain(&format!("command [{}] error ({why})", words.join(" ")));
            return Err(Failure::silent(Failure::ERROR));
        }
        Ok(())
    }
}

fn last_revision(answer: &WatchResponse) -> i64 {
    let kv = answer.events.last().and_then(|event| event.kv.as_ref());
    kv.map_or(0, |kv| kv.mod_revision)
}

fn cancel_reason(answer: &WatchResponse) -> String {
    if answer.compact_revision != 0 {
        COMPACTED.to_owned()
    } else if answer.cancel_reason.is_empty() {
        "etcdserver: mvcc: required revision is a future revision".to_owned()
    } else {
        answer.cancel_reason.clone()
    }
}

/// Whether another stream may do better.
fn is_transient(status: &Status) -> bool {
    status.is_unavailable() || status.code == client::Code::INTERNAL
}
