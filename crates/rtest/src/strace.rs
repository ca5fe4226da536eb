//! The order of system calls: for each sampled put, the write of its bytes to the log and the sync
//! of that file returned before the answer left; folders are synced after entries changed.

use crate::server::Server;
use anyhow::{Context, Result, bail, ensure};
use clap::Args;
use client::Call;
use proto::etcdserverpb::PutRequest;
use std::collections::BTreeMap;
use std::time::Duration;

/// Options of the gate.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// Command of the server, without flags.
    #[arg(long)]
    pub server: String,
    /// Sampled puts.
    #[arg(long, default_value_t = 200)]
    pub puts: u64,
    /// Keep the trace in this file.
    #[arg(long)]
    pub keep: Option<std::path::PathBuf>,
    /// Flags for the server, as `--flag=value`.
    #[arg(last = true)]
    pub flags: Vec<String>,
}

const CALLS: &str = "trace=write,writev,pwrite64,pwritev,pwritev2,sendto,sendmsg,recvfrom,recvmsg,\
                     read,readv,fsync,fdatasync,openat,rename,renameat,renameat2,unlink,unlinkat";

/// Runs the server under strace, puts, and reads the trace.
pub async fn run(options: Options) -> Result<()> {
    let folder = tempfile::tempdir()?;
    let trace = folder.path().join("trace");
    let strace = format!(
        "strace -f -y -s 100000 -o {} -e {CALLS} -e signal=none {}",
        trace.display(),
        options.server
    );
    let log = folder.path().join("server.log");
    let mut server = Server::new(&strace, &folder.path().join("data"), &log, &options.flags)?;
    server.start().context("strace is missing: apt-get install strace")?;
    let client = server.ready(Duration::from_secs(60)).await.with_context(|| {
        let text = std::fs::read_to_string(&log).unwrap_or_default();
        format!("is ptrace allowed? the log says: {text}")
    })?;
    for n in 0..options.puts {
        let request = PutRequest {
            key: format!("t/{n}").into(),
            value: sample(n).into(),
            ..PutRequest::default()
        };
        let call = Call { timeout: Some(Duration::from_secs(20)), ..Call::default() };
        client.put(&request, &call).await.map_err(|status| anyhow::anyhow!("{status:?}"))?;
    }
    server.kill()?;
    let text = std::fs::read(&trace).context("the trace was not written")?;
    if let Some(path) = &options.keep {
        std::fs::write(path, &text)?;
    }
    let lines = joined(&String::from_utf8_lossy(&text));
    let mut from = first_arrival(&lines)?;
    for n in 0..options.puts {
        from = judge(&lines, from, &sample(n)).with_context(|| format!("put {n}"))?;
    }
    let folders = judge_folders(&lines)?;
    say(&format!(
        "strace: {} puts, each synced before its answer; {folders} changes of folders, each synced \
         before the next answer",
        options.puts
    ));
    Ok(())
}

/// A text that occurs nowhere else.
fn sample(n: u64) -> String {
    format!("sample-{n:06}-of-the-order-of-calls")
}

/// One call with its moment of return: its number in the order of returns.
#[derive(Clone, Debug)]
struct Line {
    name: String,
    rest: String,
    /// True for the beginning of a call that returns later.
    begins: bool,
}

/// Lines of the trace; calls that were interrupted by other threads are joined, and stand where
/// they returned (and, with `begins`, where they began).
fn joined(text: &str) -> Vec<Line> {
    let mut open: BTreeMap<String, String> = BTreeMap::new();
    let mut lines = Vec::new();
    for line in text.lines() {
        let Some((pid, call)) = line.split_once(' ') else { continue };
        let call = call.trim_start();
        if let Some(begin) = call.strip_suffix(" <unfinished ...>") {
            open.insert(pid.to_string(), begin.to_string());
            lines.extend(line_of(begin, true));
        } else if let Some(rest) = call.strip_prefix("<... ") {
            let begin = open.remove(pid).unwrap_or_default();
            let end = rest.split_once("resumed>").map_or("", |(_, end)| end);
            lines.extend(line_of(&format!("{begin}{end}"), false));
        } else {
            lines.extend(line_of(call, true));
            lines.extend(line_of(call, false));
        }
    }
    lines
}

