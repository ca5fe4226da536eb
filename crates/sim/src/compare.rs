//! Answers against what the reference says.

use backend::Reader;
use model::{Answer, Change, DeleteAnswer, Kv, Model, PutAnswer, RangeAnswer, TxnAnswer};
use prost::Message;
use std::collections::{BTreeMap, BTreeSet};
use types::outcome::{DeleteOutcome, Item, OpOutcome, PutOutcome, RangeOutcome, TxnOutcome};

/// A record as the reference has it. Records that left memory are read with the reader that came
/// with the answer.
pub(crate) fn kv(item: &Item, reader: Option<&Reader>) -> Result<Kv, String> {
    let bytes = match item {
        Item::Resident(bytes) => bytes.clone(),
        Item::Cold { revision, len } => {
            let reader = reader.ok_or("a cold record without a reader")?;
            let record = reader.get(*revision).map_err(|error| error.to_string())?;
            let record = record.ok_or_else(|| format!("no record at {revision}"))?;
            if usize::try_from(*len) != Ok(record.kv.len()) {
                return Err(format!("record {revision} has not its length {len}"));
            }
            record.kv
        }
    };
    let kv = proto::mvccpb::KeyValue::decode(bytes).map_err(|error| error.to_string())?;
    Ok(from_proto(&kv))
}

pub(crate) fn from_proto(kv: &proto::mvccpb::KeyValue) -> Kv {
    Kv {
        key: kv.key.to_vec(),
        create: kv.create_revision,
        modified: kv.mod_revision,
        version: kv.version,
        value: kv.value.to_vec(),
        lease: kv.lease,
    }
}

fn kvs(items: &[Item], reader: Option<&Reader>) -> Result<Vec<Kv>, String> {
    items.iter().map(|item| kv(item, reader)).collect()
}

pub(crate) fn range(
    outcome: &RangeOutcome,
    reader: Option<&Reader>,
) -> Result<RangeAnswer, String> {
    let kvs = kvs(&outcome.items, reader)?;
    let (more, count, revision) = (outcome.more, outcome.count, outcome.revision);
    Ok(RangeAnswer { kvs, more, count, revision })
}

pub(crate) fn put(outcome: &PutOutcome, reader: Option<&Reader>) -> Result<PutAnswer, String> {
    let prev = outcome.prev.as_ref().map(|item| kv(item, reader)).transpose()?;
    Ok(PutAnswer { revision: outcome.revision, prev })
}

pub(crate) fn delete(
    outcome: &DeleteOutcome,
    reader: Option<&Reader>,
) -> Result<DeleteAnswer, String> {
    let prev = kvs(&outcome.prev, reader)?;
    Ok(DeleteAnswer { revision: outcome.revision, deleted: outcome.deleted, prev })
}

pub(crate) fn txn(outcome: &TxnOutcome, reader: Option<&Reader>) -> Result<TxnAnswer, String> {
    let answers = outcome.outcomes.iter().map(|outcome| op(outcome, reader));
    let answers = answers.collect::<Result<Vec<Answer>, String>>()?;
    Ok(TxnAnswer { revision: outcome.revision, succeeded: outcome.succeeded, answers })
}

fn op(outcome: &OpOutcome, reader: Option<&Reader>) -> Result<Answer, String> {
    Ok(match outcome {
        OpOutcome::Range(outcome) => Answer::Range(range(outcome, reader)?),
        OpOutcome::Put(outcome) => Answer::Put(put(outcome, reader)?),
        OpOutcome::Delete(outcome) => Answer::Delete(delete(outcome, reader)?),
        OpOutcome::Txn(outcome) => {
            // The header of a nested answer stays empty on the wire.
            Answer::Txn(TxnAnswer { revision: 0, ..txn(outcome, reader)? })
        }
    })
}

/// Revisions of what exists at a main revision.
fn visible_at(changes: &[&Change], revision: i64) -> BTreeSet<(i64, i64)> {
    let mut newest = BTreeMap::new();
    for change in changes.iter().filter(|change| change.main <= revision) {
        newest.insert(&change.key, *change);
    }
    let existing = newest.into_values().filter(|change| change.kv.is_some());
    existing.map(|change| (change.main, change.sub)).collect()
}

/// HashKV as etcd computes it, over the reference's changes: of what lies at or below the
/// compacted revision only what is visible at the revision asked for counts.
pub(crate) fn hash_kv(model: &Model, compacted: i64, revision: i64) -> u32 {
    let changes: Vec<_> = model.changes().iter().filter(|change| change.main <= revision).collect();
    let mut visible = visible_at(&changes, revision);
    if visible.is_empty() {
        visible = visible_at(&changes, compacted);
    }
    let mut hash = crc32c::crc32c(b"key");
    for change in &changes {
        if change.main <= compacted && !visible.contains(&(change.main, change.sub)) {
            continue;
        }
        let mut key = Vec::with_capacity(18);
        key.extend_from_slice(&change.main.to_be_bytes());
        key.push(b'_');
        key.extend_from_slice(&change.sub.to_be_bytes());
        let mut value = proto::mvccpb::KeyValue {
            key: change.key.clone().into(),
            ..proto::mvccpb::KeyValue::default()
        };
        match &change.kv {
            Some(kv) => {
                value.create_revision = kv.create;
                value.mod_revision = kv.modified;
                value.version = kv.version;
                value.value = kv.value.clone().into();
                value.lease = kv.lease;
            }
            None => key.push(b't'),
        }
        hash = crc32c::crc32c_append(hash, &key);
        hash = crc32c::crc32c_append(hash, &value.encode_to_vec());
    }
    hash
}

/// A change in one short line.
pub(crate) fn show_change(change: &Change) -> String {
    let key = String::from_utf8_lossy(&change.key);
    format!("{}.{} {key} {:?}", change.main, change.sub, change.kv.as_ref().map(show))
}

/// A key in one short line.
pub(crate) fn show(kv: &Kv) -> String {
    let (key, value) = (String::from_utf8_lossy(&kv.key), String::from_utf8_lossy(&kv.value));
    let start: String = value.chars().take(12).collect();
    let (create, modified, version, lease) = (kv.create, kv.modified, kv.version, kv.lease);
    let bytes = value.len();
    format!("{key} {create}/{modified} v{version} lease {lease} '{start}' {bytes} B")
}

/// What two texts have different, with a little of what surrounds it.
pub(crate) fn difference(seen: &str, wanted: &str) -> String {
    const AROUND: usize = 160;
    let same = seen.bytes().zip(wanted.bytes()).take_while(|(a, b)| a == b).count();
    let cut = |text: &str| {
        let bytes = text.as_bytes();
        let part = &bytes[same.saturating_sub(AROUND).min(bytes.len())..];
        String::from_utf8_lossy(&part[..part.len().min(2 * AROUND)]).into_owned()
    };
    format!("from byte {same} on: seen '{}', wanted '{}'", cut(seen), cut(wanted))
}
