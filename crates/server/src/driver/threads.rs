//! The threads beside the loop: one for the log, one for the backend, helpers for reads.

use crate::metrics::Metrics;
use member::Effect;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::Sender;
use types::Revision;

/// Work for the log thread.
#[derive(Debug)]
pub enum LogWork {
    /// `Effect::Persist` or `Effect::Trim`.
    Effect(Effect),
    /// Write the sealing batch and end.
    Close,
}

/// Work for a helper.
#[derive(Debug)]
pub enum HelperWork {
    /// `Effect::Fetch`, `Effect::History` or `Effect::Hash`.
    Effect(Effect),
    /// Cold records of an answer.
    Cold {
        /// Which read.
        read: u64,
        /// What to read with.
        reader: backend::Reader,
        /// Which records.
        revisions: Vec<Revision>,
    },
}

/// Where effects go that the loop does not execute itself.
pub struct Threads {
    /// The log thread.
    pub log: Sender<LogWork>,
    /// The flush thread.
    pub flush: Sender<Effect>,
    /// The helper for short reads.
    pub helper: Sender<HelperWork>,
    /// The helper for long reads.
    pub scanner: Sender<HelperWork>,
    /// The helper for hashes that clients wait for; it yields to all others.
    pub hasher: Sender<HelperWork>,
    /// The helper for hashes of compactions, which take their time.
    pub paced: Sender<HelperWork>,
    /// Set once a client waits for what `paced` does: it goes on without rest.
    pub hurry: Arc<AtomicBool>,
    /// What the threads count in.
    pub metrics: Metrics,
}

impl Threads {
    /// Hands an effect to its thread. A thread that is gone has ended the process, or is about
    /// to: what is sent then is of no use.
    pub(super) fn execute(&self, effect: Effect) {
        match effect {
            Effect::Persist { .. } | Effect::Trim(_) => {
                let _ = self.log.send(LogWork::Effect(effect));
            }
            Effect::Flush { .. } | Effect::Rewrite { .. } => {
                let _ = self.flush.send(effect);
            }
            Effect::Fetch { .. } => {
                let _ = self.helper.send(HelperWork::Effect(effect));
            }
            Effect::History { .. } | Effect::FetchLog { .. } => {
                let _ = self.scanner.send(HelperWork::Effect(effect));
            }
            Effect::Hash { is_paced: true, .. } => {
                let _ = self.paced.send(HelperWork::Effect(effect));
            }
            Effect::Hash { .. } => {
                let _ = self.hasher.send(HelperWork::Effect(effect));
            }
            Effect::Reply { .. }
            | Effect::WatchReady(_)
            | Effect::Send { .. }
            | Effect::Note(_)
            | Effect::Fatal(_)
            | Effect::Stopped => unreachable!("the loop executes these itself"),
        }
    }

    pub(super) fn read_cold(&self, read: u64, reader: backend::Reader, revisions: Vec<Revision>) {
        let _ = self.helper.send(HelperWork::Cold { read, reader, revisions });
    }
}
