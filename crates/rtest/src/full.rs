//! A full disk: new writes are refused with etcd's error, reads go on, deletes and compaction are
//! served, a restart works, and the state ends by itself when there is room (RP-5).

use crate::disk::Mount;
use crate::server::Server;
use anyhow::{Context, Result, ensure};
use clap::Args;
use client::{Call, Client, Code, Status};
use proto::etcdserverpb::{CompactionRequest, DeleteRangeRequest, PutRequest, RangeRequest};
use std::time::{Duration, Instant};

/// Options of the gate.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// Command of the server, without flags.
    #[arg(long)]
    pub server: String,
    /// Size of the disk in MiB.
    #[arg(long, default_value_t = 96)]
    pub mib: u64,
    /// Times that it gets full.
    #[arg(long, default_value_t = 5)]
    pub rounds: u64,
    /// Flags for the server, as `--flag=value`.
    #[arg(last = true)]
    pub flags: Vec<String>,
}

const NO_SPACE: &str = "etcdserver: mvcc: database space exceeded";
const VALUE_BYTES: usize = 200_000;

/// Fills the disk and makes room again.
pub async fn run(options: Options) -> Result<()> {
    let folder = tempfile::tempdir()?;
    let point = folder.path().join("disk");
    std::fs::create_dir_all(&point)?;
    let disk = Mount::new(&point)?;
    disk.image().capacity = options.mib << 20;
    let log = folder.path().join("server.log");
    let mut server = Server::new(&options.server, &point.join("data"), &log, &options.flags)?;
    server.start()?;
    let client = server.ready(Duration::from_secs(20)).await?;

    let mut filled = Vec::new();
    let mut client = client;
    for round in 1..=options.rounds {
        let told = || format!("round {round}; log {}", log.display());
        let stored = fill(&client).await.with_context(told)?;
        client = full_once(&mut server, &client, stored).await.with_context(told)?;
        filled.push(stored);
        // What is deleted and compacted is room again, in every round.
        ensure!(filled[0] / 2 < stored, "{filled:?} values found room, round after round");
    }
    let stored = filled[0];
    let more = fill(&client).await.context("fill again")?;
    ensure!(0 < more, "nothing could be written after space was made");
    disk.image().capacity = 4 * (options.mib << 20);
    recovers(&client, stored + 2).await.context("after the disk grew")?;
    say(&format!(
        "full disk: {filled:?} values of {VALUE_BYTES} bytes on {} MiB, each time refused, \
         restarted, made room; then {more}, and it ended by itself when the disk grew",
        options.mib
    ));
    Ok(())
}

/// Reads, a restart, deletes and compaction on a full disk that holds `stored` values; then writes
/// are taken again. Returns a client of the restarted server.
async fn full_once(server: &mut Server, client: &Client, stored: u64) -> Result<Client> {
    served(client, stored).await.context("reads on a full disk")?;
    server.kill()?;
    server.start()?;
    let client = server.ready(Duration::from_secs(20)).await.context("restart on a full disk")?;
    served(&client, stored).await.context("everything acknowledged is there after the restart")?;
    let revision = delete(&client, stored + 1).await.context("deletes on a full disk")?;
    compact(&client, revision).await.context("compaction on a full disk")?;
    recovers(&client, stored + 1).await.context("after deletes and compaction")?;
    Ok(client)
}

fn call() -> Call {
    Call { timeout: Some(Duration::from_secs(10)), ..Call::default() }
}

async fn put(client: &Client, n: u64) -> Result<(), Status> {
    let request = PutRequest {
        key: format!("f/{n:06}").into(),
        value: "x".repeat(VALUE_BYTES).into(),
        ..PutRequest::default()
    };
    client.put(&request, &call()).await.map(|_| ())
}

/// Puts until the first refusal, which must be etcd's; the number that was acknowledged.
async fn fill(client: &Client) -> Result<u64> {
    for n in 0..100_000 {
        match put(client, n).await {
            Ok(()) => {}
            Err(status) => {
                ensure!(
                    status.code == Code::RESOURCE_EXHAUSTED && status.message == NO_SPACE,
                    "put {n} was refused with {status:?}"
                );
                return Ok(n);
            }
        }
    }
    anyhow::bail!("the disk never got full")
}

async fn served(client: &Client, stored: u64) -> Result<()> {
    for n in 0..stored {
        let request = RangeRequest { key: format!("f/{n:06}").into(), ..RangeRequest::default() };
        let answer = client.range(&request, &call()).await.map_err(failed)?;
        let len = answer.kvs.first().map_or(0, |kv| kv.value.len());
        ensure!(len == VALUE_BYTES, "value {n} has {len} bytes");
    }
    Ok(())
}

async fn delete(client: &Client, count: u64) -> Result<i64> {
    let mut revision = 0;
    for n in 0..count {
        let request =
            DeleteRangeRequest { key: format!("f/{n:06}").into(), ..DeleteRangeRequest::default() };
        let answer = client.delete_range(&request, &call()).await.map_err(failed)?;
        revision = answer.header.unwrap_or_default().revision;
    }
    Ok(revision)
}

async fn compact(client: &Client, revision: i64) -> Result<()> {
    let request = CompactionRequest { revision, physical: true };
    client.compact(&request, &call()).await.map_err(failed)?;
    Ok(())
}

/// Waits until a put is taken again.
async fn recovers(client: &Client, n: u64) -> Result<()> {
    let deadline = Instant::now() + Duration::from_secs(30);
    loop {
        match put(client, n).await {
            Ok(()) => return Ok(()),
            Err(status) => ensure!(Instant::now() < deadline, "puts are still refused: {status:?}"),
        }
        crate::wait::pause(Duration::from_millis(100)).await;
    }
}

fn failed(status: Status) -> anyhow::Error {
    anyhow::anyhow!("{status:?}")
}

#[expect(clippy::print_stdout, reason = "the result line of a gate")]
fn say(line: &str) {
    println!("{line}");
}
