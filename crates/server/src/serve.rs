//! `mainstay serve`: from a configuration to a server that runs until it is told to end.

use crate::config::Config;
use crate::driver::mailbox::Mailbox;
use crate::driver::start::Folder;
use crate::driver::turn::Loop;
use crate::driver::{Shell, leadership, start};
use crate::grpc::listen::{self, Connections, Listener, Serves};
use crate::http::{Ask, Asked, Pages};
use crate::metrics::Metrics;
use crate::{announce, bootstrap, grpc, notify, version};
use anyhow::Context as _;
use member::{Request, Response};
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::signal::unix::{SignalKind, signal};
use tokio::task::LocalSet;
use types::OpError;

/// How a server came to its end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ended {
    /// By this signal, which the caller raises again.
    Signal(i32),
}

/// Turns of the runtime after the loop's end, in which connections send what they were given.
const FAREWELL_TURNS: usize = 64;

/// Runs a server. An error is one of the start; `start::report` logs it.
pub fn run(config: Config) -> anyhow::Result<Ended> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("cannot start the runtime")?;
    LocalSet::new().block_on(&runtime, serve(config))
}

async fn serve(mut config: Config) -> anyhow::Result<Ended> {
    let started = Instant::now();
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    announce::starting(&config);
    let bound = bind(&config)?;
    let folder = Folder::open(&config)?;
    if folder.is_fresh()? {
        bootstrap::begin(&mut config).await?;
    }
    let opened = start::open(folder, &mut config)?;
    announce::defragmentation(&config);
    let mailbox = Arc::new(Mailbox::default());
    let (member, threads, running) = opened.start(&mailbox)?;
    let shell = Rc::new(Shell::new(config, Box::new(member), mailbox, threads, started));
    let pages = pages(&shell);
    tokio::task::spawn_local(accept(Rc::clone(&shell), pages, bound));
    shell.connect_peers();
    tokio::task::spawn_local(leadership::watch(Rc::clone(&shell)));
    let stopping = Rc::clone(&shell);
    let signalled = tokio::task::spawn_local(async move {
        let (kind, name) = tokio::select! {
            _ = terminate.recv() => (SignalKind::terminate(), "terminated"),
            _ = interrupt.recv() => (SignalKind::interrupt(), "interrupt"),
        };
        tracing::info!(signal = name, "received signal; shutting down");
        stopping.stop();
        kind.as_raw_value()
    });
    Loop::new(Rc::clone(&shell)).await;
    // The last answers are on their way to their connections.
    for _ in 0..FAREWELL_TURNS {
        tokio::task::yield_now().await;
    }
    running.close();
    let signal = if signalled.is_finished() { signalled.await? } else { 0 };
    Ok(Ended::Signal(signal))
}

/// Listeners with what each serves.
type Bound = Vec<(Listener, Serves)>;

fn bind(config: &Config) -> anyhow::Result<Bound> {
    let mut bound = Bound::new();
    let apart = !config.listen_client_http_urls.is_empty();
    let client = if apart { Serves::Grpc } else { Serves::Both };
    let lists = [
        (&config.listen_client_urls, client),
        (&config.listen_client_http_urls, Serves::Http),
        (&config.listen_metrics_urls, Serves::Metrics),
        (&config.listen_peer_urls, Serves::Peer),
    ];
    for (urls, serves) in lists {
        for url in urls {
            bound.extend(listen::bind(url, config)?.into_iter().map(|found| (found, serves)));
        }
    }
    Ok(bound)
}

/// Metrics and the peer port are served at once, clients once the member is ready.
async fn accept(shell: Rc<Shell>, pages: Rc<Pages<Asks>>, bound: Bound) {
    let connections = Connections::default();
    let is_early = |serves: &Serves| matches!(serves, Serves::Metrics | Serves::Peer);
    let (early, late): (Bound, Bound) = bound.into_iter().partition(|(_, serves)| is_early(serves));
    let start = |(listener, serves)| {
        let (shell, pages) = (Rc::clone(&shell), Rc::clone(&pages));
        let accepting = listen::accept(listener, serves, shell, pages, connections.clone());
        tokio::task::spawn_local(accepting);
    };
    early.into_iter().for_each(start);
    shell.ready().await;
    tracing::info!("ready to serve client requests");
    for url in &shell.config.listen_client_urls {
        tracing::info!(
            traffic = "grpc+http",
            address = %url.address,
            "serving client traffic insecurely; this is strongly discouraged!"
        );
    }
    late.into_iter().for_each(start);
    notify::ready();
}

pub(crate) fn pages(shell: &Rc<Shell>) -> Rc<Pages<Asks>> {
    let config = &shell.config;
    let metrics = shell.metrics.clone();
    metrics.set_identity(config.member_id.0, version::SERVER, &config.gates());
    Rc::new(Pages {
        ask: Asks(Rc::clone(shell)),
        cluster: config.cluster_id,
        metrics,
        cors: config.cors.clone(),
        host_whitelist: config.host_whitelist.clone(),
    })
}

/// The loop as the HTTP pages see it.
pub(crate) struct Asks(Rc<Shell>);

impl Ask for Asks {
    fn ask(&self, request: Request) -> Asked<'_> {
        Box::pin(async move {
            let timeout = Duration::from_millis(5_000 + 2 * self.0.config.election_ms);
            let deadline = self.0.deadline(Some(timeout));
            let answer: Result<Response, OpError> = self.0.ask_own(request, deadline).await.result;
            answer
        })
    }

    fn refresh(&self, _: &Metrics) {
        self.0.refresh_metrics();
    }

    fn cluster_version(&self) -> Option<&'static str> {
        self.0.figures().cluster_version.map(|_| version::CLUSTER)
    }

    fn text(&self, error: OpError) -> String {
        grpc::status::row(error).1.to_string()
    }
}
