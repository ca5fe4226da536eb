//! Our entries read as `InternalRaftRequest`, and the other way round.

use super::{Entry, Kind, Malformed};
use crate::etcdserverpb::{LeaseRevokeRequest, PutRequest};
use crate::logpb::{InternalRaftRequest, RequestHeader};
use crate::membershippb::ClusterVersionSetRequest;
use bytes::Bytes;
use proptest::prelude::*;
use prost::Message;

fn put() -> PutRequest {
    PutRequest { key: b"k".as_ref().into(), value: b"v".as_ref().into(), ..Default::default() }
}

#[test]
fn an_entry_is_the_encoding_of_etcds_message() {
    let body: Bytes = put().encode_to_vec().into();
    let entry = Entry { id: 7, fence_term: 0, kind: Kind::Put, body, ..Entry::default() };
    let wanted = InternalRaftRequest {
        header: Some(RequestHeader { id: 7, ..Default::default() }),
        put: Some(put()),
        ..Default::default()
    };
    assert_eq!(InternalRaftRequest::decode(entry.encode()), Ok(wanted.clone()));
    assert_eq!(Entry::decode(&wanted.encode_to_vec().into()), Ok(entry));
}

#[test]
fn fields_are_in_ascending_order_as_etcd_writes_them() {
    let version = ClusterVersionSetRequest { ver: "3.7.0".into() };
    let body: Bytes = version.encode_to_vec().into();
    let entry =
        Entry { id: 1, fence_term: 0, kind: Kind::ClusterVersionSet, body, ..Entry::default() };
    assert_eq!(&entry.encode()[..2], [0xa2, 0x06], "field 100 before field 1300");
}

#[test]
fn the_fence_is_kept_and_skipped_by_etcds_message() {
    let revoke = LeaseRevokeRequest { id: 9 };
    let body: Bytes = revoke.encode_to_vec().into();
    let entry =
        Entry { id: 0, fence_term: 4, floor: 3, fence_index: 5, kind: Kind::LeaseRevoke, body };
    assert_eq!(Entry::decode(&entry.encode()), Ok(entry.clone()));
    let read = InternalRaftRequest::decode(entry.encode()).unwrap();
    assert_eq!(read.lease_revoke, Some(revoke));
}

#[test]
fn bytes_without_one_request_are_refused() {
    assert_eq!(Entry::decode(&Bytes::new()), Err(Malformed("no request")));
    let entry =
        Entry { id: 1, fence_term: 0, kind: Kind::Put, body: Bytes::new(), ..Entry::default() }
            .encode();
    let twice: Bytes = [entry.as_ref(), entry.as_ref()].concat().into();
    assert_eq!(Entry::decode(&twice), Err(Malformed("two requests")));
    assert_eq!(Entry::decode(&twice.slice(..1)), Err(Malformed("length")));
}

proptest! {
    #[test]
    fn any_bytes_are_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let _ = Entry::decode(&bytes.into());
    }
}
