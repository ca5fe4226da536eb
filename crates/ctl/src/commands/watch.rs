//! `watch`: one watcher from the command line, or many from the lines of standard input.

mod arguments;
mod watcher;

use std::ffi::OsString;
use std::io::BufRead;

use tokio::sync::mpsc;

use super::open;
use crate::cli::Invocation;
use crate::session::Session;
use crate::text::{quote::quote, words};
use crate::{Failure, complain};
use watcher::Watchers;

pub(super) async fn run(invocation: &Invocation) -> Result<(), Failure> {
    let env = arguments::from_environment()?;
    if invocation.flags.is_on("interactive") {
        let session = open(invocation)?;
        return interactive(&session, &env).await;
    }
    let wanted = arguments::from_command_line(invocation, &env)?;
    let session = open(invocation)?;
    let mut watchers = Watchers::new(&session);
    watchers.add(wanted);
    while !watchers.is_empty() {
        watchers.step().await?;
    }
    Err(Failure::new(Failure::INTERRUPTED, "watch is canceled by the server"))
}

async fn interactive(session: &Session, env: &[OsString]) -> Result<(), Failure> {
    let mut lines = stdin_lines();
    let mut watchers = Watchers::new(session);
    loop {
        tokio::select! {
            line = lines.recv() => match line {
                Some(line) => command(&mut watchers, env, &line).await?,
                None => {
                    let text = "error reading watch request line: EOF";
                    return Err(Failure::new(Failure::INVALID_INPUT, text));
                }
            },
            stepped = watchers.step() => stepped?,
        }
    }
}

/// Runs one line: `watch …` or `progress`.
async fn command(watchers: &mut Watchers<'_>, env: &[OsString], line: &str) -> Result<(), Failure> {
    let words = words::split(line).map_err(|text| Failure::new(Failure::INVALID_INPUT, text))?;
    match words.first().map(Vec::as_slice) {
        None => complain(&format!("Invalid command: {line} (watch and progress supported)")),
        Some(b"watch") if words.len() < 2 && env.is_empty() => {
            let why = "command type or key is not provided";
            complain(&format!("Invalid command {line} ({why})"));
        }
        Some(b"watch") => match arguments::from_line(&words[1..], env)? {
            Ok(wanted) => watchers.add(wanted),
            Err(why) => complain(&format!("Invalid command {line} ({why})")),
        },
        Some(b"progress") => watchers.progress().await?,
        Some(_) => complain(&format!("Invalid command {line} (only support watch)")),
    }
    Ok(())
}

/// The lines of standard input, read by a thread of its own: a read there cannot be given up.
fn stdin_lines() -> mpsc::Receiver<String> {
    let (sender, lines) = mpsc::channel(16);
    std::thread::spawn(move || {
        for line in std::io::stdin().lock().split(b'\n') {
            let Ok(line) = line else { break };
            let line = String::from_utf8_lossy(&line).into_owned();
            if sender.blocking_send(line).is_err() {
                break;
            }
        }
    });
    lines
}

/// The environment of a command that is run for an event.
fn event_environment(revision: i64, event: &proto::mvccpb::Event) -> [(&'static str, String); 4] {
    let kv = event.kv.clone().unwrap_or_default();
    let kind = crate::printers::simple::event_type(event.r#type);
    [
        ("ETCD_WATCH_REVISION", revision.to_string()),
        ("ETCD_WATCH_EVENT_TYPE", quote(kind.as_bytes())),
        ("ETCD_WATCH_KEY", quote(&kv.key)),
        ("ETCD_WATCH_VALUE", quote(&kv.value)),
    ]
}
