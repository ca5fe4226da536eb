//! Changes survive their encoding, in etcd's JSON.

use super::{Action, ConfChange, Wire};
use bytes::Bytes;
use prost::Message;
use types::MemberId;

#[test]
fn changes_survive_their_encoding() {
    let urls = || vec!["http://10.0.0.1:2380".to_owned(), "http://\"b\":1".to_owned()];
    let actions = [
        Action::Add(urls()),
        Action::AddLearner(urls()),
        Action::Promote,
        Action::Remove,
        Action::Update(urls()),
    ];
    for action in actions {
        let change = ConfChange { id: 7, member: MemberId(u64::MAX), action };
        assert_eq!(ConfChange::decode(&change.encode()), Ok(change));
    }
}

#[test]
fn the_member_is_written_as_etcd_writes_it() {
    let json = |action| {
        let change = ConfChange { id: 7, member: MemberId(9), action };
        let wire = Wire::decode(change.encode()).unwrap();
        String::from_utf8(wire.context.to_vec()).unwrap()
    };
    let urls = vec!["http://a:1".to_owned()];
    assert_eq!(json(Action::Add(urls.clone())), r#"{"id":9,"peerURLs":["http://a:1"]}"#);
    assert_eq!(
        json(Action::AddLearner(urls)),
        r#"{"id":9,"peerURLs":["http://a:1"],"isLearner":true}"#
    );
    assert_eq!(json(Action::Promote), r#"{"id":9,"peerURLs":null,"isPromote":true}"#);
}

#[test]
fn other_bytes_are_refused() {
    for bytes in [&b"\x10\x07"[..], b"\x10\x00\x22\x01{", b"\xff"] {
        assert!(ConfChange::decode(&Bytes::from_static(bytes)).is_err());
    }
}
