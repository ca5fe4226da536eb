//! Files that were damaged while the server was down: repaired or refused, never served wrong.

use super::ask::{Must, call, get, load, put, put_of, range_of};
use super::place::{Place, READY, start};
use super::process::{copy, files};
use super::space::noise;
use crate::dice::Dice;
use crate::server::Server;
use anyhow::{Context, Result, ensure};
use client::Client;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// The segments of the log, oldest first.
fn segments(data: &Path) -> Result<Vec<PathBuf>> {
    let mut found: Vec<PathBuf> = files(data)?.into_iter().map(|(path, _)| path).collect();
    found.retain(|path| path.extension().is_some_and(|extension| extension == "wal"));
    found.sort();
    Ok(found)
}

/// The largest file outside of the log.
fn store_file(data: &Path) -> Result<PathBuf> {
    let mut files = files(data)?.into_iter().map(|(path, _)| path);
    let is_store = |path: &PathBuf| !path.components().any(|part| part.as_os_str() == "wal");
    files.find(is_store).context("no file outside of the log")
}

fn flip(path: &Path, offset: u64) -> Result<()> {
    let file = std::fs::OpenOptions::new().read(true).write(true).open(path)?;
    let mut byte = [0];
    file.read_exact_at(&mut byte, offset)?;
    file.write_all_at(&[byte[0] ^ 0x10], offset)?;
    file.sync_all().context("sync the damage")
}

/// Starts a server on damaged data; its exit code, which must come.
fn refuses(server: &mut Server) -> Result<i32> {
    server.start()?;
    let code = server.wait(READY).context("the server runs on damaged data")?;
    code.context("a signal ended the server")
}

/// Damage in an early batch of the log, with later ones after it.
pub(crate) async fn uc_020_damage_within_the_log_is_refused(place: &Place) -> Result<()> {
    let (mut server, client) = place.serve(&["--snapshot-count=100000"]).await?;
    load(&client, 200, |n| put_of(format!("k/{n:04}"), vec![b'v'; 200_000])).await?;
    server.kill()?;
    let first = segments(server.data())?.into_iter().next().context("a segment")?;
    flip(&first, 4 << 20)?;
    let code = refuses(&mut server)?;
    ensure!(code != 0, "exit code 0");
    let log = place.log_text();
    let name = first.file_name().and_then(|name| name.to_str()).context("a name")?;
    ensure!(log.contains(name), "the log does not name {name}");
    ensure!(!place.is_mainstay() || code == 65, "exit code {code}");
    ensure!(!place.is_mainstay() || log.contains("offset"), "the log names no offset");
    Ok(())
}

/// The last batch of the log ends anywhere. Our segments are zeros after their end, so a cut is
/// zeros there; etcd's own log is made shorter.
pub(crate) async fn uc_021_the_last_record_may_be_cut_anywhere(place: &Place) -> Result<()> {
    let (mut server, client) = place.serve(&[]).await?;
    for n in 0..50 {
        put(&client, &format!("k/{n:02}"), format!("value of {n}")).await?;
    }
    server.kill()?;
    let last = segments(server.data())?.pop().context("a segment")?;
    let last = last.strip_prefix(server.data())?;
    let bytes = std::fs::read(server.data().join(last))?;
    let end = bytes.iter().rposition(|byte| *byte != 0).context("the log is empty")? + 1;
    let begin = if place.is_mainstay() { (end - 1) & !4095 } else { end - 24 };
    for step in 0..12 {
        let length = begin + (end - begin) * step / 12;
        let data = place.path().join(format!("cut-{step}"));
        copy(server.data(), &data)?;
        let file = std::fs::OpenOptions::new().write(true).open(data.join(last))?;
        file.set_len(u64::try_from(length)?)?;
        if place.is_mainstay() {
            file.set_len(u64::try_from(bytes.len())?)?;
        }
        let mut cut = place.server_on(&data, &[])?;
        let client = start(&mut cut).await.with_context(|| format!("cut at {length} of {end}"))?;
        for n in 0..49 {
            let value = get(&client, &format!("k/{n:02}")).await?;
            let expected = Some(format!("value of {n}").into());
            ensure!(value == expected, "cut at {length} of {end}: value {n} is {value:?}");
        }
        put(&client, "after", "x").await?;
    }
    Ok(())
}

