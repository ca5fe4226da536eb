//! Leases: absurd arguments, restarts, large revokes, races, locks.

use super::ask::{Must, call, get, next, op, pause, put_of, refused, watch, watch_prefix};
use super::place::{Place, restart};
use anyhow::{Result, ensure};
use client::{Client, Code};
use proto::etcdserverpb::{
    LeaseTimeToLiveRequest, LeaseTimeToLiveResponse, PutRequest, TxnRequest, request_op::Request,
};
use proto::v3lockpb::{LockRequest, UnlockRequest};
use std::cell::Cell;
use std::collections::BTreeSet;
use std::rc::Rc;
use std::time::{Duration, Instant};

/// What the server says of a lease; its TTL is -1 if it is not there.
pub(crate) async fn time_to_live(client: &Client, id: i64) -> Result<LeaseTimeToLiveResponse> {
    let request = LeaseTimeToLiveRequest { id, keys: true };
    client.lease_time_to_live(&request, &call()).await.must("time to live")
}

fn put_with(key: String, lease: i64) -> PutRequest {
    PutRequest { lease, ..put_of(key, "v") }
}

/// A revoke of 20 000 keys: one revision, and reads are served all the time.
pub(crate) async fn uc_068_a_large_revoke_fails_no_request(place: &Place) -> Result<()> {
    const KEYS: usize = 20_000;
    let (server, client) = place.serve(&[]).await?;
    client.lease_grant(68, 600, &call()).await.must("grant")?;
    for batch in 0..KEYS / 100 {
        let success = (0..100)
            .map(|n| op(Request::RequestPut(put_with(format!("l/{batch:04}/{n:02}"), 68))))
            .collect();
        let request = TxnRequest { success, ..TxnRequest::default() };
        client.txn(&request, &call()).await.must("txn")?;
    }
    let mut stream = watch(&client, watch_prefix("l/", 0)).await?;
    let (ended, slowest) = (Rc::new(Cell::new(false)), Rc::new(Cell::new(Duration::ZERO)));
    let (poller, stop, most) = (client.clone(), Rc::clone(&ended), Rc::clone(&slowest));
    let work = tokio::task::spawn_local(async move {
        while !stop.get() {
            let begin = Instant::now();
            get(&poller, "probe").await?;
            most.set(most.get().max(begin.elapsed()));
            pause(20).await;
        }
        anyhow::Ok(())
    });
    client.lease_revoke(68, &call()).await.must("revoke")?;
    let (mut revisions, mut count) = (BTreeSet::new(), 0);
    while count < KEYS {
        for event in next(&mut stream).await?.events {
            revisions.insert(event.kv.unwrap_or_default().mod_revision);
            count += 1;
        }
    }
    ended.set(true);
    work.await??;
    ensure!(revisions.len() == 1, "the deletions have {} revisions", revisions.len());
    ensure!(slowest.get() < Duration::from_secs(2), "a read took {:?}", slowest.get());
    let (status, _) = super::http::ask(&server, "GET", "/health").await?;
    ensure!(status == 200, "/health says {status}");
    Ok(())
}

pub(crate) async fn uc_069_a_negative_lease_is_there_after_a_restart(place: &Place) -> Result<()> {
    let (mut server, client) = place.serve(&[]).await?;
    if let Err(status) = client.lease_grant(-5, 600, &call()).await {
        ensure!(status.code == Code::INVALID_ARGUMENT, "{status:?}");
        return Ok(());
    }
    client.put(&put_with("k".to_string(), -5), &call()).await.must("put")?;
    let client = restart(&mut server).await?;
    let leases = client.lease_list(&call()).await.must("list")?.leases;
    ensure!(leases.iter().any(|lease| lease.id == -5), "leases: {leases:?}");
    let keys = time_to_live(&client, -5).await?.keys;
    ensure!(keys == ["k"], "its keys: {keys:?}");
    ensure!(get(&client, "k").await?.is_some(), "its key is gone");
    Ok(())
}

pub(crate) async fn uc_070_an_absurd_ttl_is_refused(place: &Place) -> Result<()> {
    let (_server, client) = place.serve(&[]).await?;
    let grant = async |id, ttl| client.lease_grant(id, ttl, &call()).await;
    ensure!(grant(1, 9_000_000_000).await.must("grant")?.ttl == 9_000_000_000, "the largest TTL");
    let text = "etcdserver: too large lease TTL";
    for ttl in [9_000_000_001, 86_400_000_000_000] {
        refused(&format!("TTL {ttl}"), grant(2, ttl).await, Code::OUT_OF_RANGE, text)?;
    }
    let again = grant(1, 60).await;
    let text = "etcdserver: lease already exists";
    refused("the same ID", again, Code::FAILED_PRECONDITION, text)?;
    for ttl in [0, -1] {
        let answer = grant(0, ttl).await.must("grant")?;
        ensure!(answer.ttl == 2, "TTL {ttl} is raised to {}", answer.ttl);
        ensure!(answer.id != 0, "the server picks no ID");
    }
    Ok(())
}

pub(crate) async fn uc_073_keep_alive_races_with_grant(place: &Place) -> Result<()> {
    let (_server, client) = place.serve(&[]).await?;
    for id in 1..=200 {
        let shared = client.clone();
        let grant =
            tokio::task::spawn_local(async move { shared.lease_grant(id, 60, &call()).await });
        let kept = client.lease_keep_alive_once(id, &call()).await.must("keep alive")?;
        ensure!(kept.ttl == 0 || kept.ttl == 60, "kept with TTL {}", kept.ttl);
        grant.await?.must("grant")?;
        let found = time_to_live(&client, id).await?;
        ensure!(0 < found.ttl && found.ttl <= 60, "lease {id} has TTL {}", found.ttl);
    }
    Ok(())
}

/// B waits for a lock until its lease is gone, then A unlocks; on one member.
pub(crate) async fn uc_074_a_lock_is_not_given_to_a_dead_lease(place: &Place) -> Result<()> {
    let (_server, client) = place.serve(&[]).await?;
    let held = client.lock(&LockRequest { name: "n".into(), lease: 0 }, &call()).await.must("A")?;
    client.lease_grant(74, 2, &call()).await.must("grant")?;
    let shared = client.clone();
    let waiter = tokio::task::spawn_local(async move {
        shared.lock(&LockRequest { name: "n".into(), lease: 74 }, &call()).await
    });
    let deadline = Instant::now() + Duration::from_secs(15);
    while time_to_live(&client, 74).await?.ttl != -1 {
        ensure!(Instant::now() < deadline, "the lease does not expire");
        pause(100).await;
    }
    let unlock = UnlockRequest { key: held.key };
    client.unlock(&unlock, &call()).await.must("unlock")?;
    let answer = waiter.await?;
    ensure!(answer.is_err(), "the lock was given to a lease that is gone: {answer:?}");
    Ok(())
}
