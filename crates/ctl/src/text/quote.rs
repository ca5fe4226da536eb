//! Go's `%q`: quoted strings, written and read.

use std::fmt::Write;

/// A double-quoted Go string literal of these bytes.
pub(crate) fn quote(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len() + 2);
    out.push('"');
    for chunk in bytes.utf8_chunks() {
        for c in chunk.valid().chars() {
            quote_char(&mut out, c);
        }
        for byte in chunk.invalid() {
            let _ = write!(out, "\\x{byte:02x}");
        }
    }
    out.push('"');
    out
}

fn quote_char(out: &mut String, c: char) {
    let short = match c {
        '"' => Some("\\\""),
        '\\' => Some("\\\\"),
        '\u{7}' => Some("\\a"),
        '\u{8}' => Some("\\b"),
        '\u{c}' => Some("\\f"),
        '\n' => Some("\\n"),
        '\r' => Some("\\r"),
        '\t' => Some("\\t"),
        '\u{b}' => Some("\\v"),
        _ => None,
    };
    // Writing to a string does not fail.
    let _ = match short {
        Some(text) => out.write_str(text),
        None if is_printable(c) => out.write_char(c),
        None if c < ' ' || c == '\u{7f}' => write!(out, "\\x{:02x}", u32::from(c)),
        None if u32::from(c) < 0x1_0000 => write!(out, "\\u{:04x}", u32::from(c)),
        None => write!(out, "\\U{:08x}", u32::from(c)),
    };
}

fn is_printable(c: char) -> bool {
    // Behind another character, so that a combining mark counts as printable, as in Go.
    let probe: String = ['a', c].iter().collect();
    c == '\'' || probe.escape_debug().count() == 2
}

/// Reads one quoted literal ("…" or `…`) at the start of `text`; returns its bytes and the rest.
pub(crate) fn unquote(text: &str) -> Option<(Vec<u8>, &str)> {
    if let Some(rest) = text.strip_prefix('`') {
        let (inner, rest) = rest.split_once('`')?;
        return Some((inner.as_bytes().to_vec(), rest));
    }
    let mut rest = text.strip_prefix('"')?;
    let mut out = Vec::new();
    loop {
        let c = rest.chars().next()?;
        rest = &rest[c.len_utf8()..];
        match c {
            '"' => return Some((out, rest)),
            '\n' => return None,
            '\\' => rest = unescape(rest, &mut out)?,
            _ => out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
        }
    }
}

/// Reads what follows a backslash.
fn unescape<'a>(text: &'a str, out: &mut Vec<u8>) -> Option<&'a str> {
    let c = text.chars().next()?;
    let rest = &text[c.len_utf8()..];
    let simple = match c {
        'a' => 7,
        'b' => 8,
        'f' => 12,
        'n' => b'\n',
        'r' => b'\r',
        't' => b'\t',
        'v' => 11,
        '\\' => b'\\',
        '"' => b'"',
        'x' => return numeric(rest, 2, 16, out),
        'u' => return numeric(rest, 4, 16, out),
        'U' => return numeric(rest, 8, 16, out),
        '0'..='7' => return numeric(text, 3, 8, out),
        _ => return None,
    };
    out.push(simple);
    Some(rest)
}

fn numeric<'a>(text: &'a str, digits: usize, radix: u32, out: &mut Vec<u8>) -> Option<&'a str> {
    let value = u32::from_str_radix(text.get(..digits)?, radix).ok()?;
    match digits {
        2 | 3 => out.push(u8::try_from(value).ok()?),
        _ => {
            let c = char::from_u32(value)?;
            out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
        }
    }
    Some(&text[digits..])
}
