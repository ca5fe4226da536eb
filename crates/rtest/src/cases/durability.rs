//! Restarts: revisions never go back, entries without effect do no harm, results are the same.

use super::ask::{Must, call, delete, get, head, op, put, put_of, range_of, refused, revision};
use super::place::{Place, restart, start};
use crate::dice::Dice;
use anyhow::{Context, Result, ensure};
use client::{Client, Code};
use proto::etcdserverpb::{AlarmRequest, CompactionRequest, TxnRequest, request_op::Request};
use std::time::Duration;

const COMPACTED: &str = "etcdserver: mvcc: required revision has been compacted";
const FUTURE: &str = "etcdserver: mvcc: required revision is a future revision";

pub(crate) async fn uc_025_an_entry_without_effect_does_not_break_the_start(
    place: &Place,
) -> Result<()> {
    for has_data in [true, false] {
        let data = place.path().join(format!("data-{has_data}"));
        let mut server = place.server_on(&data, &[])?;
        let client = start(&mut server).await?;
        if has_data {
            put(&client, "a", "1").await?;
        }
        client.alarm(&AlarmRequest::default(), &call()).await.must("alarm list")?;
        let client = restart(&mut server).await.with_context(|| format!("data: {has_data}"))?;
        let value = get(&client, "a").await?;
        ensure!(value.is_some() == has_data, "a is {value:?}");
    }
    Ok(())
}

/// The newest revisions are deletions and are compacted; the kill comes at any moment of it.
pub(crate) async fn uc_037_a_crash_while_compacting_keeps_the_revision(
    place: &Place,
) -> Result<()> {
    let mut dice = Dice::new(37);
    for round in 0..12 {
        let flags = ["--compaction-batch-limit=10"];
        let mut server = place.server_on(&place.path().join(format!("data-{round}")), &flags)?;
        let client = start(&mut server).await?;
        for n in 2..=8 {
            put(&client, &n.to_string(), "v").await?;
        }
        for n in 4..=6 {
            delete(&client, &n.to_string()).await?;
        }
        let shared = client.clone();
        let request = CompactionRequest { revision: 11, physical: true };
        let work = tokio::task::spawn_local(async move { shared.compact(&request, &call()).await });
        crate::wait::pause(Duration::from_micros(dice.below(20_000))).await;
        server.kill()?;
        // It was answered or cut off: both are fine.
        let _ = work.await?;
        let client = start(&mut server).await.with_context(|| format!("round {round}"))?;
        let head = head(&client).await?;
        ensure!(11 <= head, "round {round}: revision {head} after 11");
        ensure!(get(&client, "4").await?.is_none(), "round {round}: a deleted key is back");
        let next = put(&client, "new", "v").await?;
        ensure!(next == head + 1, "round {round}: revision {next} after {head}");
        server.kill()?;
    }
    Ok(())
}

/// A transaction that reads a compacted or a future revision fails as a whole, on one member.
pub(crate) async fn uc_038_a_txn_at_a_compacted_revision_writes_nothing(
    place: &Place,
) -> Result<()> {
    let (mut server, client) = place.serve(&[]).await?;
    for n in 0..5 {
        put(&client, "a", n.to_string()).await?;
    }
    let request = CompactionRequest { revision: 4, physical: false };
    client.compact(&request, &call()).await.must("compact")?;
    let before = hash(&client).await?;
    for (revision, text) in [(2, COMPACTED), (10_000, FUTURE)] {
        for put_first in [true, false] {
            let write = op(Request::RequestPut(put_of("b", "1")));
            let mut read = range_of("a");
            read.revision = revision;
            let read = op(Request::RequestRange(read));
            let success = if put_first { vec![write, read] } else { vec![read, write] };
            let request = TxnRequest { success, ..TxnRequest::default() };
            let answer = client.txn(&request, &call()).await;
            refused(&format!("txn at {revision}"), answer, Code::OUT_OF_RANGE, text)?;
        }
    }
    ensure!(get(&client, "b").await?.is_none(), "a part of a failed txn was kept");
    ensure!(head(&client).await? == 6, "the revision moved to {}", head(&client).await?);
    ensure!(hash(&client).await? == before, "the hash changed");
    let client = restart(&mut server).await?;
    ensure!(hash(&client).await? == before, "the hash changed with the restart");
    Ok(())
}

async fn hash(client: &Client) -> Result<(u32, i64)> {
    let answer = client.hash_kv(0, &call()).await.must("hash")?;
    Ok((answer.hash, revision(answer.header)))
}
