//! How a call failed: gRPC's code and the server's text.

use std::fmt;

/// A gRPC status code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Code(pub i32);

impl Code {
    /// Success.
    pub const OK: Code = Code(0);
    /// The caller gave up.
    pub const CANCELLED: Code = Code(1);
    /// Not classified; etcd uses it for some replies.
    pub const UNKNOWN: Code = Code(2);
    /// The request is malformed.
    pub const INVALID_ARGUMENT: Code = Code(3);
    /// The time was over; a write may have happened.
    pub const DEADLINE_EXCEEDED: Code = Code(4);
    /// What was asked for does not exist.
    pub const NOT_FOUND: Code = Code(5);
    /// Not allowed for this user.
    pub const PERMISSION_DENIED: Code = Code(7);
    /// A limit was hit.
    pub const RESOURCE_EXHAUSTED: Code = Code(8);
    /// The state does not allow it.
    pub const FAILED_PRECONDITION: Code = Code(9);
    /// A revision outside of what is kept.
    pub const OUT_OF_RANGE: Code = Code(11);
    /// The server has no such call.
    pub const UNIMPLEMENTED: Code = Code(12);
    /// A broken message or a fault of the server.
    pub const INTERNAL: Code = Code(13);
    /// The server cannot be reached or has no leader.
    pub const UNAVAILABLE: Code = Code(14);
    /// No valid token.
    pub const UNAUTHENTICATED: Code = Code(16);

    /// The name that gRPC for Go prints.
    pub fn name(self) -> &'static str {
        let name = usize::try_from(self.0).ok().and_then(|code| proto::code::NAMES.get(code));
        name.copied().unwrap_or("Unknown")
    }
}

/// A failed call.
#[derive(Clone, PartialEq, Eq)]
pub struct Status {
    /// gRPC's code.
    pub code: Code,
    /// The server's text, or what happened to the transport.
    pub message: String,
}

impl Status {
    /// A failure with this code and text.
    pub fn new(code: Code, message: impl Into<String>) -> Status {
        Status { code, message: message.into() }
    }

    pub(crate) fn deadline() -> Status {
        Status::new(Code::DEADLINE_EXCEEDED, "context deadline exceeded")
    }

    /// Whether the transport failed, so that another endpoint may answer.
    pub fn is_unavailable(&self) -> bool {
        self.code == Code::UNAVAILABLE
    }

    pub(crate) fn from_h2(error: &h2::Error) -> Status {
        let code = match error.reason() {
            _ if error.is_io() || error.is_go_away() => Code::UNAVAILABLE,
            Some(h2::Reason::REFUSED_STREAM) => Code::UNAVAILABLE,
            Some(h2::Reason::CANCEL) => Code::CANCELLED,
            Some(h2::Reason::ENHANCE_YOUR_CALM) => Code::RESOURCE_EXHAUSTED,
            Some(_) => Code::INTERNAL,
            None => Code::UNAVAILABLE,
        };
        Status::new(code, format!("transport: {error}"))
    }

    /// Reads `grpc-status` and `grpc-message`; `None` where the block carries no status.
    pub(crate) fn from_headers(headers: &http::HeaderMap) -> Option<Result<(), Status>> {
        let code = headers.get("grpc-status")?;
        let code =
            code.to_str().ok().and_then(|text| text.parse().ok()).map_or(Code::UNKNOWN, Code);
        if code == Code::OK {
            return Some(Ok(()));
        }
        let message = headers
            .get("grpc-message")
            .map(|text| percent_decode(text.as_bytes()))
            .unwrap_or_default();
        Some(Err(Status { code, message }))
    }

    /// What gRPC makes of an HTTP status that is not 200.
    pub(crate) fn from_http(status: http::StatusCode) -> Status {
        let code = match status.as_u16() {
            400 => Code::INTERNAL,
            401 => Code::UNAUTHENTICATED,
            403 => Code::PERMISSION_DENIED,
            404 => Code::UNIMPLEMENTED,
            429 | 502..=504 => Code::UNAVAILABLE,
            _ => Code::UNKNOWN,
        };
        let text = format!("unexpected HTTP status code received from server: {status}");
        Status::new(code, text)
    }
}

fn percent_decode(text: &[u8]) -> String {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((&first, tail)) = rest.split_first() {
        let escaped = (first == b'%')
            .then(|| tail.get(..2))
            .flatten()
            .and_then(|digits| std::str::from_utf8(digits).ok())
            .and_then(|digits| u8::from_str_radix(digits, 16).ok());
        match escaped {
            Some(byte) => {
                out.push(byte);
                rest = &tail[2..];
            }
            None => {
                out.push(first);
                rest = tail;
            }
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "rpc error: code = {} desc = {}", self.code.name(), self.message)
    }
}

impl fmt::Debug for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for Status {}
