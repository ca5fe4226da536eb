//! One HTTP/2 connection: dial, open a stream, unary calls with a prepared request.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bytes::Bytes;
use h2::client::{ResponseFuture, SendRequest};
use h2::{RecvStream, SendStream};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Uri};
use tokio::net::TcpStream;

use crate::config::{Call, Config};
use crate::endpoint::Endpoint;
use crate::frame::{self, Decoder};
use crate::gather::{Connection, Driver, Gather};
use crate::status::{Code, Status};

/// One connection. Clones share it; each user of many streams keeps a clone of its own.
#[derive(Clone, Debug)]
pub struct Conn {
    send: SendRequest<Bytes>,
    authority: Arc<str>,
    closed: Arc<AtomicBool>,
    receive_bytes_max: usize,
}

/// The head of a request, built once for many calls.
#[derive(Clone, Debug)]
pub struct Prepared {
    uri: Uri,
    headers: HeaderMap,
}

impl Prepared {
    fn request(&self) -> Request<()> {
        let mut request = Request::new(());
        *request.method_mut() = Method::POST;
        *request.uri_mut() = self.uri.clone();
        *request.headers_mut() = self.headers.clone();
        request
    }
}

impl Conn {
    /// Connects and starts the task that drives the connection.
    pub async fn dial(endpoint: &Endpoint, config: &Config) -> Result<Conn, Status> {
        match tokio::time::timeout(config.dial_timeout, Conn::connect(endpoint, config)).await {
            Ok(done) => done,
            Err(_) => Err(dial_error(endpoint, &"i/o timeout")),
        }
    }

    async fn connect(endpoint: &Endpoint, config: &Config) -> Result<Conn, Status> {
        let stream = TcpStream::connect(endpoint.address())
            .await
            .map_err(|error| dial_error(endpoint, &error))?;
        stream.set_nodelay(true).map_err(|error| dial_error(endpoint, &error))?;
        let socket = Gather::new(stream);
        let mut builder = h2::client::Builder::new();
        builder
            .initial_window_size(config.stream_window_bytes)
            .initial_connection_window_size(config.connection_window_bytes)
            .max_concurrent_reset_streams(64)
            .enable_push(false);
        let handshake = Box::pin(builder.handshake(socket.clone()));
        let (send, connection): (SendRequest<Bytes>, Connection) =
            Driver::new(handshake, socket.clone())
                .await
                .map_err(|error| dial_error(endpoint, &error))?;
        let closed = Arc::new(AtomicBool::new(false));
        let ended = Arc::clone(&closed);
        tokio::spawn(async move {
            // How it ended is told to each open stream; nobody else asks.
            let _ = Driver::new(connection, socket).await;
            ended.store(true, Ordering::Release);
        });
        Ok(Conn {
            send,
            authority: endpoint.authority().into(),
            closed,
            receive_bytes_max: config.receive_bytes_max,
        })
    }

    /// Whether the connection has ended.
    pub fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Acquire)
    }

    /// Builds the head of a request for `path`, `/package.Service/Method`.
    pub fn prepare(&self, path: &str, call: &Call) -> Result<Prepared, Status> {
        let invalid = |text: String| Status::new(Code::INVALID_ARGUMENT, text);
        let uri = Uri::builder()
            .scheme("http")
            .authority(&*self.authority)
            .path_and_query(path)
            .build()
            .map_err(|error| invalid(format!("{path}: {error}")))?;
        let mut headers = HeaderMap::with_capacity(4 + call.metadata.len());
        headers.insert("te", HeaderValue::from_static("trailers"));
        headers.insert(http::header::CONTENT_TYPE, HeaderValue::from_static("application/grpc"));
        if let Some(timeout) = call.timeout {
            let text = timeout_text(timeout);
            let value = HeaderValue::from_str(&text).expect("digits and a unit");
            headers.insert("grpc-timeout", value);
        }
        for (name, value) in &call.metadata {
            let name = HeaderName::from_bytes(name.as_bytes())
                .map_err(|error| invalid(format!("metadata {name}: {error}")))?;
            let value = HeaderValue::from_str(value)
                .map_err(|error| invalid(format!("metadata {name}: {error}")))?;
            headers.append(name, value);
        }
        Ok(Prepared { uri, headers })
    }

    /// Opens a stream without a body yet.
    pub async fn open(
        &mut self,
        prepared: &Prepared,
    ) -> Result<(ResponseFuture, SendStream<Bytes>), Status> {
        std::future::poll_fn(|cx| self.send.poll_ready(cx))
            .await
            .map_err(|error| Status::from_h2(&error))?;
        self.send.send_request(prepared.request(), false).map_err(|error| Status::from_h2(&error))
    }

    /// One unary call: a framed request in, the answer's message (without its frame) out.
    pub async fn unary(&mut self, prepared: &Prepared, framed: Bytes) -> Result<Bytes, Status> {
        let (response, mut body) = self.open(prepared).await?;
        body.send_data(framed, true).map_err(|error| Status::from_h2(&error))?;
        let response = response.await.map_err(|error| Status::from_h2(&error))?;
        check_head(&response)?;
        read_unary(response.into_body(), self.receive_bytes_max).await
    }

    pub(crate) fn receive_bytes_max(&self) -> usize {
        self.receive_bytes_max
    }
}

/// Ends a call whose first header block already tells that it failed.
pub(crate) fn check_head<B>(response: &http::Response<B>) -> Result<(), Status> {
    if response.status() != http::StatusCode::OK {
        return Err(Status::from_http(response.status()));
    }
    match Status::from_headers(response.headers()) {
        Some(Err(status)) => Err(status),
        _ => Ok(()),
    }
}

/// Ends a call by its trailers.
pub(crate) fn check_trailers(trailers: Option<&HeaderMap>) -> Result<(), Status> {
    trailers
        .and_then(Status::from_headers)
        .unwrap_or_else(|| Err(Status::new(Code::INTERNAL, "the answer has no status")))
}

async fn read_unary(mut body: RecvStream, bytes_max: usize) -> Result<Bytes, Status> {
    let mut decoder = Decoder::default();
    let mut message = None;
    while let Some(chunk) = body.data().await {
        let chunk = chunk.map_err(|error| Status::from_h2(&error))?;
        // The window was granted for exactly these bytes.
        let _ = body.flow_control().release_capacity(chunk.len());
        if message.is_none() && !decoder.is_partial() {
            message = frame::whole(&chunk, bytes_max)?;
            if message.is_some() {
                continue;
            }
        }
        decoder.push(&chunk);
        if message.is_none() {
            message = decoder.take(bytes_max)?;
        }
    }
    let trailers = body.trailers().await.map_err(|error| Status::from_h2(&error))?;
    check_trailers(trailers.as_ref())?;
    message.ok_or_else(|| Status::new(Code::INTERNAL, "the answer has no message"))
}

fn dial_error(endpoint: &Endpoint, error: &dyn std::fmt::Display) -> Status {
    let address = endpoint.address();
    Status::new(Code::UNAVAILABLE, format!("connection error: dial tcp {address}: {error}"))
}

/// `grpc-timeout`: at most eight digits and a unit.
fn timeout_text(timeout: std::time::Duration) -> String {
    const DIGITS_MAX: u128 = 99_999_999;
    if timeout.as_micros() <= DIGITS_MAX {
        format!("{}u", timeout.as_micros())
    } else if timeout.as_millis() <= DIGITS_MAX {
        format!("{}m", timeout.as_millis())
    } else {
        let seconds = u128::from(timeout.as_secs()).min(DIGITS_MAX);
        format!("{seconds}S")
    }
}
