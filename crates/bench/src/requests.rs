//! Encoded requests, made before the load starts.

use bytes::Bytes;
use client::frame;
use proto::etcdserverpb::compare::{CompareResult, CompareTarget, TargetUnion};
use proto::etcdserverpb::request_op::Request;
use proto::etcdserverpb::{Compare, PutRequest, RangeRequest, RequestOp, TxnRequest};

pub(crate) const PUT: &str = "/etcdserverpb.KV/Put";
pub(crate) const RANGE: &str = "/etcdserverpb.KV/Range";
pub(crate) const TXN: &str = "/etcdserverpb.KV/Txn";

/// Bytes of a value, unless a row says otherwise.
pub(crate) const VALUE_BYTES: usize = 256;

/// A small generator of pseudo-random numbers (xorshift), equal in every run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Random {
        Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// An index below `bound`.
    pub(crate) fn index(&mut self, bound: usize) -> usize {
        let bound = u64::try_from(bound).expect("a count fits");
        usize::try_from(self.next() % bound).expect("below a count")
    }
}

/// The key of this number, as Kubernetes would name it.
pub(crate) fn key(prefix: &str, number: usize) -> Bytes {
    format!("/registry/{prefix}/namespace-{:03}/object-{number:08}", number % 500).into()
}

/// A value of this size that does not compress to nothing.
pub(crate) fn value(seed: usize, size: usize) -> Bytes {
    let mut random = Random::new(u64::try_from(seed).unwrap_or(0) + 1);
    (0..size).map(|_| b' ' + u8::try_from(random.next() % 90).expect("below 90")).collect()
}

/// A framed put.
pub(crate) fn put(key: Bytes, value: Bytes) -> Bytes {
    frame::encode(&PutRequest { key, value, ..PutRequest::default() })
}

/// Framed puts over so many keys.
pub(crate) fn puts(prefix: &str, keys: usize, size: usize) -> Vec<Bytes> {
    (0..keys).map(|number| put(key(prefix, number), value(number, size))).collect()
}

/// A framed read of one key.
pub(crate) fn get(key: Bytes, serializable: bool) -> Bytes {
    frame::encode(&RangeRequest { key, serializable, ..RangeRequest::default() })
}

/// The first key after all that begin with the prefix.
pub(crate) fn prefix_end(prefix: &str) -> Bytes {
    let mut end = prefix.as_bytes().to_vec();
    let last = end.last_mut().expect("a prefix is not empty");
    *last += 1;
    end.into()
}

/// A transaction that writes the key if its mod revision is still this one, else reads it.
pub(crate) fn update(key: &Bytes, value: Bytes, revision: i64) -> TxnRequest {
    let read = RangeRequest { key: key.clone(), ..RangeRequest::default() };
    TxnRequest {
        compare: vec![Compare {
            result: CompareResult::Equal.into(),
            target: CompareTarget::Mod.into(),
            key: key.clone(),
            range_end: Bytes::new(),
            target_union: Some(TargetUnion::ModRevision(revision)),
        }],
        success: vec![operation_put(key.clone(), value)],
        failure: vec![RequestOp { request: Some(Request::RequestRange(read)) }],
    }
}

/// A framed transaction with one compare that holds and one put.
pub(crate) fn txn(key: Bytes, value: Bytes) -> Bytes {
    frame::encode(&TxnRequest {
        compare: vec![Compare {
            result: CompareResult::Greater.into(),
            target: CompareTarget::Create.into(),
            key: key.clone(),
            range_end: Bytes::new(),
            target_union: Some(TargetUnion::CreateRevision(0)),
        }],
        success: vec![operation_put(key.clone(), value.clone())],
        failure: vec![operation_put(key, value)],
    })
}

fn operation_put(key: Bytes, value: Bytes) -> RequestOp {
    let put = PutRequest { key, value, ..PutRequest::default() };
    RequestOp { request: Some(Request::RequestPut(put)) }
}
