//! Rules for source files: a module essay on top, sizes, and words that must not occur.

use super::Tree;
use anyhow::Result;
use std::path::Path;

const FILE_LINES_MAX: usize = 800;
const FUNCTION_LINES_MAX: usize = 70;

/// Long functions that are a table or one `match` whose arms are one line each. The list only
/// gets shorter.
const LONG_FUNCTIONS: &[&str] = &["crates/server/src/config/build.rs:build"];

/// Words that core crates must not contain: time, files, threads and chance reach them only
/// through their arguments (SIM-1).
const CORE_FORBIDDEN: [&str; 8] = [
    "Instant::now",
    "SystemTime",
    "std::fs",
    "std::net",
    "std::thread",
    "tokio::",
    "rand::",
    "RandomState",
];
const CORE: [&str; 12] = [
    "types", "proto", "wal", "backend", "mvcc", "watch", "lease", "store", "node", "member",
    "model", "sim",
];

/// Words that no source may contain, with the reason.
const FORBIDDEN: [(&str, &str); 5] = [
    ("todo!(", "a stub"),
    ("unimplemented!(", "a stub"),
    ("#[ignore", "a test that is switched off"),
    ("should_panic", "assert the error instead"),
    ("#[allow(", "use #[expect(lint, reason)]"),
];

/// Checks every source file.
pub(super) fn check(tree: &Tree) -> Result<Vec<String>> {
    let mut findings = Vec::new();
    for (name, path) in tree.ending(".rs") {
        if name.starts_with("xtask/src/tidy/") || name.starts_with("fuzz/") {
            continue;
        }
        let text = std::fs::read_to_string(path)?;
        findings.extend(check_file(&name, &text));
    }
    findings.extend(machine_paths(tree)?);
    Ok(findings)
}

fn check_file(name: &str, text: &str) -> Vec<String> {
    let mut findings = Vec::new();
    let mut find = |line: usize, why: String| findings.push(format!("{name}:{line}: {why}"));
    if !text.starts_with("//!") {
        find(1, "the first line must say what lives here (//!)".to_string());
    }
    let tests = is_test_file(name);
    let body_lines = text.lines().take_while(|line| *line != "mod tests {").count();
    if body_lines > FILE_LINES_MAX && !tests {
        find(body_lines, format!("{body_lines} lines; the hard limit is {FILE_LINES_MAX}"));
    }
    let proto_lib = name == "crates/proto/src/lib.rs";
    for (number, line) in text.lines().enumerate() {
        for (word, why) in FORBIDDEN {
            if line.contains(word) && !(proto_lib && word == "#[allow(") {
                find(number + 1, format!("{word}: {why}"));
            }
        }
        if (line.contains("thread::sleep(") || line.contains("time::sleep("))
            && (tests || name.starts_with("crates/rtest/"))
            && name != "crates/rtest/src/wait.rs"
        {
            find(number + 1, "tests wait for a condition with a deadline".to_string());
        }
    }
    if let Some(krate) = name.strip_prefix("crates/").and_then(|rest| rest.split('/').next())
        && CORE.contains(&krate)
        && !name.contains("/src/bin/")
        && !name.contains("/tests/")
        && !tests
    {
        for (number, line) in text.lines().take(body_lines).enumerate() {
            let code = line.split("//").next().unwrap_or_default();
            if let Some(word) = CORE_FORBIDDEN.iter().find(|word| code.contains(**word)) {
                find(number + 1, format!("{word} in a core crate"));
            }
        }
    }
    for (start, length, function) in long_functions(text) {
        if !tests && !LONG_FUNCTIONS.contains(&format!("{name}:{function}").as_str()) {
            find(
                start,
                format!("{function} has {length} lines; the hard limit is {FUNCTION_LINES_MAX}"),
            );
        }
    }
    findings
}

fn is_test_file(name: &str) -> bool {
    name.ends_with("/tests.rs") || name.contains("/tests/")
}

/// Functions longer than the limit: first line, length and name. Formatted code closes a
/// function with a brace at the indent of its signature.
fn long_functions(text: &str) -> Vec<(usize, usize, String)> {
    let lines: Vec<&str> = text.lines().collect();
    let mut found = Vec::new();
    for (start, line) in lines.iter().enumerate() {
        let Some(name) = function_name(line) else { continue };
        let indent = line.len() - line.trim_start().len();
        let closing = format!("{}}}", " ".repeat(indent));
        let body = lines[start..].iter().position(|line| *line == closing);
        if let Some(length) = body.map(|end| end + 1).filter(|length| *length > FUNCTION_LINES_MAX)
        {
            found.push((start + 1, length, name));
        }
    }
    found
}

fn function_name(line: &str) -> Option<String> {
    let code = line.trim_start();
    let code = ["pub(crate) ", "pub(super) ", "pub ", "async ", "const "]
        .iter()
        .fold(code, |code, word| code.strip_prefix(word).unwrap_or(code));
    let rest = code.strip_prefix("fn ")?;
    Some(rest.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect())
}

/// Nothing that is checked in carries a path of a machine.
fn machine_paths(tree: &Tree) -> Result<Vec<String>> {
    let mut findings = Vec::new();
    for file in &tree.files {
        let name = tree.name(file);
        if name.starts_with("xtask/src/tidy/") || name.ends_with(".lock") || !is_text(file) {
            continue;
        }
        let Ok(text) = std::fs::read_to_string(file) else { continue };
        for (number, line) in text.lines().enumerate() {
            let home = line.contains("/home/") && !line.contains("/home/*");
            if home || line.contains("/root/") || line.contains("/work/") {
                findings.push(format!("{name}:{}: a path of a machine", number + 1));
            }
        }
    }
    Ok(findings)
}

fn is_text(file: &Path) -> bool {
    let ending = file.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
    !["bin", "wal", "seg", "gz"].contains(&ending)
}
