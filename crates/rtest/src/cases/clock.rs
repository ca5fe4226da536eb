//! The wall clock jumps, for the server alone.

use super::ask::{Must, call, get, pause, put_of};
use super::lease::time_to_live;
use super::place::{Place, READY, start};
use anyhow::{Context, Result, ensure};
use client::Client;
use proto::etcdserverpb::PutRequest;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

/// Builds the library that is loaded before the server's own.
fn build(folder: &Path) -> Result<PathBuf> {
    let (source, library) = (folder.join("wall_clock.c"), folder.join("wall_clock.so"));
    std::fs::write(&source, include_str!("wall_clock.c"))?;
    let mut compiler = Command::new("cc");
    compiler.args(["-shared", "-fPIC", "-O1", "-o"]).arg(&library).arg(&source);
    let status = compiler.status().context("run cc: this case needs a C compiler")?;
    ensure!(status.success(), "cc ended with {status}");
    Ok(library)
}

/// One hour ahead, then two hours back: the lease lives as long as it is kept, and then as long
/// as it was granted.
pub(crate) async fn uc_067_the_wall_clock_moves_no_lease(place: &Place) -> Result<()> {
    const TTL: i64 = 4;
    let library = build(place.path())?;
    let shift = place.path().join("shift");
    std::fs::write(&shift, 0_i64.to_ne_bytes())?;
    let mut server = place.server(&[])?;
    server.set_env("LD_PRELOAD", &library);
    server.set_env("RTEST_WALL_CLOCK", &shift);
    let client = start(&mut server).await?;
    client.lease_grant(67, TTL, &call()).await.must("grant")?;
    let request = PutRequest { lease: 67, ..put_of("k", "v") };
    client.put(&request, &call()).await.must("put")?;
    let mut kept = Instant::now();
    for seconds in [0, 3600, -3600_i64] {
        // In place: the server sees the file's bytes, not its name.
        let file = std::fs::OpenOptions::new().write(true).open(&shift)?;
        std::os::unix::fs::FileExt::write_all_at(&file, &seconds.to_ne_bytes(), 0)?;
        for _ in 0..4 {
            pause(400).await;
            let left = time_to_live(&client, 67).await?.ttl;
            ensure!((0..=TTL).contains(&left), "{left} s are left after a jump of {seconds} s");
            kept = Instant::now();
            let answer = client.lease_keep_alive_once(67, &call()).await.must("keep alive")?;
            ensure!(answer.ttl == TTL, "kept with TTL {}", answer.ttl);
        }
    }
    expires(&client, kept, TTL).await?;
    server.terminate()?;
    server.wait(READY)?;
    // A server without the C library's clock is not moved; ours has to be, else nothing is tested.
    let minutes = minutes(&place.log_text());
    let moved = minutes.last().zip(minutes.first()).map(|(last, first)| last - first);
    let moved = moved.context("the log has no times")?.rem_euclid(24 * 60);
    let expected = 23 * 60 - 1..=23 * 60 + 2;
    ensure!(!place.is_mainstay() || expected.contains(&moved), "the log moved by {moved} min");
    Ok(())
}

/// The time left only falls, and the key is gone when it is over.
async fn expires(client: &Client, kept: Instant, ttl: i64) -> Result<()> {
    let mut last = ttl;
    while 0 <= last {
        let left = time_to_live(client, 67).await?.ttl;
        ensure!(left <= last, "the time left grew from {last} to {left}");
        last = left;
        ensure!(kept.elapsed() < Duration::from_secs(15), "the lease does not expire");
        pause(50).await;
    }
    let least = Duration::from_millis(3900);
    ensure!(least < kept.elapsed(), "gone after {:?}", kept.elapsed());
    ensure!(get(client, "k").await?.is_none(), "the key outlived its lease");
    Ok(())
}

/// The minute of the day in each log line.
fn minutes(log: &str) -> Vec<i64> {
    let minute = |line: &str| -> Option<i64> {
        let (_, time) = line.split_once(r#""ts":""#)?.1.split_once('T')?;
        let mut parts = time.split(':');
        let hour: i64 = parts.next()?.parse().ok()?;
        let minute: i64 = parts.next()?.parse().ok()?;
        Some(hour * 60 + minute)
    };
    log.lines().filter_map(minute).collect()
}
