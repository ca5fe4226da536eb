//! Helper threads: reads of cold records, of history, and of everything for a hash.

use super::fatal;
use super::mailbox::{Mail, Mailbox};
use super::threads::HelperWork;
use backend::Reader;
use member::{Effect, Event};
use std::sync::Arc;
use std::sync::mpsc::Receiver;
use types::{Record, Revision};

/// Runs until the loop is gone.
pub(super) fn run(work: &Receiver<HelperWork>, mailbox: &Arc<Mailbox>) {
    while let Ok(work) = work.recv() {
        let mail = match work {
            HelperWork::Cold { read, reader, revisions } => {
                let records = read_all(&reader, &revisions);
                Mail::Cold { read, records: records.into_iter().map(|record| record.kv).collect() }
            }
            HelperWork::Effect(effect) => match execute(effect) {
                Some(event) => Mail::Event(event),
                None => continue,
            },
        };
        mailbox.post(mail);
    }
}

fn execute(effect: Effect) -> Option<Event> {
    match effect {
        Effect::Fetch { ticket, reader, revisions } => {
            Some(Event::Fetched { ticket, records: read_all(&reader, &revisions) })
        }
        Effect::History { ticket, reader, from, to, bytes_max } => {
            let history = match reader.scan(from, to, bytes_max) {
                Ok(history) => history,
                Err(error) => fatal::backend(&error),
            };
            let upto = history.next.map_or(to, |next| next - 1);
            Some(Event::History { ticket, records: history.records, upto })
        }
        Effect::Hash { ticket, reader, revision, compacted } => {
            match reader.hash_kv(revision, compacted) {
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
