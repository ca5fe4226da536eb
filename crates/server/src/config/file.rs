//! The configuration file: YAML or JSON, keys are flag names, durations are nanoseconds.
//!
//! Unknown keys are passed over in silence, as etcd does. Nested TLS sections count as set when
//! any of their keys has a value: they end the start like the flags that they stand for.

use super::args::{self, Values};
use super::flags::{FLAGS, Flag, Kind};
use serde_json::Value;
use std::path::Path;
use std::time::Duration;

/// Nested sections, with the flag that stands for them when something in them is set.
const SECTIONS: [(&str, &str, &str); 2] = [
    ("client-transport-security", "cert-file", ""),
    ("peer-transport-security", "peer-cert-file", "peer-"),
];

/// Reads a file into values; the error names the file.
pub(crate) fn read(path: &str) -> Result<Values, String> {
    let text = std::fs::read_to_string(Path::new(path)).map_err(|e| match e.kind() {
        std::io::ErrorKind::NotFound => format!("open {path}: no such file or directory"),
        std::io::ErrorKind::PermissionDenied => format!("open {path}: permission denied"),
        _ => format!("open {path}: {e}"),
    })?;
    parse(&text).map_err(|why| format!("{path}: {why}"))
}

/// Reads a file's text into values.
pub(crate) fn parse(text: &str) -> Result<Values, String> {
    if text.lines().all(|line| line.trim().is_empty() || line.trim_start().starts_with('#')) {
        return Ok(Values::new());
    }
    let root: Value = serde_saphyr::from_str(text).map_err(|e| e.to_string())?;
    let Value::Object(map) = root else {
        return Err("the file must hold a map of options".to_string());
    };
    let mut values = Values::new();
    for flag in FLAGS.iter().filter(|flag| !file_ignores(flag.name)) {
        if let Some(value) = map.get(flag.name).filter(|value| !value.is_null()) {
            let text = text_of(flag, value)?;
            if text.is_empty() && flag.kind != Kind::Text {
                continue;
            }
            args::check(flag.kind, &text)
                .map_err(|why| format!("{}: invalid value {text:?}: {why}", flag.name))?;
            values.insert(flag.name, text);
        }
    }
    for (section, stands_for, _) in SECTIONS {
        if map.get(section).is_some_and(is_set) {
            values.insert(
                FLAGS.iter().find(|f| f.name == stands_for).expect("the table has it").name,
                section.to_string(),
            );
        }
    }
    Ok(values)
}

/// Flat TLS names at the top level, and what only exists on the command line.
fn file_ignores(name: &str) -> bool {
    matches!(name, "config-file" | "raft-read-timeout" | "raft-write-timeout")
        || name.ends_with("crl-file")
        || SECTIONS.iter().any(|(_, _, prefix)| {
            ["cert-file", "key-file", "client-cert-auth", "trusted-ca-file"]
                .iter()
                .any(|flat| name == format!("{prefix}{flat}"))
        })
}

fn is_set(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::Bool(set) => *set,
        Value::String(text) => !text.is_empty(),
        Value::Array(items) => !items.is_empty(),
        Value::Object(map) => map.values().any(is_set),
        Value::Number(_) => true,
    }
}

fn text_of(flag: &Flag, value: &Value) -> Result<String, String> {
    match value {
        Value::Bool(set) => Ok(set.to_string()),
        Value::Number(number) if flag.kind == Kind::Duration => {
            let nanos = number
                .as_u64()
                .ok_or_else(|| format!("{}: must be a whole number of nanoseconds", flag.name))?;
            Ok(super::duration::format(Duration::from_nanos(nanos)))
        }
        Value::Number(number) => Ok(number.to_string()),
        Value::String(_) if flag.kind == Kind::Duration => {
            Err(format!("{}: must be an integer of nanoseconds in a file", flag.name))
        }
        Value::String(text) => Ok(text.clone()),
        Value::Array(items) => {
            Ok(items.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(","))
        }
        Value::Null | Value::Object(_) => Err(format!("{}: must be a value", flag.name)),
    }
}
