//! Keepalive enforcement: counts the pings of a client as grpc-go's server does. Also tells that a
//! client has reset a stream.
//!
//! h2 answers pings by itself and tells nobody, and of a reset it tells only who asks for that
//! stream, so the bytes that pass by in both directions are
//! scanned for frame headers: nine bytes are looked at per frame, payloads are skipped.

use std::time::{Duration, Instant};

/// Pings in a row that are forgiven; the next one closes the connection. grpc-go's constant.
const STRIKES_MAX: u32 = 2;
/// A client without open streams may ping this often; grpc-go's constant.
const IDLE_PING_MIN: Duration = Duration::from_secs(2 * 3600);
const PREFACE_LEN: usize = 24;
const HEADER_LEN: usize = 9;
const TYPE_DATA: u8 = 0;
const TYPE_HEADERS: u8 = 1;
const TYPE_RESET: u8 = 3;
const TYPE_PING: u8 = 6;
const FLAG_ACK: u8 = 1;

/// The GOAWAY frame that tells a grpc client to ping less: ENHANCE_YOUR_CALM, with the text that
/// grpc clients look for. The last stream id is the largest, so that nothing is retried.
pub const GOAWAY_TOO_MANY_PINGS: &[u8] =
    b"\x00\x00\x16\x07\x00\x00\x00\x00\x00\x7f\xff\xff\xff\x00\x00\x00\x0btoo_many_pings";

/// Finds the frame headers in one direction of a connection.
#[derive(Debug)]
struct Scan {
    /// Bytes to pass over: the preface, then payloads.
    skip: usize,
    header: [u8; HEADER_LEN],
    header_len: usize,
}

impl Scan {
    fn new(skip: usize) -> Scan {
        Scan { skip, header: [0; HEADER_LEN], header_len: 0 }
    }

    /// Calls `found` with type and flags of each frame that begins in these bytes.
    fn frames(&mut self, mut bytes: &[u8], mut found: impl FnMut(u8, u8)) {
        while !bytes.is_empty() {
            if 0 < self.skip {
                let count = self.skip.min(bytes.len());
                self.skip -= count;
                bytes = &bytes[count..];
                continue;
            }
            let count = (HEADER_LEN - self.header_len).min(bytes.len());
            self.header[self.header_len..self.header_len + count].copy_from_slice(&bytes[..count]);
            self.header_len += count;
            bytes = &bytes[count..];
            if self.header_len == HEADER_LEN {
                self.header_len = 0;
                let [a, b, c, kind, flags, ..] = self.header;
                self.skip = u32::from_be_bytes([0, a, b, c]) as usize;
                found(kind, flags);
            }
        }
    }
}

/// Watches the frames of one connection.
#[derive(Debug)]
pub struct PingWatch {
    received: Scan,
    sent: Scan,
    strikes: Strikes,
    has_reset: bool,
}

/// The count itself.
#[derive(Debug)]
struct Strikes {
    /// Least time between two pings while streams are open.
    interval_min: Duration,
    last: Option<Instant>,
    count: u32,
    /// An answer left since the last ping.
    pardoned: bool,
    /// The client has opened a stream.
    streams_open: bool,
    now: fn() -> Instant,
}

impl PingWatch {
    /// A watch that allows one ping per `interval_min`.
    pub fn new(interval_min: Duration, now: fn() -> Instant) -> PingWatch {
        let strikes = Strikes {
            interval_min,
            last: None,
            count: 0,
            pardoned: false,
            streams_open: false,
            now,
        };
        PingWatch {
            received: Scan::new(PREFACE_LEN),
            sent: Scan::new(0),
            strikes,
            has_reset: false,
        }
    }

    /// Looks at bytes as they were read.
    pub fn received(&mut self, bytes: &[u8]) {
        let strikes = &mut self.strikes;
        self.received.frames(bytes, |kind, flags| match kind {
            TYPE_PING if flags & FLAG_ACK == 0 => strikes.ping(),
            TYPE_HEADERS => strikes.streams_open = true,
            TYPE_RESET => self.has_reset = true,
            _ => {}
        });
    }

    /// Looks at bytes as they are written: data and headers pardon the pings before them, among
    /// which are those by which clients measure their bandwidth.
    pub fn sent(&mut self, bytes: &[u8]) {
        let strikes = &mut self.strikes;
        self.sent.frames(bytes, |kind, _| {
            if kind == TYPE_DATA || kind == TYPE_HEADERS {
                strikes.pardoned = true;
            }
        });
    }

    /// True if the client has reset a stream since this was last asked. It stays true while the
    /// last frame has not come whole.
    pub fn take_reset(&mut self) -> bool {
        let has_reset = self.has_reset;
        self.has_reset &= 0 < self.received.skip;
        has_reset
    }

    /// The same, without forgetting it.
    pub fn has_reset(&self) -> bool {
        self.has_reset
    }

    /// True once the client has pinged too much.
    pub fn exceeded(&self) -> bool {
        STRIKES_MAX < self.strikes.count
    }
}

impl Strikes {
    fn ping(&mut self) {
        let now = (self.now)();
        let last = self.last.replace(now);
        if std::mem::take(&mut self.pardoned) {
            self.count = 0;
            return;
        }
        let least = if self.streams_open { self.interval_min } else { IDLE_PING_MIN };
        if last.is_some_and(|last| now.duration_since(last) < least) {
            self.count += 1;
        }
    }
}

#[cfg(test)]
mod tests;
