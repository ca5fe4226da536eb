//! What a member looks after by itself: flush, trim, compaction, hashes, alarms, watchers, stop.

use super::rig::{MEMBER, Rig, put};
use crate::compactor::{AutoCompaction, Compactor};
use crate::effect::Note;
use crate::event::{DiskSpace, WatchCommand};
use crate::request::{AlarmKind, Request, Response, StreamId, WriteKind};
use crate::{Config, Event, StartError, identity};
use prost::Message;
use proto::etcdserverpb::DeleteRangeRequest;
use std::time::Duration;
use types::{KeyRange, OpError, Time};

fn small() -> store::Config {
    let mvcc = mvcc::Config { resident_bytes: 0, recent_bytes: 1024 };
    store::Config { mvcc, ..store::Config::default() }
}

#[test]
fn what_is_old_is_flushed_and_the_log_let_go_but_for_two_flushes() {
    let mut rig = Rig::new();
    for round in 0..6 {
        for at in 0..50 {
            rig.put(&format!("k{at}"), &"x".repeat(2000 + round)).unwrap();
        }
        rig.pass(Duration::from_secs(3));
    }
    assert!(5 <= rig.flushes, "{} flushes", rig.flushes);
    let last = *rig.trims.last().expect("the log was trimmed");
    let applied = rig.member.store().applied();
    assert!(last < applied, "the last two flushes are covered by the log");
    let mut rig = rig.lose_power();
    assert_eq!(rig.get("k7").map(|value| value.len()), Some(2005));
}

#[test]
fn a_log_that_small_writes_made_long_is_flushed_and_let_go() {
    let mut config = Config::new(MEMBER, super::rig::CLUSTER, 1);
    config.flush_log_bytes = 256 * 1024;
    let mut rig = Rig::with(config, store::Config::default());
    for at in 0..400 {
        rig.put("k", &format!("{at}")).unwrap();
    }
    // Each put takes a block of 4 KiB, so 64 of them are as many bytes of log as a flush needs.
    assert!(5 <= rig.flushes, "{} flushes of 400 blocks of log", rig.flushes);
    let (last, applied) = (rig.trims.last().expect("the log was trimmed").0, 400);
    assert!(applied - 256 <= last, "trimmed up to {last}: all but the last two flushes");
}

#[test]
fn a_cold_record_is_fetched_before_the_entry_that_reads_it() {
    let mut rig = Rig::with(Config::new(MEMBER, super::rig::CLUSTER, 1), small());
    rig.put("a", "1").unwrap();
    rig.pass(Duration::from_secs(5));
    let put = proto::etcdserverpb::PutRequest {
        key: b"a".as_ref().into(),
        ignore_value: true,
        prev_kv: true,
        ..Default::default()
    };
    let body = put.encode_to_vec().into();
    let answer = rig.ask(Request::Write { kind: WriteKind::Put, body, quota_cost: 0 });
    assert!(matches!(answer, Ok(Response::Put(_))), "{answer:?}");
}

#[test]
fn a_physical_compaction_is_answered_when_its_clearing_up_is_done() {
    let mut rig = Rig::new();
    for at in 0..300 {
        rig.put("k", &format!("{at}")).unwrap();
    }
    let id = rig.send(Request::Compact { revision: 290, physical: true });
    rig.turn();
    rig.pass(Duration::from_secs(5));
    assert_eq!(rig.answers.remove(&id), Some(Ok(Response::Compact)));
    assert!(rig.notes.contains(&Note::CompactionFinished(290)));
    let again = rig.ask(Request::Compact { revision: 290, physical: false });
    assert_eq!(again, Err(OpError::Compacted));
    assert_eq!(rig.ask(Request::Defragment), Ok(Response::Defragment));
}

#[test]
fn a_hash_covers_what_is_not_flushed_yet() {
    let mut rig = Rig::new();
    rig.put("a", "1").unwrap();
    let first = rig.ask(Request::HashKv(0)).unwrap();
    let Response::HashKv { compact_revision: -1, hash_revision: 2, hash } = first else {
        panic!("{first:?}");
    };
    rig.put("a", "2").unwrap();
    let at_two = Response::HashKv { compact_revision: -1, hash_revision: 2, hash };
    assert_eq!(rig.ask(Request::HashKv(2)), Ok(at_two));
    assert_eq!(rig.ask(Request::HashKv(9)), Err(OpError::FutureRevision));
}

