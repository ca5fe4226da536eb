//! A server in this thread, and a client that sees headers, messages and trailers as sent.

use super::super::frame::{Encoding, FrameReader, framed};
use super::super::listen::{self, Connections, Listener, Serves};
use super::super::status::Code;
use crate::config::{self, Start};
use crate::driver::core::Core;
use crate::driver::mailbox::Mailbox;
use crate::driver::turn::Loop;
use crate::driver::{Shell, start};
use crate::serve::pages;
use bytes::Bytes;
use h2::client::SendRequest;
use h2::{RecvStream, SendStream};
use http::{HeaderMap, Request, Response};
use member::Member;
use prost::Message;
use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Instant;
use tokio::net::TcpStream;
use tokio::task::{JoinHandle, LocalSet};

/// A running server.
pub(super) struct Rig {
    pub(super) shell: Rc<Shell>,
    pub(super) address: SocketAddr,
}

/// One connection to it.
#[derive(Clone)]
pub(super) struct Client {
    sender: SendRequest<Bytes>,
    authority: String,
}

/// How a call ended.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Ended {
    pub(super) code: String,
    pub(super) message: String,
}

impl Ended {
    pub(super) fn is(&self, code: Code) -> bool {
        self.code == code.as_str()
    }
}

/// Runs a server with these flags, `test`, and ends the server.
pub(super) fn with_server(flags: &[&str], test: impl AsyncFnOnce(Rig)) {
    with_core(flags, |member| Box::new(member), test);
}

/// The same, with something between the shell and its member.
pub(super) fn with_core(
    flags: &[&str],
    wrap: impl FnOnce(Member) -> Box<dyn Core>,
    test: impl AsyncFnOnce(Rig),
) {
    let folder = tempfile::tempdir().unwrap();
    let data_dir = format!("--data-dir={}", folder.path().display());
    let args: Vec<String> = flags.iter().map(ToString::to_string).chain([data_dir]).collect();
    let Start::Serve(mut config, _) = config::load(&args, &[]) else {
        panic!("the flags are refused");
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    LocalSet::new().block_on(&runtime, async {
        let opened = start::open(start::Folder::open(&config).unwrap(), &mut config).unwrap();
        let mailbox = Arc::new(Mailbox::default());
        let (member, threads, running) = opened.start(&mailbox).unwrap();
        let shell = Shell::new(*config, wrap(member), mailbox, threads, Instant::now());
        let shell = Rc::new(shell);
        let socket = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = socket.local_addr().unwrap();
        let pages = pages(&shell);
        let accepting = listen::accept(
            Listener::Tcp(socket),
            Serves::Both,
            Rc::clone(&shell),
            pages,
            Connections::default(),
        );
        tokio::task::spawn_local(accepting);
        let ended = tokio::task::spawn_local(Loop::new(Rc::clone(&shell)));
        shell.ready().await;
        test(Rig { shell: Rc::clone(&shell), address }).await;
        shell.stop();
        ended.await.unwrap();
        running.close();
    });
}

impl Rig {
    pub(super) async fn connect(&self) -> Client {
        self.connect_with_task().await.0
    }

    /// The same, with the task that owns the socket.
    pub(super) async fn connect_with_task(&self) -> (Client, JoinHandle<Result<(), h2::Error>>) {
        let socket = TcpStream::connect(self.address).await.unwrap();
        let (sender, connection) = h2::client::handshake(socket).await.unwrap();
        let task = tokio::task::spawn_local(connection);
        (Client { sender, authority: self.address.to_string() }, task)
    }
}

impl Client {
    /// Opens a call; the request's messages are sent through the stream.
    pub(super) async fn open(
        &mut self,
        path: &str,
        headers: &[(&'static str, &str)],
    ) -> (h2::client::ResponseFuture, SendStream<Bytes>) {
        let mut request = Request::post(format!("http://{}{path}", self.authority))
            .header("content-type", "application/grpc")
            .header("te", "trailers");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        self.sender = self.sender.clone().ready().await.unwrap();
        self.sender.send_request(request.body(()).unwrap(), false).unwrap()
    }

    /// A call with one request; the answers, and how it ended.
    pub(super) async fn call_raw(
        &mut self,
        path: &str,
        headers: &[(&'static str, &str)],
        body: Bytes,
    ) -> (Response<()>, Vec<Bytes>, Ended) {
        let (response, mut stream) = self.open(path, headers).await;
        stream.send_data(body, true).unwrap();
        let (head, body) = response.await.unwrap().into_parts();
        let mut incoming = Incoming::new(body);
        let mut messages = Vec::new();
        while let Some(message) = incoming.next().await {
            messages.push(message);
        }
        let ended = incoming.ended(&head.headers).await;
        (Response::from_parts(head, ()), messages, ended)
    }

    /// A unary call that succeeds.
    pub(super) async fn call<A: Message + Default>(
        &mut self,
        path: &str,
        request: &impl Message,
    ) -> A {
        let (_, messages, ended) = self.call_raw(path, &[], framed(request)).await;
        assert!(ended.is(Code::Ok), "{path}: {ended:?}");
        assert_eq!(messages.len(), 1);
        A::decode(messages[0].clone()).unwrap()
    }

    /// A unary call that fails.
    pub(super) async fn fail(&mut self, path: &str, request: &impl Message) -> Ended {
        let (_, messages, ended) = self.call_raw(path, &[], framed(request)).await;
        assert_eq!(messages.len(), 0);
        ended
    }
}

/// The receiving side of a call; messages may be compressed.
pub(super) struct Incoming {
    body: RecvStream,
    frames: FrameReader,
}

impl Incoming {
    pub(super) fn new(body: RecvStream) -> Incoming {
        Incoming { body, frames: FrameReader::new(Encoding::Gzip) }
    }

    /// The next message; `None` at the end of the body.
    pub(super) async fn next(&mut self) -> Option<Bytes> {
        loop {
            if let Some(message) = self.frames.next(1 << 30).unwrap() {
                return Some(message);
            }
            let chunk = self.body.data().await?.unwrap();
            self.body.flow_control().release_capacity(chunk.len()).unwrap();
            self.frames.push(chunk);
        }
    }

    /// The status, from trailers, or from headers if nothing else came.
    pub(super) async fn ended(mut self, headers: &HeaderMap) -> Ended {
        let trailers = self.body.trailers().await.unwrap().unwrap_or_else(|| headers.clone());
        let text = |name: &str| trailers[name].to_str().unwrap().to_string();
        Ended { code: text("grpc-status"), message: text("grpc-message") }
    }
}
