//! Disks that are full, slow, cut off or without some calls, through a file system of our own.

use super::ask::{Must, call, get, load, pause, put, put_of, range, range_of};
use super::place::{Place, READY, start};
use crate::dice::Dice;
use crate::disk::{Loss, Mount, Refusal};
use anyhow::{Context, Result, ensure};
use client::Code;
use std::cell::Cell;
use std::path::PathBuf;
use std::rc::Rc;
use std::time::{Duration, Instant};

/// A disk of our own and where it is mounted.
pub(crate) fn mount(place: &Place) -> Result<(Mount, PathBuf)> {
    let point = place.path().join("disk");
    std::fs::create_dir_all(&point)?;
    Ok((Mount::new(&point)?, point))
}

/// 160 MiB are filled; SIGKILL; the disk grows: the server starts and everything acknowledged is
/// there. While the disk is full puts are refused (not well, not never) and reads are served.
pub(crate) async fn uc_017_a_full_disk_loses_nothing(place: &Place) -> Result<()> {
    let (disk, point) = mount(place)?;
    disk.image().capacity = 160 << 20;
    let mut server = place.server_on(&point.join("data"), &[])?;
    let client = start(&mut server).await?;
    let mut stored = 0;
    let refusal = loop {
        match client.put(&put_of(format!("k/{stored:05}"), vec![b'v'; 200_000]), &call()).await {
            Ok(_) => stored += 1,
            Err(status) => break status,
        }
        ensure!(stored < 2000, "the disk never got full");
    };
    if place.is_mainstay() {
        let expected = "etcdserver: mvcc: database space exceeded";
        ensure!(
            refusal.code == Code::RESOURCE_EXHAUSTED && refusal.message == expected,
            "put on a full disk: {refusal:?}"
        );
        let read = get(&client, "k/00000").await.context("a read on a full disk")?;
        ensure!(read.is_some_and(|value| value.len() == 200_000), "a read on a full disk");
    }
    server.kill()?;
    disk.image().capacity = 1 << 30;
    let client = start(&mut server).await.context("start after the disk grew")?;
    for n in 0..stored {
        let value = get(&client, &format!("k/{n:05}")).await?;
        ensure!(value.is_some_and(|value| value.len() == 200_000), "value {n} is gone");
    }
    put(&client, "after", "x").await.map(|_| ())
}

/// A kill within 300 ms of the first start, half of the times with the loss of what was not synced.
pub(crate) async fn uc_023_a_crash_in_the_first_second_is_started_over(
    place: &Place,
) -> Result<()> {
    let mut dice = Dice::new(23);
    let (disk, point) = mount(place)?;
    for round in 0..24 {
        let power = round % 2 == 1;
        let folder = if power { point.clone() } else { place.path().to_path_buf() };
        let mut server = place.server_on(&folder.join(format!("data-{round}")), &[])?;
        server.start()?;
        pause(dice.below(300)).await;
        server.kill()?;
        if power {
            let loss = if dice.chance(50) { Loss::Drop } else { Loss::Tear };
            disk.image().power_loss(loss, &mut dice);
        }
        let client = start(&mut server).await.with_context(|| format!("round {round}"))?;
        put(&client, "k", "v").await.with_context(|| format!("round {round}"))?;
    }
    Ok(())
}

pub(crate) async fn uc_026_fallocate_may_be_missing_or_interrupted(place: &Place) -> Result<()> {
    for refusals in [(Refusal::Unsupported, u64::MAX), (Refusal::Interrupted, 3)] {
        let name = format!("{:?}", refusals.0);
        let point = place.path().join(&name);
        std::fs::create_dir_all(&point)?;
        let disk = Mount::new(&point)?;
        disk.image().fallocate_refusals = refusals;
        let mut server = place.server_on(&point.join("data"), &[])?;
        let client = start(&mut server).await.with_context(|| name.clone())?;
        load(&client, 1000, |n| put_of(format!("k/{n:04}"), "v")).await?;
        let asked = disk.image().fallocate_refusals.1 < refusals.1;
        ensure!(asked || !place.is_mainstay(), "{name}: fallocate was never called");
        server.kill()?;
        let client = start(&mut server).await.with_context(|| name.clone())?;
        let count = range(&client, &super::ask::prefix_of("k/")).await?.count;
        ensure!(count == 1000, "{name}: {count} of 1000 keys after the restart");
        server.kill()?;
    }
    Ok(())
}

/// With 400 ms a sync and 64 writers, linearizable reads do not wait for syncs.
pub(crate) async fn uc_153_reads_do_not_wait_for_syncs(place: &Place) -> Result<()> {
    let (disk, point) = mount(place)?;
    let mut server = place.server_on(&point.join("data"), &[])?;
    let client = start(&mut server).await?;
    disk.image().sync_delay_ms = 400;
    let ended = Rc::new(Cell::new(false));
    let mut writers = Vec::new();
    for n in 0..64 {
        let (client, ended) = (client.clone(), Rc::clone(&ended));
        writers.push(tokio::task::spawn_local(async move {
            while !ended.get() {
                put(&client, &format!("w/{n}"), vec![b'v'; 256]).await?;
            }
            anyhow::Ok(())
        }));
    }
    pause(300).await;
    let mut delays = Vec::new();
    for _ in 0..100 {
        let begin = Instant::now();
        client.range(&range_of("w/1"), &call()).await.must("read")?;
        delays.push(begin.elapsed());
        pause(10).await;
    }
    ended.set(true);
    for writer in writers {
        writer.await??;
    }
    delays.sort();
    // A read that waits for a sync takes 200 ms on average, and 400 ms if it waits for the next.
    ensure!(delays[80] < Duration::from_millis(150), "80 % of reads took up to {:?}", delays[80]);
    server.terminate()?;
    server.wait(READY)?;
    Ok(())
}
