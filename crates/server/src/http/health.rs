//! `/health`, `/livez` and `/readyz` (contract §5.3, §5.4).

use super::answer::Answer;
use super::{Ask, Pages};
use member::{Request, Response};
use types::{KeyRange, MemberId, RangeOp};

const NOSPACE: u32 = 1;
const CORRUPT: u32 = 2;

/// One named check.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Check {
    SerializableRead,
    LinearizableRead,
    DataCorruption,
    NonLearner,
}

impl Check {
    fn name(self) -> &'static str {
        match self {
            Check::SerializableRead => "serializable_read",
            Check::LinearizableRead => "linearizable_read",
            Check::DataCorruption => "data_corruption",
            Check::NonLearner => "non_learner",
        }
    }
}

/// A probe's page: its kind and the checks that it runs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Probe {
    kind: &'static str,
    checks: Vec<Check>,
    /// True for the page of one check, where `exclude` means nothing.
    single: bool,
}

impl Probe {
    /// The probe at a path.
    pub(super) fn of_path(path: &str) -> Option<Probe> {
        let (kind, checks, rest) = if let Some(rest) = path.strip_prefix("/livez") {
            ("livez", vec![Check::SerializableRead], rest)
        } else {
            let all = vec![
                Check::DataCorruption,
                Check::SerializableRead,
                Check::LinearizableRead,
                Check::NonLearner,
            ];
            ("readyz", all, path.strip_prefix("/readyz")?)
        };
        match rest {
            "" => Some(Probe { kind, checks, single: false }),
            _ => {
                let name = rest.strip_prefix('/')?;
                let check = checks.into_iter().find(|check| check.name() == name)?;
                Some(Probe { kind, checks: vec![check], single: true })
            }
        }
    }
}

/// A read of one key at most, of none that exists: an empty key passes here (as in etcd).
fn read(serializable: bool) -> Request {
    Request::Range(RangeOp {
        range: KeyRange::single(Vec::new()),
        limit: 1,
        keys_only: true,
        serializable,
        ..RangeOp::default()
    })
}

/// Values of a repeated query parameter.
fn values<'a>(query: &'a str, name: &'a str) -> impl Iterator<Item = &'a str> {
    let pairs = query.split('&').filter_map(|pair| pair.split_once('='));
    pairs.filter(move |(key, _)| *key == name).map(|(_, value)| value)
}

impl<A: Ask> Pages<A> {
    /// `/health`.
    pub(super) async fn health(&self, query: &str) -> Answer {
        let excluded: Vec<&str> = values(query, "exclude").collect();
        let serializable = values(query, "serializable").any(|value| value == "true");
        match self.unhealthy(&excluded, serializable).await {
            None => {
                self.metrics.health_success.inc();
                let body = "{\"health\":\"true\",\"reason\":\"\"}".to_string();
                Answer::ok("text/plain; charset=utf-8", body)
            }
            Some(reason) => {
                self.metrics.health_failures.inc();
                tracing::warn!(output = reason, status_code = 503, "serving /health false");
                let body = serde_json::json!({ "health": "false", "reason": reason });
                Answer::error(503, &body.to_string())
            }
        }
    }

    async fn unhealthy(&self, excluded: &[&str], serializable: bool) -> Option<String> {
        let status = match self.ask.ask(Request::Status).await {
            Ok(Response::Status(status)) => status,
            Ok(_) => return Some("RANGE ERROR:unexpected answer".to_string()),
            Err(error) => return Some(format!("RANGE ERROR:{}", self.ask.text(error))),
        };
        for (_, kind) in &status.alarms {
            let name = match *kind {
                NOSPACE => "NOSPACE",
                CORRUPT => "CORRUPT",
                _ => "UNKNOWN",
            };
            if !excluded.contains(&name) {
                return Some(format!("ALARM {name}"));
            }
        }
        if !serializable && status.leader == MemberId(0) {
            return Some("RAFT NO LEADER".to_string());
        }
        match self.ask.ask(read(serializable)).await {
            Ok(_) => None,
            Err(error) => Some(format!("RANGE ERROR:{}", self.ask.text(error))),
        }
    }

    /// `/livez`, `/readyz` and the pages of single checks.
    pub(super) async fn probe(&self, probe: &Probe, query: &str) -> Answer {
        let verbose = query.split('&').any(|pair| pair.split('=').next() == Some("verbose"));
        let excluded: Vec<&str> =
            if probe.single { Vec::new() } else { values(query, "exclude").collect() };
        for name in &excluded {
            if !probe.checks.iter().any(|check| check.name() == *name) {
                tracing::warn!(exclude = name, "some health checks cannot be excluded");
            }
        }
        let mut lines = String::new();
        let mut failed = false;
        for check in probe.checks.iter().filter(|check| !excluded.contains(&check.name())) {
            let name = check.name();
            let error = self.run(*check).await;
            self.count(probe.kind, name, error.is_none());
            match error {
                None => lines.push_str(&format!("[+]{name} ok\n")),
                Some(error) => {
                    failed = true;
                    lines.push_str(&format!("[-]{name} failed: {error}\n"));
                }
            }
        }
        if failed {
            let path = format!("/{}", probe.kind);
            tracing::warn!(path, reason = lines, status_code = 503, "Health check error");
            return Answer::error(503, &lines);
        }
        if verbose {
            lines.push_str("ok\n");
            return Answer::probe(lines);
        }
        Answer::probe("ok\n".to_string())
    }

    /// Runs one check; the error is its text.
    async fn run(&self, check: Check) -> Option<String> {
        match check {
            Check::SerializableRead | Check::LinearizableRead => {
                let answer = self.ask.ask(read(check == Check::SerializableRead)).await;
                answer.err().map(|error| self.ask.text(error))
            }
            Check::DataCorruption | Check::NonLearner => {
                match self.ask.ask(Request::Status).await {
                    Ok(Response::Status(status)) if check == Check::NonLearner => {
                        status.is_learner.then(|| "not supported for learner".to_string())
                    }
                    Ok(Response::Status(status)) => {
                        let corrupt = status.alarms.iter().any(|(_, kind)| *kind == CORRUPT);
                        corrupt.then(|| "alarm activated: CORRUPT".to_string())
                    }
                    Ok(_) => Some("unexpected answer".to_string()),
                    Err(error) => Some(self.ask.text(error)),
                }
            }
        }
    }

    fn count(&self, kind: &str, name: &str, ok: bool) {
        self.metrics.healthcheck.with_label_values(&[kind, name]).set(i64::from(ok));
        let status = if ok { "success" } else { "error" };
        self.metrics.healthchecks.with_label_values(&[kind, name, status]).inc();
    }
}
