//! Space: quota, defragmentation, compaction.

use super::ask::{
    Must, call, compact, delete_prefix, get, head, load, pause, put, put_of, range, range_of,
    refused,
};
use super::place::{Place, restart};
use super::process::resident;
use anyhow::{Context, Result, ensure};
use client::{Client, Code};
use proto::etcdserverpb::AlarmRequest;
use proto::etcdserverpb::alarm_request::AlarmAction;
use std::cell::Cell;
use std::rc::Rc;
use std::time::{Duration, Instant};

/// Reads and writes that go on beside something else; each failure is kept.
#[derive(Default)]
struct Traffic {
    ended: Cell<bool>,
    requests: Cell<u64>,
    slowest: Cell<Duration>,
}

impl Traffic {
    /// Starts about 50 puts and 50 linearizable reads a second.
    fn start(client: &Client) -> (Rc<Traffic>, tokio::task::JoinHandle<Result<()>>) {
        let traffic = Rc::new(Traffic::default());
        let (client, shared) = (client.clone(), Rc::clone(&traffic));
        let work = tokio::task::spawn_local(async move {
            while !shared.ended.get() {
                let begin = Instant::now();
                let n = shared.requests.get();
                put(&client, &format!("traffic/{}", n % 100), n.to_string()).await?;
                let read = get(&client, &format!("traffic/{}", n % 100)).await?;
                ensure!(read == Some(n.to_string().into()), "{read:?} is read after {n} was put");
                shared.slowest.set(shared.slowest.get().max(begin.elapsed()));
                shared.requests.set(n + 2);
                pause(20).await;
            }
            Ok(())
        });
        (traffic, work)
    }
}

/// The alarm stays when space is back, and one disarm ends it.
pub(crate) async fn uc_002_nospace_stays_until_it_is_disarmed(place: &Place) -> Result<()> {
    const TEXT: &str = "etcdserver: mvcc: database space exceeded";
    let (_server, client) = place.serve(&["--quota-backend-bytes=16777216"]).await?;
    let mut stored = 0;
    let refusal = loop {
        match client.put(&put_of(format!("k/{stored:04}"), vec![b'v'; 200_000]), &call()).await {
            Ok(_) => stored += 1,
            Err(status) => break Err::<(), _>(status),
        }
        ensure!(stored < 200, "{stored} values are stored above the quota");
    };
    refused("put above the quota", refusal, Code::RESOURCE_EXHAUSTED, TEXT)?;
    let revision = delete_prefix(&client, "k/").await?;
    compact(&client, revision).await?;
    client.defragment(&call()).await.must("defragment")?;
    for _ in 0..10 {
        let answer = client.put(&put_of("k", "v"), &call()).await;
        refused("put before the disarm", answer, Code::RESOURCE_EXHAUSTED, TEXT)?;
        pause(100).await;
    }
    let list = client.alarm(&AlarmRequest::default(), &call()).await.must("alarm list")?;
    let alarm = list.alarms.first().copied().context("no alarm is raised")?;
    let disarm = AlarmRequest {
        action: AlarmAction::Deactivate.into(),
        member_id: alarm.member_id,
        alarm: alarm.alarm,
    };
    client.alarm(&disarm, &call()).await.must("disarm")?;
    put(&client, "k", "v").await?;
    let list = client.alarm(&AlarmRequest::default(), &call()).await.must("alarm list")?;
    ensure!(list.alarms.is_empty(), "alarms: {:?}", list.alarms);
    Ok(())
}

/// 20 MiB that stay and 20 MiB that are deleted and compacted.
pub(crate) async fn uc_004_defragment_fails_no_request(place: &Place) -> Result<()> {
    let (_server, client) = place.serve(&[]).await?;
    load(&client, 2000, |n| put_of(format!("live/{n:05}"), vec![b'l'; 10 << 10])).await?;
    load(&client, 2000, |n| put_of(format!("dead/{n:05}"), vec![b'd'; 10 << 10])).await?;
    let revision = delete_prefix(&client, "dead/").await?;
    compact(&client, revision).await?;
    let (traffic, work) = Traffic::start(&client);
    client.defragment(&call()).await.must("defragment")?;
    let deadline = Instant::now() + Duration::from_secs(20);
    loop {
        let status = client.status(&call()).await.must("status")?;
        if status.db_size * 10 <= status.db_size_in_use * 13 && 20 <= traffic.requests.get() {
            break;
        }
        ensure!(
            Instant::now() < deadline,
            "dbSize is {} with {} in use",
            status.db_size,
            status.db_size_in_use
        );
        pause(100).await;
    }
    traffic.ended.set(true);
    work.await??;
    let live = range(&client, &super::ask::prefix_of("live/")).await?;
    ensure!(live.count == 2000, "{} of 2000 keys are left", live.count);
    Ok(())
}

pub(crate) async fn uc_008_defragment_never_grows_the_store(place: &Place) -> Result<()> {
    let (_server, client) = place.serve(&[]).await?;
    load(&client, 5000, |n| put_of(format!("k/{n:05}"), vec![b'v'; 1 << 10])).await?;
    let before = settled_size(&client, 5000 << 10).await?;
    client.defragment(&call()).await.must("defragment")?;
    let after = settled_size(&client, 5000 << 10).await?;
    ensure!(after * 100 <= before * 102, "dbSize was {before} and is {after}");
    Ok(())
}

