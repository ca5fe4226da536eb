//! Steps of a test, each decoded from eight bytes, so that proptest and a fuzzer share them.

use bytes::Bytes;
use types::op::{DeleteOp, PutOp, SortOrder, SortTarget};
use types::{Compare, CompareResult, CompareTarget, KeyRange, LeaseId, Op, RangeOp};

/// Bytes per step.
pub(crate) type Code = [u8; 8];

/// What a step does.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    /// One write transaction.
    Write(Vec<Op>),
    /// A delete in slices of so many keys, with reads of the old revision in between.
    DeleteSliced(KeyRange, usize),
    /// A range; its revision is relative.
    Range(RangeOp),
    /// A compare.
    Compare(Compare),
    /// Compact at a relative revision.
    Compact(i64),
    /// Look at so many keys for compaction.
    Scrub(usize),
    /// Everything but the last few revisions reaches the backend.
    Flush(i64),
    /// Restart from the backend.
    Restore,
    /// Read the history from a relative revision, of so many bytes.
    History(i64, usize),
}

/// Keys with every relation that matters: prefixes of each other, bytes at the ends of the
/// order, long common beginnings.
pub(crate) fn key(code: u8) -> Bytes {
    match code % 64 {
        0 => Bytes::from_static(b"\0"),
        1 => Bytes::from_static(b"\0\0"),
        2 => Bytes::from_static(b"\xff"),
        3 => Bytes::from_static(b"\xff\xff\xff"),
        4 => Bytes::from_static(b"/registry"),
        5 => Bytes::from_static(b"/registry/pods/"),
        6 => vec![b'k'; 200].into(),
        number @ 7..16 => vec![b'a'; usize::from(number)].into(),
        number @ 16..32 => format!("{}", number % 8).into(),
        number => format!("/registry/pods/ns-{}/pod-{number}", number % 3).into(),
    }
}

fn range(from: u8, to: u8) -> KeyRange {
    match to % 8 {
        0 | 1 => KeyRange::single(key(from)),
        2 => KeyRange::new(key(from), "\0"),
        3 => KeyRange::new("\0", "\0"),
        4 => {
            let prefix = key(from);
            KeyRange::new(prefix.clone(), types::range::prefix_end(&prefix))
        }
        // Empty as often as not.
        _ => KeyRange::new(key(from), key(to / 8)),
    }
}

fn put(code: [u8; 4]) -> Op {
    let value = match code[1] % 8 {
        0 => Vec::new(),
        1 => vec![code[1]; 130],
        len => vec![code[2]; usize::from(len)],
    };
    Op::Put(PutOp {
        key: key(code[0]),
        value: value.into(),
        lease: LeaseId(i64::from(code[3] % 3)),
        ..PutOp::default()
    })
}

fn range_op(code: [u8; 7]) -> RangeOp {
    let filter = |bit: u8| if code[6] & bit == 0 { 0 } else { i64::from(code[6] >> 4) * 3 };
    RangeOp {
        range: range(code[0], code[1]),
        limit: [0, -1, 1, 2, 3, 7, i64::MAX, 0][usize::from(code[3] % 8)],
        // Relative: see `Pair::revision`.
        revision: i64::from(code[2]),
        sort_order: SortOrder::ALL[usize::from(code[4] % 3)],
        sort_target: SortTarget::ALL[usize::from(code[4] / 3 % 5)],
        serializable: false,
        keys_only: code[5] % 4 == 1,
        count_only: code[5] % 8 == 2,
        min_mod_revision: filter(1),
        max_mod_revision: filter(2),
        min_create_revision: filter(4),
        max_create_revision: filter(8),
    }
}

fn compare(code: [u8; 7]) -> Compare {
    let results = [
        CompareResult::Equal,
        CompareResult::Greater,
        CompareResult::Less,
        CompareResult::NotEqual,
        CompareResult::Unknown,
    ];
    let number = i64::from(code[4]) - 2;
    let target = match code[3] % 6 {
        0 => CompareTarget::Version(number),
        1 => CompareTarget::Create(number),
        2 => CompareTarget::Mod(number),
        3 => CompareTarget::Lease(number),
        4 => CompareTarget::Value(vec![code[4]; usize::from(code[5] % 4)].into()),
        _ => CompareTarget::Unknown,
    };
    let result = results[usize::from(code[2] % 5)];
    Compare { range: range(code[0], code[1]), result, target }
}

/// Several writes and reads in one transaction; overlaps are wanted.
fn txn(code: [u8; 7]) -> Vec<Op> {
    let op = |at: usize| match code[at] % 5 {
        0..=2 => put([code[at] / 5, code[6].wrapping_add(code[at]), code[5], code[at]]),
        3 => Op::Delete(DeleteOp { range: range(code[at] / 5, code[6]), prev_kv: false }),
        _ => {
            let read = range_op([code[at] / 5, code[6], 0, code[5], code[4], code[3], 0]);
            Op::Range(RangeOp { revision: 0, ..read })
        }
    };
    (0..usize::from(code[6] % 6)).map(op).collect()
}

/// Decodes a step.
pub(crate) fn decode(code: Code) -> Step {
    let [kind, a, b, c, d, e, f, g] = code;
    let rest = [a, b, c, d, e, f, g];
    match kind % 32 {
        0..=9 => Step::Write(vec![put([a, b, c, d])]),
        10..=12 => Step::Write(vec![Op::Delete(DeleteOp { range: range(a, b), prev_kv: false })]),
        13..=15 => Step::Write(txn(rest)),
        16 => Step::DeleteSliced(range(a, b), usize::from(c % 4) + 1),
        17..=22 => Step::Range(range_op(rest)),
        23 | 24 => Step::Compare(compare(rest)),
        25 => Step::Compact(i64::from(a)),
        26 | 27 => Step::Scrub(usize::from(a % 8)),
        28 | 29 => Step::Flush(i64::from(a % 8)),
        30 => Step::Restore,
        _ => Step::History(i64::from(a), usize::from(b) * 4),
    }
}
