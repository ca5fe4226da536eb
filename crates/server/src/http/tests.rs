//! Pages as real etcd 3.7.3 answers them: status, content type and body.

use super::*;
use member::request::StatusInfo;
use std::task::{Context, Poll, Waker};
use types::MemberId;

/// A member in one fixed state.
struct Fake {
    leader: u64,
    alarms: Vec<(MemberId, u32)>,
    read: Result<(), OpError>,
}

impl Ask for Fake {
    fn ask(&self, request: member::Request) -> Asked<'_> {
        let answer = match request {
            member::Request::Status => Ok(member::Response::Status(StatusInfo {
                leader: MemberId(self.leader),
                alarms: self.alarms.clone(),
                ..StatusInfo::default()
            })),
            member::Request::Range(op) if op.serializable => {
                Ok(member::Response::Range(types::outcome::RangeOutcome::default()))
            }
            member::Request::MemberList { linearizable: false } => {
                Ok(member::Response::Members(vec![member::request::MemberInfo {
                    id: MemberId(7),
                    name: String::new(),
                    peer_urls: vec!["http://127.0.0.1:1".to_string()],
                    client_urls: Vec::new(),
                    is_learner: false,
                }]))
            }
            _ => self.read.map(|()| member::Response::Barrier),
        };
        Box::pin(std::future::ready(answer))
    }

    fn refresh(&self, metrics: &Metrics) {
        metrics.keys.set(3);
    }

    fn cluster_version(&self) -> Option<&'static str> {
        (self.leader != 0).then_some("3.7.0")
    }

    fn text(&self, error: OpError) -> String {
        format!("{error:?}")
    }
}

fn pages(fake: Fake) -> Pages<Fake> {
    Pages {
        ask: fake,
        metrics: Metrics::new(false),
        cluster: types::ClusterId(0xcdf8),
        cors: vec!["*".to_string()],
        host_whitelist: vec!["*".to_string()],
    }
}

fn healthy() -> Pages<Fake> {
    pages(Fake { leader: 1, alarms: vec![], read: Ok(()) })
}

/// The futures of these tests are ready at once.
fn now<T>(future: impl Future<Output = T>) -> T {
    let mut future = std::pin::pin!(future);
    match future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => value,
        Poll::Pending => panic!("the fake answers at once"),
    }
}

fn call(pages: &Pages<Fake>, method: &str, path: &str, surface: Surface) -> (u16, String) {
    let request = Request::builder().method(method).uri(path).body(()).expect("a request");
    let answer = now(pages.page(&request, surface));
    (answer.status, answer.body)
}

fn get(pages: &Pages<Fake>, path: &str) -> (u16, String) {
    call(pages, "GET", path, Surface::Client)
}

#[test]
fn a_healthy_member_answers_every_page_well() {
    let pages = healthy();
    assert_eq!(get(&pages, "/health"), (200, "{\"health\":\"true\",\"reason\":\"\"}".into()));
    assert_eq!(get(&pages, "/livez"), (200, "ok\n".into()));
    assert_eq!(get(&pages, "/readyz"), (200, "ok\n".into()));
    assert_eq!(get(&pages, "/livez?verbose"), (200, "[+]serializable_read ok\nok\n".into()));
    assert_eq!(get(&pages, "/readyz/non_learner"), (200, "ok\n".into()));
    assert_eq!(
        get(&pages, "/version"),
        (200, "{\"etcdserver\":\"3.7.3\",\"etcdcluster\":\"3.7.0\",\"storage\":\"3.7.0\"}".into())
    );
    assert!(get(&pages, "/metrics").1.contains("etcd_debugging_mvcc_keys_total 3\n"));
}

#[test]
fn only_get_is_served() {
    for path in ["/health", "/version", "/livez", "/readyz/non_learner"] {
        let got = call(&healthy(), "POST", path, Surface::Client);
        assert_eq!(got, (405, "Method Not Allowed\n".into()), "{path}");
    }
}

