//! What a run came to.

use std::fmt;
use types::Time;

/// Figures of a run.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Counts {
    /// Writes that were acknowledged.
    pub acked_writes: u64,
    /// Reads that were answered and compared.
    pub reads: u64,
    /// Events that watchers received and that were compared.
    pub watch_events: u64,
    /// Outcomes that stayed unknown: the process ended, or time ran out.
    pub unknown: u64,
    /// Faults that struck a running process.
    pub faults_landed: u64,
    /// Starts over a disk that had been used.
    pub recoveries: u64,
    /// Starts that were refused, as rot demands.
    pub refusals: u64,
    /// Leases that ran out.
    pub expired_leases: u64,
    /// Records read back that had left memory.
    pub cold_reads: u64,
    /// Segments rewritten to give space back.
    pub rewrites: u64,
    /// Images of the disk checked while an answer left.
    pub images: u64,
    /// Reads of old entries for slow members.
    pub log_fetches: u64,
    /// Messages that members sent each other.
    pub messages: u64,
    /// Times that a member became leader.
    pub elections: u64,
    /// Simulated milliseconds.
    pub simulated_ms: u64,
}

impl Counts {
    /// True if the run tested something: enough acknowledged writes, a fault, a recovery.
    pub fn is_enough(&self) -> bool {
        200 <= self.acked_writes && 0 < self.faults_landed && 0 < self.recoveries
    }

    /// Adds the figures of another run.
    pub fn add(&mut self, other: &Counts) {
        self.acked_writes += other.acked_writes;
        self.reads += other.reads;
        self.watch_events += other.watch_events;
        self.unknown += other.unknown;
        self.faults_landed += other.faults_landed;
        self.recoveries += other.recoveries;
        self.refusals += other.refusals;
        self.expired_leases += other.expired_leases;
        self.cold_reads += other.cold_reads;
        self.rewrites += other.rewrites;
        self.images += other.images;
        self.log_fetches += other.log_fetches;
        self.messages += other.messages;
        self.elections += other.elections;
        self.simulated_ms += other.simulated_ms;
    }
}

/// A run without a violation.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Report {
    /// Hash over all that happened.
    pub trace: u64,
    /// Figures.
    pub counts: Counts,
}

/// An invariant that did not hold.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Violation {
    /// The invariant, by the name of its file.
    pub invariant: &'static str,
    /// What was seen, and what should have been.
    pub text: String,
    /// When.
    pub at: Time,
    /// What happened before, if the run was verbose.
    pub lines: Vec<String>,
}

impl Violation {
    pub(crate) fn new(invariant: &'static str, text: String) -> Violation {
        Violation { invariant, text, at: Time(0), lines: Vec::new() }
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at {} ms: {}", self.invariant, self.at.0 / 1_000_000, self.text)
    }
}

impl std::error::Error for Violation {}
