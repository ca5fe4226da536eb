//! Two members over loopback.

use super::wire::{self, Lane, Local};
use super::{Counted, Hub, Peers, Standing, inbound};
use crate::config::url::Url;
use bytes::{Bytes, BytesMut};
use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::future::poll_fn;
use std::rc::Rc;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::task::{AbortHandle, LocalSet, yield_now};
use types::{ClusterId, MemberId};

const CLUSTER: ClusterId = ClusterId(7);
const A: MemberId = MemberId(1);
const B: MemberId = MemberId(2);

fn local(member: MemberId) -> Local {
    Local { cluster: CLUSTER, member, version: "3.7.3" }
}

#[derive(Default)]
struct Heard {
    messages: RefCell<Vec<(MemberId, Bytes)>>,
    full: Cell<bool>,
    gone: RefCell<BTreeSet<MemberId>>,
    unreachable: Cell<usize>,
    removed: Cell<bool>,
    active: Cell<Option<bool>>,
    round_trips: Cell<usize>,
    broken: Cell<usize>,
}

impl Heard {
    /// The messages of four bytes, as numbers.
    fn numbers(&self) -> Vec<u32> {
        let messages = self.messages.borrow();
        let numbers = messages.iter().filter_map(|(_, message)| message.as_ref().try_into().ok());
        numbers.map(u32::from_be_bytes).collect()
    }
}

impl Hub for Heard {
    fn message(&self, from: MemberId, message: Bytes) {
        self.messages.borrow_mut().push((from, message));
    }

