//! SIGKILL under 8 writers, round after round: everything acknowledged is there afterwards. With
//! a disk of our own, the kill is a loss of power as well: what was not synced is gone or torn.

use crate::dice::Dice;
use crate::disk::{Loss, Mount};
use crate::recorder::Recorder;
use crate::server::Server;
use crate::watching::Watched;
use crate::writer::Writer;
use anyhow::{Context, Result, ensure};
use clap::Args;
use client::{Call, Client};
use proto::etcdserverpb::RangeRequest;
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::Duration;

/// Options of the gate.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// Command of the server, without flags: `target/release/mainstay serve`.
    #[arg(long)]
    pub server: String,
    /// Kills.
    #[arg(long, default_value_t = 300)]
    pub rounds: u64,
    /// Seed of the writers' choices and of the moments of the kills.
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Put the data on a disk that loses or tears what was not synced.
    #[arg(long)]
    pub power: bool,
    /// Milliseconds that each sync of that disk takes: widens the moment between write and sync.
    #[arg(long, default_value_t = 2)]
    pub sync_ms: u64,
    /// Flags for the server, as `--flag=value`.
    #[arg(last = true)]
    pub flags: Vec<String>,
}

const WRITERS: u64 = 8;
const READY: Duration = Duration::from_secs(30);

/// Runs the rounds and fails with everything that contradicts the record.
pub async fn run(options: Options) -> Result<()> {
    let folder = tempfile::tempdir()?;
    let disk = if options.power { Some(Mount::new(&mount_point(folder.path())?)?) } else { None };
    if let Some(disk) = &disk {
        disk.image().sync_delay_ms = options.sync_ms;
    }
    let data = mount_point(folder.path())?.join("data");
    let log = folder.path().join("server.log");
    let mut server = Server::new(&options.server, &data, &log, &options.flags)?;
    let recorder = Rc::new(RefCell::new(Recorder::default()));
    let mut watched = Watched::new();
    let mut dice = Dice::new(options.seed);
    for round in 0..options.rounds {
        server.start()?;
        let client = server.ready(READY).await.with_context(|| format!("round {round}"))?;
        verify(&client, &recorder, &mut watched).await.with_context(|| format!("round {round}"))?;
        fail_on_violations(&recorder, round, &log)?;
        let before = recorder.borrow().acknowledged;
        write_and_kill(&mut server, &client, &recorder, &mut dice, before).await?;
        if let Some(disk) = &disk {
            let loss = if dice.chance(50) { Loss::Drop } else { Loss::Tear };
            disk.image().power_loss(loss, &mut dice);
        }
    }
    server.start()?;
    let client = server.ready(READY).await?;
    verify(&client, &recorder, &mut watched).await?;
    watched.judge(&mut recorder.borrow_mut());
    fail_on_violations(&recorder, options.rounds, &log)?;
    let recorder = recorder.borrow();
    ensure!(
        options.rounds * 20 <= recorder.acknowledged,
        "only {} writes were acknowledged: the rounds tested nothing",
        recorder.acknowledged
    );
    say(&format!(
        "{}: {} rounds, {} acknowledged, {} unknown outcomes, {} events, 0 violations",
        if options.power { "power loss" } else { "kill" },
        options.rounds,
        recorder.acknowledged,
        recorder.unknown,
        watched.changes.len()
    ));
    Ok(())
}

/// The folder that data lies in, and that a disk is mounted on.
fn mount_point(folder: &Path) -> Result<PathBuf> {
    let path = folder.join("disk");
    std::fs::create_dir_all(&path)?;
    Ok(path)
}

/// Lets 8 writers write for a moment and kills the server under them.
async fn write_and_kill(
    server: &mut Server,
    client: &Client,
    recorder: &Rc<RefCell<Recorder>>,
    dice: &mut Dice,
    before: u64,
) -> Result<()> {
    let stop = Rc::new(Cell::new(false));
    let mut writers = Vec::new();
    for number in 0..WRITERS {
        let writer = Writer {
            number,
            client: client.clone(),
            recorder: Rc::clone(recorder),
            stop: Rc::clone(&stop),
            dice: Dice::new(dice.draw()),
            retired: None,
        };
        writers.push(tokio::task::spawn_local(writer.run()));
    }
    // At least some writes, then a random moment.
    let enough = 20 + dice.below(100);
    let deadline = std::time::Instant::now() + Duration::from_secs(20);
    while recorder.borrow().acknowledged < before + enough {
        ensure!(std::time::Instant::now() < deadline, "the writers do not get on");
        ensure!(writers.iter().any(|writer| !writer.is_finished()), "all writers ended early");
        crate::wait::pause(Duration::from_millis(1)).await;
    }
    crate::wait::pause(Duration::from_micros(dice.below(150_000))).await;
    server.kill()?;
    stop.set(true);
    for writer in writers {
        writer.await?;
    }
    Ok(())
}

/// Reads everything and holds it against the record.
async fn verify(
    client: &Client,
    recorder: &Rc<RefCell<Recorder>>,
    watched: &mut Watched,
) -> Result<()> {
    let call = Call::within(Duration::from_secs(10));
    let request =
        RangeRequest { key: "w/".into(), range_end: "w0".into(), ..RangeRequest::default() };
    let answer = client.range(&request, &call).await.map_err(|s| anyhow::anyhow!("{s:?}"))?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let served: BTreeMap<_, _> =
        answer.kvs.iter().map(|kv| (text(&kv.key), (text(&kv.value), kv.mod_revision))).collect();
    let revision = answer.header.unwrap_or_default().revision;
    let leases = client.lease_list(&call).await.map_err(|s| anyhow::anyhow!("{s:?}"))?;
    let leases: BTreeSet<i64> = leases.leases.iter().map(|lease| lease.id).collect();
    recorder.borrow_mut().settle(&served, revision);
    recorder.borrow_mut().settle_leases(&leases);
    watched.catch_up(client, revision).await
}

fn fail_on_violations(recorder: &Rc<RefCell<Recorder>>, round: u64, log: &Path) -> Result<()> {
    let recorder = recorder.borrow();
    if !recorder.violations.is_empty() {
        let text = recorder.violations.join("\n  ");
        let tail = std::fs::read_to_string(log).unwrap_or_default();
        let tail: Vec<&str> = tail.lines().rev().take(20).collect();
        let tail: Vec<&str> = tail.into_iter().rev().collect();
        anyhow::bail!("round {round}:\n  {text}\nthe server's last lines:\n{}", tail.join("\n"));
    }
    Ok(())
}

#[expect(clippy::print_stdout, reason = "the result line of a gate")]
fn say(line: &str) {
    println!("{line}");
}
