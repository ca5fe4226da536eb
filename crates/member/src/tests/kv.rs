//! Puts and ranges end to end, and what may be answered before which sync.

use super::rig::{Rig, put};
use crate::effect::Note;
use crate::request::{Request, Response};
use std::time::Duration;
use types::outcome::PutOutcome;
use types::{OpError, RangeOp};

#[test]
fn a_put_is_answered_and_read_back() {
    let mut rig = Rig::new();
    let answer = rig.put("a", "1");
    assert_eq!(answer, Ok(Response::Put(PutOutcome { revision: 2, prev: None })));
    assert_eq!(rig.get("a").as_deref(), Some("1"));
    assert_eq!(rig.get("b"), None);
}

#[test]
fn a_fresh_member_leads_publishes_itself_and_is_ready() {
    let rig = Rig::new();
    assert!(rig.notes.contains(&Note::Ready), "{:?}", rig.notes);
    assert_eq!(rig.member.store().cluster_version(), Some("3.7.0"));
    let row = rig.member.store().members().next().unwrap();
    assert_eq!(row.name, "default");
}

#[test]
fn no_answer_leaves_before_its_sync_but_reads_go_on() {
    let mut rig = Rig::new();
    rig.put("a", "1").unwrap();
    rig.holds_writes = true;
    let first = rig.send(put("a", "2"));
    rig.turn();
    let second = rig.send(put("a", "3"));
    assert_eq!(rig.get("a").as_deref(), Some("1"), "reads do not wait for the sync");
    rig.pass(Duration::from_secs(3));
    assert!(!rig.answers.contains_key(&first) && !rig.answers.contains_key(&second));
    rig.release();
    assert!(rig.answers[&first].is_ok() && rig.answers[&second].is_ok());
    assert_eq!(rig.get("a").as_deref(), Some("3"));
}

#[test]
fn requests_of_one_turn_share_one_sync() {
    let mut rig = Rig::new();
    rig.holds_writes = true;
    for at in 0..100 {
        rig.send(put(&format!("k{at}"), "v"));
    }
    rig.turn();
    assert_eq!(rig.held.len(), 1);
    rig.release();
    assert_eq!(rig.answers.len(), 100);
}

#[test]
fn acknowledged_writes_survive_a_kill_and_a_power_loss() {
    let mut rig = Rig::new();
    rig.put("a", "1").unwrap();
    let mut rig = rig.restart();
    assert_eq!(rig.get("a").as_deref(), Some("1"));
    rig.put("b", "2").unwrap();
    let mut rig = rig.lose_power();
    assert_eq!(rig.get("a").as_deref(), Some("1"));
    assert_eq!(rig.get("b").as_deref(), Some("2"));
    assert_eq!(rig.put("c", "3"), Ok(Response::Put(PutOutcome { revision: 4, prev: None })));
    rig.pass(Duration::from_secs(10));
    assert!(0 < rig.flushes);
    let mut rig = rig.lose_power();
    assert_eq!(rig.get("c").as_deref(), Some("3"));
}

#[test]
fn a_request_that_takes_too_long_is_told_so_and_may_still_commit() {
    let mut rig = Rig::new();
    rig.holds_writes = true;
    let id = rig.send(put("a", "1"));
    rig.pass(Duration::from_secs(8));
    assert_eq!(rig.answers.remove(&id), Some(Err(OpError::Timeout)));
    rig.release();
    assert_eq!(rig.get("a").as_deref(), Some("1"));
    assert!(!rig.answers.contains_key(&id), "it is answered once");
}

#[test]
fn a_large_entry_is_refused() {
    let mut rig = Rig::new();
    let limit = rig.config.request_bytes_max;
    let answer = rig.put("a", &"x".repeat(limit));
    assert_eq!(answer, Err(OpError::RequestTooLarge));
    assert!(rig.put("a", &"x".repeat(limit - 64)).is_ok());
}

#[test]
fn a_serializable_range_needs_no_turn() {
    let mut rig = Rig::new();
    rig.put("a", "1").unwrap();
    let range = types::KeyRange::single(&b"a"[..]);
    let op = RangeOp { range, serializable: true, ..RangeOp::default() };
    let id = rig.send(Request::Range(op));
    assert!(matches!(rig.answers.get(&id), Some(Ok(Response::Range(_)))));
}
