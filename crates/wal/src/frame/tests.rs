//! Frames, byte by byte.

use super::*;
use expect_test::{Expect, expect};
use proptest::collection::vec;
use proptest::prelude::*;

fn hex(bytes: &[u8]) -> String {
    let line = |line: &[u8]| line.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    bytes.chunks(8).map(|chunk| line(chunk) + "\n").collect()
}

/// Frames of one batch, without the zeros up to the block.
fn check(frames: Vec<Frame>, expected: Expect) {
    let batch = Batch { frames };
    let mut out = Vec::new();
    encode(&batch, 5, Salt::new(0x1122_3344_5566_7788), 9, &mut out);
    let len = encoded_len(&batch);
    assert_eq!(out.len(), len.next_multiple_of(4096));
    assert!(out[len..].iter().all(|byte| *byte == 0));
    expected.assert_eq(&hex(&out[..len]));
}

#[test]
fn the_bytes_of_an_entry_and_a_hard_state() {
    let entry = Entry {
        index: Index(0x0a0b),
        term: Term(3),
        kind: EntryKind::ConfChange,
        data: Bytes::from_static(b"data!"),
    };
    let state = HardState { term: Term(3), vote: MemberId(0xff), commit: Index(0x0a0a) };
    check(
        vec![Frame::Entry(entry), Frame::HardState(state)],
        expect![[r#"
        0940755701010200
        0500000005000000
        000000000b0a0000
        0000000003000000
        0000000078000000
        020000006990d3e5
        6461746121a42331
        d100000000000000
        0940755702000000
        0800000005000000
        000000000a0a0000
        0000000003000000
        000000004698eb23
        ff00000000000000
        5091e36900000000
    "#]],
    );
}

#[test]
fn the_bytes_of_the_other_frames() {
    let position = Position { index: Index(7), term: Term(2) };
    let frames = vec![
        Frame::Boot(4),
        Frame::Membership(Bytes::from_static(b"m")),
        Frame::Install(Install { position, data: Bytes::from_static(b"sha") }),
        Frame::Trim(Index(6)),
        Frame::Seal,
    ];
    check(
        frames,
        expect![[r#"
        0940755703010000
        0800000005000000
        0000000000000000
        0000000000000000
        0000000000010000
        0500000062577248
        0400000000000000
        5202e5d700000000
        0940755704000000
        0100000005000000
        0000000000000000
        0000000000000000
        000000000749d240
        6dc28ea831000000
        0940755705000000
        0300000005000000
        0000000007000000
        0000000002000000
        0000000003cf377b
        7368611752150100
        0940755706000000
        0000000005000000
        0000000006000000
        0000000000000000
        0000000043a27abe
        54716cc400000000
        0940755707000000
        0000000005000000
        0000000000000000
        0000000000000000
        000000006eb32ca4
        44e8962700000000
    "#]],
    );
}

fn frames() -> impl Strategy<Value = Vec<Frame>> {
    let data = || vec(any::<u8>(), 0..6000).prop_map(Bytes::from);
    let position = || {
        let pair = (any::<u64>(), any::<u64>());
        pair.prop_map(|(index, term)| Position { index: Index(index), term: Term(term) })
    };
    let entry = (position(), any::<bool>(), data()).prop_map(|(position, change, data)| {
        let kind = if change { EntryKind::ConfChange } else { EntryKind::Normal };
        Frame::Entry(Entry { index: position.index, term: position.term, kind, data })
    });
    let state = (position(), any::<u64>()).prop_map(|(position, vote)| {
        let Position { index, term } = position;
        Frame::HardState(HardState { term, vote: MemberId(vote), commit: index })
    });
    let install = (position(), data())
        .prop_map(|(position, data)| Frame::Install(Install { position, data }));
    let frame = prop_oneof![
        4 => entry,
        2 => state,
        1 => any::<u64>().prop_map(Frame::Boot),
        1 => data().prop_map(Frame::Membership),
        1 => install,
        1 => any::<u64>().prop_map(|index| Frame::Trim(Index(index))),
        1 => Just(Frame::Seal),
    ];
    vec(frame, 1..12)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn what_is_encoded_is_decoded(
        frames in frames(), number: u64, salt: u64, other: u64, chain: u32,
    ) {
        let batch = Batch { frames };
        let mut out = Vec::new();
        let after = encode(&batch, number, Salt::new(salt), chain, &mut out);
        let mut prefix = Vec::new();
        let decoded = decode(&out, Salt::new(salt), number, chain, &mut prefix).unwrap();
        prop_assert_eq!(&decoded.batch, &batch);
        prop_assert_eq!((decoded.chain, decoded.bytes), (after, encoded_len(&batch)));
        if salt != other {
            prop_assert!(decode(&out, Salt::new(other), number, chain, &mut prefix).is_err());
        }
        let wrong = decode(&out, Salt::new(salt), number, chain ^ 1, &mut prefix);
        prop_assert!(wrong.is_err());
    }

    #[test]
    fn any_bytes_are_decoded_without_harm(bytes in vec(any::<u8>(), 0..300), chain: u32) {
        let mut prefix = Vec::new();
        prop_assert!(decode(&bytes, Salt::new(1), 1, chain, &mut prefix).is_err());
    }
}

#[test]
fn the_chain_binds_headers_and_not_only_payloads() {
    let chain_of = |term| {
        let entry = Entry { index: Index(1), term: Term(term), ..Entry::default() };
        let batch = Batch { frames: vec![Frame::Entry(entry)] };
        encode(&batch, 1, Salt::new(1), 7, &mut Vec::new())
    };
    assert_ne!(chain_of(1), chain_of(2));
}
