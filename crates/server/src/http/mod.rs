//! HTTP/1: version, health and metrics, on the client port and on the metrics port (contract §5).
//!
//! `health` decides, `answer` writes; who is asked is behind the trait `Ask`, so that this folder
//! knows nothing of the loop.

mod answer;
mod health;
mod path;

#[cfg(test)]
mod tests;

use crate::config::usage::SERVER_VERSION;
use crate::metrics::Metrics;
use crate::peer::members::{self, Listed};
use answer::{Answer, not_found, only_get};
use bytes::Bytes;
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper::{Method, Request, Response};
use hyper_util::rt::TokioIo;
use std::convert::Infallible;
use std::pin::Pin;
use std::rc::Rc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use types::{ClusterId, OpError};

/// Time for a client to send its header; etcd's constant.
const HEADER_TIMEOUT: Duration = Duration::from_secs(300);

/// Answer of the member.
pub type Asked<'a> = Pin<Box<dyn Future<Output = Result<member::Response, OpError>> + 'a>>;

/// What these pages need from the loop.
pub trait Ask {
    /// Asks the member, with the server's own request timeout.
    fn ask(&self, request: member::Request) -> Asked<'_>;
    /// Brings gauges up to date before a scrape.
    fn refresh(&self, metrics: &Metrics);
    /// The cluster version, once decided.
    fn cluster_version(&self) -> Option<&'static str>;
    /// gRPC's text for an error, as `/health` reports it.
    fn text(&self, error: OpError) -> String;
}

/// Which pages a listener shows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Surface {
    /// Everything, with access control.
    Client,
    /// Health and metrics only.
    Metrics,
    /// What other members ask before they speak HTTP/2: version and members.
    Peer,
}

/// What all connections share.
pub struct Pages<A> {
    /// Who is asked.
    pub ask: A,
    /// What is counted.
    pub metrics: Metrics,
    /// The cluster, which the peer port names.
    pub cluster: ClusterId,
    /// Origins allowed; empty or `*` is all.
    pub cors: Vec<String>,
    /// Hosts allowed; empty or `*` is all.
    pub host_whitelist: Vec<String>,
}

/// Serves one connection until it ends.
pub async fn serve<A: Ask + 'static>(
    io: impl AsyncRead + AsyncWrite + Unpin + 'static,
    pages: Rc<Pages<A>>,
    surface: Surface,
) {
    let service = service_fn(move |request: Request<Incoming>| {
        let pages = Rc::clone(&pages);
        async move { Ok::<_, Infallible>(pages.answer(request, surface).await) }
    });
    let connection = hyper::server::conn::http1::Builder::new()
        .timer(hyper_util::rt::TokioTimer::new())
        .header_read_timeout(HEADER_TIMEOUT)
        .serve_connection(TokioIo::new(io), service);
    if let Err(error) = connection.await {
        tracing::debug!(%error, "HTTP connection ended");
    }
}

impl<A: Ask> Pages<A> {
    async fn answer(&self, request: Request<Incoming>, surface: Surface) -> Response<Full<Bytes>> {
        if surface != Surface::Client {
            return self.page(&request, surface).await.into_response();
        }
        if let Some(host) = self.refused_host(&request) {
            return answer::misdirected(&host).into_response();
        }
        let page = if request.method() == Method::OPTIONS {
            Answer::empty()
        } else {
            self.page(&request, surface).await
        };
        let mut response = page.into_response();
        self.add_cors(&request, &mut response);
        response
    }

