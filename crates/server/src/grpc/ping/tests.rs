//! Which pings are too many.

use super::*;
use std::cell::Cell;
use std::sync::OnceLock;

thread_local! {
    static SECONDS: Cell<u64> = const { Cell::new(0) };
}

fn now() -> Instant {
    static START: OnceLock<Instant> = OnceLock::new();
    *START.get_or_init(Instant::now) + Duration::from_secs(SECONDS.get())
}

fn frame(kind: u8, flags: u8, len: usize) -> Vec<u8> {
    let mut bytes = u32::try_from(len).unwrap().to_be_bytes()[1..].to_vec();
    bytes.extend([kind, flags, 0, 0, 0, 1]);
    bytes.resize(HEADER_LEN + len, 0);
    bytes
}

fn watch_after_preface(streams: bool) -> PingWatch {
    let mut watch = PingWatch::new(Duration::from_secs(5), now);
    watch.received(&[b'x'; PREFACE_LEN]);
    watch.received(&frame(4, 0, 18));
    if streams {
        watch.received(&frame(1, 4, 40));
    }
    watch
}

#[test]
fn pings_faster_than_allowed_are_too_many_after_two_strikes() {
    let mut watch = watch_after_preface(true);
    for _ in 0..3 {
        watch.received(&frame(TYPE_PING, 0, 8));
    }
    assert!(!watch.exceeded());
    watch.received(&frame(TYPE_PING, 0, 8));
    assert!(watch.exceeded());
}

#[test]
fn pings_at_the_allowed_pace_and_acks_are_fine() {
    let mut watch = watch_after_preface(true);
    for _ in 0..20 {
        SECONDS.set(SECONDS.get() + 5);
        watch.received(&frame(TYPE_PING, 0, 8));
        watch.received(&frame(TYPE_PING, FLAG_ACK, 8));
        watch.received(&frame(TYPE_PING, FLAG_ACK, 8));
    }
    assert!(!watch.exceeded());
}

#[test]
fn a_client_without_streams_may_hardly_ping() {
    let mut watch = watch_after_preface(false);
    for _ in 0..4 {
        SECONDS.set(SECONDS.get() + 60);
        watch.received(&frame(TYPE_PING, 0, 8));
    }
    assert!(watch.exceeded());
}

#[test]
fn an_answer_pardons_the_pings_before_it() {
    let mut watch = watch_after_preface(true);
    for _ in 0..20 {
        watch.received(&frame(TYPE_PING, 0, 8));
        watch.sent(&frame(TYPE_DATA, 0, 30));
    }
    assert!(!watch.exceeded());
}

#[test]
fn frames_are_found_however_the_bytes_are_cut() {
    let mut stream = vec![b'x'; PREFACE_LEN];
    stream.extend(frame(1, 4, 40));
    for _ in 0..4 {
        stream.extend(frame(0, 0, 100));
        stream.extend(frame(TYPE_PING, 0, 8));
    }
    let mut watch = PingWatch::new(Duration::from_secs(5), now);
    for byte in stream {
        watch.received(&[byte]);
    }
    assert!(watch.exceeded());
}

#[test]
fn the_goaway_frame_is_whole() {
    let len = GOAWAY_TOO_MANY_PINGS.len();
    assert_eq!(GOAWAY_TOO_MANY_PINGS[..3], [0, 0, u8::try_from(len - HEADER_LEN).unwrap()]);
    assert_eq!(GOAWAY_TOO_MANY_PINGS[16], 0x0b);
}
