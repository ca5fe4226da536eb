//! URLs of listeners and members: `scheme://host:port`, or a path after `unix://`.

use std::fmt;
use std::net::IpAddr;

/// How a URL is reached.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Scheme {
    /// TCP in clear text.
    Http,
    /// TCP with TLS.
    Https,
    /// A local socket in clear text.
    Unix,
    /// A local socket with TLS.
    Unixs,
}

/// One URL.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Url {
    /// How it is reached.
    pub scheme: Scheme,
    /// `host:port`, or the socket's path.
    pub address: String,
}

impl fmt::Display for Url {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = match self.scheme {
            Scheme::Http => "http",
            Scheme::Https => "https",
            Scheme::Unix => "unix",
            Scheme::Unixs => "unixs",
        };
        write!(f, "{scheme}://{}", self.address)
    }
}

impl Url {
    /// Parses one URL; the error is etcd's text.
    pub fn parse(text: &str) -> Result<Url, String> {
        let text = text.trim();
        let (scheme, rest) = text
            .split_once("://")
            .ok_or_else(|| format!("URL scheme must be http, https, unix, or unixs: {text}"))?;
        let scheme = match scheme {
            "http" => Scheme::Http,
            "https" => Scheme::Https,
            "unix" => Scheme::Unix,
            "unixs" => Scheme::Unixs,
            _ => return Err(format!("URL scheme must be http, https, unix, or unixs: {text}")),
        };
        if matches!(scheme, Scheme::Unix | Scheme::Unixs) {
            return Ok(Url { scheme, address: rest.to_string() });
        }
        let (address, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
        if !path.is_empty() {
            return Err(format!("URL must not contain a path: {text}"));
        }
        match split_host_port(address) {
            Some((_, port)) if port.parse::<u16>().is_ok() => {
                Ok(Url { scheme, address: address.to_string() })
            }
            _ => Err(format!("URL address does not have the form \"host:port\": {text}")),
        }
    }

    /// Host and port of a TCP address.
    pub fn host_port(&self) -> Option<(&str, u16)> {
        if matches!(self.scheme, Scheme::Unix | Scheme::Unixs) {
            return None;
        }
        let (host, port) = split_host_port(&self.address)?;
        Some((host, port.parse().ok()?))
    }

    /// True if TLS is asked for.
    pub fn is_tls(&self) -> bool {
        matches!(self.scheme, Scheme::Https | Scheme::Unixs)
    }

    /// Checks that a listener can be bound to it: an IP address or `localhost`.
    pub(crate) fn check_bindable(&self) -> Result<(), String> {
        match self.host_port() {
            Some((host, _)) if host != "localhost" && host.parse::<IpAddr>().is_err() => {
                Err(format!("expected IP in URL for binding ({self})"))
            }
            _ => Ok(()),
        }
    }

    /// Checks that others can be told of it: a host that is not empty.
    pub(crate) fn check_advertisable(&self) -> Result<(), String> {
        match self.host_port() {
            Some(("", _)) => Err(format!("unexpected empty host ({self})")),
            _ => Ok(()),
        }
    }
}

fn split_host_port(address: &str) -> Option<(&str, &str)> {
    let (host, port) = address.rsplit_once(':')?;
    match host.strip_prefix('[') {
        Some(inner) => Some((inner.strip_suffix(']')?, port)),
        None if host.contains(':') => None,
        None => Some((host, port)),
    }
}

/// Parses URLs separated by commas, sorted and without doubles; empty text is no URL.
pub(crate) fn parse_list(text: &str) -> Result<Vec<Url>, String> {
    if text.is_empty() {
        return Ok(Vec::new());
    }
    let mut urls = text.split(',').map(Url::parse).collect::<Result<Vec<_>, _>>()?;
    urls.sort_by_key(ToString::to_string);
    urls.dedup();
    Ok(urls)
}
