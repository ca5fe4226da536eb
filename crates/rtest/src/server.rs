//! One server process on loopback, started and ended by its own id.

use anyhow::{Context, Result, bail, ensure};
use client::{Call, Client, Config};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// A server that can be killed and started again on its data.
#[derive(Debug)]
pub struct Server {
    program: Vec<String>,
    name: String,
    /// `--initial-cluster`; itself alone if empty.
    cluster: String,
    data: PathBuf,
    log: PathBuf,
    port: u16,
    peer_port: u16,
    extra: Vec<String>,
    env: Vec<(String, PathBuf)>,
    child: Option<Child>,
}

/// A port that was free a moment ago.
fn free_port() -> Result<u16> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?.port())
}

impl Server {
    /// A server to be: `program` is the command without flags.
    pub fn new(program: &str, data: &Path, log: &Path, extra: &[String]) -> Result<Server> {
        let program: Vec<String> = program.split_whitespace().map(str::to_string).collect();
        ensure!(!program.is_empty(), "the server's command is empty");
        Ok(Server {
            program,
            name: "one".to_string(),
            cluster: String::new(),
            data: data.to_path_buf(),
            log: log.to_path_buf(),
            port: free_port()?,
            peer_port: free_port()?,
            extra: extra.to_vec(),
            env: Vec::new(),
            child: None,
        })
    }

    /// Makes it a member of a cluster, under this name.
    pub fn join(&mut self, name: &str, cluster: &str) {
        self.name = name.to_string();
        self.cluster = cluster.to_string();
    }

    /// Its part of `--initial-cluster` under a name.
    pub fn founder(&self, name: &str) -> String {
        format!("{name}=http://{}", self.peer_address())
    }

    /// Where clients reach it.
    pub fn endpoint(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Its process id, while it runs.
    pub fn pid(&self) -> Option<u32> {
        self.child.as_ref().map(Child::id)
    }

    /// Folder of its data.
    pub fn data(&self) -> &Path {
        &self.data
    }

    /// Sets a variable of the environment of later starts.
    pub fn set_env(&mut self, name: &str, value: &Path) {
        self.env.push((name.to_string(), value.to_path_buf()));
    }

    /// Starts it; it may not serve yet.
    pub fn start(&mut self) -> Result<()> {
        ensure!(self.child.is_none(), "the server runs already");
        let log = std::fs::OpenOptions::new().create(true).append(true).open(&self.log)?;
        let url = self.endpoint();
        let peer = format!("http://{}", self.peer_address());
        let alone = self.founder(&self.name);
        let cluster = if self.cluster.is_empty() { &alone } else { &self.cluster };
        let child = Command::new(&self.program[0])
            .args(&self.program[1..])
            .arg(format!("--name={}", self.name))
            .arg(format!("--data-dir={}", self.data.display()))
            .arg(format!("--listen-client-urls={url}"))
            .arg(format!("--advertise-client-urls={url}"))
            .arg(format!("--listen-peer-urls={peer}"))
            .arg(format!("--initial-advertise-peer-urls={peer}"))
            .arg(format!("--initial-cluster={cluster}"))
            .args(&self.extra)
            .envs(self.env.clone())
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log)
            .spawn()
            .with_context(|| format!("start {}", self.program.join(" ")))?;
        self.child = Some(child);
        Ok(())
    }

    /// Waits until it answers a linearizable read.
    pub async fn ready(&mut self, patience: Duration) -> Result<Client> {
        let deadline = Instant::now() + patience;
        let client = Client::new(Config::new([self.endpoint()]))
            .map_err(|status| anyhow::anyhow!("{status:?}"))?;
        let request =
            proto::etcdserverpb::RangeRequest { key: "ready".into(), ..Default::default() };
        loop {
            if let Some(status) = self.child.as_mut().context("started")?.try_wait()? {
                bail!("the server ended by itself with {status}: see {}", self.log.display());
            }
            let call = Call::within(Duration::from_millis(500));
            let answer = client
                .unary::<_, proto::etcdserverpb::RangeResponse>(
                    "/etcdserverpb.KV/Range",
                    &request,
                    &call,
                )
                .await;
            if answer.is_ok() {
                return Ok(client);
            }
            ensure!(
                Instant::now() < deadline,
                "the server does not serve within {patience:?} ({answer:?}): see {}",
                self.log.display()
            );
            crate::wait::pause(Duration::from_millis(5)).await;
        }
    }

    /// SIGKILL.
    pub fn kill(&mut self) -> Result<()> {
        if let Some(mut child) = self.child.take() {
            child.kill().context("kill the server")?;
            child.wait()?;
        }
        Ok(())
    }

    /// SIGTERM; it is not waited for.
    pub fn terminate(&self) -> Result<()> {
        self.signal(rustix::process::Signal::TERM)
    }

    /// SIGSTOP, or SIGCONT.
    pub fn pause(&self, paused: bool) -> Result<()> {
        use rustix::process::Signal;
        self.signal(if paused { Signal::STOP } else { Signal::CONT })
    }

    fn signal(&self, signal: rustix::process::Signal) -> Result<()> {
        let pid = self.pid().context("the server is not running")?;
        let pid = i32::try_from(pid).ok().and_then(rustix::process::Pid::from_raw);
        let pid = pid.context("a process id")?;
        Ok(rustix::process::kill_process(pid, signal)?)
    }

    /// Where peers reach it.
    pub fn peer_address(&self) -> String {
        format!("127.0.0.1:{}", self.peer_port)
    }

    /// Waits for it to end by itself; its exit code.
    pub fn wait(&mut self, patience: Duration) -> Result<Option<i32>> {
        let deadline = Instant::now() + patience;
        let child = self.child.as_mut().context("the server is not running")?;
        loop {
            if let Some(status) = child.try_wait()? {
                self.child = None;
                return Ok(status.code());
            }
            ensure!(Instant::now() < deadline, "the server did not end within {patience:?}");
            std::thread::park_timeout(Duration::from_millis(5));
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // The test is over; a child that is gone already is fine.
        let _ = self.kill();
    }
}