#[test]
fn only_the_hash_of_a_compaction_is_paced_until_a_client_waits_for_it() {
    let mut rig = Rig::new();
    for number in 2..8 {
        rig.put("a", &number.to_string()).unwrap();
    }
    rig.holds_flushes = true;
    rig.send(Request::HashKv(5));
    rig.turn();
    rig.ask(Request::Compact { revision: 6, physical: false }).unwrap();
    rig.send(Request::HashKv(6));
    assert!(rig.notes.contains(&Note::HashAwaited), "the hash waits for a flush");
    rig.release();
    assert_eq!(rig.hashes_paced, [false, true]);
}

#[test]
fn the_hash_at_a_compacted_revision_is_of_what_was_there_before() {
    let mut rig = Rig::new();
    for at in 0..10 {
        rig.put("k", &format!("{at}")).unwrap();
    }
    let before = rig.ask(Request::HashKv(7)).unwrap();
    assert!(matches!(before, Response::HashKv { compact_revision: -1, .. }), "{before:?}");
    rig.ask(Request::Compact { revision: 7, physical: false }).unwrap();
    rig.pass(Duration::from_secs(5));
    assert_eq!(rig.ask(Request::HashKv(7)), Ok(before.clone()));
    // The next one begins where this one left off, and does not make it forgotten.
    let left = rig.ask(Request::HashKv(9)).unwrap();
    assert!(matches!(left, Response::HashKv { compact_revision: 7, .. }), "{left:?}");
    rig.ask(Request::Compact { revision: 9, physical: false }).unwrap();
    rig.pass(Duration::from_secs(5));
    assert_eq!(rig.ask(Request::HashKv(9)), Ok(left));
    assert_eq!(rig.ask(Request::HashKv(7)), Ok(before));
    assert_eq!(rig.ask(Request::HashKv(8)), Err(OpError::Compacted));
}

#[test]
fn the_hash_of_a_compaction_that_leaves_delete_markers_alone_is_etcds() {
    let mut rig = Rig::new();
    rig.put("a", "1").unwrap();
    rig.put("b", "2").unwrap();
    rig.ask(Request::Compact { revision: 3, physical: false }).unwrap();
    rig.pass(Duration::from_secs(5));
    for key in [&b"a"[..], b"b"] {
        let delete = DeleteRangeRequest { key: key.into(), ..Default::default() };
        let body = delete.encode_to_vec().into();
        rig.ask(Request::Write { kind: WriteKind::DeleteRange, body, quota_cost: 0 }).unwrap();
    }
    let at_five =
        |hash, compact_revision| Response::HashKv { hash, compact_revision, hash_revision: 5 };
    assert_eq!(rig.ask(Request::HashKv(5)), Ok(at_five(3_647_447_639, 3)), "not compacted yet");
    rig.ask(Request::Compact { revision: 5, physical: false }).unwrap();
    rig.pass(Duration::from_secs(5));
    assert_eq!(rig.ask(Request::HashKv(5)), Ok(at_five(1_579_692_566, 3)), "made by it");
    assert_eq!(rig.ask(Request::HashKv(0)), Ok(at_five(1_084_519_789, 5)), "of what is left");
}

#[test]
fn hashes_of_the_last_ten_compactions_are_kept() {
    let mut rig = Rig::new();
    for at in 0..20 {
        rig.put("k", &format!("{at}")).unwrap();
    }
    for revision in 2..=12 {
        rig.ask(Request::Compact { revision, physical: false }).unwrap();
        rig.pass(Duration::from_secs(5));
    }
    assert_eq!(rig.ask(Request::HashKv(2)), Err(OpError::Compacted));
    assert!(matches!(rig.ask(Request::HashKv(3)), Ok(Response::HashKv { .. })));
}

#[test]
fn over_the_quota_an_alarm_is_raised_and_deletes_go_on() {
    let store = store::Config { quota_bytes: 2000, ..store::Config::default() };
    let mut rig = Rig::with(Config::new(MEMBER, super::rig::CLUSTER, 1), store);
    rig.put("a", &"x".repeat(1000)).unwrap();
    assert!(rig.member.over_quota(1000));
    assert!(!rig.member.over_quota(0));
    rig.turn();
    assert!(rig.notes.contains(&Note::NoSpaceAlarm));
    assert_eq!(rig.put("b", "1"), Err(OpError::NoSpace));
    let delete = DeleteRangeRequest { key: b"a".as_ref().into(), ..Default::default() };
    let body = delete.encode_to_vec().into();
    let kind = WriteKind::DeleteRange;
    let answer = rig.ask(Request::Write { kind, body, quota_cost: 0 });
    assert!(matches!(answer, Ok(Response::Delete(_))), "{answer:?}");
    let action = crate::request::AlarmAction::Get;
    let alarms = rig.ask(Request::Alarm { action, member: MEMBER, kind: AlarmKind::None });
    assert_eq!(alarms, Ok(Response::Alarm(vec![(MEMBER, AlarmKind::NoSpace)])));
}

