//! One file per command.

mod absent;
mod alarm;
mod compaction;
mod defrag;
mod del;
mod elect;
mod endpoint;
mod get;
mod lease;
mod lock;
mod member;
mod mutex;
mod put;
pub(crate) mod txn;
mod version;
mod watch;

use std::future::Future;

use bytes::Bytes;

use crate::Failure;
use crate::cli::{Invocation, usage};
use crate::say;
use crate::session::Session;

/// Runs the command that was found.
pub(crate) fn run(invocation: &Invocation) -> Result<(), Failure> {
    match invocation.command.name {
        "version" => {
            version::run();
            Ok(())
        }
        "options" => {
            say(usage::options().as_bytes());
            Ok(())
        }
        _ if absent::is_absent(invocation) => Err(absent::refusal(invocation)),
        _ => with_runtime(dispatch(invocation)),
    }
}

async fn dispatch(invocation: &Invocation) -> Result<(), Failure> {
    let usage = invocation.command.usage;
    match invocation.command.name {
        "get" => get::run(invocation).await,
        "put" => put::run(invocation).await,
        "del" => del::run(invocation).await,
        "txn" => txn::run(invocation).await,
        "watch" => watch::run(invocation).await,
        "compaction" => compaction::run(invocation).await,
        "lock" => lock::run(invocation).await,
        "elect" => elect::run(invocation).await,
        "defrag" => defrag::run(invocation).await,
        "grant" => lease::grant(invocation).await,
        "revoke" => lease::revoke(invocation).await,
        "timetolive" => lease::time_to_live(invocation).await,
        "keep-alive" => lease::keep_alive(invocation).await,
        "disarm" => alarm::disarm(invocation).await,
        "health" => endpoint::health(invocation).await,
        "status" => endpoint::status(invocation).await,
        "hashkv" => endpoint::hash_kv(invocation).await,
        "list" => match invocation.command.short {
            "List all active leases" => lease::list(invocation).await,
            "Lists all alarms" => alarm::list(invocation).await,
            _ => member::list(invocation).await,
        },
        name => unreachable!("the tree has no command {name}: {usage}"),
    }
}

fn with_runtime(work: impl Future<Output = Result<(), Failure>>) -> Result<(), Failure> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::new(Failure::ERROR, error.to_string()))?
        .block_on(work)
}

/// The session of a command whose arguments have been checked.
fn open(invocation: &Invocation) -> Result<Session, Failure> {
    Session::open(invocation)
}

/// The first key after all keys that begin with `prefix`; "\0" where there is none.
fn prefix_end(prefix: &[u8]) -> Bytes {
    let mut end = prefix.to_vec();
    while let Some(last) = end.pop() {
        if last < 0xff {
            end.push(last + 1);
            return end.into();
        }
    }
    Bytes::from_static(b"\0")
}

/// Key and range end of `get` and `del`, with their flags applied.
fn key_range(invocation: &Invocation) -> Result<(Bytes, Bytes), Failure> {
    let (prefix, from_key) = (invocation.flags.is_on("prefix"), invocation.flags.is_on("from-key"));
    let mut key = invocation.bytes(0);
    let mut end = Bytes::new();
    if invocation.args.len() > 1 {
        if prefix || from_key {
            return Err(Failure::bad_args(
                "too many arguments, only accept one argument when `--prefix` or `--from-key` \
                 is set",
            ));
        }
        end = invocation.bytes(1);
    }
    if prefix && !key.is_empty() {
        end = prefix_end(&key);
    } else if prefix || from_key {
        end = Bytes::from_static(b"\0");
        if key.is_empty() {
            key = Bytes::from_static(b"\0");
        }
    }
    Ok((key, end))
}

/// The refusal of `--prefix` together with `--from-key`.
fn prefix_or_from_key(invocation: &Invocation) -> Result<(), Failure> {
    if invocation.flags.is_on("prefix") && invocation.flags.is_on("from-key") {
        return Err(Failure::bad_args(
            "`--prefix` and `--from-key` cannot be set at the same time, choose one",
        ));
    }
    Ok(())
}

/// Whether `SIGINT` or `SIGTERM` arrives.
async fn interrupted() {
    use tokio::signal::unix::{SignalKind, signal};
    let terminate = signal(SignalKind::terminate());
    let terminate = async {
        match terminate {
            Ok(mut terminate) => {
                terminate.recv().await;
            }
            Err(_) => std::future::pending().await,
        }
    };
    tokio::select! {
        _ = tokio::signal::ctrl_c() => {}
        () = terminate => {}
    }
}
