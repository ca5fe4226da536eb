//! Keepalive of connections: pings to clients, and the end of those that do not answer.

use h2::{Ping, PingPong};
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::time::{Instant, Sleep};

/// Pings one client every interval.
pub(super) struct Keepalive {
    pings: PingPong,
    interval: Duration,
    timeout: Duration,
    timer: Pin<Box<Sleep>>,
    /// The timer knows whom to wake.
    armed: bool,
    /// A ping has no answer yet.
    waiting: bool,
}

impl Keepalive {
    /// `None` where it is turned off.
    pub(super) fn new(
        pings: Option<PingPong>,
        interval: Duration,
        timeout: Duration,
    ) -> Option<Self> {
        let pings = pings.filter(|_| !interval.is_zero())?;
        let timer = Box::pin(tokio::time::sleep(interval));
        Some(Keepalive { pings, interval, timeout, timer, armed: false, waiting: false })
    }

    /// Ready once a client has left a ping unanswered for the timeout. The timer is looked at only
    /// when it is new or over: connections are polled far more often.
    pub(super) fn poll_dead(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if self.waiting && self.pings.poll_pong(cx).is_ready() {
            self.waiting = false;
            self.rearm(self.interval);
        }
        while !self.armed || self.timer.is_elapsed() {
            self.armed = true;
            if self.timer.as_mut().poll(cx).is_pending() {
                return Poll::Pending;
            }
            if self.waiting || self.pings.send_ping(Ping::opaque()).is_err() {
                return Poll::Ready(());
            }
            self.waiting = true;
            self.rearm(self.timeout);
            // Asks to be woken by the answer; it cannot be here yet.
            let _ = self.pings.poll_pong(cx);
        }
        Poll::Pending
    }

    fn rearm(&mut self, after: Duration) {
        self.timer.as_mut().reset(Instant::now() + after);
        self.armed = false;
    }
}
