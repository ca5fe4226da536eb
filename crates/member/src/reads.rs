//! Linearizable reads: all that wait share one read index, and wait for what is applied.

use crate::request::RequestId;
use std::collections::VecDeque;
use std::time::Duration;
use types::{Index, LeaseId, MemberId, RangeOp, Time, TxnOp};

/// What is asked once the state is fresh enough.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Query {
    Range(RangeOp),
    ReadTxn(TxnOp),
    KeepAlive(LeaseId),
    TimeToLive { id: LeaseId, keys: bool },
    Members,
    Promote(MemberId),
    Barrier,
}

#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Read {
    pub(crate) id: RequestId,
    pub(crate) query: Query,
    pub(crate) deadline: Time,
}

/// Reads that asked for an index together.
#[derive(Debug)]
struct Batch {
    context: node::ReadContext,
    asked: Time,
    reads: Vec<Read>,
}

/// Reads on their way.
///
/// Invariant: a read joins a batch before the index of that batch is asked for.
#[derive(Default, Debug)]
pub(crate) struct Reads {
    /// Not in a batch yet.
    open: Vec<Read>,
    is_fresh: bool,
    asked: VecDeque<Batch>,
    /// Confirmed, waiting for the applied index.
    confirmed: VecDeque<(Index, Vec<Read>)>,
}

impl Reads {
    pub(crate) fn push(&mut self, read: Read) {
        self.open.push(read);
    }

    pub(crate) fn has_open(&self) -> bool {
        !self.open.is_empty()
    }

    /// True if reads were opened again and no index was asked for since.
    pub(crate) fn is_fresh(&self) -> bool {
        self.is_fresh
    }

    /// An index was asked for, or cannot be asked for now.
    pub(crate) fn rest(&mut self) {
        self.is_fresh = false;
    }

    /// The open reads ask for their index with this context.
    pub(crate) fn asked(&mut self, context: node::ReadContext, now: Time) {
        let reads = std::mem::take(&mut self.open);
        self.asked.push_back(Batch { context, asked: now, reads });
    }

    /// Batches that have waited for `patience` are opened again: an attempt is lost without
    /// notice, and a context is never used twice. How many were.
    pub(crate) fn retry(&mut self, now: Time, patience: Duration) -> u64 {
        let mut count = 0;
        while let Some(batch) = self.asked.front()
            && patience <= now.since(batch.asked)
        {
            let batch = self.asked.pop_front().map(|batch| batch.reads);
            self.open.extend(batch.into_iter().flatten());
            count += 1;
        }
        count
    }

    /// The read index of a batch is confirmed; so are the batches asked earlier, which it covers.
    pub(crate) fn confirm(&mut self, confirmed: node::ReadConfirmed) {
        let Some(at) = self.asked.iter().position(|batch| batch.context == confirmed.context)
        else {
            return;
        };
        let reads: Vec<Read> = self.asked.drain(..=at).flat_map(|batch| batch.reads).collect();
        if !reads.is_empty() {
            self.confirmed.push_back((confirmed.index, reads));
        }
    }

    /// A planted bug: the reads that wait are confirmed by nobody.
    pub(crate) fn confirm_open(&mut self, index: Index) {
        let reads = std::mem::take(&mut self.open);
        self.confirmed.push_back((index, reads));
    }

    /// Reads that may be answered from a state with this applied index.
    pub(crate) fn take_ready(&mut self, applied: Index) -> Vec<Read> {
        let mut ready = Vec::new();
        self.confirmed.retain_mut(|(index, reads)| {
            let fresh = *index <= applied;
            if fresh {
                ready.append(reads);
            }
            !fresh
        });
        ready
    }

    /// Takes every read for which `ends` is true.
    pub(crate) fn take_if(&mut self, ends: impl Fn(&Read) -> bool) -> Vec<Read> {
        let mut taken = Vec::new();
        let lists = std::iter::once(&mut self.open)
            .chain(self.asked.iter_mut().map(|batch| &mut batch.reads))
            .chain(self.confirmed.iter_mut().map(|(_, reads)| reads));
        for list in lists {
            taken.extend(list.extract_if(.., |read| ends(read)));
        }
        taken
    }

    /// Leadership moved: what was asked is void, and all whose index is not confirmed ask anew.
    pub(crate) fn reopen(&mut self) {
        self.open.extend(self.asked.drain(..).flat_map(|batch| batch.reads));
        self.is_fresh = !self.open.is_empty();
    }
}
