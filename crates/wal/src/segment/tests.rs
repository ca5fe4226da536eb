//! Segment headers, byte by byte.

use super::*;
use expect_test::expect;

fn header() -> SegmentHeader {
    let tail = Tail {
        batch: 6,
        chain: 0x0102_0304,
        hard_state: HardState { term: Term(8), vote: MemberId(9), commit: Index(10) },
        membership: Bytes::from_static(b"members"),
        last: Position { index: Index(11), term: Term(8) },
        boot: 12,
        trimmed: Index(5),
        install: Position { index: Index(4), term: Term(3) },
    };
    let identity = Identity { cluster: ClusterId(14), member: MemberId(15) };
    SegmentHeader { salt: 0x1122_3344_5566_7788, sequence: 16, size: 65536, identity, tail }
}

#[test]
fn the_bytes_of_a_header() {
    let bytes = header().encode();
    let used = MEMBERSHIP + 8;
    assert!(bytes[used..].iter().all(|byte| *byte == 0));
    let line = |line: &[u8]| line.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let hex: String = bytes[..used].chunks(8).map(|chunk| line(chunk) + "\n").collect();
    expect![[r#"
        4d53545957414c31
        bd0f164d04030201
        8877665544332211
        1000000000000000
        0000010000000000
        0e00000000000000
        0f00000000000000
        0600000000000000
        0800000000000000
        0900000000000000
        0a00000000000000
        0b00000000000000
        0800000000000000
        0c00000000000000
        0500000000000000
        0400000000000000
        0300000000000000
        0700000000000000
        0000000000000000
        6d656d6265727300
    "#]]
    .assert_eq(&hex);
}

#[test]
fn a_header_is_decoded_and_every_changed_byte_is_noticed() {
    let header = header();
    let mut bytes = header.encode();
    assert_eq!(SegmentHeader::decode(&bytes), Ok(header));
    for at in 0..bytes.len() {
        for flip in [1, 0x80, 0xff] {
            bytes[at] ^= flip;
            assert!(SegmentHeader::decode(&bytes).is_err(), "byte {at} with {flip}");
            bytes[at] ^= flip;
        }
    }
    for len in 0..bytes.len() {
        assert!(SegmentHeader::decode(&bytes[..len]).is_err());
    }
}

#[test]
fn salts_differ_between_segments_and_between_starts() {
    let mut salts: Vec<u64> =
        (0..50).flat_map(|seed| (0..50).map(move |sequence| salt(seed, sequence))).collect();
    salts.sort_unstable();
    salts.dedup();
    assert_eq!(salts.len(), 2500);
}

#[test]
fn names_are_read_back() {
    assert_eq!(name(0x2a), "000000000000002a.wal");
    assert_eq!(parse_name("000000000000002a.wal"), Some(0x2a));
    for other in ["2a.wal", "000000000000002A.wal", "000000000000002a.wal.3.0.broken", ".wal"] {
        assert_eq!(parse_name(other), None, "{other}");
    }
    assert_eq!(parse_spare(&spare_name(7)), Some(7));
    assert_eq!(parse_spare("spare-x"), None);
}
