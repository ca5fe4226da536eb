//! Where one case happens: its folder, the server's command and the client's.

use crate::server::Server;
use anyhow::{Context, Result, ensure};
use client::Client;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Longest wait for a server that starts.
pub(crate) const READY: Duration = Duration::from_secs(30);

/// One case's surroundings; the folder goes with it.
#[derive(Debug)]
pub(crate) struct Place {
    folder: tempfile::TempDir,
    server: String,
    ctl: Vec<String>,
}

/// How a command ended.
#[derive(Debug)]
pub(crate) struct Ended {
    /// Exit code; `None` if a signal ended it.
    pub(crate) code: Option<i32>,
    /// Everything it printed.
    pub(crate) text: String,
}

impl Place {
    pub(crate) fn new(server: &str, ctl: Option<&str>) -> Result<Place> {
        let ctl = ctl.map_or_else(|| ctl_of(server), str::to_string);
        Ok(Place {
            folder: tempfile::tempdir()?,
            server: server.to_string(),
            ctl: ctl.split_whitespace().map(str::to_string).collect(),
        })
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// True if the server's files are ours.
    pub(crate) fn is_mainstay(&self) -> bool {
        self.server.contains("mainstay ")
    }

    fn log(&self) -> PathBuf {
        self.path().join("server.log")
    }

    /// A server with these flags on the case's data, not started.
    pub(crate) fn server(&self, flags: &[&str]) -> Result<Server> {
        self.server_on(&self.path().join("data"), flags)
    }

    /// A server with these flags on other data, not started.
    pub(crate) fn server_on(&self, data: &Path, flags: &[&str]) -> Result<Server> {
        let flags: Vec<String> = flags.iter().map(ToString::to_string).collect();
        Server::new(&self.server, data, &self.log(), &flags)
    }

    /// A server with these flags that serves.
    pub(crate) async fn serve(&self, flags: &[&str]) -> Result<(Server, Client)> {
        let mut server = self.server(flags)?;
        let client = start(&mut server).await?;
        Ok((server, client))
    }

    /// What the case's servers have logged.
    pub(crate) fn log_text(&self) -> String {
        let log = std::fs::read(self.log()).unwrap_or_default();
        String::from_utf8_lossy(&log).into_owned()
    }

    pub(crate) fn log_tail(&self) -> String {
        let text = self.log_text();
        let lines: Vec<&str> = text.lines().collect();
        let tail = &lines[lines.len().saturating_sub(5)..];
        tail.iter().map(|line| line.chars().take(400).collect::<String>() + "\n").collect()
    }

    /// Runs the server's command with other flags until it ends by itself.
    pub(crate) fn server_ends(&self, flags: &[&str], patience: Duration) -> Result<Ended> {
        let mut words = self.server.split_whitespace();
        let mut command = Command::new(words.next().context("the server's command is empty")?);
        command.args(words).arg(format!("--data-dir={}", self.path().join("other").display()));
        ends(command.args(flags), patience)
    }

    /// Runs the command-line client against a server.
    pub(crate) fn ctl(&self, server: &Server, words: &[&str]) -> Result<Ended> {
        let (program, first) = self.ctl.split_first().context("the client's command is empty")?;
        let mut command = Command::new(program);
        command.args(first).arg(format!("--endpoints={}", server.endpoint())).args(words);
        ends(&mut command, Duration::from_secs(20))
    }
}

/// The client that belongs to a server: `mainstay ctl`, or `etcdctl` beside `etcd`.
fn ctl_of(server: &str) -> String {
    match server.strip_suffix(" serve") {
        Some(program) => format!("{program} ctl"),
        None => format!("{server}ctl"),
    }
}

/// Starts a server and waits until it serves.
pub(crate) async fn start(server: &mut Server) -> Result<Client> {
    server.start()?;
    server.ready(READY).await
}

/// SIGKILL, and a start on what is there.
pub(crate) async fn restart(server: &mut Server) -> Result<Client> {
    server.kill()?;
    start(server).await
}

/// Runs a command to its end; one that does not end is killed and fails.
fn ends(command: &mut Command, patience: Duration) -> Result<Ended> {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().with_context(|| format!("start {command:?}"))?;
    let mut out = child.stdout.take().context("a pipe")?;
    let mut err = child.stderr.take().context("a pipe")?;
    let read = std::thread::spawn(move || {
        let mut bytes = Vec::new();
        // A pipe that breaks has said all it will.
        let _ = out.read_to_end(&mut bytes);
        bytes
    });
    let deadline = Instant::now() + patience;
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break Some(status);
        }
        if deadline <= Instant::now() {
            child.kill()?;
            child.wait()?;
            break None;
        }
        std::thread::park_timeout(Duration::from_millis(10));
    };
    let mut bytes = read.join().unwrap_or_default();
    err.read_to_end(&mut bytes)?;
    let text = String::from_utf8_lossy(&bytes).into_owned();
    ensure!(status.is_some(), "{command:?} did not end within {patience:?}: {text}");
    Ok(Ended { code: status.and_then(|status| status.code()), text })
}
