//! A full disk, as the flush thread meets it.

use super::*;
use backend::{Config, Meta};
use bytes::Bytes;
use member::event::DiskSpace;
use std::task::Waker;
use types::{Index, Record, Revision, Term};
use vfs::sim::SimDisk;

const RESERVE_BYTES: u64 = 256 * 1024;
const VALUE_BYTES: usize = 20_000;

fn thread(disk: &SimDisk) -> (FlushThread, Arc<Mailbox>) {
    let shared: Arc<dyn vfs::Disk> = Arc::new(disk.clone());
    let config = Config { segment_bytes: 128 * 1024, salt: 1, ..Config::default() };
    let (backend, _) = Backend::create(Arc::clone(&shared), "data", config).unwrap();
    let mut reserve = Reserve::open(shared, "", RESERVE_BYTES).unwrap();
    assert!(reserve.refill(0).unwrap());
    let mailbox = Arc::new(Mailbox::default());
    let space = Space::new(Arc::clone(&mailbox));
    let (metrics, post) = (Metrics::new(false), Arc::clone(&mailbox));
    (FlushThread { backend, reserve, mailbox: post, metrics, space, resting: None }, mailbox)
}

fn job(main: i64, removals: Vec<Revision>) -> FlushJob {
    let revision = Revision::new(main, 0);
    // Field 1, the key.
    let mut kv = vec![0x0a, 1, b'k', 0x2a, 0xa0, 0x9c, 0x01];
    kv.resize(7 + VALUE_BYTES, b'x');
    let index = u64::try_from(main).unwrap();
    FlushJob {
        meta: Meta {
            applied: Index(index),
            term: Term(1),
            revision: main,
            compacted: -1,
            live_bytes: 0,
            conf_state: Bytes::new(),
        },
        records: vec![Record { revision, tombstone: false, kv: kv.into() }],
        removals,
        ..FlushJob::default()
    }
}

/// What the loop was told of the disk.
fn told(mailbox: &Mailbox) -> Vec<DiskSpace> {
    let mut mail = Vec::new();
    mailbox.take(Waker::noop(), &mut mail);
    let space = |mail| match mail {
        Mail::Event(Event::DiskSpace(space)) => Some(space),
        _ => None,
    };
    mail.into_iter().filter_map(space).collect()
}

/// Flushes until the disk is full, and the job that found it so; the next revision.
fn fill(thread: &mut FlushThread) -> i64 {
    let mut main = 2;
    while !thread.is_full() {
        thread.flush(Ticket(1), &job(main, Vec::new()));
        main += 1;
        assert!(main < 1000, "the disk gets full");
    }
    main
}

#[test]
fn a_full_disk_takes_the_job_from_the_reserve_and_room_from_a_compaction() {
    let disk = SimDisk::new();
    let (mut thread, mailbox) = thread(&disk);
    disk.set_capacity(Some(2 << 20));
    let next = fill(&mut thread);
    assert_eq!(told(&mailbox), [DiskSpace::Full]);
    assert!(thread.reserve.held() < RESERVE_BYTES);
    thread.refill();
    assert!(thread.is_full(), "there is no room yet");
    let removals = (2..next - 1).map(|main| Revision::new(main, 0)).collect();
    thread.flush(Ticket(2), &job(next, removals));
    let garbage = thread.backend.garbage();
    while thread.backend.garbage() != 0 {
        thread.rewrite(Ticket(3), false);
        assert_eq!(thread.resting, None, "nothing rests on a full disk");
    }
    assert!(10 < garbage);
    thread.refill();
    assert_eq!(told(&mailbox), [DiskSpace::Ok]);
    assert_eq!(thread.reserve.held(), RESERVE_BYTES);
}

#[test]
fn a_full_disk_that_grows_is_full_no_more() {
    let disk = SimDisk::new();
    let (mut thread, mailbox) = thread(&disk);
    disk.set_capacity(Some(1 << 20));
    fill(&mut thread);
    disk.set_capacity(None);
    thread.refill();
    assert_eq!(told(&mailbox), [DiskSpace::Full, DiskSpace::Ok]);
}

/// A rewrite that rests must not bring back a reader that does not know the jobs since.
#[test]
fn what_was_flushed_while_a_rewrite_rested_can_be_read() {
    let disk = SimDisk::new();
    let (mut thread, mailbox) = thread(&disk);
    for main in 2..40 {
        thread.flush(Ticket(1), &job(main, Vec::new()));
    }
    let removals = (2..39).map(|main| Revision::new(main, 0)).collect();
    thread.flush(Ticket(2), &job(40, removals));
    thread.rewrite(Ticket(3), false);
    thread.flush(Ticket(4), &job(41, Vec::new()));
    let Some((_, ticket, done)) = thread.resting.take() else { panic!("it rests") };
    thread.rewritten(ticket, done);
    let mut mail = Vec::new();
    mailbox.take(Waker::noop(), &mut mail);
    let Some(Mail::Event(Event::Rewritten { reader, .. })) = mail.pop() else {
        panic!("a rewrite ended");
    };
    assert!(reader.get(Revision::new(41, 0)).unwrap().is_some());
}
