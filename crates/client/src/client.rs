//! The client: endpoints with failover, deadlines, and the four kinds of call.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use prost::Message;
use tokio::time::Instant;

use crate::config::{Call, Config};
use crate::conn::Conn;
use crate::endpoint::Endpoint;
use crate::frame;
use crate::status::{Code, Status};
use crate::stream::{Sender, Streaming};

/// Pause after every endpoint refused, doubled each round up to [`ROUND_PAUSE_MAX`].
const ROUND_PAUSE: Duration = Duration::from_millis(25);
/// Longest pause between two rounds over the endpoints.
const ROUND_PAUSE_MAX: Duration = Duration::from_millis(400);

/// A client of one cluster. Clones share the connection.
#[derive(Clone, Debug)]
pub struct Client {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    endpoints: Vec<Endpoint>,
    config: Config,
    /// The connection in use and the endpoint to try next; held for a few loads, never awaited.
    current: Mutex<Current>,
}

#[derive(Debug, Default)]
struct Current {
    conn: Option<Conn>,
    next: usize,
}

impl Client {
    /// A client of these endpoints; connects with the first call.
    pub fn new(config: Config) -> Result<Client, Status> {
        let endpoints = config
            .endpoints
            .iter()
            .map(|text| Endpoint::parse(text))
            .collect::<Result<Vec<_>, _>>()?;
        if endpoints.is_empty() {
            return Err(Status::new(Code::UNAVAILABLE, "no available endpoints"));
        }
        Ok(Client { shared: Arc::new(Shared { endpoints, config, current: Mutex::default() }) })
    }

    /// A client of one endpoint with default settings, connected.
    pub async fn connect(endpoint: &str) -> Result<Client, Status> {
        let client = Client::new(Config::new([endpoint]))?;
        client.dial_round().await?;
        Ok(client)
    }

    /// The endpoints as they were given.
    pub fn endpoints(&self) -> &[String] {
        &self.shared.config.endpoints
    }

    /// A live connection: the one in use, or the first endpoint that accepts before `deadline`.
    async fn conn(&self, call: &Call, deadline: Option<Instant>) -> Result<Conn, Status> {
        let mut pause = ROUND_PAUSE;
        loop {
            if let Some(conn) = self.live() {
                return Ok(conn);
            }
            let refused = match self.dial_round().await {
                Ok(conn) => return Ok(conn),
                Err(status) => status,
            };
            match deadline {
                _ if !call.wait_for_ready => return Err(refused),
                Some(deadline) if Instant::now() + pause >= deadline => {
                    tokio::time::sleep_until(deadline).await;
                    let text = format!("latest balancer error: {}", refused.message);
                    return Err(Status::new(Code::DEADLINE_EXCEEDED, text));
                }
                _ => tokio::time::sleep(pause).await,
            }
            pause = (pause * 2).min(ROUND_PAUSE_MAX);
        }
    }

    fn live(&self) -> Option<Conn> {
        let current = self.current();
        current.conn.clone().filter(|conn| !conn.is_closed())
    }

    fn current(&self) -> std::sync::MutexGuard<'_, Current> {
        let current = self.shared.current.lock();
        current.expect("no holder of this lock panics")
    }

    /// Tries each endpoint once.
    async fn dial_round(&self) -> Result<Conn, Status> {
        let shared = &self.shared;
        let mut refused = Status::new(Code::UNAVAILABLE, "no available endpoints");
        for _ in 0..shared.endpoints.len() {
            let index = self.current().next;
            match Conn::dial(&shared.endpoints[index], &shared.config).await {
                Ok(conn) => {
                    self.current().conn = Some(conn.clone());
                    return Ok(conn);
                }
                Err(status) => refused = status,
            }
            self.current().next = (index + 1) % shared.endpoints.len();
        }
        Err(refused)
    }

    /// Gives up the connection and turns to the next endpoint.
    fn fail_over(&self) {
        let count = self.shared.endpoints.len();
        let mut current = self.current();
        current.conn = None;
        current.next = (current.next + 1) % count;
    }

    /// One unary call.
    pub async fn unary<Q: Message, A: Message + Default>(
        &self,
        path: &str,
        request: &Q,
        call: &Call,
    ) -> Result<A, Status> {
        let answer = self.unary_framed(path, frame::encode(request), call).await?;
        A::decode(answer)
            .map_err(|error| Status::new(Code::INTERNAL, format!("malformed answer: {error}")))
    }

    /// One unary call with an encoded request; the answer stays encoded.
    pub async fn unary_raw(
        &self,
        path: &str,
        request: &[u8],
        call: &Call,
    ) -> Result<Bytes, Status> {
        self.unary_framed(path, frame::encode_raw(request), call).await
    }

    async fn unary_framed(&self, path: &str, framed: Bytes, call: &Call) -> Result<Bytes, Status> {
        let sent = framed.len() - frame::PREFIX_BYTES;
        let max = self.shared.config.send_bytes_max;
        if sent > max {
            let text = format!("trying to send message larger than max ({sent} vs. {max})");
            return Err(Status::new(Code::RESOURCE_EXHAUSTED, text));
        }
        let deadline = call.timeout.map(|timeout| Instant::now() + timeout);
        loop {
            let mut conn = self.conn(call, deadline).await?;
            let prepared = conn.prepare(path, &remaining(call, deadline))?;
            let failed = match until(deadline, conn.unary(&prepared, framed.clone())).await {
                Err(status) if status.is_unavailable() => status,
                done => return done,
            };
            self.fail_over();
            let is_over = deadline.is_none_or(|deadline| Instant::now() + ROUND_PAUSE >= deadline);
            if !call.repeatable || is_over {
                return Err(failed);
            }
            tokio::time::sleep(ROUND_PAUSE).await;
        }
    }

    /// One call with a stream of answers.
    pub async fn server_stream<Q: Message, A: Message + Default>(
        &self,
        path: &str,
        request: &Q,
        call: &Call,
    ) -> Result<Streaming<A>, Status> {
        let (mut sender, answers) = self.bidi::<Q, A>(path, call).await?;
        sender.send(request)?;
        sender.close()?;
        Ok(answers)
    }

    /// One call with a stream in each direction.
    pub async fn bidi<Q: Message, A: Message + Default>(
        &self,
        path: &str,
        call: &Call,
    ) -> Result<(Sender<Q>, Streaming<A>), Status> {
        let deadline = call.timeout.map(|timeout| Instant::now() + timeout);
        let mut conn = self.conn(call, deadline).await?;
        let prepared = conn.prepare(path, &remaining(call, deadline))?;
        let (response, body) = conn.open(&prepared).await.inspect_err(|status| {
            if status.is_unavailable() {
                self.fail_over();
            }
        })?;
        let answers = Streaming::new(response, conn.receive_bytes_max());
        Ok((Sender::new(body), answers))
    }
}

/// The call as it is sent: with what is left of its time.
fn remaining(call: &Call, deadline: Option<Instant>) -> Call {
    Call {
        timeout: deadline.map(|deadline| deadline.saturating_duration_since(Instant::now())),
        ..call.clone()
    }
}

async fn until<T>(
    deadline: Option<Instant>,
    work: impl Future<Output = Result<T, Status>>,
) -> Result<T, Status> {
    match deadline {
        None => work.await,
        Some(deadline) => match tokio::time::timeout_at(deadline, work).await {
            Ok(done) => done,
            Err(_) => Err(Status::deadline()),
        },
    }
}