    async fn page<B>(&self, request: &Request<B>, surface: Surface) -> Answer {
        let path = request.uri().path();
        if let Some(clean) = path::cleaned(path) {
            let query = request.uri().query().map(|query| format!("?{query}"));
            return answer::redirect(&format!("{clean}{}", query.unwrap_or_default()));
        }
        let is_get = request.method() == Method::GET;
        match (path, surface) {
            ("/version", Surface::Client | Surface::Peer) if !is_get => only_get(),
            ("/version", Surface::Client | Surface::Peer) => self.version(),
            (members::PATH, Surface::Peer) if !is_get => only_get(),
            (members::PATH, Surface::Peer) => self.members().await,
            (_, Surface::Peer) => not_found(),
            ("/metrics", _) => self.scrape(),
            ("/health", _) if !is_get => {
                tracing::warn!(status_code = 405, "/health error");
                only_get()
            }
            ("/health", _) => self.health(request.uri().query().unwrap_or_default()).await,
            ("/debug/vars", Surface::Client) => debug_vars(),
            _ => match health::Probe::of_path(path) {
                Some(_) if !is_get => {
                    tracing::warn!(path, status_code = 405, "Health request error");
                    only_get()
                }
                Some(probe) => self.probe(&probe, request.uri().query().unwrap_or_default()).await,
                None => not_found(),
            },
        }
    }

    fn scrape(&self) -> Answer {
        self.metrics.scrapes_in_flight.inc();
        self.ask.refresh(&self.metrics);
        let text = self.metrics.render();
        self.metrics.scrapes_in_flight.dec();
        self.metrics.scrapes.with_label_values(&["200"]).inc();
        Answer::ok("text/plain; version=0.0.4; charset=utf-8; escaping=underscores", text)
    }

    fn version(&self) -> Answer {
        let cluster = self.ask.cluster_version().unwrap_or("not_decided");
        let body = format!(
            "{{\"etcdserver\":\"{SERVER_VERSION}\",\"etcdcluster\":\"{cluster}\",\
             \"storage\":\"{cluster}\"}}"
        );
        Answer::ok("application/json", body)
    }

    /// The members as this one knows them, without asking the others.
    async fn members(&self) -> Answer {
        let asked = self.ask.ask(member::Request::MemberList { linearizable: false }).await;
        let Ok(member::Response::Members(rows)) = asked else {
            return Answer::error(503, "the member is stopping");
        };
        let rows = rows.into_iter().map(|row| Listed {
            id: row.id,
            name: row.name,
            peer_urls: row.peer_urls,
            client_urls: row.client_urls,
            is_learner: row.is_learner,
        });
        let body = members::to_json(&rows.collect::<Vec<_>>());
        Answer { cluster: Some(self.cluster), ..Answer::ok("application/json", body) }
    }

    /// The host of a request that is not on the list.
    fn refused_host<B>(&self, request: &Request<B>) -> Option<String> {
        if self.host_whitelist.is_empty() || self.host_whitelist.iter().any(|host| host == "*") {
            return None;
        }
        let header = request.headers().get("host").and_then(|host| host.to_str().ok());
        let host = header.unwrap_or_default();
        let name = host.rsplit_once(':').map_or(host, |(name, _)| name);
        (!self.host_whitelist.iter().any(|allowed| allowed == name)).then(|| name.to_string())
    }

    fn add_cors<B>(&self, request: &Request<B>, response: &mut Response<Full<Bytes>>) {
        let origin = request.headers().get("origin").and_then(|origin| origin.to_str().ok());
        let any = self.cors.is_empty() || self.cors.iter().any(|allowed| allowed == "*");
        let allowed = match origin {
            _ if any => "*",
            Some(origin) if self.cors.iter().any(|allowed| allowed == origin) => origin,
            _ => return,
        };
        for (name, value) in [
            ("access-control-allow-methods", "POST, GET, OPTIONS, PUT, DELETE"),
            ("access-control-allow-origin", allowed),
            ("access-control-allow-headers", "accept, content-type, authorization"),
        ] {
            if let Ok(value) = value.parse() {
                response.headers_mut().insert(name, value);
            }
        }
    }
}

/// The process's command line, as Go's variables page begins.
fn debug_vars() -> Answer {
    let line: Vec<String> = std::env::args().collect();
    let body = serde_json::json!({ "cmdline": line }).to_string();
    Answer::ok("application/json; charset=utf-8", body)
}
