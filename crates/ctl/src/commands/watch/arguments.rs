//! What to watch and what to run, from arguments, `--`, and the environment.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};

use bytes::Bytes;
use proto::etcdserverpb::WatchCreateRequest;

use crate::Failure;
use crate::cli::{Invocation, parse_watch};
use crate::commands::prefix_end;
use crate::text::quote::quote;

/// One watcher to be.
#[derive(Debug)]
pub(super) struct Wanted {
    pub(super) create: WatchCreateRequest,
    /// Run for each event; may be empty.
    pub(super) command: Vec<OsString>,
}

const BAD_COUNT: &str = "bad number of arguments";
const BAD_SEPARATOR: &str = "bad number of arguments (found separator --, but no commands)";
const BAD_ENVIRONMENT: &str = "bad number of arguments (found conflicting environment key)";

/// Key and range end that the environment names.
pub(super) fn from_environment() -> Result<Vec<OsString>, Failure> {
    let read = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    match (read("ETCDCTL_WATCH_KEY"), read("ETCDCTL_WATCH_RANGE_END")) {
        (None, Some(end)) => {
            let end = quote(end.as_bytes());
            Err(Failure::bad_args(format!(
                "ETCDCTL_WATCH_KEY is empty but got ETCDCTL_WATCH_RANGE_END={end}"
            )))
        }
        (key, end) => Ok(key.into_iter().chain(end).collect()),
    }
}

/// The watcher of a command line.
pub(super) fn from_command_line(
    invocation: &Invocation,
    env: &[OsString],
) -> Result<Wanted, Failure> {
    let raw = &invocation.raw;
    let (keys, command) = match raw.iter().position(|arg| arg == "--") {
        Some(at) if at + 1 == raw.len() => return Err(Failure::bad_args(BAD_SEPARATOR)),
        Some(at) => {
            let command = raw[at + 1..].to_vec();
            let keys = invocation.args.len().saturating_sub(command.len());
            (&invocation.args[..keys], command)
        }
        None => (&invocation.args[..], Vec::new()),
    };
    if !env.is_empty() && !keys.is_empty() {
        return Err(Failure::bad_args(BAD_ENVIRONMENT));
    }
    let keys = if env.is_empty() { keys } else { env };
    wanted(invocation, keys, command).map_err(Failure::bad_args)
}

/// The watcher of an interactive line; the inner error leaves the session alive.
pub(super) fn from_line(
    words: &[Vec<u8>],
    env: &[OsString],
) -> Result<Result<Wanted, String>, Failure> {
    let words: Vec<OsString> = words.iter().cloned().map(OsString::from_vec).collect();
    let (words, command) = match words.iter().position(|word| word == "--") {
        Some(at) if at + 1 == words.len() => return Err(Failure::bad_args(BAD_SEPARATOR)),
        Some(at) => (words[..at].to_vec(), words[at + 1..].to_vec()),
        None => (words, Vec::new()),
    };
    let line = parse_watch(&words).map_err(Failure::bad_args)?;
    if line.args.is_empty() && env.is_empty() {
        return Err(Failure::bad_args(BAD_COUNT));
    }
    if !line.args.is_empty() && !env.is_empty() {
        return Err(Failure::bad_args(BAD_ENVIRONMENT));
    }
    let keys = if env.is_empty() { line.args.clone() } else { env.to_vec() };
    Ok(wanted(&line, &keys, command))
}

fn wanted(
    invocation: &Invocation,
    keys: &[OsString],
    command: Vec<OsString>,
) -> Result<Wanted, String> {
    let flags = &invocation.flags;
    let bytes = |text: &OsString| Bytes::copy_from_slice(text.as_bytes());
    let mut key = bytes(keys.first().ok_or(BAD_COUNT)?);
    let has_prefix = flags.is_on("prefix");
    let mut range_end = Bytes::new();
    if keys.len() == 2 {
        if has_prefix {
            return Err("`range_end` and `--prefix` are mutually exclusive".to_owned());
        }
        range_end = bytes(&keys[1]);
    }
    if has_prefix {
        range_end = prefix_end(&key);
        if key.is_empty() {
            key = Bytes::from_static(b"\0");
        }
    }
    let create = WatchCreateRequest {
        key,
        range_end,
        start_revision: flags.int("rev"),
        progress_notify: flags.is_on("progress-notify"),
        prev_kv: flags.is_on("prev-kv"),
        ..WatchCreateRequest::default()
    };
    Ok(Wanted { create, command })
}
