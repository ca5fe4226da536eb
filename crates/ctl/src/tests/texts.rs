//! How Go writes and reads strings, numbers, durations and sizes.

use std::time::Duration;

use crate::text::{duration, number, quote, words};

#[test]
fn strings_are_quoted_as_go_quotes_them() {
    let quoted = |bytes: &[u8]| quote::quote(bytes);
    assert_eq!(quoted(b"plain 'text'"), r#""plain 'text'""#);
    assert_eq!(quoted(b"tab\t\"quote\"\\\r\n"), r#""tab\t\"quote\"\\\r\n""#);
    assert_eq!(quoted(b"\x07\x08\x0b\x0c\x00\x7f"), r#""\a\b\v\f\x00\x7f""#);
    assert_eq!(quoted(b"\xff\xc3"), r#""\xff\xc3""#);
    assert_eq!(quoted("ü 日本 e\u{301}".as_bytes()), "\"ü 日本 e\u{301}\"");
    assert_eq!(quoted("\u{200b}\u{a0}\u{e0001}".as_bytes()), r#""\u200b\u00a0\U000e0001""#);
}

#[test]
fn every_quoted_string_is_read_back() {
    for bytes in [&b""[..], b"a\"b\\c", b"\x00\xff\n", "ü\u{200b}\u{e0001}".as_bytes()] {
        let text = quote::quote(bytes) + " rest";
        assert_eq!(quote::unquote(&text), Some((bytes.to_vec(), " rest")));
    }
    assert_eq!(quote::unquote("`raw\\n` x"), Some((b"raw\\n".to_vec(), " x")));
    assert_eq!(quote::unquote(r#""\101\x41\u0041""#), Some((b"AAA".to_vec(), "")));
    for wrong in ["", "bare", "\"open", r#""\q""#, r#""\x4""#, r#""\ud800""#, "\"a\nb\""] {
        assert_eq!(quote::unquote(wrong), None, "{wrong}");
    }
}

#[test]
fn lines_are_split_at_spaces_outside_of_quotes() {
    let split = |line| {
        let words = words::split(line).unwrap();
        words.into_iter().map(|word| String::from_utf8(word).unwrap()).collect::<Vec<_>>()
    };
    assert_eq!(
        split("put  key\t'two words' \"a \\\"b\\\"\""),
        ["put", "key", "two words", "a \"b\""]
    );
    assert_eq!(split("put k\"a b\""), ["put", "k\"a", "b\""]);
    assert_eq!(split("get ''"), ["get", ""]);
    assert_eq!(split("  "), [""; 0]);
    assert_eq!(split("an 'open"), ["an", "open"]);
}

#[test]
fn durations_are_written_as_go_writes_them() {
    let text = |nanos| duration::format(Duration::from_nanos(nanos));
    assert_eq!(text(0), "0s");
    assert_eq!(text(999), "999ns");
    assert_eq!(text(1_500), "1.5µs");
    assert_eq!(text(4_334_810), "4.33481ms");
    assert_eq!(text(2_000_000_000), "2s");
    assert_eq!(text(62_500_000_000), "1m2.5s");
    assert_eq!(text(3_600_000_000_000), "1h0m0s");
}

#[test]
fn durations_are_read_as_go_reads_them() {
    let parse = |text| duration::parse(text);
    assert_eq!(parse("1h2m3.5s"), Ok(Duration::from_millis(3_723_500)));
    assert_eq!(parse("300ms"), Ok(Duration::from_millis(300)));
    assert_eq!(parse("0"), Ok(Duration::ZERO));
    assert_eq!(parse("-5s"), Ok(Duration::ZERO));
    assert_eq!(parse("x"), Err("time: invalid duration \"x\"".to_owned()));
    assert_eq!(parse(""), Err("time: invalid duration \"\"".to_owned()));
    assert_eq!(parse("5"), Err("time: missing unit in duration \"5\"".to_owned()));
    assert_eq!(parse("5d"), Err("time: unknown unit \"d\" in duration \"5d\"".to_owned()));
}

#[test]
fn sizes_are_rounded_as_people_read_them() {
    let text = number::human_bytes;
    assert_eq!(text(0), "0 B");
    assert_eq!(text(999), "999 B");
    assert_eq!(text(1_000), "1.0 kB");
    assert_eq!(text(1_250), "1.3 kB");
    assert_eq!(text(9_949), "9.9 kB");
    assert_eq!(text(16_384), "16 kB");
    assert_eq!(text(20_480), "20 kB");
    assert_eq!(text(2_147_483_648), "2.1 GB");
    assert_eq!(text(u64::MAX), "18 EB");
}

#[test]
fn numbers_fail_with_the_text_of_strconv() {
    assert_eq!(number::parse_int("ff", 16), Ok(255));
    assert_eq!(
        number::parse_int("x", 10),
        Err("strconv.ParseInt: parsing \"x\": invalid syntax".to_owned())
    );
    assert_eq!(
        number::parse_int("9223372036854775808", 10),
        Err("strconv.ParseInt: parsing \"9223372036854775808\": value out of range".to_owned())
    );
    assert_eq!(number::parse_flag_int("0x10"), Ok(16));
    assert_eq!(number::parse_flag_int("-010"), Ok(-8));
    assert_eq!(number::parse_flag_int("0"), Ok(0));
    assert!(number::parse_bool("yes").is_err());
}
