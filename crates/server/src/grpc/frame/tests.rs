//! Frames: what is taken, what is refused, and with which words.

use super::*;
use proptest::prelude::*;

fn wire(message: &[u8]) -> Vec<u8> {
    let mut bytes = prefix(message.len()).to_vec();
    bytes.extend_from_slice(message);
    bytes
}

#[test]
fn a_message_in_one_chunk_is_taken_without_a_copy() {
    let chunk = Bytes::from(wire(b"hello"));
    let at = chunk.as_ptr();
    let mut reader = FrameReader::default();
    reader.push(chunk);
    let message = reader.next(100).unwrap().unwrap();
    assert_eq!(message, "hello");
    assert_eq!(message.as_ptr(), at.wrapping_add(PREFIX_LEN));
    assert_eq!(reader.next(100), Ok(None));
}

#[test]
fn a_message_larger_than_the_limit_is_refused_by_its_prefix() {
    let mut reader = FrameReader::default();
    reader.push(Bytes::from(prefix(2_097_153).to_vec()));
    let status = reader.next(2_097_152).unwrap_err();
    assert_eq!(status.code, Code::ResourceExhausted);
    assert_eq!(status.message, "grpc: received message larger than max (2097153 vs. 2097152)");
}

#[test]
fn a_compressed_message_without_an_encoding_is_refused() {
    let mut reader = FrameReader::default();
    reader.push(Bytes::from_static(&[1, 0, 0, 0, 0]));
    let status = reader.next(10).unwrap_err();
    assert_eq!(status.message, "grpc: compressed flag set with identity or empty encoding");
}

proptest! {
    #[test]
    fn messages_survive_any_cut_of_the_stream(
        messages in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..200), 0..8),
        cuts in prop::collection::vec(1usize..50, 1..40),
    ) {
        let stream: Vec<u8> = messages.iter().flat_map(|message| wire(message)).collect();
        let mut reader = FrameReader::default();
        let mut found = Vec::new();
        let mut rest = &stream[..];
        let mut cuts = cuts.iter().cycle();
        while !rest.is_empty() {
            let (head, tail) = rest.split_at(rest.len().min(*cuts.next().unwrap()));
            reader.push(Bytes::copy_from_slice(head));
            rest = tail;
            while let Some(message) = reader.next(1000).unwrap() {
                found.push(message.to_vec());
            }
        }
        prop_assert_eq!(found, messages);
        prop_assert_eq!(reader.held_bytes(), 0);
    }

    #[test]
    fn any_bytes_are_cut_or_refused(data in prop::collection::vec(any::<u8>(), 0..300)) {
        fuzz(&data);
    }
}
