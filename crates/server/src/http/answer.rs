//! Answers with the headers that Go's library gives them.

use crate::peer::members::CLUSTER_HEADER;
use bytes::Bytes;
use http_body_util::Full;
use hyper::{Response, StatusCode};
use types::ClusterId;

const PLAIN: &str = "text/plain; charset=utf-8";

/// One answer before it is sent.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) content_type: &'static str,
    /// The body is not to be guessed at: Go marks errors and probes so.
    pub(super) nosniff: bool,
    /// Only GET is served here.
    pub(super) allow_get: bool,
    /// Where the page is, if not here.
    pub(super) location: Option<String>,
    /// The cluster's id goes into the header.
    pub(super) cluster: Option<ClusterId>,
    pub(super) body: String,
}

impl Answer {
    /// A page.
    pub(super) fn ok(content_type: &'static str, body: String) -> Answer {
        Answer {
            status: 200,
            content_type,
            nosniff: false,
            allow_get: false,
            location: None,
            cluster: None,
            body,
        }
    }

    /// Nothing, well.
    pub(super) fn empty() -> Answer {
        Answer::ok("", String::new())
    }

    /// An error in Go's form: the text and a new line.
    pub(super) fn error(status: u16, text: &str) -> Answer {
        Answer { status, nosniff: true, ..Answer::ok(PLAIN, format!("{text}\n")) }
    }

    /// A probe's page.
    pub(super) fn probe(body: String) -> Answer {
        Answer { nosniff: true, ..Answer::ok(PLAIN, body) }
    }

    pub(super) fn into_response(self) -> Response<Full<Bytes>> {
        let mut response = Response::builder()
            .status(StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR));
        if !self.content_type.is_empty() {
            response = response.header("content-type", self.content_type);
        }
        if self.nosniff {
            response = response.header("x-content-type-options", "nosniff");
        }
        if self.allow_get {
            response = response.header("allow", "GET");
        }
        if let Some(location) = self.location {
            response = response.header("location", location);
        }
        if let Some(cluster) = self.cluster {
            response = response.header(CLUSTER_HEADER, format!("{:x}", cluster.0));
        }
        response
            .body(Full::new(self.body.into()))
            .expect("the headers are constants or a part of a URL")
    }
}

/// 405 with the one method that works.
pub(super) fn only_get() -> Answer {
    Answer { allow_get: true, ..Answer::error(405, "Method Not Allowed") }
}

/// 404 in Go's words.
pub(super) fn not_found() -> Answer {
    Answer::error(404, "404 page not found")
}

/// The page is at `location`, a path of this server.
pub(super) fn redirect(location: &str) -> Answer {
    let mut escaped = String::with_capacity(location.len());
    for letter in location.chars() {
        match letter {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&#34;"),
            '\'' => escaped.push_str("&#39;"),
            letter => escaped.push(letter),
        }
    }
    let body = format!("<a href=\"{escaped}\">Temporary Redirect</a>.\n\n");
    let location = Some(location.to_string());
    Answer { status: 307, location, ..Answer::ok("text/html; charset=utf-8", body) }
}

/// The host of the request is not on the list.
pub(super) fn misdirected(host: &str) -> Answer {
    Answer::error(
        421,
        &format!(
            "\netcd received your request, but the Host header was unrecognized.\n\n\
             To fix this, choose one of the following options:\n\
             - Enable TLS, then any HTTPS request will be allowed.\n\
             - Add the hostname you want to use to the whitelist in settings.\n\
             \u{20} - e.g. etcd --host-whitelist {host:?}\n\n\
             This requirement has been added to help prevent \"DNS Rebinding\" attacks \
             (CVE-2018-5702).\n"
        ),
    )
}
