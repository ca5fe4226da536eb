//! The kinds of load, one file each. A row starts a server of its own on an empty directory.

mod keepalive;
mod large;
pub(crate) mod mixed;
pub(crate) mod nodes;
mod restart;
mod unary;
pub(crate) mod watch;

use std::future::Future;
use std::pin::Pin;

use anyhow::Result;

use crate::cli::Options;
use crate::load::Shape;
use crate::server::Server;
use crate::window::Measure;

/// What a row is run with.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RowContext<'a> {
    pub(crate) command: &'a str,
    pub(crate) options: &'a Options,
    /// Offered requests a second; 0 means a closed loop.
    pub(crate) rate: f64,
}

impl RowContext<'_> {
    async fn start(&self) -> Result<Server> {
        Server::start(self.command, self.options).await
    }
}

type Running<'a> = Pin<Box<dyn Future<Output = Result<Vec<Measure>>> + 'a>>;

/// One kind of load.
#[derive(Debug)]
pub(crate) struct Row {
    pub(crate) name: &'static str,
    pub(crate) about: &'static str,
    /// The rate is part of the row and equal for all servers.
    pub(crate) needs_rate: bool,
    pub(crate) run: for<'a> fn(RowContext<'a>) -> Running<'a>,
}

impl Row {
    const fn new(
        name: &'static str,
        about: &'static str,
        run: for<'a> fn(RowContext<'a>) -> Running<'a>,
    ) -> Row {
        Row { name, about, needs_rate: false, run }
    }

    const fn at_equal_rate(mut self) -> Row {
        self.needs_rate = true;
        self
    }
}

/// All rows, in the order in which `all` runs them.
pub(crate) static ROWS: &[Row] = &[
    Row::new("put-1000", "puts of 256 bytes, 100 connections x 10 streams", |context| {
        Box::pin(unary::put(context, "put-1000", Shape::THOUSAND))
    }),
    Row::new("put-50", "puts of 256 bytes, 50 connections", |context| {
        Box::pin(unary::put(context, "put-50", Shape::FIFTY))
    }),
    Row::new("put-1", "puts of 256 bytes, one after the other", |context| {
        Box::pin(unary::put(context, "put-1", Shape::ONE))
    }),
    Row::new("txn-1000", "one compare and one put, 100 connections x 10 streams", |context| {
        Box::pin(unary::txn(context, "txn-1000", Shape::THOUSAND))
    }),
    Row::new("range-1000", "linearizable reads of one key, 100 x 10", |context| {
        Box::pin(unary::range(context, "range-1000", Shape::THOUSAND))
    }),
    Row::new("range-50", "linearizable reads of one key, 50 connections", |context| {
        Box::pin(unary::range(context, "range-50", Shape::FIFTY))
    }),
    Row::new("serializable-1000", "serializable reads of one key, 100 x 10", |context| {
        Box::pin(unary::serializable(context, "serializable-1000", Shape::THOUSAND))
    }),
    Row::new("list-500", "lists of 500 keys of 256 bytes, 10 connections x 5 streams", |context| {
        Box::pin(unary::list(context))
    }),
    Row::new("keepalive-1000", "keep-alives of 1000 leases on 100 x 10 streams", |context| {
        Box::pin(keepalive::run(context))
    }),
    Row::new(
        "watch-100x100",
        "one key watched by 100 streams x 100 watchers; per event",
        |context| Box::pin(watch::run(context)),
    ),
    Row::new("reads-under-writes", "reads beside puts, at one rate for all servers", |context| {
        Box::pin(mixed::at_equal_load(context))
    })
    .at_equal_rate(),
    Row::new("reads-at-maximum", "reads beside puts, each server as fast as it can", |context| {
        Box::pin(mixed::at_maximum(context))
    }),
    Row::new("node-leases", "200 writers renew Kubernetes node leases", |context| {
        Box::pin(nodes::run(context))
    }),
    Row::new("restart-small", "SIGKILL to the first read, 1,000 keys", |context| {
        Box::pin(restart::small(context))
    }),
    Row::new(
        "large",
        "500 k keys: load, count, overwrite, puts quiet and while compacting, restart",
        |context| Box::pin(large::run(context)),
    ),
];

/// The row of this name.
pub(crate) fn find(name: &str) -> Option<&'static Row> {
    ROWS.iter().find(|row| row.name == name)
}
