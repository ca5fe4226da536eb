//! Keep-alives: each stream renews a lease of its own.

use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use bytes::Bytes;
use client::{Call, Client, Config, Sender, Streaming, frame};
use proto::etcdserverpb::{LeaseKeepAliveRequest, LeaseKeepAliveResponse};
use tokio::task::JoinSet;

use super::RowContext;
use crate::load::{Recorder, Shape};
use crate::window::{Measure, Window, drain};

/// TTL of the leases: none expires during a row.
const TTL: i64 = 3600;

pub(super) async fn run(context: RowContext<'_>) -> Result<Vec<Measure>> {
    let server = context.start().await?;
    let length = context.options.window();
    let recorder = Recorder::new();
    let shape = Shape::THOUSAND;
    let mut ready = Vec::new();
    for _ in 0..shape.connections {
        let client = Client::new(Config::new([server.address()]))?;
        for _ in 0..shape.streams {
            let lease = client.lease_grant(0, TTL, &Call::default()).await?.id;
            let (sender, answers) = client.lease_keep_alive(&Call::default()).await?;
            let mut stream = KeepAlive {
                request: frame::encode(&LeaseKeepAliveRequest { id: lease }),
                sender,
                answers,
                recorder: Arc::clone(&recorder),
            };
            stream.check().await?;
            ready.push(stream);
        }
    }
    drain(&server, length).await?;
    let window = Window::open(&server, &recorder)?;
    let mut streams = JoinSet::new();
    for stream in ready {
        streams.spawn(stream.run());
    }
    Ok(vec![window.run("keepalive-1000", &server, length, streams).await?])
}

struct KeepAlive {
    request: Bytes,
    sender: Sender<LeaseKeepAliveRequest>,
    answers: Streaming<LeaseKeepAliveResponse>,
    recorder: Arc<Recorder>,
}

impl KeepAlive {
    /// The lease is really renewed.
    async fn check(&mut self) -> Result<()> {
        self.sender.send_framed(self.request.clone())?;
        let answer = self.answers.next().await.context("the stream ended")??;
        ensure!(answer.ttl == TTL, "the lease has TTL {}", answer.ttl);
        Ok(())
    }

    async fn run(mut self) {
        while !self.recorder.is_over() {
            let start = Instant::now();
            if let Err(status) = self.sender.send_framed(self.request.clone()) {
                return self.recorder.failed(status);
            }
            match self.answers.next_raw().await {
                Some(Ok(_)) => self.recorder.answered(start.elapsed()),
                Some(Err(status)) => return self.recorder.failed(status),
                None => return,
            }
        }
    }
}