#[test]
fn a_full_disk_refuses_puts_until_it_has_room() {
    let mut rig = Rig::new();
    rig.step(Event::DiskSpace(DiskSpace::Full));
    assert_eq!(rig.put("a", "1"), Err(OpError::NoSpace));
    assert_eq!(rig.get("a"), None);
    rig.step(Event::DiskSpace(DiskSpace::Ok));
    assert!(rig.put("a", "1").is_ok());
}

#[test]
fn a_watcher_is_told_of_changes_and_of_its_past() {
    let mut rig = Rig::new();
    rig.put("a", "1").unwrap();
    let stream = StreamId(1);
    rig.step(Event::Watch { stream, command: WatchCommand::Open });
    let range = KeyRange::single(&b"a"[..]);
    let create = watch::Create { range, start_revision: 2, ..watch::Create::default() };
    rig.step(Event::Watch { stream, command: WatchCommand::Create(create) });
    rig.turn();
    rig.put("a", "2").unwrap();
    assert!(rig.ready.contains(&stream));
    let mut messages = Vec::new();
    while rig.member.drain_watch(stream, 1 << 20, &mut messages) {}
    let events: usize = messages.iter().map(|message| message.events.count()).sum();
    assert_eq!(events, 2, "{messages:?}");
}

#[test]
fn a_stop_flushes_and_refuses_what_comes_after() {
    let mut rig = Rig::new();
    rig.put("a", "1").unwrap();
    rig.step(Event::Stop);
    assert_eq!(rig.ask(put("b", "1")), Err(OpError::Stopped));
    assert!(rig.is_stopped);
    assert_eq!(rig.member.store().pending().entries, 0);
}

#[test]
fn periodic_compaction_compacts_at_what_was_newest_a_retention_ago() {
    let minute = Duration::from_secs(60);
    let mode = AutoCompaction::Periodic(minute * 10);
    let mut compactor = Compactor::new(mode, Time(0), 1).unwrap();
    let mut now = Time(0);
    let mut compacted = Vec::new();
    for revision in 2..40 {
        now = now + minute;
        if let Some(at) = compactor.tick(now, revision, true) {
            compactor.succeeded(now, at);
            compacted.push((revision, at));
        }
    }
    assert_eq!(compacted, [(11, 1), (21, 10), (31, 20)]);
}

#[test]
fn revision_compaction_keeps_so_many() {
    let mode = AutoCompaction::Revision(100);
    let mut compactor = Compactor::new(mode, Time(0), 1).unwrap();
    let later = Time(0) + Duration::from_secs(300);
    assert_eq!(compactor.tick(later, 90, true), None);
    let later = later + Duration::from_secs(300);
    assert_eq!(compactor.tick(later, 150, false), None, "only the leader proposes");
    let later = later + Duration::from_secs(300);
    assert_eq!(compactor.tick(later, 150, true), Some(50));
}

#[test]
fn ids_are_those_that_etcd_computes() {
    let urls = ["http://localhost:2380".to_owned()];
    let member = identity::member_id(&urls, "etcd-cluster");
    assert_eq!(format!("{:x}", member.0), "8e9e05c52164694d");
    assert_eq!(format!("{:x}", identity::cluster_id(&[member]).0), "cdf818194e3a8c32");
}

#[test]
fn data_that_the_log_does_not_reach_is_refused() {
    let log = wal::Recovered {
        identity: wal::Identity::default(),
        hard_state: wal::HardState::default(),
        membership: bytes::Bytes::new(),
        base: wal::Position { index: types::Index(4), term: types::Term(1) },
        entries: Vec::new(),
        install: None,
        boot: 2,
        cut: None,
    };
    let config = Config::new(MEMBER, super::rig::CLUSTER, 2);
    let store = store::Store::new(store::Config::default());
    let refused = crate::Member::new(config, log, store, Time(0)).err();
    assert!(matches!(refused, Some(StartError::Node(node::StartError::Gap { .. }))));
}