fn line_of(call: &str, begins: bool) -> Option<Line> {
    let (name, rest) = call.split_once('(')?;
    Some(Line { name: name.to_string(), rest: rest.to_string(), begins })
}

impl Line {
    /// The first argument's path or socket: `12</data/wal/...>`.
    fn target(&self) -> &str {
        let inner = self.rest.split_once('<').map_or("", |(_, inner)| inner);
        inner.split_once('>').map_or("", |(target, _)| target)
    }

    fn is_socket(&self) -> bool {
        self.target().starts_with("socket:") || self.target().starts_with("TCP")
    }

    fn writes_file(&self) -> bool {
        (self.name.starts_with("pwrite") || self.name.starts_with("write")) && !self.is_socket()
    }

    fn sends(&self) -> bool {
        (self.name.starts_with("send") || self.name.starts_with("write")) && self.is_socket()
    }

    /// The result follows the closing parenthesis, after blanks that align it.
    fn succeeded(&self) -> bool {
        let result = self.rest.rsplit_once(") ").map_or("", |(_, result)| result.trim_start());
        !self.begins && result.starts_with("= ") && !result.starts_with("= -1")
    }

    fn syncs(&self) -> bool {
        (self.name == "fsync" || self.name == "fdatasync") && self.succeeded()
    }
}

/// Judges one put by its text, from the line after the answer to the put before; the place of its
/// own answer. One put is under way at a time, so the next answer is its own.
fn judge(lines: &[Line], from: usize, text: &str) -> Result<usize> {
    let after = &lines[from..];
    let written = after
        .iter()
        .position(|line| line.writes_file() && line.succeeded() && line.rest.contains(text))
        .context("its bytes were not written to a file")?;
    let file = after[written].target().to_string();
    let synced = after[written..]
        .iter()
        .position(|line| line.syncs() && line.target() == file)
        .with_context(|| format!("{file} was not synced after the write"))?
        + written;
    let answered = after
        .iter()
        .position(|line| line.begins && line.sends() && is_answer(line))
        .context("its answer is not in the trace")?;
    ensure!(
        synced < answered,
        "the answer left before the sync of {file} returned:\n  {:?}\n  {:?}",
        after[answered],
        after[synced]
    );
    Ok(from + answered + 1)
}

/// Where the first put arrives.
fn first_arrival(lines: &[Line]) -> Result<usize> {
    let text = sample(0);
    let arrives = |line: &Line| {
        !line.begins
            && (line.name.starts_with("recv") || line.name.starts_with("read"))
            && line.rest.contains(&text)
    };
    lines.iter().position(arrives).context("the first put's arrival is not in the trace")
}

/// An answer carries trailers or data; settings, window updates and pings are 17 bytes or less.
fn is_answer(line: &Line) -> bool {
    line.rest.matches('\\').count() + line.rest.len() > 150
}

/// Files whose absence after a loss of power harms nothing: they are made anew at start.
fn is_expendable(call: &str) -> bool {
    call.contains("lock") || call.contains("reserve")
}

/// After an entry of a folder below the data changed, the folder is synced before the next answer.
fn judge_folders(lines: &[Line]) -> Result<usize> {
    let mut waiting: Option<String> = None;
    let mut changes = 0;
    for line in lines.iter().filter(|line| !line.begins || line.sends()) {
        let creates = line.name == "openat" && line.rest.contains("O_CREAT") && line.succeeded();
        let moves = line.name.starts_with("rename") && line.succeeded();
        if (creates || moves) && line.rest.contains("member") && !is_expendable(&line.rest) {
            changes += 1;
            waiting = Some(line.rest.clone());
        }
        if line.syncs() && !line.target().rsplit('/').next().unwrap_or_default().contains('.') {
            waiting = None;
        }
        if line.begins
            && line.sends()
            && is_answer(line)
            && let Some(change) = &waiting
        {
            bail!("an answer left while a change of a folder was not synced: {change}");
        }
    }
    ensure!(0 < changes, "no change of a folder is in the trace");
    Ok(changes)
}

#[expect(clippy::print_stdout, reason = "the result line of a gate")]
fn say(line: &str) {
    println!("{line}");
}
