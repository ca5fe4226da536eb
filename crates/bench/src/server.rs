//! The process under test: started on a core of its own, with a fresh data directory.

use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use client::{Call, Client, Config, Conn, Endpoint};
use proto::etcdserverpb::RangeRequest;
use rustix::thread::{CpuSet, sched_setaffinity};

use crate::cli::Options;
use crate::procfs::Counters;

/// Longest time until a started server answers.
const START_MAX: Duration = Duration::from_secs(120);
/// Backend quota: above what the longest row writes.
const QUOTA_BYTES: u64 = 64 << 30;

/// A running server.
#[derive(Debug)]
pub(crate) struct Server {
    command: String,
    child: Child,
    directory: PathBuf,
    client_port: u16,
    peer_port: u16,
}

impl Server {
    /// Starts a server on an empty data directory and waits until it answers.
    pub(crate) async fn start(command: &str, options: &Options) -> Result<Server> {
        let (client_port, peer_port) = (free_port()?, free_port()?);
        let name = format!("bench-data-{}-{client_port}", std::process::id());
        let directory = options.dir.join(name);
        fs::create_dir_all(&directory)
            .with_context(|| format!("create {}", directory.display()))?;
        let mut server = Server {
            command: command.to_owned(),
            child: spawn(command, &directory, client_port, peer_port, options)?,
            directory,
            client_port,
            peer_port,
        };
        server.wait_ready().await?;
        Ok(server)
    }

    /// `host:port` for clients.
    pub(crate) fn address(&self) -> String {
        format!("127.0.0.1:{}", self.client_port)
    }

    /// What the kernel has counted for it.
    pub(crate) fn counters(&self) -> Result<Counters> {
        Counters::read(self.child.id())
    }

    /// A client of it.
    pub(crate) fn client(&self) -> Result<Client> {
        Ok(Client::new(Config::new([self.address()]))?)
    }

    /// Connections for load.
    pub(crate) async fn connections(&self, count: usize) -> Result<Vec<Conn>> {
        let endpoint = Endpoint::parse(&self.address())?;
        let config = Config { dial_timeout: Duration::from_secs(10), ..Config::default() };
        let mut conns = Vec::with_capacity(count);
        for _ in 0..count {
            conns.push(Conn::dial(&endpoint, &config).await?);
        }
        Ok(conns)
    }

    /// Kills it with SIGKILL, starts it again on the same data, and returns the time from the
    /// kill to the first linearizable read.
    pub(crate) async fn kill_and_restart(&mut self, options: &Options) -> Result<Duration> {
        let start = Instant::now();
        self.child.kill().context("kill the server")?;
        self.child.wait().context("wait for the server")?;
        let (client, peer) = (self.client_port, self.peer_port);
        self.child = spawn(&self.command, &self.directory, client, peer, options)?;
        self.wait_ready().await?;
        Ok(start.elapsed())
    }

    /// Waits for the first linearizable read that is answered.
    async fn wait_ready(&mut self) -> Result<()> {
        let deadline = Instant::now() + START_MAX;
        let request = RangeRequest { key: "health".into(), ..RangeRequest::default() };
        loop {
            let client = self.client()?;
            let call = Call { timeout: Some(Duration::from_secs(5)), ..Call::default() };
            match client.range(&request, &call).await {
                Ok(_) => return Ok(()),
                Err(status) => {
                    if let Some(exit) = self.child.try_wait()? {
                        bail!("{} ended while starting: {exit}\n{}", self.command, self.log());
                    }
                    ensure!(Instant::now() < deadline, "not ready: {status}\n{}", self.log());
                }
            }
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    }

    /// The end of its log.
    fn log(&self) -> String {
        let text = fs::read(self.directory.join("log")).unwrap_or_default();
        let text = String::from_utf8_lossy(&text).into_owned();
        let start = text.char_indices().rev().nth(2000).map_or(0, |(at, _)| at);
        text[start..].to_owned()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended already; the directory is ours alone.
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = fs::remove_dir_all(&self.directory);
    }
}

fn spawn(
    command: &str,
    directory: &Path,
    client_port: u16,
    peer_port: u16,
    options: &Options,
) -> Result<Child> {
    let mut words = command.split_whitespace();
    let program = words.next().context("the server's command is empty")?;
    let client = format!("http://127.0.0.1:{client_port}");
    let peer = format!("http://127.0.0.1:{peer_port}");
    let log = fs::OpenOptions::new().create(true).append(true).open(directory.join("log"))?;
    // Threads inherit the core of the one that starts them, so this process goes there first.
    pin(options.server_core)?;
    let child = Command::new(program)
        .args(words)
        .arg("--data-dir")
        .arg(directory.join("data"))
        .args(["--listen-client-urls", &client, "--advertise-client-urls", &client])
        .args(["--listen-peer-urls", &peer, "--initial-advertise-peer-urls", &peer])
        .args(["--initial-cluster", &format!("default={peer}"), "--log-level", "error"])
        .args(["--quota-backend-bytes", &QUOTA_BYTES.to_string()])
        .env("GOMAXPROCS", "1")
        .stdin(Stdio::null())
        .stdout(log.try_clone()?)
        .stderr(log)
        .spawn()
        .with_context(|| format!("start {program}"));
    pin(options.client_core)?;
    child
}

/// Binds this thread to a core; a machine with fewer cores keeps its default.
fn pin(core: usize) -> Result<()> {
    let count = std::thread::available_parallelism().map_or(1, usize::from);
    let is_there = Path::new(&format!("/sys/devices/system/cpu/cpu{core}")).exists();
    if !is_there {
        ensure!(count == 1, "there is no core {core}");
        return Ok(());
    }
    let mut set = CpuSet::new();
    set.set(core);
    sched_setaffinity(None, &set).with_context(|| format!("bind to core {core}"))
}

fn free_port() -> Result<u16> {
    Ok(TcpListener::bind("127.0.0.1:0").context("find a free port")?.local_addr()?.port())
}