    fn poll_room(&self, cx: &mut Context<'_>) -> Poll<()> {
        if self.full.get() {
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        Poll::Ready(())
    }

    fn standing(&self, member: MemberId) -> Standing {
        match self.gone.borrow().contains(&member) {
            true => Standing::Removed,
            false => Standing::Welcome,
        }
    }

    fn unreachable(&self, _: MemberId) {
        self.unreachable.set(self.unreachable.get() + 1);
    }

    fn removed(&self) {
        self.removed.set(true);
    }

    fn count(&self, _: MemberId, what: Counted) {
        match what {
            Counted::Active(active) => self.active.set(Some(active)),
            Counted::RoundTrip(_) => self.round_trips.set(self.round_trips.get() + 1),
            Counted::ReceiveFailed => self.broken.set(self.broken.get() + 1),
            _ => {}
        }
    }
}

/// B's peer port; aborting the task closes it with all that it serves.
async fn listen(hub: &Rc<Heard>, local: Local, port: u16) -> (u16, AbortHandle) {
    let listener = TcpListener::bind(("127.0.0.1", port)).await.expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let hub: Rc<dyn Hub> = Rc::<Heard>::clone(hub);
    let task = tokio::task::spawn_local(async move {
        let mut served = tokio::task::JoinSet::new();
        while let Ok((socket, _)) = listener.accept().await {
            served.spawn_local(inbound::serve(socket, Rc::clone(&hub), local.clone()));
        }
    });
    (port, task.abort_handle())
}

fn peers(hub: &Rc<Heard>, local: Local, port: u16) -> Peers {
    let hub: Rc<dyn Hub> = Rc::<Heard>::clone(hub);
    let peers = Peers::new(local, hub);
    let url = Url::parse(&format!("http://localhost:{port}")).expect("a URL");
    peers.set(&[(A, Vec::new()), (B, vec![url])]);
    peers
}

/// Waits for a condition, with a deadline.
async fn until(what: &str, mut condition: impl FnMut() -> bool) {
    let waited = async {
        while !condition() {
            yield_now().await;
        }
    };
    let deadline = Duration::from_secs(20);
    assert!(
        tokio::time::timeout(deadline, waited).await.is_ok(),
        "{what}: not within {deadline:?}"
    );
}

fn run(test: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    LocalSet::new().block_on(&runtime.expect("a runtime"), test);
}

async fn connected(peers: &Peers) {
    until("both lanes are connected", || {
        Lane::ALL.iter().all(|lane| peers.send(B, *lane, Bytes::from_static(b"probe")))
    })
    .await;
}

fn heard_from(hub: &Heard, member: MemberId, text: &[u8]) -> usize {
    let messages = hub.messages.borrow();
    messages.iter().filter(|(from, message)| *from == member && message == text).count()
}

#[test]
fn messages_of_a_lane_arrive_in_order() {
    run(async {
        let (sent, heard) = (Rc::new(Heard::default()), Rc::new(Heard::default()));
        let (port, _) = listen(&heard, local(B), 0).await;
        let peers = peers(&sent, local(A), port);
        connected(&peers).await;
        let large = vec![3; 5 * 1024 * 1024];
        for n in 0..500_u32 {
            assert!(peers.send(B, Lane::Appends, Bytes::copy_from_slice(&n.to_be_bytes())));
        }
        assert!(peers.send(B, Lane::Appends, Bytes::from(large.clone())));
        until("the large one came", || heard_from(&heard, A, &large) == 1).await;
        let numbers = heard.numbers();
        assert_eq!(numbers, (0..500).collect::<Vec<u32>>());
        assert_eq!(sent.active.get(), Some(true));
        assert!(peers.active_for(B).is_some());
        until("a ping was answered", || 0 < sent.round_trips.get()).await;
    });
}

#[test]
fn another_cluster_and_another_member_are_refused() {
    run(async {
        for wrong in [
            Local { cluster: ClusterId(8), ..local(B) },
            Local { member: MemberId(3), ..local(B) },
            Local { version: "4.0.0", ..local(B) },
        ] {
            let (sent, heard) = (Rc::new(Heard::default()), Rc::new(Heard::default()));
            let (port, _) = listen(&heard, wrong, 0).await;
            let socket = tokio::net::TcpStream::connect(("127.0.0.1", port)).await.expect("dial");
            let (mut requests, connection) = h2::client::handshake(socket).await.expect("h2");
            tokio::task::spawn_local(connection);
            let head = wire::request(&local(A), B, Lane::Appends, "b").expect("a request");
            let (response, _body) = requests
                .send_request(head.map(|()| ()), false)
                .map(|(response, body): (_, h2::SendStream<Bytes>)| (response, body))
                .expect("sent");
            assert_eq!(response.await.expect("an answer").status().as_u16(), 412);
            let peers = peers(&sent, local(A), port);
            assert!(!peers.send(B, Lane::Appends, Bytes::from_static(b"no")));
            assert_eq!(sent.unreachable.get(), 1);
            assert!(heard.messages.borrow().is_empty());
        }
    });
}

#[test]
fn a_removed_member_hears_of_it() {
    run(async {
        let (sent, heard) = (Rc::new(Heard::default()), Rc::new(Heard::default()));
        let (port, _) = listen(&heard, local(B), 0).await;
        let peers = peers(&sent, local(A), port);
        connected(&peers).await;
        heard.gone.borrow_mut().insert(A);
        until("A knows", || {
            peers.send(B, Lane::Appends, Bytes::from_static(b"after"));
            sent.removed.get()
        })
        .await;
        assert_eq!(heard_from(&heard, A, b"after"), 0);
    });
}

#[test]
fn a_restarted_member_is_found_again() {
    run(async {
        let (sent, heard) = (Rc::new(Heard::default()), Rc::new(Heard::default()));
        let (port, stop) = listen(&heard, local(B), 0).await;
        let peers = peers(&sent, local(A), port);
        connected(&peers).await;
        stop.abort();
        until("A noticed", || sent.active.get() == Some(false)).await;
        assert!(!peers.send(B, Lane::Heartbeats, Bytes::from_static(b"lost")));
        let (_, _again) = listen(&heard, local(B), port).await;
        connected(&peers).await;
        assert!(peers.send(B, Lane::Heartbeats, Bytes::from_static(b"back")));
        until("it came", || heard_from(&heard, A, b"back") == 1).await;
        assert_eq!(heard_from(&heard, A, b"lost"), 0);
        peers.set(&[(A, Vec::new())]);
        assert_eq!(sent.active.get(), Some(false));
        assert!(!peers.send(B, Lane::Heartbeats, Bytes::from_static(b"gone")));
    });
}

#[test]
fn a_member_that_takes_nothing_costs_a_bounded_queue() {
    run(async {
        let (sent, heard) = (Rc::new(Heard::default()), Rc::new(Heard::default()));
        let (port, _) = listen(&heard, local(B), 0).await;
        let peers = peers(&sent, local(A), port);
        connected(&peers).await;
        heard.full.set(true);
        let message = Bytes::from(vec![1; 1024 * 1024]);
        let before = sent.unreachable.get();
        let mut taken = 0;
        while peers.send(B, Lane::Appends, message.clone()) {
            taken += 1;
            assert!(taken < 200, "nothing bounds the queue");
            yield_now().await;
        }
        assert_eq!(sent.unreachable.get(), before + 1);
        // The other lane has a connection of its own.
        heard.full.set(false);
        assert!(peers.send(B, Lane::Heartbeats, Bytes::from_static(b"beat")));
        until("the heartbeat came", || heard_from(&heard, A, b"beat") == 1).await;
    });
}

#[test]
fn a_damaged_message_ends_its_lane() {
    run(async {
        let heard = Rc::new(Heard::default());
        let (port, _) = listen(&heard, local(B), 0).await;
        let socket = tokio::net::TcpStream::connect(("127.0.0.1", port)).await.expect("dial");
        let (mut requests, connection) = h2::client::handshake(socket).await.expect("h2");
        tokio::task::spawn_local(connection);
        let head = wire::request(&local(A), B, Lane::Appends, "b").expect("a request");
        let (response, mut body) = requests.send_request(head, false).expect("sent");
        let mut frames = BytesMut::new();
        wire::seal(b"good", &mut frames);
        wire::seal(b"bad", &mut frames);
        *frames.last_mut().expect("bytes") ^= 1;
        body.send_data(frames.freeze(), false).expect("room");
        let mut answer = response.await.expect("an answer").into_body();
        let ended = poll_fn(|cx| answer.poll_data(cx)).await;
        assert!(!matches!(ended, Some(Ok(_))), "{ended:?}");
        assert_eq!(heard_from(&heard, A, b"good"), 1);
        assert_eq!(heard_from(&heard, A, b"bad"), 0);
        assert_eq!(heard.broken.get(), 1);
    });
}

mod list {
    use crate::config::Founder;
    use crate::config::url::Url;
    use crate::peer::members::{Listed, from_json, match_ids, to_json};
    use types::MemberId;

