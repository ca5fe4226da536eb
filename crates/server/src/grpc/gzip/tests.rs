//! What is packed comes back; what is damaged is refused in Go's words.

use super::*;
use proptest::prelude::*;

fn pack(message: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(message).unwrap();
    encoder.finish().unwrap()
}

fn refusal(packed: &[u8]) -> String {
    let status = unpack(packed, 1_000).unwrap_err();
    assert_eq!(status.code, Code::Internal, "{status:?}");
    status.message.into_owned()
}

#[test]
fn a_message_may_be_as_large_as_the_limit_and_no_larger() {
    let message = vec![7; 1_000];
    assert_eq!(unpack(&pack(&message), 1_000).unwrap(), message);
    let status = unpack(&pack(&message), 999).unwrap_err();
    assert_eq!(status.code, Code::ResourceExhausted);
    assert_eq!(status.message, "grpc: received message after decompression larger than max 999");
}

#[test]
fn a_bomb_takes_no_more_memory_than_the_limit() {
    let mut out = BytesMut::new();
    let bomb = pack(&vec![0; 64 << 20]);
    let mut rest = &bomb[..];
    Header::skip(&mut rest).unwrap();
    unpack_member(&mut Decompress::new(false), &mut rest, 1 << 20, &mut out).unwrap();
    assert_eq!(out.len(), (1 << 20) + 1);
    assert!(out.capacity() <= 4 << 20, "{}", out.capacity());
}

#[test]
fn members_follow_each_other() {
    let two = [pack(b"one "), pack(b""), pack(b"two")].concat();
    assert_eq!(unpack(&two, 1_000).unwrap(), "one two");
}

#[test]
fn optional_fields_of_a_header_are_skipped() {
    let packed = pack(b"hello");
    let mut header = packed[..Header::LEN].to_vec();
    header[3] = Header::HAS_EXTRA | Header::HAS_NAME | Header::HAS_COMMENT | Header::HAS_CRC;
    header.extend_from_slice(b"\x02\x00xxname\0comment\0");
    let mut crc = Crc::new();
    crc.update(&header);
    header.extend_from_slice(&crc.sum().to_le_bytes()[..2]);
    let whole = [&header[..], &packed[Header::LEN..]].concat();
    assert_eq!(unpack(&whole, 1_000).unwrap(), "hello");
    header[Header::LEN + 3] ^= 1;
    let damaged = [&header[..], &packed[Header::LEN..]].concat();
    assert_eq!(refusal(&damaged), "grpc: failed to decompress the message: gzip: invalid header");
}

#[test]
fn damage_has_the_words_of_go() {
    const FIRST: &str = "grpc: failed to decompress the message: ";
    const LATER: &str = "grpc: failed to read decompressed data: ";
    let packed = pack(b"hello");
    let end = packed.len();
    let mut sum = packed.clone();
    sum[end - 5] ^= 1;
    let mut size = packed.clone();
    size[end - 1] ^= 1;
    let mut name = packed[..Header::LEN].to_vec();
    name[3] = Header::HAS_NAME;
    name.extend_from_slice(&[b'n'; Header::TEXT_BYTES_MAX]);
    for (packed, text) in [
        (&b""[..], format!("{FIRST}EOF")),
        (&packed[..9], format!("{FIRST}unexpected EOF")),
        (b"0123456789", format!("{FIRST}gzip: invalid header")),
        (&name, format!("{FIRST}gzip: invalid header")),
        (&name[..100], format!("{FIRST}unexpected EOF")),
        (&packed[..Header::LEN], format!("{LATER}unexpected EOF")),
        (&packed[..end - 9], format!("{LATER}unexpected EOF")),
        (&packed[..end - 1], format!("{LATER}unexpected EOF")),
        (&sum, format!("{LATER}gzip: invalid checksum")),
        (&size, format!("{LATER}gzip: invalid checksum")),
        (&[&packed[..], b"0123456789"].concat(), format!("{LATER}gzip: invalid header")),
        (&[&packed[..], b"0"].concat(), format!("{LATER}unexpected EOF")),
    ] {
        assert_eq!(refusal(packed), text, "{packed:?}");
    }
}

proptest! {
    #[test]
    fn packed_messages_unpack_however_they_were_cut(
        messages in prop::collection::vec(prop::collection::vec(0u8..4, 0..3_000), 0..6),
        cuts in prop::collection::vec(1usize..2_000, 1..20),
    ) {
        let mut stream = Vec::new();
        for message in &messages {
            stream.extend_from_slice(&frame::prefix(message.len()));
            stream.extend_from_slice(message);
        }
        let mut packer = Packer::default();
        let mut rest = &stream[..];
        for cut in cuts.iter().cycle() {
            if rest.is_empty() {
                break;
            }
            let (head, tail) = rest.split_at(rest.len().min(*cut));
            packer.push(head);
            rest = tail;
        }
        let mut reader = frame::FrameReader::new(frame::Encoding::Gzip);
        reader.push(packer.take());
        for message in messages {
            prop_assert_eq!(reader.next(3_000).unwrap().unwrap(), message);
        }
        prop_assert_eq!(reader.held_bytes(), 0);
    }

    #[test]
    fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let _ = unpack(&bytes, 100);
        let gzip = [&pack(b"")[..Header::LEN], &bytes[..]].concat();
        let _ = unpack(&gzip, 100);
    }
}
