//! Calls that nobody waits for any more, on a disk that stands still.

use super::super::frame::framed;
use super::rig::{Rig, with_core};
use crate::driver::core::{Core, Figures};
use bytes::Bytes;
use h2::Reason;
use member::{Effect, Effects, Event, Member, StreamId};
use proto::etcdserverpb as pb;
use proto::v3lockpb;
use std::cell::Cell;
use std::rc::Rc;
use std::time::{Duration, Instant};
use types::{MemberId, Time};

const PUT: &str = "/etcdserverpb.KV/Put";

/// A member whose writes to the log do not reach it while the disk stands still.
struct Stalled {
    member: Member,
    stands: Rc<Cell<bool>>,
    held: Effects,
}

impl Core for Stalled {
    fn step(&mut self, now: Time, event: Event, effects: &mut Effects) {
        Core::step(&mut self.member, now, event, effects);
    }

    fn begin_turn(&mut self, now: Time, effects: &mut Effects) {
        Core::begin_turn(&mut self.member, now, effects);
        let is_write = |effect: &Effect| matches!(effect, Effect::Persist { .. });
        self.held.extend(effects.extract_if(.., |effect| is_write(effect)));
        if !self.stands.get() {
            effects.append(&mut self.held);
        }
    }

    fn end_turn(&mut self, now: Time, effects: &mut Effects) {
        Core::end_turn(&mut self.member, now, effects);
    }

    fn next_deadline(&self, now: Time) -> Time {
        Core::next_deadline(&self.member, now)
    }

    fn drain_watch(
        &mut self,
        stream: StreamId,
        bytes_max: usize,
        out: &mut Vec<watch::Message>,
    ) -> bool {
        Core::drain_watch(&mut self.member, stream, bytes_max, out)
    }

    fn watch_accepts(&self, stream: StreamId) -> bool {
        Core::watch_accepts(&self.member, stream)
    }

    fn over_quota(&mut self, cost: i64) -> bool {
        Core::over_quota(&mut self.member, cost)
    }

    fn peers(&self) -> Vec<(MemberId, Vec<String>)> {
        Vec::new()
    }

    fn is_removed(&self, _: MemberId) -> bool {
        false
    }

    fn figures(&self) -> Figures {
        Core::figures(&self.member)
    }
}

/// Runs `test` on a disk that stands still, until the cell is cleared.
fn with_stalled_disk(test: impl AsyncFnOnce(Rig, Rc<Cell<bool>>)) {
    let stands = Rc::new(Cell::new(false));
    let in_core = Rc::clone(&stands);
    let wrap = |member| -> Box<dyn Core> {
        Box::new(Stalled { member, stands: in_core, held: Effects::new() })
    };
    with_core(&[], wrap, async move |rig| {
        stands.set(true);
        test(rig, Rc::clone(&stands)).await;
        stands.set(false);
    });
}

/// Waits until this many requests wait, at the member and in the shell.
async fn waiting(rig: &Rig, count: usize) {
    let deadline = Instant::now() + Duration::from_secs(30);
    let waits = || (rig.shell.figures().proposals_pending, rig.shell.waiting_calls());
    while waits() != (count, count) {
        assert!(Instant::now() < deadline, "{:?} wait, not {count}", waits());
        tokio::task::yield_now().await;
    }
}

fn put(key: &'static str) -> Bytes {
    framed(&pb::PutRequest { key: key.into(), ..Default::default() })
}

#[test]
fn a_write_whose_call_is_reset_is_waited_for_no_longer() {
    with_stalled_disk(async |rig, stands| {
        let mut client = rig.connect().await;
        let (_first, mut first) = client.open(PUT, &[]).await;
        first.send_data(put("a"), true).unwrap();
        let (second, mut stream) = client.open(PUT, &[]).await;
        stream.send_data(put("b"), true).unwrap();
        waiting(&rig, 2).await;
        let handled = || {
            let text = rig.shell.metrics.render();
            let name = "grpc_server_handled_total{grpc_code=\"Canceled\",grpc_method=\"Put\"";
            text.lines().any(|line| line.starts_with(name) && line.ends_with(" 1"))
        };
        assert!(!handled());
        first.send_reset(Reason::CANCEL);
        waiting(&rig, 1).await;
        assert!(handled());
        // What was proposed still commits, and the other call is answered.
        stands.set(false);
        assert_eq!(second.await.unwrap().headers()["content-type"], "application/grpc");
        let get = pb::RangeRequest { key: "a".into(), ..Default::default() };
        let found: pb::RangeResponse = client.call("/etcdserverpb.KV/Range", &get).await;
        assert_eq!(found.count, 1);
        waiting(&rig, 0).await;
    });
}

#[test]
fn writes_of_a_connection_that_ended_are_waited_for_no_longer() {
    with_stalled_disk(async |rig, _| {
        let mut other = rig.connect().await;
        let (_other, mut stream) = other.open(PUT, &[]).await;
        stream.send_data(put("a"), true).unwrap();
        let (mut client, connection) = rig.connect_with_task().await;
        let mut open = Vec::new();
        for _ in 0..3 {
            let (response, mut stream) = client.open(PUT, &[]).await;
            stream.send_data(put("b"), true).unwrap();
            open.push((response, stream));
        }
        waiting(&rig, 4).await;
        connection.abort();
        waiting(&rig, 1).await;
    });
}

#[test]
fn a_step_of_a_program_that_is_reset_is_waited_for_no_longer() {
    with_stalled_disk(async |rig, _| {
        let mut client = rig.connect().await;
        let (_response, mut stream) = client.open("/v3lockpb.Lock/Lock", &[]).await;
        let lock = v3lockpb::LockRequest { name: "l".into(), lease: 0 };
        stream.send_data(framed(&lock), true).unwrap();
        // The grant of its lease.
        waiting(&rig, 1).await;
        stream.send_reset(Reason::CANCEL);
        waiting(&rig, 0).await;
    });
}
