//! Spliced answers are what prost decodes them to.

use super::*;
use proptest::prelude::*;
use prost::Message;
use proto::etcdserverpb as pb;
use proto::mvccpb::KeyValue;
use types::{ClusterId, MemberId, Revision, Term};

const HEADER: Header =
    Header { cluster: ClusterId(u64::MAX), member: MemberId(7), revision: 99, term: Term(3) };

fn kv(size: usize, seed: u8) -> KeyValue {
    KeyValue {
        key: vec![seed; 3].into(),
        create_revision: 1,
        mod_revision: i64::from(seed) + 1,
        version: 1,
        value: vec![seed; size].into(),
        lease: -1,
    }
}

fn items(kvs: &[KeyValue]) -> Vec<Item> {
    kvs.iter().map(|kv| Item::Resident(kv.encode_to_vec().into())).collect()
}

fn header(revision: i64) -> Option<pb::ResponseHeader> {
    Some(pb::ResponseHeader { cluster_id: u64::MAX, member_id: 7, revision, raft_term: 3 })
}

fn revision_only(revision: i64) -> Option<pb::ResponseHeader> {
    Some(pb::ResponseHeader { revision, ..Default::default() })
}

/// Takes everything in chunks of at most `bytes_max`, reading cold records from `stored`.
fn collect(mut parts: Parts, bytes_max: usize, stored: &[KeyValue]) -> Vec<u8> {
    let total = parts.remaining();
    let mut out = Vec::new();
    loop {
        match parts.next_chunk(bytes_max) {
            Chunk::Bytes(bytes) => {
                assert!(!bytes.is_empty());
                out.extend_from_slice(&bytes);
                assert_eq!(out.len() + parts.remaining(), total);
            }
            Chunk::Cold(revisions) => {
                let record = |revision: &Revision| {
                    let at = usize::try_from(revision.main).unwrap();
                    stored[at].encode_to_vec().into()
                };
                parts.warm(revisions.iter().map(record).collect());
            }
            Chunk::End => break,
        }
    }
    assert_eq!(out.len(), total, "the length that was promised");
    out
}

fn decode<M: Message + Default>(framed: &[u8]) -> M {
    let len = framed.len() - frame::PREFIX_LEN;
    assert_eq!(framed[..frame::PREFIX_LEN], frame::prefix(len));
    M::decode(&framed[frame::PREFIX_LEN..]).unwrap()
}

#[test]
fn a_put_answer_has_the_header_and_the_record_before() {
    let prev = kv(5, 1);
    let outcome = PutOutcome { revision: 12, prev: items(std::slice::from_ref(&prev)).pop() };
    let bytes = collect(put(&HEADER, outcome), 1 << 20, &[]);
    let expected = pb::PutResponse { header: header(12), prev_kv: Some(prev) };
    assert_eq!(decode::<pb::PutResponse>(&bytes), expected);
    assert_eq!(bytes[frame::PREFIX_LEN..], expected.encode_to_vec());
}

#[test]
fn a_txn_answer_with_nesting_is_what_prost_would_write() {
    let kvs = [kv(3, 1), kv(4000, 2)];
    let inner = TxnOutcome {
        revision: 0,
        succeeded: false,
        outcomes: vec![OpOutcome::Put(PutOutcome { revision: 6, prev: None })],
    };
    let outcome = TxnOutcome {
        revision: 6,
        succeeded: true,
        outcomes: vec![
            OpOutcome::Range(RangeOutcome {
                items: items(&kvs),
                more: true,
                count: 9,
                revision: 5,
            }),
            OpOutcome::Delete(DeleteOutcome { revision: 6, deleted: 2, prev: items(&kvs) }),
            OpOutcome::Txn(inner),
        ],
    };
    use pb::response_op::Response as R;
    let op = |response: R| pb::ResponseOp { response: Some(response) };
    let expected = pb::TxnResponse {
        header: header(6),
        succeeded: true,
        responses: vec![
            op(R::ResponseRange(pb::RangeResponse {
                header: revision_only(5),
                kvs: kvs.to_vec(),
                more: true,
                count: 9,
            })),
            op(R::ResponseDeleteRange(pb::DeleteRangeResponse {
                header: revision_only(6),
                deleted: 2,
                prev_kvs: kvs.to_vec(),
            })),
            op(R::ResponseTxn(pb::TxnResponse {
                header: Some(pb::ResponseHeader::default()),
                succeeded: false,
                responses: vec![op(R::ResponsePut(pb::PutResponse {
                    header: revision_only(6),
                    prev_kv: None,
                }))],
            })),
        ],
    };
    let bytes = collect(txn(&HEADER, outcome), 1000, &[]);
    assert_eq!(bytes[frame::PREFIX_LEN..], expected.encode_to_vec());
}

#[test]
fn the_last_chunk_of_a_stream_has_the_header_and_others_do_not() {
    let kvs = [kv(3, 1)];
    let middle = collect(range_stream(None, items(&kvs), false, 0), 1 << 20, &[]);
    let expected = pb::RangeStreamResponse {
        range_response: Some(pb::RangeResponse { kvs: kvs.to_vec(), ..Default::default() }),
    };
    assert_eq!(middle[frame::PREFIX_LEN..], expected.encode_to_vec());
    let last = collect(range_stream(Some(&HEADER), items(&kvs), true, 4), 1 << 20, &[]);
    let expected = pb::RangeStreamResponse {
        range_response: Some(pb::RangeResponse {
            header: header(99),
            kvs: kvs.to_vec(),
            more: true,
            count: 4,
        }),
    };
    assert_eq!(last[frame::PREFIX_LEN..], expected.encode_to_vec());
}

#[test]
fn large_records_are_sent_without_a_copy() {
    let kvs = [kv(100_000, 1)];
    let items = items(&kvs);
    let Item::Resident(stored) = items[0].clone() else { unreachable!() };
    let outcome = RangeOutcome { items, more: false, count: 1, revision: 2 };
    let mut parts = range(&HEADER, outcome);
    let mut found = false;
    while let Chunk::Bytes(bytes) = parts.next_chunk(1 << 20) {
        found |= bytes.as_ptr() == stored.as_ptr();
    }
    assert!(found, "the stored bytes themselves were sent");
}

proptest! {
    #[test]
    fn a_range_answer_is_what_prost_would_write_however_it_is_cut(
        sizes in prop::collection::vec(0usize..20_000, 0..12),
        cold in prop::collection::vec(any::<bool>(), 12),
        bytes_max in 1usize..70_000,
        more in any::<bool>(),
        count in 0i64..1000,
    ) {
        let kvs: Vec<KeyValue> =
            (0u8..).zip(&sizes).map(|(seed, size)| kv(*size, seed)).collect();
        let mut items = items(&kvs);
        for (at, (item, cold)) in items.iter_mut().zip(&cold).enumerate() {
            if *cold {
                let revision = Revision::new(i64::try_from(at).unwrap(), 0);
                let len = u32::try_from(item.encoded_len()).unwrap();
                *item = Item::Cold { revision, len };
            }
        }
        let outcome = RangeOutcome { items, more, count, revision: 42 };
        let bytes = collect(range(&HEADER, outcome), bytes_max, &kvs);
        let expected = pb::RangeResponse { header: header(42), kvs, more, count };
        prop_assert_eq!(&bytes[frame::PREFIX_LEN..], &expected.encode_to_vec()[..]);
    }
}
