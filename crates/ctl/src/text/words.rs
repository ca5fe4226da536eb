//! Splits a line of an interactive command into its arguments.

use super::quote::unquote;

/// The arguments of a line: bare words, 'single quoted', "double quoted" with Go's escapes.
/// The error is the text of a literal that is not one.
pub(crate) fn split(line: &str) -> Result<Vec<Vec<u8>>, String> {
    let mut words = Vec::new();
    let mut rest = line;
    while let Some(first) = rest.chars().next() {
        if first == '\'' {
            if let Some((inner, after)) = rest[1..].split_once('\'') {
                words.push(inner.as_bytes().to_vec());
                rest = after;
                continue;
            }
        } else if first == '"' {
            if let Some(end) = closing(&rest[1..]) {
                let literal = &rest[..end + 2];
                let (bytes, _) = unquote(literal).ok_or("bad verb '%q' for string")?;
                words.push(bytes);
                rest = &rest[end + 2..];
                continue;
            }
        } else if !first.is_whitespace() {
            let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
            words.push(rest.as_bytes()[..end].to_vec());
            rest = &rest[end..];
            continue;
        }
        rest = &rest[first.len_utf8()..];
    }
    Ok(words)
}

/// Where the closing quote is, with escapes skipped.
fn closing(text: &str) -> Option<usize> {
    let mut escaped = false;
    for (at, c) in text.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => return Some(at),
            _ => {}
        }
    }
    None
}
