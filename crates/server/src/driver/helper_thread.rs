//! Helper threads: reads of cold records, of history, and of everything for a hash.

use super::fatal;
use super::mailbox::{Mail, Mailbox};
use super::threads::HelperWork;
use backend::Reader;
use member::{Effect, Event};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Receiver;
use std::time::{Duration, Instant};
use types::{Record, Revision};

/// Work that nobody waits for takes one part of the time in this many.
const PACE: u32 = 25;

/// The longest rest: a client that comes to wait is not kept longer by it.
const REST_MAX: Duration = Duration::from_millis(500);

/// Runs until the loop is gone.
pub(super) fn run(work: &Receiver<HelperWork>, mailbox: &Arc<Mailbox>, hurry: &AtomicBool) {
    while let Ok(work) = work.recv() {
        let mail = match work {
            HelperWork::Cold { read, reader, revisions } => {
                let records = read_all(&reader, &revisions);
                Mail::Cold { read, records: records.into_iter().map(|record| record.kv).collect() }
            }
            HelperWork::Effect(effect) => match execute(effect, hurry) {
                Some(event) => Mail::Event(event),
                None => continue,
            },
        };
        mailbox.post(mail);
    }
}

fn execute(effect: Effect, hurry: &AtomicBool) -> Option<Event> {
    match effect {
        Effect::Fetch { ticket, reader, revisions } => {
            Some(Event::Fetched { ticket, records: read_all(&reader, &revisions) })
        }
        Effect::FetchLog { ticket, reader, from, to, bytes_max } => {
            let entries = match reader.entries(from, to, bytes_max) {
                Ok(entries) => entries,
                // The log went on meanwhile: who is so far behind needs something else.
                Err(wal::Error::Trimmed(_)) => Vec::new(),
                Err(error) => fatal::log(&error),
            };
            Some(Event::LogFetched { ticket, entries })
        }
        Effect::History { ticket, reader, from, to, bytes_max } => {
            let history = match reader.scan(from, to, bytes_max) {
                Ok(history) => history,
                Err(error) => fatal::backend(&error),
            };
            let upto = history.next.map_or(to, |next| next - 1);
            Some(Event::History { ticket, records: history.records, upto })
        }
        Effect::Hash { ticket, reader, revision, compacted, is_paced } => {
            let mut began = Instant::now();
            let mut rest = || {
                if is_paced && !hurry.load(Ordering::Relaxed) {
                    std::thread::sleep((began.elapsed() * (PACE - 1)).min(REST_MAX));
                }
                began = Instant::now();
            };
            let hash = match is_paced {
                true => reader.hash_compaction(revision, compacted, &mut rest),
                false => reader.hash_kv_paced(revision, compacted, &mut rest),
            };
            if is_paced {
                hurry.store(false, Ordering::Relaxed);
            }
            match hash {
                Ok(hash) => Some(Event::Hashed { ticket, hash }),
                Err(error) => fatal::backend(&error),
            }
        }
        other => {
            tracing::error!(effect = ?other, "this is no work for a helper");
            None
        }
    }
}

/// Reads records that the index says are there: one that is missing is damage.
fn read_all(reader: &Reader, revisions: &[Revision]) -> Vec<Record> {
    let found = match reader.get_many(revisions) {
        Ok(found) => found,
        Err(error) => fatal::backend(&error),
    };
    let records = revisions.iter().zip(found).map(|(revision, record)| match record {
        Some(record) => record,
        None => fatal::refuse(&format_args!("record {revision} is missing in the backend")),
    });
    records.collect()
}
