//! The processes of one cluster on loopback.

use super::probe::Probe;
use crate::server::Server;
use anyhow::{Context, Result, ensure};
use client::{Call, Client, Config};
use proto::etcdserverpb::RangeRequest;
use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::rc::Rc;
use std::time::{Duration, Instant};

/// Patience with one question.
const PATIENCE: Duration = Duration::from_secs(10);

/// What a member serves: keys with values and revisions, the store's revision, leases.
pub(super) type Served = (BTreeMap<String, (String, i64)>, i64, BTreeSet<i64>);

/// Members by place.
pub struct Members {
    servers: Vec<Server>,
}

fn failed(status: client::Status) -> anyhow::Error {
    anyhow::anyhow!("{status:?}")
}

impl Members {
    /// Members that were not started yet.
    pub fn new(program: &str, count: usize, folder: &Path, flags: &[String]) -> Result<Members> {
        let mut servers = Vec::new();
        for at in 0..count {
            let (data, log) = (folder.join(format!("m{at}")), folder.join(format!("m{at}.log")));
            servers.push(Server::new(program, &data, &log, flags)?);
        }
        let founders: Vec<String> =
            servers.iter().enumerate().map(|(at, one)| one.founder(&format!("m{at}"))).collect();
        for (at, server) in servers.iter_mut().enumerate() {
            server.join(&format!("m{at}"), &founders.join(","));
        }
        Ok(Members { servers })
    }

    /// How many.
    pub fn len(&self) -> usize {
        self.servers.len()
    }

    /// One of them.
    pub fn server(&mut self, at: usize) -> &mut Server {
        &mut self.servers[at]
    }

    /// Starts those that do not run.
    pub fn start_all(&mut self) -> Result<()> {
        for server in self.servers.iter_mut().filter(|server| server.pid().is_none()) {
            server.start()?;
        }
        Ok(())
    }

    /// Waits until each answers a linearizable read.
    pub async fn ready(&mut self, patience: Duration) -> Result<()> {
        for (at, server) in self.servers.iter_mut().enumerate() {
            server.ready(patience).await.with_context(|| format!("member m{at}"))?;
        }
        Ok(())
    }

    /// A client of one member.
    pub fn client(&self, at: usize) -> Result<Client> {
        Client::new(Config::new([self.servers[at].endpoint()])).map_err(failed)
    }

    /// Writes without a break at every member.
    pub fn start_probes(&self, stop: &Rc<Cell<bool>>) -> Result<Vec<Probe>> {
        let start = |at| Ok(Probe::start(self.client(at)?, at, Rc::clone(stop)));
        (0..self.len()).map(start).collect()
    }

    /// Who leads.
    pub async fn leader(&self) -> Result<usize> {
        let deadline = Instant::now() + PATIENCE;
        while Instant::now() < deadline {
            for at in 0..self.len() {
                let call = Call::within(Duration::from_millis(500));
                let answer = self.client(at)?.status(&call).await;
                let Ok(status) = answer else { continue };
                let member = status.header.map_or(0, |header| header.member_id);
                if status.leader != 0 && status.leader == member {
                    return Ok(at);
                }
            }
        }
        anyhow::bail!("nobody leads within {PATIENCE:?}")
    }

    /// Everything that writers wrote, as one member serves it.
    pub async fn read(&self, at: usize) -> Result<Served> {
        let client = self.client(at)?;
        let call = Call::within(PATIENCE);
        let request =
            RangeRequest { key: "w/".into(), range_end: "w0".into(), ..RangeRequest::default() };
        let answer = client.range(&request, &call).await.map_err(failed)?;
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let served = answer
            .kvs
            .iter()
            .map(|kv| (text(&kv.key), (text(&kv.value), kv.mod_revision)))
            .collect();
        let leases = client.lease_list(&call).await.map_err(failed)?;
        let leases = leases.leases.iter().map(|lease| lease.id).collect();
        Ok((served, answer.header.unwrap_or_default().revision, leases))
    }

    /// All members have the same hash of the keyspace at a revision.
    pub async fn same_hashes(&self, revision: i64) -> Result<()> {
        let mut hashes = BTreeMap::new();
        for at in 0..self.len() {
            let call = Call::within(PATIENCE);
            let client = self.client(at)?;
            let answer = client.hash_kv(revision, &call).await.map_err(failed);
            let answer = answer.with_context(|| format!("member m{at}"))?;
            hashes.insert(at, (answer.hash, answer.compact_revision));
        }
        let first = hashes.get(&0);
        ensure!(
            hashes.values().all(|hash| Some(hash) == first),
            "hashes at revision {revision} differ: {hashes:?}"
        );
        Ok(())
    }
}
