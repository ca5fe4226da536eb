//! Endpoint texts: `host:port`, `http://host:port`. TLS has its place here when it exists.

use crate::status::{Code, Status};

/// Where one server listens, parsed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint {
    /// What the socket connects to, and the `:authority` of each request.
    authority: String,
}

impl Endpoint {
    /// Parses one endpoint; a scheme is optional.
    pub fn parse(text: &str) -> Result<Endpoint, Status> {
        let text = text.trim();
        let rest = match text.split_once("://") {
            Some(("http", rest)) => rest,
            Some(("https", _)) => {
                return Err(Status::new(
                    Code::UNAVAILABLE,
                    format!("endpoint {text}: TLS is not part of this build"),
                ));
            }
            Some((scheme, _)) => {
                return Err(Status::new(
                    Code::UNAVAILABLE,
                    format!("endpoint {text}: unknown scheme {scheme}"),
                ));
            }
            None => text,
        };
        let authority = rest.split('/').next().unwrap_or_default();
        if authority.is_empty() {
            return Err(Status::new(Code::UNAVAILABLE, format!("endpoint {text:?} names no host")));
        }
        Ok(Endpoint { authority: authority.to_owned() })
    }

    /// `host:port`, with etcd's client port where the text names none.
    pub fn address(&self) -> String {
        let has_port = match self.authority.rfind(']') {
            Some(end) => self.authority[end..].contains(':'),
            None => self.authority.contains(':'),
        };
        if has_port { self.authority.clone() } else { format!("{}:2379", self.authority) }
    }

    /// The `:authority` of each request.
    pub fn authority(&self) -> &str {
        &self.authority
    }
}