    fn listed(id: u64, port: u16) -> Listed {
        Listed {
            id: MemberId(id),
            name: String::new(),
            peer_urls: vec![format!("http://127.0.0.1:{port}")],
            client_urls: Vec::new(),
            is_learner: false,
        }
    }

    fn founder(name: &str, port: u16) -> Founder {
        let url = Url::parse(&format!("http://127.0.0.1:{port}")).expect("a URL");
        Founder { name: name.to_string(), urls: vec![url], id: MemberId(0) }
    }

    #[test]
    fn the_list_of_members_is_etcds_json() {
        let started = Listed {
            name: "a".to_string(),
            client_urls: vec!["http://127.0.0.1:1".to_string()],
            ..listed(u64::MAX, 2)
        };
        let learner = Listed { is_learner: true, ..listed(3, 4) };
        let members = [started, learner];
        let text = to_json(&members);
        assert_eq!(
            text,
            "[{\"id\":18446744073709551615,\"peerURLs\":[\"http://127.0.0.1:2\"],\"name\":\"a\",\
             \"clientURLs\":[\"http://127.0.0.1:1\"]},{\"id\":3,\
             \"peerURLs\":[\"http://127.0.0.1:4\"],\"isLearner\":true}]\n"
        );
        assert_eq!(from_json(text.as_bytes()).as_deref(), Some(&members[..]));
        for bad in
            ["", "{}", "[1]", "[{\"id\":-1,\"peerURLs\":[]}]", "[{\"id\":1,\"peerURLs\":[2]}]"]
        {
            assert_eq!(from_json(bad.as_bytes()), None, "{bad}");
        }
    }

    #[test]
    fn a_joining_member_takes_the_ids_of_the_running_cluster() {
        let mut founders = [founder("a", 1), founder("b", 2)];
        assert_eq!(match_ids(&mut founders, &[listed(20, 2), listed(10, 1)]), Ok(()));
        assert_eq!(founders.map(|one| one.id.0), [10, 20]);
        let mut founders = [founder("a", 1), founder("b", 2)];
        assert_eq!(
            match_ids(&mut founders, &[listed(10, 1)]),
            Err("member count is unequal".to_string())
        );
        assert_eq!(
            match_ids(&mut founders, &[listed(10, 1), listed(0x30, 3)]),
            Err("PeerURLs: no match found for existing member (30, [http://127.0.0.1:3])"
                .to_string())
        );
    }
}
