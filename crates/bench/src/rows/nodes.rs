//! 200 nodes renew their leases as kubelets do through an apiserver: a transaction that compares
//! the mod revision and puts.

use anyhow::Result;
use bytes::Bytes;
use client::frame;
use prost::Message;
use proto::etcdserverpb::TxnResponse;
use proto::etcdserverpb::response_op::Response;

use super::RowContext;
use crate::load::{self, Pacing, Recorder, Shape, Source};
use crate::requests::{self, TXN};
use crate::window::{Measure, Window};

/// 200 nodes behind 10 connections.
const SHAPE: Shape = Shape { connections: 10, streams: 20 };
/// Size of a stored Lease object.
const VALUE_BYTES: usize = 400;

pub(super) async fn run(context: RowContext<'_>) -> Result<Vec<Measure>> {
    let server = context.start().await?;
    let length = context.options.window();
    let recorder = Recorder::new();
    let window = Window::open(&server, &recorder)?;
    let pacing = if context.rate > 0.0 { Pacing::Open(context.rate) } else { Pacing::Closed };
    let streams = load::start(&server, TXN, SHAPE, pacing, &recorder, Node::new).await?;
    Ok(vec![window.run("node-leases", &server, length, streams).await?])
}

/// One node: its lease, and the revision it was renewed at.
#[derive(Debug)]
pub(crate) struct Node {
    key: Bytes,
    value: Bytes,
    /// Mod revision of the lease as last seen; 0 before it exists.
    revision: i64,
}

impl Node {
    pub(crate) fn new(number: usize) -> Node {
        Node {
            key: format!("/registry/leases/kube-node-lease/node-{number:03}").into(),
            value: requests::value(number, VALUE_BYTES),
            revision: 0,
        }
    }
}

impl Source for Node {
    fn next(&mut self) -> Bytes {
        frame::encode(&requests::update(&self.key, self.value.clone(), self.revision))
    }

    fn answered(&mut self, answer: Bytes) {
        let Ok(answer) = TxnResponse::decode(answer) else { return };
        if answer.succeeded {
            self.revision = answer.header.unwrap_or_default().revision;
            return;
        }
        if let Some(Some(Response::ResponseRange(read))) =
            answer.responses.into_iter().next().map(|operation| operation.response)
        {
            self.revision = read.kvs.first().map_or(0, |kv| kv.mod_revision);
        }
    }
}
