//! Numbers as `strconv` reads them, sizes as people read them.

use super::quote::quote;

/// Reads an integer in `base`, with `strconv.ParseInt`'s error text.
pub(crate) fn parse_int(text: &str, base: u32) -> Result<i64, String> {
    i64::from_str_radix(text, base).map_err(|error| int_error(text, &error))
}

/// Reads an integer whose prefix (`0x`, `0o`, `0b`, `0`) tells the base, as flags do.
pub(crate) fn parse_flag_int(text: &str) -> Result<i64, String> {
    let (sign, digits) = match text.strip_prefix('-') {
        Some(rest) => ("-", rest),
        None => ("", text),
    };
    let (base, digits) = match digits.as_bytes() {
        [b'0', b'x' | b'X', ..] => (16, &digits[2..]),
        [b'0', b'b' | b'B', ..] => (2, &digits[2..]),
        [b'0', b'o' | b'O', ..] => (8, &digits[2..]),
        [b'0', _, ..] => (8, &digits[1..]),
        _ => (10, digits),
    };
    i64::from_str_radix(&format!("{sign}{digits}"), base).map_err(|error| int_error(text, &error))
}

fn int_error(text: &str, error: &std::num::ParseIntError) -> String {
    use std::num::IntErrorKind::{NegOverflow, PosOverflow};
    let what = match error.kind() {
        PosOverflow | NegOverflow => "value out of range",
        _ => "invalid syntax",
    };
    format!("strconv.ParseInt: parsing {}: {what}", quote(text.as_bytes()))
}

/// Reads a boolean with `strconv.ParseBool`'s words and error text.
pub(crate) fn parse_bool(text: &str) -> Result<bool, String> {
    match text {
        "1" | "t" | "T" | "true" | "TRUE" | "True" => Ok(true),
        "0" | "f" | "F" | "false" | "FALSE" | "False" => Ok(false),
        _ => Err(format!("strconv.ParseBool: parsing {}: invalid syntax", quote(text.as_bytes()))),
    }
}

/// A size in decimal units: `20 kB`, `2.1 GB`.
pub(crate) fn human_bytes(bytes: u64) -> String {
    const UNITS: [&str; 7] = ["B", "kB", "MB", "GB", "TB", "PB", "EB"];
    if bytes < 10 {
        return format!("{bytes} B");
    }
    let mut unit = 0;
    let mut scale: u64 = 1;
    while bytes / scale >= 1000 {
        scale *= 1000;
        unit += 1;
    }
    // Tenths, rounded half up.
    let tenths = (u128::from(bytes) * 20 / u128::from(scale)).div_ceil(2);
    if tenths < 100 {
        format!("{}.{} {}", tenths / 10, tenths % 10, UNITS[unit])
    } else {
        // `%.0f` of a value with one decimal rounds half to even.
        let (whole, tenth) = (tenths / 10, tenths % 10);
        let up = tenth > 5 || (tenth == 5 && whole % 2 == 1);
        format!("{} {}", whole + u128::from(up), UNITS[unit])
    }
}
