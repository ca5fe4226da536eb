//! HTTP/1.1 as far as probes and metrics need it.

use crate::server::Server;
use anyhow::{Context, Result};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// Host and port of a server.
pub(crate) fn address(server: &Server) -> String {
    server.endpoint().trim_start_matches("http://").to_string()
}

/// One request; status and body.
pub(crate) async fn ask(server: &Server, method: &str, path: &str) -> Result<(u16, String)> {
    let address = address(server);
    let mut stream = TcpStream::connect(&address).await?;
    let head = format!(
        "{method} {path} HTTP/1.1\r\nHost: {address}\r\nContent-Length: 0\r\n\
         Connection: close\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).await?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await?;
    let answer = String::from_utf8_lossy(&answer).into_owned();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((&answer, ""));
    let status = status_of(head).with_context(|| format!("{method} {path}: {head:?}"))?;
    Ok((status, body.to_string()))
}

/// The status in an answer's first line.
pub(crate) fn status_of(head: &str) -> Option<u16> {
    head.split(' ').nth(1)?.parse().ok()
}

/// The value of a metric without labels.
pub(crate) async fn metric(server: &Server, name: &str) -> Result<f64> {
    let (_, text) = ask(server, "GET", "/metrics").await?;
    let line = text.lines().find(|line| line.split(' ').next() == Some(name));
    let value = line.and_then(|line| line.split(' ').nth(1)).and_then(|value| value.parse().ok());
    value.with_context(|| format!("no metric {name}"))
}
