//! What a caller may choose: for a client, and for one call.

use std::time::Duration;

/// Settings of a client.
#[derive(Clone, Debug)]
pub struct Config {
    /// Where to connect, `host:port` or `http://host:port`; tried in order, then round again.
    pub endpoints: Vec<String>,
    /// Longest time for one TCP connect and HTTP/2 preface.
    pub dial_timeout: Duration,
    /// Largest answer accepted, in bytes.
    pub receive_bytes_max: usize,
    /// Largest request sent, in bytes.
    pub send_bytes_max: usize,
    /// HTTP/2 flow-control window of each stream, in bytes.
    pub stream_window_bytes: u32,
    /// HTTP/2 flow-control window of the connection, in bytes.
    pub connection_window_bytes: u32,
}

impl Config {
    /// The defaults of etcd's own client, for these endpoints.
    pub fn new<S: Into<String>>(endpoints: impl IntoIterator<Item = S>) -> Config {
        Config { endpoints: endpoints.into_iter().map(Into::into).collect(), ..Config::default() }
    }
}

impl Default for Config {
    fn default() -> Config {
        Config {
            endpoints: vec!["127.0.0.1:2379".to_owned()],
            dial_timeout: Duration::from_secs(2),
            receive_bytes_max: i32::MAX.unsigned_abs() as usize,
            send_bytes_max: 2 * 1024 * 1024,
            stream_window_bytes: 1024 * 1024,
            connection_window_bytes: 16 * 1024 * 1024,
        }
    }
}

/// Settings of one call.
#[derive(Clone, Debug, Default)]
pub struct Call {
    /// Longest time until the answer; sent as `grpc-timeout` and kept locally as well.
    pub timeout: Option<Duration>,
    /// Extra metadata, names in lower case.
    pub metadata: Vec<(&'static str, String)>,
    /// The request may be sent again after a failure of the transport: reads only.
    pub repeatable: bool,
    /// While no endpoint accepts, wait (until `timeout`, or for ever) rather than fail.
    pub wait_for_ready: bool,
}

impl Call {
    /// A call that ends after `timeout` and until then waits for a server.
    pub fn within(timeout: Duration) -> Call {
        Call { timeout: Some(timeout), wait_for_ready: true, ..Call::default() }
    }

    /// The same call, marked as safe to send again.
    #[must_use]
    pub fn repeatable(mut self) -> Call {
        self.repeatable = true;
        self
    }

    /// The same call with one more metadata entry.
    #[must_use]
    pub fn with(mut self, name: &'static str, value: impl Into<String>) -> Call {
        self.metadata.push((name, value.into()));
        self
    }
}
