//! `lock`

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::process::ExitStatusExt;

use bytes::Bytes;
use client::Client;

use super::mutex::{Place, SessionLease};
use super::{interrupted, open};
use crate::Failure;
use crate::cli::Invocation;
use crate::printers::Answer;
use crate::session::Session;

/// TTL of the lock's lease where the flag asks for none.
const TTL_DEFAULT: i64 = 60;

pub(super) async fn run(invocation: &Invocation) -> Result<(), Failure> {
    let Some((name, command)) = invocation.args.split_first() else {
        let text = "lock takes a lock name argument and an optional command to execute";
        return Err(Failure::bad_args(text));
    };
    let session = open(invocation)?;
    let client = &session.client;
    let ttl = invocation.flags.int("ttl");
    let ttl = if ttl > 0 { ttl } else { TTL_DEFAULT };
    let lease = SessionLease::grant(client, ttl).await?;
    let place = Place::take(client, name.as_bytes(), lease.id, Bytes::new()).await?;
    tokio::select! {
        waited = place.wait(client) => waited?,
        () = interrupted() => {
            place.leave(client).await?;
            return Err(Failure::new(Failure::ERROR, "context canceled"));
        }
    }
    if !command.is_empty() {
        let done = execute(&place, command);
        let left = place.leave(client).await;
        return done.and(left.map_err(Failure::from));
    }
    hold(&session, client, &place, &lease).await
}

async fn hold(
    session: &Session,
    client: &Client,
    place: &Place,
    lease: &SessionLease,
) -> Result<(), Failure> {
    let held = place.read(client).await?;
    if held.kvs.is_empty() {
        return Err(Failure::new(Failure::ERROR, "lock lost on init"));
    }
    session.print(&Answer::Range(&held))?;
    tokio::select! {
        () = interrupted() => Ok(place.leave(client).await?),
        () = lease.expired() => Err(Failure::new(Failure::ERROR, "session expired")),
    }
}

/// Runs the command with the lock's key and revision in its environment.
fn execute(place: &Place, command: &[OsString]) -> Result<(), Failure> {
    let fail = |text: String| Failure::new(Failure::ERROR, text);
    let status = std::process::Command::new(&command[0])
        .args(&command[1..])
        .stdin(std::process::Stdio::null())
        .env("ETCD_LOCK_KEY", OsString::from_vec(place.key.to_vec()))
        .env("ETCD_LOCK_REV", place.header.revision.to_string())
        .status()
        .map_err(|error| fail(format!("exec: {:?}: {error}", command[0])))?;
    match (status.code(), status.signal()) {
        (Some(0), _) => Ok(()),
        (Some(code), _) => {
            let code = u8::try_from(code).unwrap_or(u8::MAX);
            Err(Failure::new(code, format!("exit status {code}")))
        }
        (None, signal) => {
            let text = format!("signal: {}", signal.unwrap_or_default());
            Err(Failure::new(u8::MAX, text))
        }
    }
}
