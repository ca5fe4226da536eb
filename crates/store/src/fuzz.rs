//! Entry points for fuzzing: they eat any bytes and must neither panic nor hang.

use crate::{Config, Entry, Outcome, Store};
use bytes::Bytes;
use proto::log::{self, Kind};
use proto::request::Request;
use types::{Op, Term, TxnOp};

const KINDS: [Kind; 11] = [
    Kind::Put,
    Kind::DeleteRange,
    Kind::Txn,
    Kind::Compaction,
    Kind::LeaseGrant,
    Kind::LeaseRevoke,
    Kind::Alarm,
    Kind::LeaseCheckpoint,
    Kind::ClusterVersionSet,
    Kind::ClusterMemberAttrSet,
    Kind::DowngradeInfoSet,
];

/// Reads `data` as requests {kind, length, body} and applies those that the edge would let pass,
/// on two stores that must agree.
pub fn request_apply(data: &[u8]) {
    let _ = Entry::decode(&Bytes::copy_from_slice(data));
    let mut stores = [Store::new(Config::default()), Store::new(Config::default())];
    let mut rest = data;
    let mut id = 1 << 48;
    while let [kind, len, tail @ ..] = rest {
        let (body, next) = tail.split_at(usize::from(*len).min(tail.len()));
        rest = next;
        id += 1;
        let kind = KINDS[usize::from(*kind) % KINDS.len()];
        let body = Bytes::copy_from_slice(body);
        let data = log::Entry { id, floor: id - 1, kind, body, ..log::Entry::default() }.encode();
        apply(&mut stores, &data);
    }
    agree(&stores);
}

/// Reads `data` as one transaction and applies it on a store with a few keys.
pub fn txn_tree(data: &[u8]) {
    let mut stores = [Store::new(Config::default()), Store::new(Config::default())];
    for key in [b"\x0a\x01a\x12\x01x", b"\x0a\x01b\x12\x01y", b"\x0a\x01c\x12\x01z"] {
        let body = Bytes::from_static(key);
        let entry = log::Entry { kind: Kind::Put, body, ..log::Entry::default() };
        apply(&mut stores, &entry.encode());
    }
    let body = Bytes::copy_from_slice(data);
    let entry = log::Entry { kind: Kind::Txn, body, ..log::Entry::default() };
    apply(&mut stores, &entry.encode());
    agree(&stores);
}

/// Applies an entry if it is one that the edge lets pass; the second store in slices of one key.
fn apply(stores: &mut [Store; 2], data: &Bytes) {
    let Ok(entry) = Entry::decode(data) else { return };
    if !entry.request.as_ref().is_none_or(is_sound) {
        return;
    }
    let [whole, sliced] = stores;
    let index = whole.applied().next();
    assert!(whole.needs(&entry).is_empty(), "nothing is cold before a flush");
    let before = whole.revision();
    let applied = whole.apply(index, Term(1), &entry);
    let mut other = sliced.apply_slice(index, Term(1), &entry, 1);
    while other.is_none() {
        other = sliced.resume(1);
    }
    assert_eq!(Some(&applied), other.as_ref(), "slices lead to the same outcome");
    assert!(before <= applied.revision, "revisions do not go back");
    assert!(applied.revision <= before + 1, "an entry has one revision");
    if let Ok(Outcome::Txn(outcome)) = &applied.result {
        assert_eq!(outcome.revision, applied.revision);
    }
    whole.leases().check();
}

fn agree([whole, sliced]: &[Store; 2]) {
    assert_eq!(whole.chain(), sliced.chain());
    assert_eq!(whole.figures(), sliced.figures());
    assert_eq!(whole.leases(), sliced.leases());
}

/// What the edge refuses before it proposes.
fn is_sound(request: &Request) -> bool {
    match request {
        Request::Put(op) => is_sound_op(&Op::Put(op.clone())),
        Request::Delete(op) => !op.range.key.is_empty(),
        Request::Txn(op) => is_sound_txn(op),
        _ => true,
    }
}

fn is_sound_txn(op: &TxnOp) -> bool {
    op.compare.iter().all(|compare| !compare.range.key.is_empty())
        && op.success.iter().chain(&op.failure).all(is_sound_op)
}

fn is_sound_op(op: &Op) -> bool {
    match op {
        Op::Range(range) => !range.range.key.is_empty(),
        Op::Put(put) => {
            let keeps_value = !put.ignore_value || put.value.is_empty();
            let keeps_lease = !put.ignore_lease || put.lease.0 == 0;
            !put.key.is_empty() && keeps_value && keeps_lease
        }
        Op::Delete(delete) => !delete.range.key.is_empty(),
        Op::Txn(txn) => is_sound_txn(txn),
    }
}