/// A flipped byte or a zeroed page among what is written: an error, or what was stored.
pub(crate) async fn uc_024_damage_is_never_served(place: &Place) -> Result<()> {
    let (mut server, client) = place.serve(&["--snapshot-count=100"]).await?;
    load(&client, 500, |n| put_of(format!("k/{n:03}"), noise(n))).await?;
    // Writes down what is still in memory.
    client.defragment(&call()).await.must("defragment")?;
    server.terminate()?;
    server.wait(READY)?;
    let mut dice = Dice::new(24);
    let mut refusals = 0;
    for seed in 0..12 {
        let data = place.path().join(format!("damaged-{seed}"));
        copy(server.data(), &data)?;
        let what = damage(&data, &mut dice)?;
        let mut damaged = place.server_on(&data, &[])?;
        damaged.start()?;
        match damaged.ready(READY).await {
            Ok(client) => serves_right(&client).await.context(what)?,
            Err(_) => {
                let code = damaged.wait(READY).with_context(|| what.clone())?;
                ensure!(code.is_some_and(|code| code != 0), "{what}: ended with {code:?}");
                refusals += 1;
            }
        }
        std::fs::remove_dir_all(&data)?;
    }
    ensure!(3 <= refusals, "only {refusals} of 12 damages were found: they hit nothing");
    Ok(())
}

/// Damages one place that is not zero, in any file; says where.
fn damage(data: &Path, dice: &mut Dice) -> Result<String> {
    let mut written = Vec::new();
    for (path, size) in files(data)? {
        let bytes = std::fs::read(&path)?;
        let pages = (0_u64..).step_by(4096).zip(bytes.chunks(4096));
        let pages = pages.filter(|(_, page)| page.iter().any(|byte| *byte != 0));
        written.extend(pages.map(|(page, _)| (path.clone(), page, size)));
    }
    let drawn = dice.below(u64::try_from(written.len())?);
    let (path, page, size) = &written[usize::try_from(drawn)?];
    if dice.chance(50) {
        let offset = page + dice.below((size - page).min(4096));
        flip(path, offset)?;
        return Ok(format!("{}: byte {offset} of {size} is flipped", path.display()));
    }
    let length = usize::try_from((size - page).min(4096))?;
    let file = std::fs::OpenOptions::new().write(true).open(path)?;
    file.write_all_at(&[0; 4096][..length], *page)?;
    Ok(format!("{}: the page at {page} of {size} is zeroed", path.display()))
}

/// Every read is an error or the right value.
async fn serves_right(client: &Client) -> Result<()> {
    for n in 0..500 {
        let key = format!("k/{n:03}");
        if let Ok(answer) = client.range(&range_of(key), &call()).await {
            let value = answer.kvs.first().map(|kv| kv.value.clone());
            ensure!(value == Some(noise(n).into()), "value {n} is wrong");
        }
    }
    Ok(())
}

pub(crate) async fn uc_031_a_shortened_store_is_refused(place: &Place) -> Result<()> {
    let (mut server, client) = place.serve(&["--snapshot-count=100"]).await?;
    load(&client, 500, |n| put_of(format!("k/{n:03}"), noise(n))).await?;
    server.terminate()?;
    server.wait(READY)?;
    let path = store_file(server.data())?;
    let size = std::fs::metadata(&path)?.len();
    std::fs::OpenOptions::new().write(true).open(&path)?.set_len(size / 4 * 3)?;
    let code = refuses(&mut server)?;
    ensure!(code != 0, "exit code 0");
    ensure!(!place.is_mainstay() || code == 65, "exit code {code}");
    let name = path.file_name().and_then(|name| name.to_str()).context("a name")?;
    ensure!(!place.is_mainstay() || place.log_text().contains(name), "the log names no {name}");
    Ok(())
}