/// `dbSize` once all values are in it and it holds still: it is written behind the answers.
async fn settled_size(client: &Client, live: i64) -> Result<i64> {
    let deadline = Instant::now() + Duration::from_secs(30);
    let mut last = -1;
    loop {
        let size = client.status(&call()).await.must("status")?.db_size;
        if size == last && live <= size {
            return Ok(size);
        }
        ensure!(Instant::now() < deadline, "dbSize is {size} and does not hold still");
        last = size;
        pause(1000).await;
    }
}

/// A history of 20 000 revisions over 400 keys is compacted under reads and writes.
pub(crate) async fn uc_009_compaction_fails_no_request(place: &Place) -> Result<()> {
    let (_server, client) = place.serve(&[]).await?;
    load(&client, 20_000, |n| put_of(format!("k/{:03}", n % 400), vec![b'v'; 200])).await?;
    let (traffic, work) = Traffic::start(&client);
    let begin = Instant::now();
    let head = head(&client).await?;
    compact(&client, head).await?;
    ensure!(begin.elapsed() < Duration::from_secs(60), "compact took {:?}", begin.elapsed());
    let deadline = Instant::now() + Duration::from_secs(15);
    while traffic.requests.get() < 100 && !work.is_finished() {
        ensure!(Instant::now() < deadline, "{} requests in 15 s", traffic.requests.get());
        pause(50).await;
    }
    traffic.ended.set(true);
    work.await??;
    let slowest = traffic.slowest.get();
    ensure!(slowest < Duration::from_secs(2), "a put and a read took {slowest:?}");
    Ok(())
}

/// 40 MiB that are overwritten three times, compacted all along: the files stay near what is live,
/// without a defragmentation. etcd needs one.
pub(crate) async fn uc_011_overwrites_do_not_fragment(place: &Place) -> Result<()> {
    const KEYS: u64 = 4000;
    let (_server, client) = place.serve(&[]).await?;
    for round in 0..4 {
        load(&client, KEYS, move |n| {
            put_of(format!("k/{:04}", n * 7 % KEYS), noise(n + round * KEYS))
        })
        .await?;
        compact(&client, head(&client).await?).await?;
    }
    if !place.is_mainstay() {
        client.defragment(&call()).await.must("defragment")?;
    }
    let live = i64::try_from(KEYS)? * (10 << 10);
    let deadline = Instant::now() + Duration::from_secs(30);
    loop {
        let status = client.status(&call()).await.must("status")?;
        let size = status.db_size;
        if size <= live * 3 / 2 {
            return Ok(());
        }
        ensure!(Instant::now() < deadline, "dbSize is {size} with {live} bytes live");
        pause(200).await;
    }
}

pub(crate) async fn uc_014_status_tells_the_quota(place: &Place) -> Result<()> {
    for (flags, quota) in
        [(&[][..], 2_147_483_648), (&["--quota-backend-bytes=123456789"], 123_456_789)]
    {
        let (mut server, client) = place.serve(flags).await?;
        let status = client.status(&call()).await.must("status")?;
        ensure!(status.db_size_quota == quota, "{flags:?}: dbSizeQuota {}", status.db_size_quota);
        server.kill()?;
    }
    Ok(())
}

/// 160 MiB of values under a quota of 64 GiB; ours with a small memory for values and a short log:
/// what is resident are those, the recent events and what is not flushed yet.
pub(crate) async fn uc_015_a_quota_above_8_gib_is_taken(place: &Place) -> Result<()> {
    let mut flags = vec!["--quota-backend-bytes=68719476736"];
    if place.is_mainstay() {
        flags.extend(["--resident-bytes=8388608"]);
        flags.extend(["--snapshot-count=200", "--snapshot-catchup-entries=100"]);
    }
    let (mut server, client) = place.serve(&flags).await?;
    let status = client.status(&call()).await.must("status")?;
    ensure!(status.db_size_quota == 64 << 30, "dbSizeQuota {}", status.db_size_quota);
    load(&client, 16_000, |n| put_of(format!("k/{n:05}"), noise(n))).await?;
    let client = restart(&mut server).await?;
    for n in (0..16_000).step_by(97) {
        let value = get(&client, &format!("k/{n:05}")).await?;
        ensure!(value == Some(noise(n).into()), "value {n} is another one after the restart");
    }
    if place.is_mainstay() {
        let bytes = resident(&server)?;
        ensure!(bytes < 128 << 20, "{} MiB are resident", bytes >> 20);
    }
    let answer = range(&client, &range_of("k/00001")).await?;
    ensure!(answer.count == 1, "{answer:?}");
    Ok(())
}

/// A value of 10 KiB that belongs to one number.
pub(crate) fn noise(n: u64) -> Vec<u8> {
    let mut dice = crate::dice::Dice::new(n);
    let part: Vec<u8> = (0..64).flat_map(|_| dice.draw().to_le_bytes()).collect();
    part.repeat(20)
}
