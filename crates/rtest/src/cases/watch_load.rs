//! What watchers cost the server: memory while they catch up, and nothing once they are closed.

use super::ask::{Must, load, next, pause, put_of, watch, watch_of, watch_prefix};
use super::http::metric;
use super::place::Place;
use super::process::{forget_peak, resident, resident_peak};
use crate::server::Server;
use anyhow::{Result, anyhow, ensure};
use client::{Call, Client, Config};
use std::time::{Duration, Instant};

/// 60 values of 1 MiB; 8 streams read them all, slowly.
pub(crate) async fn uc_047_catching_up_shares_memory(place: &Place) -> Result<()> {
    const VALUES: usize = 60;
    let (server, client) = place.serve(&[]).await?;
    for n in 0..VALUES {
        super::ask::put(&client, "big", vec![b'a' + u8::try_from(n % 26)?; 1 << 20]).await?;
    }
    let base = resident(&server)?;
    forget_peak(&server)?;
    let mut readers = Vec::new();
    for _ in 0..8 {
        let mut config = Config::new([server.endpoint()]);
        config.connection_window_bytes = 1 << 20;
        let client = Client::new(config).must("client")?;
        readers.push(tokio::task::spawn_local(async move {
            let mut stream = watch(&client, watch_of("big", 1)).await?;
            let mut count = 0;
            while count < VALUES {
                count += next(&mut stream).await?.events.len();
                pause(30).await;
            }
            anyhow::Ok(())
        }));
    }
    for reader in readers {
        reader.await??;
    }
    let peak = resident_peak(&server)?;
    let most = base + ((2 * u64::try_from(VALUES)? + 32) << 20);
    ensure!(peak <= most, "{} MiB at first, then {} MiB", base >> 20, peak >> 20);
    Ok(())
}

/// 20 000 watchers, half of them cancelled, half of them cut off with their connection.
pub(crate) async fn uc_062_closed_watches_leave_nothing(place: &Place) -> Result<()> {
    let (server, client) = place.serve(&[]).await?;
    load(&client, 100, |n| put_of(format!("k/{n:02}"), "v")).await?;
    churn(&server, 2).await?;
    let before = resident(&server)?;
    churn(&server, 40).await?;
    emptied(&server).await?;
    let after = resident(&server)?;
    ensure!(
        after < before + (50 << 20),
        "{} MiB resident after warming up, {} MiB at the end",
        before >> 20,
        after >> 20
    );
    Ok(())
}

/// Each round opens 500 watchers on a connection, cancels half and cuts the connection.
async fn churn(server: &Server, rounds: usize) -> Result<()> {
    for _ in 0..rounds {
        let endpoint = server.endpoint();
        // A runtime of its own: its end cuts the connection without a word.
        let work = tokio::task::spawn_blocking(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
            runtime.block_on(open(&endpoint, 500))
        });
        work.await??;
    }
    Ok(())
}

async fn open(endpoint: &str, count: i64) -> Result<()> {
    let client = Client::new(Config::new([endpoint])).must("client")?;
    let mut stream = client.watch(&Call::default()).await.must("watch")?;
    for n in 0..count {
        stream.create(watch_prefix("k/", n % 2)).must("create")?;
    }
    let mut created = 0;
    while created < count {
        let answer = stream.next().await.ok_or_else(|| anyhow!("the watch ended"))?;
        let answer = answer.must("watch")?;
        if answer.created {
            created += 1;
            if answer.watch_id % 2 == 0 {
                stream.cancel(answer.watch_id).must("cancel")?;
            }
        }
    }
    Ok(())
}

/// Waits until the server counts no watcher and no stream.
async fn emptied(server: &Server) -> Result<()> {
    counted(server, [0.0, 0.0, 0.0]).await
}

/// Waits until the gauges of watchers, streams and watchers behind have these values.
async fn counted(server: &Server, expected: [f64; 3]) -> Result<()> {
    let names = [
        "etcd_debugging_mvcc_watcher_total",
        "etcd_debugging_mvcc_watch_stream_total",
        "etcd_debugging_mvcc_slow_watcher_total",
    ];
    let deadline = Instant::now() + Duration::from_secs(30);
    loop {
        let mut values = Vec::new();
        for name in names {
            values.push(metric(server, name).await?);
        }
        if values == expected {
            return Ok(());
        }
        ensure!(Instant::now() < deadline, "{names:?} are {values:?} after 30 s");
        pause(200).await;
    }
}

/// 100 watchers, 50 of them cancelled at the very moment the connection is cut.
pub(crate) async fn uc_143_gauges_of_watchers_return_to_zero(place: &Place) -> Result<()> {
    let (server, client) = place.serve(&[]).await?;
    emptied(&server).await?;
    let mut stream = watch(&client, watch_of("k", 0)).await?;
    for n in 1..100 {
        stream.create(watch_of(&format!("k/{n}"), 0)).must("create")?;
    }
    counted(&server, [100.0, 1.0, 0.0]).await?;
    for id in 0..50 {
        stream.cancel(id).must("cancel")?;
    }
    counted(&server, [50.0, 1.0, 0.0]).await?;
    drop(stream);
    for _ in 0..5 {
        let endpoint = server.endpoint();
        let work = tokio::task::spawn_blocking(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
            runtime.block_on(open(&endpoint, 100))
        });
        work.await??;
        emptied(&server).await?;
    }
    Ok(())
}
