//! Watch (INV-3): ordered, unique, reliable, atomic, resumable. What a watcher is told are exactly
//! the changes of its keys from its start on, in order, whole revisions; a progress notice at R
//! comes only after everything up to R.

use crate::compare;
use crate::report::Violation;
use crate::watcher::Watcher;
use model::{Change, Model};
use prost::Message;
use proto::etcdserverpb::WatchResponse;
use proto::mvccpb::Event;

/// Compares a message with events; returns how many there were.
pub(crate) fn check_events(
    watcher: &mut Watcher,
    message: &watch::Message,
    model: &Model,
) -> Result<u64, Violation> {
    let bytes: Vec<u8> = message.events.pieces().flat_map(|piece| piece.to_vec()).collect();
    let decoded = WatchResponse::decode(bytes.as_slice());
    let events = decoded.map_err(|error| violation(watcher, &error.to_string()))?.events;
    let mut last = 0;
    for event in &events {
        let Some((at, change)) = next_change(watcher, model) else {
            return Err(violation(watcher, &format!("{event:?} was never written")));
        };
        if !is_equal(watcher, event, change, model) {
            return Err(violation(
                watcher,
                &compare::difference(&format!("{event:?}"), &format!("{change:?}")),
            ));
        }
        last = change.main;
        watcher.at = at + 1;
    }
    // A revision is never split: nothing of the last one may be left.
    if let Some((_, rest)) = next_change(watcher, model)
        && rest.main == last
    {
        return Err(violation(watcher, &format!("revision {last} was cut before {rest:?}")));
    }
    watcher.next = watcher.next.max(last + 1);
    Ok(u64::try_from(events.len()).expect("a small message"))
}

/// A message without events says that everything up to `revision` was told.
pub(crate) fn check_progress(
    watcher: &mut Watcher,
    revision: i64,
    model: &Model,
) -> Result<(), Violation> {
    if let Some((_, change)) = next_change(watcher, model)
        && change.main <= revision
    {
        let text =
            format!("progress at {revision}, but {} was not told", compare::show_change(change));
        return Err(violation(watcher, &text));
    }
    watcher.next = watcher.next.max(revision + 1);
    Ok(())
}

/// A watcher that is cancelled for compaction must have needed what is gone.
pub(crate) fn check_compacted(watcher: &Watcher, revision: i64) -> Result<(), Violation> {
    if revision <= watcher.next {
        let text = format!("cancelled for compaction at {revision} without need");
        return Err(violation(watcher, &text));
    }
    Ok(())
}

/// Nothing is left that a watcher should have been told.
pub(crate) fn check_end(watcher: &mut Watcher, model: &Model) -> Result<(), Violation> {
    match next_change(watcher, model) {
        Some((_, change)) => {
            Err(violation(watcher, &format!("{} was never told", compare::show_change(change))))
        }
        None => Ok(()),
    }
}

fn next_change<'a>(watcher: &mut Watcher, model: &'a Model) -> Option<(usize, &'a Change)> {
    let wanted = |change: &Change| {
        watcher.next <= change.main
            && watcher.range.contains(&change.key)
            && (change.kv.is_some() || !watcher.no_delete)
    };
    let mut rest = model.changes().iter().enumerate().skip(watcher.at);
    rest.find(|(_, change)| wanted(change))
}

fn is_equal(watcher: &Watcher, event: &Event, change: &Change, model: &Model) -> bool {
    let Some(kv) = &event.kv else { return false };
    let prev = event.prev_kv.as_ref().map(compare::from_proto);
    let wanted_prev = if watcher.prev_kv { model.prev_of(change).cloned() } else { None };
    // What is compacted by now may have been there when the event was sent.
    let may_be_gone = change.main - 1 < model.compacted() && watcher.prev_kv;
    let is_prev_right = prev == wanted_prev || (may_be_gone && prev == change.prev);
    match &change.kv {
        Some(now) => event.r#type == 0 && compare::from_proto(kv) == *now && is_prev_right,
        None => {
            let is_key = kv.key == change.key && kv.mod_revision == change.main;
            event.r#type == 1 && is_key && is_prev_right
        }
    }
}

fn violation(watcher: &Watcher, text: &str) -> Violation {
    let (range, next) = (&watcher.range, watcher.next);
    Violation::new("watch_complete", format!("watcher of {range:?}, next {next}: {text}"))
}
