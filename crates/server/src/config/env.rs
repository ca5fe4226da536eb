//! Environment variables: `ETCD_` and the flag's name in upper case with `_` for `-`.

use super::args::{self, Values};
use super::flags::{self, FLAGS, Kind};

/// What the environment says beside the values.
#[derive(Default, Debug)]
pub(crate) struct Notes {
    /// Variables that were taken, with their values.
    pub(crate) used: Vec<(String, String)>,
    /// Variables that name no flag.
    pub(crate) unknown: Vec<String>,
    /// `ETCD_VERSION` was set; it is passed over.
    pub(crate) version: Option<String>,
}

/// Why the environment cannot be taken (exit 1).
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum EnvError {
    /// Flag and variable are both set.
    Conflict(String),
    /// The value is none for this flag.
    Invalid(String),
}

/// Adds the environment's values to those of the command line.
pub(crate) fn merge(env: &[(String, String)], values: &mut Values) -> Result<Notes, EnvError> {
    let mut notes = Notes::default();
    for (key, value) in env.iter().filter(|(_, value)| !value.is_empty()) {
        let Some(upper) = key.strip_prefix("ETCD_") else { continue };
        if upper == "VERSION" {
            notes.version = Some(value.clone());
            continue;
        }
        let name = upper.to_ascii_lowercase().replace('_', "-");
        let Some(flag) =
            FLAGS.iter().find(|flag| flag.name == name && upper == env_name(flag.name))
        else {
            if !flags::IGNORED.contains(&name.as_str()) && upper != "UNSUPPORTED_ARCH" {
                notes.unknown.push(key.clone());
            }
            continue;
        };
        if values.contains_key(flag.name) {
            return Err(EnvError::Conflict(key.clone()));
        }
        args::check(flag.kind, value).map_err(|why| {
            let why = if flag.kind == Kind::Bool { "parse error".to_string() } else { why };
            EnvError::Invalid(format!("invalid value \"{value}\" for {key}: {why}"))
        })?;
        notes.used.push((key.clone(), value.clone()));
        values.insert(flag.name, value.clone());
    }
    Ok(notes)
}

/// The part of a variable's name after `ETCD_`.
fn env_name(flag: &str) -> String {
    flag.to_ascii_uppercase().replace('-', "_")
}
