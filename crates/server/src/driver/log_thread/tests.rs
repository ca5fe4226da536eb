//! A full disk, as the log thread meets it.

use super::*;
use bytes::Bytes;
use member::event::DiskSpace;
use std::sync::mpsc::channel;
use std::task::Waker;
use types::{Index, Term};
use vfs::sim::SimDisk;
use wal::{Entry, EntryKind, Frame, HardState, Identity, WalConfig};

const SEGMENT_BYTES: u64 = 64 * 1024;

fn batch(index: u64) -> Batch {
    let entry = Entry {
        index: Index(index),
        term: Term(1),
        kind: EntryKind::Normal,
        data: Bytes::from(vec![7; 40 * 1024]),
    };
    let hard_state = HardState { term: Term(1), commit: Index(index - 1), ..HardState::default() };
    Batch { frames: vec![Frame::Entry(entry), Frame::HardState(hard_state)] }
}

fn events(mailbox: &Mailbox) -> Vec<Event> {
    let mut mail = Vec::new();
    mailbox.take(Waker::noop(), &mut mail);
    let event = |mail| match mail {
        Mail::Event(event) => event,
        Mail::Cold { .. } => panic!("nobody reads"),
    };
    mail.into_iter().map(event).collect()
}

#[test]
fn a_batch_that_waits_for_room_gets_it_from_a_trim() {
    let disk = SimDisk::new();
    let config = WalConfig { segment_bytes: SEGMENT_BYTES, ..WalConfig::new(1) };
    let shared = Arc::new(disk.clone());
    let (wal, _) = Wal::create(shared, "wal", config, Identity::default(), Bytes::new()).unwrap();
    let mailbox = Arc::new(Mailbox::default());
    let space = Space::new(Arc::clone(&mailbox));
    let mut thread = LogThread { wal, mailbox: Arc::clone(&mailbox), space, is_closing: false };
    disk.set_capacity(Some(3 * SEGMENT_BYTES + 8 * 1024));
    let (send, work) = channel();
    for index in 1..=3 {
        thread.persist(Ticket(index), &batch(index), &work);
    }
    send.send(LogWork::Effect(Effect::Trim(Index(1)))).unwrap();
    thread.persist(Ticket(4), &batch(4), &work);
    let events = events(&mailbox);
    let persisted = events.iter().filter(|event| matches!(event, Event::Persisted(_))).count();
    assert_eq!(persisted, 4);
    let spaces: Vec<_> = events
        .iter()
        .filter_map(|event| match event {
            Event::DiskSpace(space) => Some(*space),
            _ => None,
        })
        .collect();
    assert_eq!(spaces, [DiskSpace::Full], "told once");
    disk.set_capacity(None);
    thread.idle();
    assert!(!thread.is_disk_full(), "it ends by itself");
}
