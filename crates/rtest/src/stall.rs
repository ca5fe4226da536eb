//! A disk that stalls in sync: no write is answered well, reads go on. Afterwards what waited is
//! answered or its outcome is known, and the member serves.

use crate::disk::Mount;
use crate::server::Server;
use anyhow::{Result, ensure};
use clap::Args;
use client::{Call, Client, Status};
use proto::etcdserverpb::{PutRequest, RangeRequest};
use std::cell::Cell;
use std::rc::Rc;
use std::time::{Duration, Instant};

/// Options of the gate.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// Command of the server, without flags.
    #[arg(long)]
    pub server: String,
    /// Seconds that the disk stalls.
    #[arg(long, default_value_t = 60)]
    pub seconds: u64,
    /// Flags for the server, as `--flag=value`.
    #[arg(last = true)]
    pub flags: Vec<String>,
}

/// Longest a read may take while the disk stalls.
const READ_MAX: Duration = Duration::from_millis(500);

/// Runs the stall.
pub async fn run(options: Options) -> Result<()> {
    let folder = tempfile::tempdir()?;
    let point = folder.path().join("disk");
    std::fs::create_dir_all(&point)?;
    let disk = Mount::new(&point)?;
    let log = folder.path().join("server.log");
    let mut server = Server::new(&options.server, &point.join("data"), &log, &options.flags)?;
    server.start()?;
    let client = server.ready(Duration::from_secs(20)).await?;
    for n in 0..50 {
        put(&client, n, Duration::from_secs(5)).await.map_err(|s| anyhow::anyhow!("{s:?}"))?;
    }
    disk.stall();
    let answered = Rc::new(Cell::new(0));
    let mut writers = Vec::new();
    for n in 100..108 {
        let (client, answered) = (client.clone(), Rc::clone(&answered));
        writers.push(tokio::task::spawn_local(async move {
            let patience = Duration::from_secs(300);
            while put(&client, n, patience).await.is_err() {
                tokio::task::yield_now().await;
            }
            answered.set(answered.get() + 1);
        }));
    }
    let (reads, slowest) = read_while_stalled(&client, &disk, &answered, options.seconds).await?;
    disk.release();
    let deadline = Instant::now() + Duration::from_secs(30);
    while answered.get() < writers.len() {
        ensure!(Instant::now() < deadline, "writes do not go on after the stall");
        crate::wait::pause(Duration::from_millis(20)).await;
    }
    say(&format!(
        "stall: {} s, {reads} reads, slowest {slowest:?}, no write answered; then all answered",
        options.seconds
    ));
    Ok(())
}

async fn read_while_stalled(
    client: &Client,
    disk: &Mount,
    answered: &Cell<usize>,
    seconds: u64,
) -> Result<(u64, Duration)> {
    let end = Instant::now() + Duration::from_secs(seconds);
    let deadline = Instant::now() + Duration::from_secs(5);
    while disk.waiting() == 0 {
        ensure!(Instant::now() < deadline, "no sync was asked for: the stall tests nothing");
        crate::wait::pause(Duration::from_millis(5)).await;
    }
    let (mut reads, mut slowest) = (0, Duration::ZERO);
    while Instant::now() < end {
        for serializable in [false, true] {
            let begin = Instant::now();
            let request =
                RangeRequest { key: "s/1".into(), serializable, ..RangeRequest::default() };
            let call = Call { timeout: Some(Duration::from_secs(5)), ..Call::default() };
            let answer = client.range(&request, &call).await;
            ensure!(
                answer.as_ref().is_ok_and(|answer| answer.count == 1),
                "a read failed while the disk stalls: {answer:?}"
            );
            slowest = slowest.max(begin.elapsed());
            reads += 1;
        }
        ensure!(answered.get() == 0, "a write was answered while its sync had not returned");
        crate::wait::pause(Duration::from_millis(20)).await;
    }
    ensure!(slowest <= READ_MAX, "a read took {slowest:?} while the disk stalled");
    Ok((reads, slowest))
}

async fn put(client: &Client, n: u64, patience: Duration) -> Result<(), Status> {
    let request = PutRequest {
        key: format!("s/{n}").into(),
        value: "x".repeat(100).into(),
        ..PutRequest::default()
    };
    let call = Call { timeout: Some(patience), ..Call::default() };
    client.put(&request, &call).await.map(|_| ())
}

#[expect(clippy::print_stdout, reason = "the result line of a gate")]
fn say(line: &str) {
    println!("{line}");
}