#[test]
fn nospace_fails_health_alone_and_can_be_excluded() {
    let pages = pages(Fake { leader: 1, alarms: vec![(MemberId(1), NOSPACE_ALARM)], read: Ok(()) });
    assert_eq!(
        get(&pages, "/health"),
        (503, "{\"health\":\"false\",\"reason\":\"ALARM NOSPACE\"}\n".into())
    );
    assert_eq!(get(&pages, "/health?exclude=NOSPACE").0, 200);
    assert_eq!(get(&pages, "/livez").0, 200);
    assert_eq!(get(&pages, "/readyz").0, 200);
}

const NOSPACE_ALARM: u32 = 1;

#[test]
fn corruption_fails_readiness_and_names_the_check() {
    let pages = pages(Fake { leader: 1, alarms: vec![(MemberId(1), 2)], read: Ok(()) });
    let (status, body) = get(&pages, "/readyz");
    assert_eq!(status, 503);
    assert!(body.contains("[-]data_corruption failed: alarm activated: CORRUPT\n"), "{body}");
    assert!(body.contains("[+]linearizable_read ok\n"), "{body}");
    assert_eq!(get(&pages, "/readyz?exclude=data_corruption").0, 200);
    assert_eq!(get(&pages, "/readyz/data_corruption?exclude=data_corruption").0, 503);
}

#[test]
fn without_a_leader_only_local_checks_pass() {
    let pages = pages(Fake { leader: 0, alarms: vec![], read: Err(OpError::NoLeader) });
    assert_eq!(
        get(&pages, "/health"),
        (503, "{\"health\":\"false\",\"reason\":\"RAFT NO LEADER\"}\n".into())
    );
    assert_eq!(get(&pages, "/health?serializable=true").0, 200);
    assert_eq!(get(&pages, "/livez").0, 200);
    let (status, body) = get(&pages, "/readyz");
    assert_eq!(status, 503);
    assert!(body.contains("[-]linearizable_read failed: NoLeader\n"), "{body}");
    assert!(get(&pages, "/version").1.contains("not_decided"));
}

#[test]
fn the_metrics_port_shows_health_and_metrics_only() {
    for (path, status) in
        [("/metrics", 200), ("/health", 200), ("/livez", 200), ("/version", 404), ("/nope", 404)]
    {
        assert_eq!(call(&healthy(), "GET", path, Surface::Metrics).0, status, "{path}");
    }
    assert_eq!(get(&healthy(), "/nope"), (404, "404 page not found\n".into()));
}

#[test]
fn the_peer_port_shows_version_and_members_only() {
    for (path, status) in [("/version", 200), ("/metrics", 404), ("/health", 404), ("/raft", 404)] {
        assert_eq!(call(&healthy(), "GET", path, Surface::Peer).0, status, "{path}");
    }
    let list = "[{\"id\":7,\"peerURLs\":[\"http://127.0.0.1:1\"]}]\n";
    assert_eq!(call(&healthy(), "GET", "/members", Surface::Peer), (200, list.into()));
    assert_eq!(call(&healthy(), "POST", "/members", Surface::Peer).0, 405);
    assert_eq!(get(&healthy(), "/members").0, 404);
    let request = Request::builder().uri("/members").body(()).expect("a request");
    let answer = now(healthy().page(&request, Surface::Peer)).into_response();
    assert_eq!(answer.headers()["x-etcd-cluster-id"], "cdf8");
}

#[test]
fn hosts_that_are_not_listed_are_refused() {
    let mut pages = healthy();
    pages.host_whitelist = vec!["good".to_string()];
    for (host, refused) in [("good:2379", false), ("good", false), ("bad:2379", true)] {
        let request = Request::builder().header("host", host).body(()).expect("a request");
        assert_eq!(pages.refused_host(&request).is_some(), refused, "{host}");
    }
}
