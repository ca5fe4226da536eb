//! Watches: starts at compacted revisions, progress, response sizes, odd requests.

use super::ask::{
    Must, call, compact, delete, head, next, next_within, op, pause, put, put_of, watch, watch_of,
    watch_prefix,
};
use super::place::Place;
use anyhow::{Result, bail, ensure};
use client::{Call, Client, Config, WatchStream};
use proto::etcdserverpb::watch_request::RequestUnion;
use proto::etcdserverpb::{
    CompactionRequest, TxnRequest, WatchCancelRequest, WatchCreateRequest, WatchRequest,
    WatchResponse, request_op::Request,
};
use proto::mvccpb::event::EventType;
use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::time::{Duration, Instant};

/// Kinds and revisions of a response's events.
fn events(answer: &WatchResponse) -> Vec<(EventType, i64)> {
    let revision = |event: &proto::mvccpb::Event| event.kv.as_ref().map_or(0, |kv| kv.mod_revision);
    answer.events.iter().map(|event| (event.r#type(), revision(event))).collect()
}

pub(crate) async fn uc_048_a_watch_from_a_compacted_delete_gets_it(place: &Place) -> Result<()> {
    let (_server, client) = place.serve(&[]).await?;
    for n in 0..3 {
        put(&client, "k", n.to_string()).await?;
    }
    let deleted = delete(&client, "k").await?;
    put(&client, "k", "again").await?;
    compact(&client, deleted).await?;
    let mut stream = watch(&client, watch_of("k", deleted)).await?;
    let mut found = Vec::new();
    while found.len() < 2 {
        found.extend(events(&next(&mut stream).await?));
    }
    let expected = [(EventType::Delete, deleted), (EventType::Put, deleted + 1)];
    ensure!(found == expected, "{found:?}, expected {expected:?}");
    Ok(())
}

/// A compaction at the very revision that a watcher starts at, both at the same moment.
pub(crate) async fn uc_049_a_delete_at_the_compacted_revision_is_not_missed(
    place: &Place,
) -> Result<()> {
    let (_server, client) = place.serve(&[]).await?;
    let mut delivered = 0;
    for round in 0..150 {
        let key = format!("k/{round}");
        put(&client, &key, "v").await?;
        let deleted = delete(&client, &key).await?;
        put(&client, "other", "v").await?;
        let shared = client.clone();
        let request = CompactionRequest { revision: deleted, physical: false };
        let work = tokio::task::spawn_local(async move { shared.compact(&request, &call()).await });
        let mut stream = client.watch(&Call::default()).await.must("watch")?;
        // Before, while and after the compaction is synced.
        pause(round % 4).await;
        stream.create(watch_of(&key, deleted)).must("create")?;
        loop {
            let answer = next(&mut stream).await?;
            if answer.canceled {
                let at = answer.compact_revision;
                ensure!(deleted < at, "round {round}: from {deleted}, cancelled with {at}");
                break;
            }
            if !answer.events.is_empty() {
                let found = events(&answer);
                ensure!(found == [(EventType::Delete, deleted)], "round {round}: {found:?}");
                delivered += 1;
                break;
            }
        }
        work.await?.must("compact")?;
    }
    ensure!(delivered == 150, "{delivered} of 150 deletions were delivered");
    Ok(())
}

/// What is known of a stream with many watchers while progress is asked for.
#[derive(Default)]
struct Progressed {
    /// The greatest revision that progress was told of.
    told: i64,
    notices: u64,
    events: u64,
}

impl Progressed {
    fn take(&mut self, answer: &WatchResponse) -> Result<()> {
        ensure!(!answer.canceled, "cancelled: {answer:?}");
        if answer.events.is_empty() && !answer.created {
            self.told = self.told.max(super::ask::revision(answer.header));
            self.notices += 1;
        }
        for (_, revision) in events(answer) {
            ensure!(self.told < revision, "event {revision} after progress {}", self.told);
            self.events += 1;
        }
        Ok(())
    }
}

/// 50 watchers on a stream, one of them behind, under puts; progress is asked for all the time.
pub(crate) async fn uc_051_progress_never_runs_ahead_of_events(place: &Place) -> Result<()> {
    let (_server, client) = place.serve(&[]).await?;
    for n in 0..2000 {
        put(&client, "k/0", n.to_string()).await?;
    }
    let ended = Rc::new(Cell::new(false));
    let (writer, stop) = (client.clone(), Rc::clone(&ended));
    let work = tokio::task::spawn_local(async move {
        let mut n = 0;
        while !stop.get() {
            put(&writer, &format!("k/{}", n % 50), n.to_string()).await?;
            n += 1;
        }
        anyhow::Ok(())
    });
    let mut stream = client.watch(&Call::default()).await.must("watch")?;
    for n in 1..50 {
        stream.create(watch_of(&format!("k/{n}"), 0)).must("create")?;
    }
    stream.create(watch_of("k/0", 1)).must("create")?;
    let mut progressed = Progressed::default();
    let end = Instant::now() + Duration::from_secs(3);
    while Instant::now() < end {
        stream.progress().must("progress")?;
        if let Some(answer) = next_within(&mut stream, Duration::from_millis(10)).await? {
            progressed.take(&answer)?;
        }
    }
    ended.set(true);
    work.await??;
    ensure!(2000 < progressed.events, "only {} events", progressed.events);
    let head = head(&client).await?;
    let asked = Instant::now();
    while progressed.told < head {
        ensure!(asked.elapsed() < Duration::from_secs(5), "no progress to {head} within 5 s");
        stream.progress().must("progress")?;
        if let Some(answer) = next_within(&mut stream, Duration::from_millis(100)).await? {
            progressed.take(&answer)?;
        }
    }
    Ok(())
}

pub(crate) async fn uc_052_a_quiet_watch_is_told_of_progress(place: &Place) -> Result<()> {
    let (_server, client) = place.serve(&["--watch-progress-notify-interval=1s"]).await?;
    let start = put(&client, "other", "0").await? + 1;
    let create = WatchCreateRequest { progress_notify: true, ..watch_of("quiet", start) };
    let mut stream = watch(&client, create).await?;
    let mut told = Vec::new();
    let end = Instant::now() + Duration::from_secs(6);
    while told.len() < 3 && Instant::now() < end {
        put(&client, "other", "x").await?;
        if let Some(answer) = next_within(&mut stream, Duration::from_millis(50)).await? {
            ensure!(answer.events.is_empty(), "an event of a quiet key: {answer:?}");
            told.push(super::ask::revision(answer.header));
        }
    }
    ensure!(2 <= told.len(), "{} notices in 6 s", told.len());
    ensure!(told.windows(2).all(|pair| pair[0] < pair[1]), "notices do not grow: {told:?}");
    Ok(())
}

/// 4 transactions of 12 values of 100 KB each, for a client that takes 4 MiB.
pub(crate) async fn uc_056_catch_up_splits_at_revisions(place: &Place) -> Result<()> {
    let (server, client) = place.serve(&[]).await?;
    let first = head(&client).await? + 1;
    for txn in 0..4 {
        let value = vec![b'v'; 100_000];
        let success = (0..12)
            .map(|n| op(Request::RequestPut(put_of(format!("b/{txn}/{n:02}"), value.clone()))))
            .collect();
        let request = TxnRequest { success, ..TxnRequest::default() };
        client.txn(&request, &call()).await.must("txn")?;
    }
    let mut config = Config::new([server.endpoint()]);
    config.receive_bytes_max = 4 << 20;
    let client = Client::new(config).must("client")?;
    let mut stream = watch(&client, watch_prefix("b/", first)).await?;
    let mut revisions: BTreeMap<i64, usize> = BTreeMap::new();
    while revisions.values().sum::<usize>() < 48 {
        let answer = next(&mut stream).await?;
        let mut own: BTreeMap<i64, usize> = BTreeMap::new();
        for (_, revision) in events(&answer) {
            *own.entry(revision).or_default() += 1;
        }
        for (revision, count) in own {
            ensure!(count == 12, "revision {revision} was split: {count} of 12 events");
            revisions.insert(revision, count);
        }
    }
    Ok(())
}

/// Odd requests on one stream: none ends it, each has its answer.
pub(crate) async fn uc_059_odd_watch_requests_are_answered(place: &Place) -> Result<()> {
    let (_server, client) = place.serve(&[]).await?;
    let stream = client.watch(&Call::default()).await.must("watch")?;
    let (mut requests, mut answers) = stream.split();
    requests.send(&WatchRequest { request_union: None }).must("an empty request")?;
    let mut send = |union| requests.send(&WatchRequest { request_union: Some(union) }).must("send");
    let cancel = |watch_id| RequestUnion::CancelRequest(WatchCancelRequest { watch_id });
    let create =
        |watch_id| RequestUnion::CreateRequest(WatchCreateRequest { watch_id, ..watch_of("k", 0) });
    send(cancel(12345))?;
    send(create(0))?;
    send(cancel(0))?;
    send(cancel(0))?;
    send(create(7))?;
    send(create(7))?;
    let mut cancelled = Vec::new();
    let mut created = Vec::new();
    while created.len() < 3 {
        let answer = tokio::time::timeout(Duration::from_secs(10), answers.next()).await?;
        let Some(answer) = answer else { bail!("the stream ended") };
        let answer = answer.must("watch")?;
        if answer.created {
            created.push((answer.watch_id, answer.canceled, answer.cancel_reason));
        } else if answer.canceled {
            cancelled.push(answer.watch_id);
        }
    }
    let (id, was_cancelled, reason) = &created[2];
    ensure!(created[0].0 == 0 && created[1].0 == 7, "created: {created:?}");
    ensure!(*id == -1 && *was_cancelled, "the second 7: {created:?}");
    ensure!(reason.contains("duplicate watch ID"), "the second 7: {reason:?}");
    ensure!(cancelled == [0], "cancelled: {cancelled:?}");
    put(&client, "k", "v").await?;
    let answer = tokio::time::timeout(Duration::from_secs(10), answers.next()).await?;
    let Some(answer) = answer else { bail!("the stream ended") };
    let answer = answer.must("watch")?;
    ensure!(answer.watch_id == 7 && answer.events.len() == 1, "{answer:?}");
    Ok(())
}

/// Watches and large ranges share a connection, in clear text: every event comes in time.
pub(crate) async fn uc_045_events_come_beside_large_ranges(place: &Place) -> Result<()> {
    let (server, writer) = place.serve(&[]).await?;
    super::ask::load(&writer, 2000, |n| put_of(format!("r/{n:04}"), vec![b'v'; 1024])).await?;
    let client = Client::new(Config::new([server.endpoint()])).must("client")?;
    let mut stream = watch(&client, watch_prefix("w/", 0)).await?;
    let ended = Rc::new(Cell::new(false));
    let mut readers = Vec::new();
    for _ in 0..8 {
        let (client, ended) = (client.clone(), Rc::clone(&ended));
        readers.push(tokio::task::spawn_local(async move {
            let mut ranges = 0;
            while !ended.get() {
                super::ask::range(&client, &super::ask::prefix_of("r/")).await?;
                ranges += 1;
            }
            anyhow::Ok(ranges)
        }));
    }
    let slowest = deliver(&writer, &mut stream).await?;
    ended.set(true);
    let mut ranges = 0;
    for reader in readers {
        ranges += reader.await??;
    }
    ensure!(50 < ranges, "only {ranges} ranges beside the watch");
    ensure!(slowest < Duration::from_secs(3), "an event took {slowest:?}");
    Ok(())
}

/// Puts one key after the other and awaits its event; the longest delay.
async fn deliver(writer: &Client, stream: &mut WatchStream) -> Result<Duration> {
    let mut slowest = Duration::ZERO;
    let mut seen = BTreeSet::new();
    for n in 0..40 {
        let begin = Instant::now();
        put(writer, "w/x", n.to_string()).await?;
        seen.extend(events(&next(stream).await?));
        slowest = slowest.max(begin.elapsed());
        pause(50).await;
    }
    ensure!(seen.len() == 40, "{} of 40 events", seen.len());
    Ok(slowest)
}
