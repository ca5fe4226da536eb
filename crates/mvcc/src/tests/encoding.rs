//! The hand-written encoding against the generated one.

use crate::kv::{self, Numbers};
use bytes::Bytes;
use proptest::prelude::*;
use prost::Message;
use proto::mvccpb::KeyValue;

fn number() -> impl Strategy<Value = i64> {
    prop_oneof![Just(0), Just(i64::MAX), Just(i64::MIN), Just(-1), 0..300i64, any::<i64>()]
}

fn bytes() -> impl Strategy<Value = Vec<u8>> {
    let long = (prop_oneof![126..130usize, 16_382..16_386usize]).prop_map(|len| vec![7; len]);
    prop_oneof![4 => prop::collection::vec(any::<u8>(), 0..20), 1 => long]
}

proptest! {
    #[test]
    fn a_record_is_encoded_as_prost_does(
        key in bytes(), value in bytes(),
        create in number(), modified in number(), version in number(), lease in number(),
    ) {
        let numbers = Numbers { create, modified, version, lease };
        let encoded = kv::encode(&key, &numbers, &value);
        let message = KeyValue {
            key: key.clone().into(),
            create_revision: create,
            mod_revision: modified,
            version,
            value: value.clone().into(),
            lease,
        };
        prop_assert_eq!(&encoded[..], &message.encode_to_vec()[..]);
        prop_assert_eq!(encoded.len(), kv::encoded_len(key.len(), value.len(), &numbers));
        prop_assert_eq!(value.len(), kv::value_len(encoded.len(), key.len(), &numbers));
        prop_assert_eq!(kv::key(&encoded), &key[..]);
        prop_assert_eq!(kv::value(&encoded), Bytes::from(value.clone()));
        let parts = kv::parse(&encoded).unwrap();
        prop_assert_eq!(parts.numbers, numbers);
        prop_assert_eq!(&encoded[parts.key], &key[..]);
        prop_assert_eq!(&encoded[parts.value], &value[..]);
    }

    #[test]
    fn any_bytes_are_taken_apart_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..40)) {
        if let Ok(parts) = kv::parse(&bytes) {
            prop_assert!(parts.key.end <= bytes.len() && parts.value.end <= bytes.len());
        }
        let _ = (kv::key(&bytes).len(), kv::value(&Bytes::from(bytes)).len());
    }
}

#[test]
fn a_tombstone_holds_only_the_key() {
    let mut tombstone = Vec::new();
    kv::encode_tombstone_into(&mut tombstone, [b"a", b"b"]);
    assert_eq!((tombstone.as_slice(), kv::tombstone_len(2)), (b"\x0a\x02ab".as_slice(), 4));
}
