//! How the server ends, and how it starts: a disk that fails in sync ends it with exit code 74 and
//! nothing answered afterwards (RP-6); a full disk does not keep it from a start.

use crate::dice::Dice;
use crate::disk::{Loss, Mount};
use crate::server::Server;
use anyhow::{Context, Result, ensure};
use clap::Args;
use client::{Call, Client, Status};
use proto::etcdserverpb::{PutRequest, RangeRequest};
use std::path::Path;
use std::time::Duration;

/// Options of the gate.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// Command of the server, without flags.
    #[arg(long)]
    pub server: String,
    /// Syncs that fail.
    #[arg(long, default_value_t = 8)]
    pub rounds: u64,
    /// Flags for the server, as `--flag=value`.
    #[arg(last = true)]
    pub flags: Vec<String>,
}

const READY: Duration = Duration::from_secs(20);
/// EX_IOERR.
const EXIT_IO: i32 = 74;

/// Runs all of it.
pub async fn run(options: Options) -> Result<()> {
    let folder = tempfile::tempdir()?;
    failing_syncs(&options, folder.path()).await?;
    full_from_the_start(&options, folder.path()).await?;
    say(&format!(
        "ends: {} failed syncs ended the server with {EXIT_IO} and lost nothing; a full disk was \
         refused at the first start, and served from at a later one",
        options.rounds
    ));
    Ok(())
}

fn mount(folder: &Path, name: &str) -> Result<Mount> {
    let point = folder.join(name);
    std::fs::create_dir_all(&point)?;
    Mount::new(&point)
}

/// The sync after so many puts fails: the server ends, and after a restart, every second time with
/// a loss of power, what was acknowledged is there.
async fn failing_syncs(options: &Options, folder: &Path) -> Result<()> {
    let disk = mount(folder, "failing")?;
    let log = folder.join("failing.log");
    let data = folder.join("failing/data");
    let mut server = Server::new(&options.server, &data, &log, &options.flags)?;
    let mut dice = Dice::new(74);
    let mut acked: u64 = 0;
    for round in 0..options.rounds {
        server.start()?;
        let client = server.ready(READY).await.with_context(|| format!("round {round}"))?;
        holds(&client, acked).await.with_context(|| format!("round {round}"))?;
        let until = acked + dice.below(20);
        while acked < until {
            put(&client, acked).await.map_err(failed)?;
            acked += 1;
        }
        disk.image().fail_next_sync = true;
        // A few may still be answered: the sync that fails may be one of the records' thread.
        let mut answered = 0;
        while put(&client, acked).await.is_ok() {
            acked += 1;
            answered += 1;
            ensure!(answered < 5_000, "round {round}: a failed sync went unnoticed");
        }
        let code = server.wait(READY).context("the disk failed and the server goes on")?;
        ensure!(code == Some(EXIT_IO), "round {round}: exit code {code:?}");
        if round % 2 == 1 {
            disk.image().power_loss(Loss::Drop, &mut dice);
        }
    }
    let text = std::fs::read_to_string(&log)?;
    let lines: Vec<&str> = text.lines().filter(|line| line.contains("the disk failed")).collect();
    ensure!(!lines.is_empty(), "the log does not tell of the disk: {}", log.display());
    for line in lines {
        ensure!(line.contains("file") && line.contains("errno"), "too little is said: {line}");
    }
    server.start()?;
    holds(&server.ready(READY).await?, acked).await.context("after the last round")
}

/// A first start on a full disk fails with a reason. On a disk with no byte left a member that
/// exists starts, is read from, and takes writes again once there is room.
async fn full_from_the_start(options: &Options, folder: &Path) -> Result<()> {
    let disk = mount(folder, "full")?;
    let log = folder.join("full.log");
    disk.image().capacity = 64 << 10;
    let data = folder.join("full/data");
    let mut server = Server::new(&options.server, &data, &log, &options.flags)?;
    server.start()?;
    let code = server.wait(READY).context("it runs without a disk")?;
    ensure!(code == Some(EXIT_IO), "the first start on a full disk: exit code {code:?}");
    let text = std::fs::read_to_string(&log)?;
    ensure!(text.contains("cannot start") && text.contains("errno 28"), "{text}");

    disk.image().capacity = 512 << 20;
    server.start()?;
    let client = server.ready(READY).await.context("a start where a first one failed")?;
    for n in 0..100 {
        put(&client, n).await.map_err(failed)?;
    }
    server.kill()?;
    let used = disk.image().used();
    disk.image().capacity = used;
    server.start()?;
    let client = server.ready(READY).await.context("a start with no byte left")?;
    holds(&client, 100).await?;
    disk.image().capacity = 512 << 20;
    let deadline = std::time::Instant::now() + Duration::from_secs(60);
    while let Err(status) = put(&client, 100).await {
        ensure!(std::time::Instant::now() < deadline, "writes are still refused: {status:?}");
        crate::wait::pause(Duration::from_millis(100)).await;
    }
    holds(&client, 101).await
}

/// The first `count` values are there.
async fn holds(client: &Client, count: u64) -> Result<()> {
    let request = RangeRequest {
        key: "e/".into(),
        range_end: "e0".into(),
        count_only: true,
        ..RangeRequest::default()
    };
    let found = client.range(&request, &call()).await.map_err(failed)?.count;
    // One more may have been written whose answer never came.
    let wanted = i64::try_from(count)?;
    ensure!(found == wanted || found == wanted + 1, "{found} of {count} values are there");
    Ok(())
}

async fn put(client: &Client, n: u64) -> Result<(), Status> {
    let key = format!("e/{n:08}").into();
    let value = "x".repeat(300).into();
    client.put(&PutRequest { key, value, ..PutRequest::default() }, &call()).await.map(drop)
}

fn call() -> Call {
    Call::within(Duration::from_secs(10))
}

fn failed(status: Status) -> anyhow::Error {
    anyhow::anyhow!("{status:?}")
}

#[expect(clippy::print_stdout, reason = "the result line of a gate")]
fn say(line: &str) {
    println!("{line}");
}
