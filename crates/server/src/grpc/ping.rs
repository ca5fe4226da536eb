//! Keepalive enforcement: counts the pings of a client as grpc-go's server does.
//!
//! h2 answers pings by itself and tells nobody, so the bytes that pass by are scanned for frame
//! headers: nine bytes are looked at per frame, payloads are skipped.

use std::time::{Duration, Instant};

/// Pings in a row that are forgiven; the next one closes the connection. grpc-go's constant.
const STRIKES_MAX: u32 = 2;
/// A client without open streams may ping this often; grpc-go's constant.
const IDLE_PING_MIN: Duration = Duration::from_secs(2 * 3600);
const PREFACE_LEN: usize = 24;
const HEADER_LEN: usize = 9;
const TYPE_PING: u8 = 6;
const FLAG_ACK: u8 = 1;

/// The GOAWAY frame that tells a grpc client to ping less: ENHANCE_YOUR_CALM, with the text that
/// grpc clients look for. The last stream id is the largest, so that nothing is retried.
pub const GOAWAY_TOO_MANY_PINGS: &[u8] =
    b"\x00\x00\x16\x07\x00\x00\x00\x00\x00\x7f\xff\xff\xff\x00\x00\x00\x0btoo_many_pings";

/// Watches the frames of one connection.
#[derive(Debug)]
pub struct PingWatch {
    /// Least time between two pings while streams are open.
    interval_min: Duration,
    /// Bytes to pass over: the preface, then payloads.
    skip: usize,
    header: [u8; HEADER_LEN],
    header_len: usize,
    last: Option<Instant>,
    strikes: u32,
    pardoned: bool,
    /// Streams open as the connection task last said.
    streams_open: bool,
    now: fn() -> Instant,
}

impl PingWatch {
    /// A watch that allows one ping per `interval_min`.
    pub fn new(interval_min: Duration, now: fn() -> Instant) -> PingWatch {
        PingWatch {
            interval_min,
            skip: PREFACE_LEN,
            header: [0; HEADER_LEN],
            header_len: 0,
            last: None,
            strikes: 0,
            pardoned: false,
            streams_open: false,
            now,
        }
    }

    /// Looks at bytes as they were read.
    pub fn observe(&mut self, mut bytes: &[u8]) {
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
                self.frame();
            }
        }
    }

    fn frame(&mut self) {
        let [a, b, c, kind, flags, ..] = self.header;
        self.skip = u32::from_be_bytes([0, a, b, c]) as usize;
        match kind {
            TYPE_PING if flags & FLAG_ACK == 0 => self.ping(),
            0x1 => self.streams_open = true,
            _ => {}
        }
    }

    fn ping(&mut self) {
        let now = (self.now)();
        let last = self.last.replace(now);
        if std::mem::take(&mut self.pardoned) {
            self.strikes = 0;
            return;
        }
        let least = if self.streams_open { self.interval_min } else { IDLE_PING_MIN };
        if last.is_some_and(|last| now.duration_since(last) < least) {
            self.strikes += 1;
        }
    }

    /// An answer left: the pings so far are forgiven.
    pub fn pardon(&mut self) {
        self.pardoned = true;
    }

    /// True once the client has pinged too much.
    pub fn exceeded(&self) -> bool {
        STRIKES_MAX < self.strikes
    }
}

#[cfg(test)]
mod tests;
