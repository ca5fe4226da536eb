//! What is read from a request's headers before its handler runs (contract §0.2).

use super::frame::Encoding;
use super::status::{Code, Status};
use http::{HeaderMap, HeaderValue, Method, Request};
use std::time::Duration;
use types::OpError;

/// A shorter time is over before the headers are read.
const TIMEOUT_MIN: Duration = Duration::from_micros(1);

/// The parts of the headers that handlers look at.
#[derive(Clone, Debug)]
pub struct Metadata {
    /// What answers are labelled with: as the request was.
    pub content_type: HeaderValue,
    /// How messages may be compressed. Answers are compressed as requests may be, whatever the
    /// client says it accepts, as grpc-go does.
    pub encoding: Encoding,
    /// How long the caller waits.
    pub timeout: Option<Duration>,
    /// True if the caller wants a member that knows a leader.
    pub require_leader: bool,
}

/// A request refused by its headers alone.
#[derive(Debug)]
pub struct Refusal {
    /// The HTTP status to answer with.
    pub http: u16,
    /// The gRPC status in the same headers.
    pub status: Status,
}

/// Checks method, content type, timeout and encoding, in grpc-go's order.
pub fn parse<B>(request: &Request<B>) -> Result<Metadata, Refusal> {
    let headers = request.headers();
    let content_type = text(headers, "content-type").unwrap_or_default();
    let Some(answer_type) = answer_type(content_type) else {
        let message = format!("invalid gRPC request content-type {content_type:?}");
        return refuse(415, Code::InvalidArgument, message);
    };
    if let Some(message) = bad_binary(headers) {
        return refuse(400, Code::Internal, message);
    }
    if request.uri().authority().is_none() && !headers.contains_key("host") {
        let message = "no host or :authority header present".to_string();
        return refuse(400, Code::Internal, message);
    }
    let timeout = match text(headers, "grpc-timeout").map(parse_timeout) {
        None => None,
        Some(Ok(timeout)) => Some(timeout),
        Some(Err(text)) => {
            return refuse(400, Code::Internal, format!("malformed grpc-timeout: {text}"));
        }
    };
    if request.method() != Method::POST {
        let method = request.method();
        let message = format!(
            "Received a HEADERS frame with :method {:?} which should be POST",
            method.as_str()
        );
        return refuse(405, Code::Internal, message);
    }
    let encoding = match text(headers, "grpc-encoding").unwrap_or_default() {
        "" | "identity" => Encoding::Identity,
        "gzip" => Encoding::Gzip,
        other => {
            let message =
                format!("grpc: Decompressor is not installed for grpc-encoding {other:?}");
            return refuse(200, Code::Unimplemented, message);
        }
    };
    if timeout.is_some_and(|timeout| timeout < TIMEOUT_MIN) {
        let message = "context deadline exceeded".to_string();
        return refuse(200, Code::DeadlineExceeded, message);
    }
    if headers.get("client-api-version").is_some_and(|v| str::from_utf8(v.as_bytes()).is_err()) {
        let (code, message) =
            (Code::InvalidArgument, "etcdserver: invalid client api version".to_string());
        return refuse(200, code, message);
    }
    let require_leader = headers.get("hasleader").is_some_and(|v| v.as_bytes() == b"true");
    Ok(Metadata { content_type: answer_type, encoding, timeout, require_leader })
}

impl Metadata {
    /// The leader gate, last before the handler.
    pub fn check_leader(&self, has_leader: bool) -> Result<(), Status> {
        if self.require_leader && !has_leader {
            return Err(OpError::NoLeader.into());
        }
        Ok(())
    }
}

fn refuse(http: u16, code: Code, message: String) -> Result<Metadata, Refusal> {
    Err(Refusal { http, status: Status::new(code, message) })
}

fn text<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name).map(|value| value.to_str().unwrap_or("?"))
}

/// The content type of answers: `application/grpc`, alone or with the request's subtype, which
/// follows a `+` or a `;`. `None` for other types.
fn answer_type(content_type: &str) -> Option<HeaderValue> {
    const GRPC: &str = "application/grpc";
    let rest = content_type.strip_prefix(GRPC)?;
    let subtype = rest.strip_prefix(['+', ';']);
    match (rest, subtype) {
        ("", _) | (_, Some("")) => Some(HeaderValue::from_static(GRPC)),
        (_, Some(subtype)) => HeaderValue::from_str(&format!("{GRPC}+{subtype}")).ok(),
        (_, None) => None,
    }
}

/// The refusal of a binary header that is no base64.
fn bad_binary(headers: &HeaderMap) -> Option<String> {
    headers.iter().filter(|(name, _)| name.as_str().ends_with("-bin")).find_map(|(name, value)| {
        let bytes = value.as_bytes();
        let digits = bytes.iter().rposition(|byte| *byte != b'=').map_or(0, |last| last + 1);
        let bad = |byte: &u8| !byte.is_ascii_alphanumeric() && !matches!(byte, b'+' | b'/');
        let at = bytes[..digits].iter().position(bad)?;
        let text = String::from_utf8_lossy(bytes);
        Some(format!(
            "malformed binary metadata {text:?} in header {:?}: \
             illegal base64 data at input byte {at}",
            name.as_str()
        ))
    })
}

/// Up to eight digits and a unit: H, M, S, m, u or n.
fn parse_timeout(text: &str) -> Result<Duration, String> {
    if text.len() < 2 {
        return Err(format!("transport: timeout string is too short: {text:?}"));
    }
    if 9 < text.len() {
        return Err(format!("transport: timeout string is too long: {text:?}"));
    }
    let (digits, unit) = text.split_at(text.len() - 1);
    let nanos_per_unit: u64 = match unit {
        "H" => 3_600_000_000_000,
        "M" => 60_000_000_000,
        "S" => 1_000_000_000,
        "m" => 1_000_000,
        "u" => 1_000,
        "n" => 1,
        _ => return Err(format!("transport: timeout unit is not recognized: {text:?}")),
    };
    let digits_only = digits.bytes().all(|byte| byte.is_ascii_digit());
    let count: u64 = match digits.parse() {
        Ok(count) if digits_only => count,
        _ => return Err(format!("strconv.ParseUint: parsing {digits:?}: invalid syntax")),
    };
    Ok(Duration::from_nanos(count.saturating_mul(nanos_per_unit)))
}

#[cfg(test)]
mod tests;
