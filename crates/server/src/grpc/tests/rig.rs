//! A server in this thread, and a client that sees headers, messages and trailers as sent.

use super::super::frame::{Encoding, FrameReader, framed};
use super::super::listen::{self, Connections, Listener, Serves};
use super::super::status::Code;
use crate::config::{self, Config, Start};
use crate::driver::Shell;
use crate::driver::core::Core;
use crate::driver::mailbox::Mailbox;
use crate::driver::start::{self, Opened};
use crate::driver::turn::Loop;
use crate::serve::pages;
use bytes::Bytes;
use h2::client::SendRequest;
use h2::{RecvStream, SendStream};
use http::{HeaderMap, Request, Response};
use member::Member;
use prost::Message;
use std::net::SocketAddr;
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::io::{AsyncRead, AsyncWrite};
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

/// The configuration of these flags, with the data in `folder`.
pub(super) fn config(folder: &Path, flags: &[&str]) -> Box<Config> {
    let data_dir = format!("--data-dir={}", folder.display());
    let args: Vec<String> = flags.iter().map(ToString::to_string).chain([data_dir]).collect();
    let Start::Serve(config, _) = config::load(&args, &[]) else {
        panic!("the flags are refused");
    };
    config
}

/// Opens the folder; threads of a server that just ended may have it for a moment yet.
pub(super) fn open(config: &mut Config) -> anyhow::Result<Opened> {
    let deadline = Instant::now() + Duration::from_secs(20);
    loop {
        let opened = start::Folder::open(config).and_then(|at| start::open(at, config));
        let error = opened.as_ref().err().and_then(|error| error.downcast_ref::<vfs::Error>());
        let is_locked = error.is_some_and(|error| error.kind == vfs::ErrorKind::Locked);
        if !is_locked || deadline < Instant::now() {
            return opened;
        }
        std::thread::yield_now();
    }
}

/// Runs a server with these flags, `test`, and ends the server.
pub(super) fn with_server(flags: &[&str], test: impl AsyncFnOnce(Rig)) {
    with_core(flags, |member| Box::new(member), test);
}

/// The same with the data in this folder, which stays.
pub(super) fn with_server_in(folder: &Path, flags: &[&str], test: impl AsyncFnOnce(Rig)) {
    run(config(folder, flags), |member| Box::new(member), test);
}

/// The same, with something between the shell and its member.
pub(super) fn with_core(
    flags: &[&str],
    wrap: impl FnOnce(Member) -> Box<dyn Core>,
    test: impl AsyncFnOnce(Rig),
) {
    let folder = tempfile::tempdir().unwrap();
    run(config(folder.path(), flags), wrap, test);
}

fn run(
    mut config: Box<Config>,
    wrap: impl FnOnce(Member) -> Box<dyn Core>,
    test: impl AsyncFnOnce(Rig),
) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    LocalSet::new().block_on(&runtime, async {
        let opened = open(&mut config).unwrap();
        let mailbox = Arc::new(Mailbox::default());
        let (member, threads, running) = opened.start(&mailbox).unwrap();
        let shell = Shell::new(*config, wrap(member), mailbox, threads, Instant::now());
        let shell = Rc::new(shell);
        let socket = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = socket.local_addr().unwrap();
        let rig = Rig { shell: Rc::clone(&shell), address };
        rig.accept(Listener::Tcp(socket), Connections::default());
        let ended = tokio::task::spawn_local(Loop::new(Rc::clone(&shell)));
        shell.ready().await;
        test(rig).await;
        shell.stop();
        ended.await.unwrap();
        running.close();
    });
}

impl Rig {
    /// Serves this listener too.
    pub(super) fn accept(&self, listener: Listener, connections: Connections) {
        let shell = Rc::clone(&self.shell);
        let pages = pages(&shell);
        let accepting = listen::accept(listener, Serves::Both, shell, pages, connections);
        tokio::task::spawn_local(accepting);
    }

    pub(super) async fn connect(&self) -> Client {
        self.connect_with_task().await.0
    }

    /// The same, with the task that owns the socket.
    pub(super) async fn connect_with_task(&self) -> (Client, JoinHandle<Result<(), h2::Error>>) {
        Client::with_task(TcpStream::connect(self.address).await.unwrap()).await
    }
}

impl Client {
    /// A connection over this socket.
    pub(super) async fn over<S>(socket: S) -> Client
    where
        S: AsyncRead + AsyncWrite + Unpin + 'static,
    {
        Client::with_task(socket).await.0
    }

    async fn with_task<S>(socket: S) -> (Client, JoinHandle<Result<(), h2::Error>>)
    where
        S: AsyncRead + AsyncWrite + Unpin + 'static,
    {
        let (sender, connection) = h2::client::handshake(socket).await.unwrap();
        let task = tokio::task::spawn_local(connection);
        (Client { sender, authority: "localhost".to_string() }, task)
    }

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
