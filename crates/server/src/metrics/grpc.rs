//! What is counted per RPC, under the names of the gRPC library that etcd uses.

use prometheus::{
    Histogram, HistogramOpts, HistogramVec, IntCounter, IntCounterVec, Opts, Registry,
};
use proto::code::NAMES;

const LABELS: [&str; 3] = ["grpc_type", "grpc_service", "grpc_method"];

/// Shape of an RPC.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CallKind {
    /// One request, one answer.
    Unary,
    /// One request, many answers.
    ServerStream,
    /// Many of both.
    BidiStream,
}

impl CallKind {
    fn label(self) -> &'static str {
        match self {
            CallKind::Unary => "unary",
            CallKind::ServerStream => "server_stream",
            CallKind::BidiStream => "bidi_stream",
        }
    }
}

/// The families; handles per method come from `method`.
#[derive(Clone)]
pub(crate) struct GrpcMetrics {
    started: IntCounterVec,
    handled: IntCounterVec,
    received: IntCounterVec,
    sent: IntCounterVec,
    seconds: Option<HistogramVec>,
}

/// Handles of one method, so that the hot path looks nothing up.
#[derive(Clone)]
pub struct MethodMetrics {
    /// Calls that began.
    pub started: IntCounter,
    /// Messages from the client.
    pub received: IntCounter,
    /// Messages to the client.
    pub sent: IntCounter,
    /// Seconds of a call, with `--metrics=extensive`.
    pub seconds: Option<Histogram>,
    handled: Vec<IntCounter>,
    /// Failed and successful calls, under etcd's own names.
    durations: Vec<[Histogram; 2]>,
}

impl MethodMetrics {
    /// Adds a histogram that has a label `success` last.
    pub(crate) fn time(&mut self, family: &HistogramVec, labels: &[&str]) {
        let of = |success| family.with_label_values(&[labels, &[success]].concat());
        self.durations.push([of("false"), of("true")]);
    }

    /// Counts the time of a call, where the method has such a metric.
    pub fn took(&self, seconds: f64, code: usize) {
        for pair in &self.durations {
            pair[usize::from(code == 0)].observe(seconds);
        }
    }

    /// Counts the end of a call by its gRPC code.
    pub fn handled(&self, code: usize) {
        self.handled[code.min(NAMES.len() - 1)].inc();
    }
}

impl GrpcMetrics {
    pub(super) fn register(registry: &Registry, extensive: bool) -> GrpcMetrics {
        let counter = |name: &str, help: &str, labels: &[&str]| {
            let family = IntCounterVec::new(Opts::new(name, help), labels).expect("valid names");
            registry.register(Box::new(family.clone())).expect("names are not used twice");
            family
        };
        let with_code = [&LABELS[..], &["grpc_code"]].concat();
        let seconds = extensive.then(|| {
            let opts = HistogramOpts::new("grpc_server_handling_seconds", "Seconds of calls.");
            let family = HistogramVec::new(opts, &LABELS).expect("valid names");
            registry.register(Box::new(family.clone())).expect("names are not used twice");
            family
        });
        GrpcMetrics {
            started: counter("grpc_server_started_total", "Calls that began.", &LABELS),
            handled: counter("grpc_server_handled_total", "Calls that ended.", &with_code),
            received: counter("grpc_server_msg_received_total", "Messages received.", &LABELS),
            sent: counter("grpc_server_msg_sent_total", "Messages sent.", &LABELS),
            seconds,
        }
    }

    /// Handles of one method, created at zero.
    pub(crate) fn method(&self, kind: CallKind, service: &str, method: &str) -> MethodMetrics {
        let labels = [kind.label(), service, method];
        let with_code =
            |code: &&str| self.handled.with_label_values(&[kind.label(), service, method, code]);
        MethodMetrics {
            started: self.started.with_label_values(&labels),
            received: self.received.with_label_values(&labels),
            sent: self.sent.with_label_values(&labels),
            seconds: self.seconds.as_ref().map(|family| family.with_label_values(&labels)),
            handled: NAMES.iter().map(with_code).collect(),
            durations: Vec::new(),
        }
    }
}
