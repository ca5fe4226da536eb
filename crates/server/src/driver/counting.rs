//! What is counted and said about calls: their number, time and end, and who makes them.

use super::shell::Shell;
use crate::config::duration;
use crate::grpc::method::{Kind, Method};
use crate::grpc::status::Code;
use crate::metrics::Metrics;
use http::HeaderMap;
use prometheus::IntCounter;
use std::cell::RefCell;
use std::time::{Duration, Instant};

/// Header with the version of a client.
const VERSION_HEADER: &str = "client-api-version";
/// Versions that are told apart. Clients choose the text, and each is a metric that stays.
const VERSIONS_MAX: usize = 32;

/// Counters per version of clients.
pub(super) struct Clients {
    metrics: Metrics,
    known: RefCell<Vec<Known>>,
}

/// A version with its counters of streams and of unary calls.
type Known = (Box<[u8]>, [IntCounter; 2]);

impl Clients {
    pub(super) fn new(metrics: &Metrics) -> Clients {
        Clients { metrics: metrics.clone(), known: RefCell::default() }
    }

    fn count(&self, version: &[u8], unary: bool) {
        let mut known = self.known.borrow_mut();
        let found = known.iter().position(|(text, _)| **text == *version);
        let at = match found {
            Some(at) => at,
            None if known.len() < VERSIONS_MAX => {
                let label = str::from_utf8(version).unwrap_or("invalid");
                known.push((version.into(), self.counters(label)));
                known.len() - 1
            }
            None => return self.counters("other")[usize::from(unary)].inc(),
        };
        known[at].1[usize::from(unary)].inc();
    }

    fn counters(&self, version: &str) -> [IntCounter; 2] {
        let family = &self.metrics.client_requests;
        ["stream", "unary"].map(|kind| family.with_label_values(&[kind, version]))
    }
}

impl Shell {
    /// A call began.
    pub fn call_began(&self, method: Method, headers: &HeaderMap) -> Instant {
        self.count(method).started.inc();
        let version = headers.get(VERSION_HEADER).map_or(&b"unknown"[..], |value| value.as_bytes());
        self.clients.count(version, method.kind() != Kind::Stream);
        Instant::now()
    }

    /// A call ended; `bytes` is the size of its request.
    pub fn call_ended(&self, method: Method, code: Code, began: Instant, bytes: usize) {
        let count = self.count(method);
        count.handled(code as usize);
        let spent = began.elapsed();
        let seconds = spent.as_secs_f64();
        count.took(seconds, code as usize);
        if let Some(histogram) = &count.seconds {
            histogram.observe(seconds);
        }
        if method.kind() == Kind::Unary && self.config.warn_unary < spent {
            say_slow(method, spent, bytes);
        }
    }
}

/// etcd's line for a slow request.
#[cold]
fn say_slow(method: Method, spent: Duration, bytes: usize) {
    let fields = serde_json::json!({
        "time spent": duration::format(spent),
        "response type": method.path(),
        "request size": bytes,
    })
    .to_string();
    tracing::warn!(fields, "request stats");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clients_are_counted_by_version_and_texts_are_bounded() {
        let clients = Clients::new(&Metrics::new(false));
        clients.count(b"3.7", true);
        clients.count(b"3.7", true);
        clients.count(b"3.7", false);
        for version in 0..100 {
            clients.count(format!("made up {version}").as_bytes(), true);
        }
        let [streams, unary] = clients.counters("3.7");
        assert_eq!((streams.get(), unary.get()), (1, 2));
        assert_eq!(clients.counters("other")[1].get(), 100 - 31);
        assert_eq!(clients.known.borrow().len(), VERSIONS_MAX);
    }
}
