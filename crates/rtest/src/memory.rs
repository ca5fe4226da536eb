//! Bounded memory: a server with little memory stays up whatever its clients do, and another
//! client is served all the while.

use crate::cage::Cage;
use crate::server::Server;
use crate::wait::pause;
use anyhow::{Result, anyhow, ensure};
use bytes::{BufMut, Bytes, BytesMut};
use clap::Args;
use client::{Call, Client, Config, Status};
use proto::etcdserverpb as pb;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

mod offenders;

/// Options of the gate.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// Command of the server, without flags.
    #[arg(long)]
    pub server: String,
    /// Memory of the server in MiB.
    #[arg(long, default_value_t = 1024)]
    pub mebibytes: u64,
    /// Run only the parts whose names hold this.
    #[arg(long, default_value = "")]
    pub only: String,
    /// Flags for the server, as `--flag=value`.
    #[arg(last = true)]
    pub flags: Vec<String>,
}

/// Longest that the other client should wait: printed beside what was seen.
const STALL_BAR: Duration = Duration::from_millis(500);
/// Longest that it may wait: room for a slower host, and still less than what applying half a
/// million deletes one by one takes.
const STALL_MAX: Duration = Duration::from_secs(1);
const PROBE_EVERY: Duration = Duration::from_millis(50);

/// What the other client saw.
#[derive(Default, Debug)]
struct Seen {
    /// Slowest get and put since the last look, in microseconds.
    slowest: AtomicU64,
    rounds: AtomicU64,
    stop: AtomicBool,
    /// The first failure. The mutex guards one value that is set once.
    failure: Mutex<Option<String>>,
}

/// Runs all parts, one after the other, on one server.
pub async fn run(options: Options) -> Result<()> {
    let folder = tempfile::tempdir()?;
    let log = folder.path().join("server.log");
    let data = folder.path().join("data");
    let mut server = Server::new(&options.server, &data, &log, &options.flags)?;
    server.start()?;
    server.ready(Duration::from_secs(20)).await?;
    let pid = server.pid().ok_or_else(|| anyhow!("the server is not running"))?;
    let limit = options.mebibytes * 1024 * 1024;
    let (cage, how) = Cage::around(pid, limit);
    say(&format!("memory: {how}"));
    let seen = Arc::new(Seen::default());
    let prober = spawn_prober(server.endpoint(), Arc::clone(&seen));
    for (name, part) in offenders::PARTS {
        if !name.contains(&options.only) {
            continue;
        }
        let began = Instant::now();
        seen.slowest.store(0, Ordering::Relaxed);
        let outcome = part(server.endpoint()).await?;
        server.ready(Duration::from_secs(10)).await?;
        let slowest = Duration::from_micros(seen.slowest.load(Ordering::Relaxed));
        let peak = cage.peak(pid)?;
        say(&format!(
            "memory: {name}: {outcome}; {:.1?}, peak {} MiB, others waited at most {slowest:.1?} (bar \
             {STALL_BAR:?})",
            began.elapsed(),
            peak >> 20
        ));
        if let Some(failure) = &*seen.failure.lock().unwrap_or_else(PoisonError::into_inner) {
            return Err(anyhow!("{name}: another client's request failed: {failure}"));
        }
        ensure!(slowest <= STALL_MAX, "{name}: another client waited for {slowest:?}");
        ensure!(peak <= limit, "{name}: {peak} bytes were used");
    }
    seen.stop.store(true, Ordering::Relaxed);
    prober.join().map_err(|_| anyhow!("the other client panicked"))?;
    say(&format!("memory: the other client made {} rounds", seen.rounds.load(Ordering::Relaxed)));
    server.kill()
}

/// The other client has a thread of its own: what the offenders cost here must not slow it.
fn spawn_prober(endpoint: String, seen: Arc<Seen>) -> std::thread::JoinHandle<()> {
    std::thread::spawn(move || {
        let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_all().build() else {
            return;
        };
        let local = tokio::task::LocalSet::new();
        if let Err(error) = local.block_on(&runtime, probe(&endpoint, &seen)) {
            let mut failure = seen.failure.lock().unwrap_or_else(PoisonError::into_inner);
            *failure = Some(format!("{error:#}"));
        }
    })
}

async fn probe(endpoint: &str, seen: &Seen) -> Result<()> {
    let client = connect(endpoint)?;
    while !seen.stop.load(Ordering::Relaxed) {
        for _ in 0..2 {
            let began = Instant::now();
            let call = Call::within(Duration::from_secs(10));
            if seen.rounds.fetch_add(1, Ordering::Relaxed).is_multiple_of(2) {
                let request = pb::RangeRequest { key: "probe".into(), ..Default::default() };
                client.range(&request, &call).await.map_err(failed)?;
            } else {
                put(&client, "probe", 16, &call).await.map_err(failed)?;
            }
            let took = u64::try_from(began.elapsed().as_micros()).unwrap_or(u64::MAX);
            seen.slowest.fetch_max(took, Ordering::Relaxed);
        }
        pause(PROBE_EVERY).await;
    }
    Ok(())
}

fn connect(endpoint: &str) -> Result<Client> {
    let config = Config { stream_window_bytes: 65_535, ..Config::new([endpoint]) };
    Client::new(config).map_err(failed)
}

fn failed(status: Status) -> anyhow::Error {
    anyhow!("{status:?}")
}

async fn put(client: &Client, key: &str, bytes: usize, call: &Call) -> Result<(), Status> {
    let request = pb::PutRequest {
        key: key.to_string().into(),
        value: vec![b'x'; bytes].into(),
        ..Default::default()
    };
    client.put(&request, call).await.map(drop)
}

/// A message with its five bytes before it.
fn frame(message: &[u8], out: &mut BytesMut) {
    out.put_u8(0);
    out.put_u32(u32::try_from(message.len()).unwrap_or(u32::MAX));
    out.put_slice(message);
}

/// A transaction nested as deep as fits into `bytes_max`.
fn nested(bytes_max: usize) -> (Bytes, u64) {
    const SUCCESS: u8 = 2 << 3 | 2;
    const REQUEST_TXN: u8 = 4 << 3 | 2;
    let (mut reversed, mut depth) = (Vec::new(), 0);
    while reversed.len() + 16 < bytes_max {
        for tag in [REQUEST_TXN, SUCCESS] {
            let mut length = reversed.len();
            let mut varint = Vec::new();
            while 0x80 <= length {
                varint.push((length & 0x7f) as u8 | 0x80);
                length >>= 7;
            }
            varint.push(length as u8);
            reversed.extend(varint.iter().rev());
            reversed.push(tag);
        }
        depth += 1;
    }
    reversed.reverse();
    (reversed.into(), depth)
}

#[expect(clippy::print_stdout, reason = "the result lines of a gate")]
fn say(line: &str) {
    println!("{line}");
}
