//! Hashes of the keyspace: computed by a helper from what is durable, never from live state.
//!
//! etcd hashes what a compaction is about to remove, and answers HashKV at the revisions of the
//! last ten compactions with that (mvcc/hash.go, v3.7.1). So it is done here: when a compaction is
//! durable and before its garbage is rewritten.

use crate::effect::{Effect, Effects, Note};
use crate::member::Member;
use crate::request::{RequestId, Response, Ticket};
use std::collections::VecDeque;
use types::{Index, OpError};

/// Compactions whose hashes are kept, as many as in etcd.
const KEPT_MAX: usize = 10;

/// Whether the answer is that of Hash or of HashKV.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    Hash,
    HashKv,
}

#[derive(Clone, Copy, Debug)]
struct Wanted {
    whose: Whose,
    revision: i64,
    compacted: i64,
    /// What must be durable first.
    upto: Index,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Whose {
    Client(RequestId, Kind),
    Compaction,
}

/// The hash of a compaction.
#[derive(Debug)]
struct Kept {
    revision: i64,
    /// The compacted revision before it.
    compacted: i64,
    hash: Option<u32>,
    /// Clients that wait for it.
    asked: Vec<RequestId>,
}

impl Kept {
    fn response(&self, hash: u32) -> Response {
        let (compact_revision, hash_revision) = (self.compacted, self.revision);
        Response::HashKv { hash, compact_revision, hash_revision }
    }
}

/// Hashes that clients wait for, and those of compactions.
#[derive(Debug)]
pub(crate) struct Hashes {
    waiting: Vec<Wanted>,
    running: Vec<(Ticket, Wanted)>,
    /// By revision; those that are not computed yet are the last ones.
    kept: VecDeque<Kept>,
    /// The newest compacted revision.
    compacted: i64,
}

impl Hashes {
    pub(crate) fn new(compacted: i64) -> Hashes {
        let (waiting, running) = (Vec::new(), Vec::new());
        Hashes { waiting, running, kept: VecDeque::new(), compacted }
    }

    pub(crate) fn cancel(&mut self, id: RequestId) {
        let of_other = |wanted: &Wanted| !matches!(wanted.whose, Whose::Client(of, _) if of == id);
        self.waiting.retain(of_other);
        self.running.retain(|(_, wanted)| of_other(wanted));
        for kept in &mut self.kept {
            kept.asked.retain(|asked| *asked != id);
        }
    }
}

impl Member {
    /// A client asks for a hash at `revision`, 0 for the newest one.
    pub(crate) fn hash(&mut self, id: RequestId, kind: Kind, revision: i64, effects: &mut Effects) {
        let kept = self.hashes.kept.iter_mut().find(|kept| kept.revision == revision);
        if let (Kind::HashKv, Some(kept)) = (kind, kept) {
            match kept.hash {
                None => {
                    kept.asked.push(id);
                    effects.push(Effect::Note(Note::HashAwaited));
                }
                Some(hash) => {
                    let response = kept.response(hash);
                    self.reply(id, Ok(response), effects);
                }
            }
            return;
        }
        let (newest, compacted) = (self.store.revision(), self.store.compacted());
        let revision = if revision == 0 { newest } else { revision };
        if newest < revision {
            return self.reply(id, Err(OpError::FutureRevision), effects);
        }
        // A negative revision hashes nothing, as in etcd.
        if 0 < revision && revision < compacted {
            return self.reply(id, Err(OpError::Compacted), effects);
        }
        let upto = self.apply.done();
        let whose = Whose::Client(id, kind);
        self.hashes.waiting.push(Wanted { whose, revision, compacted, upto });
    }

    /// A compaction was applied: what it makes garbage is hashed while it is there. If many wait
    /// already, its hash is later that of what is left.
    pub(crate) fn hash_compaction(&mut self, revision: i64) {
        let compacted = std::mem::replace(&mut self.hashes.compacted, revision);
        let kept = &mut self.hashes.kept;
        if kept.len() == KEPT_MAX {
            if kept[0].hash.is_none() {
                return;
            }
            kept.pop_front();
        }
        kept.push_back(Kept { revision, compacted, hash: None, asked: Vec::new() });
        let (whose, upto) = (Whose::Compaction, self.apply.done());
        self.hashes.waiting.push(Wanted { whose, revision, compacted, upto });
    }

    /// Starts the hashes whose records are durable; flushes for the others.
    pub(crate) fn start_hashes(&mut self, effects: &mut Effects) {
        let durable = self.flush.durable();
        let waiting = std::mem::take(&mut self.hashes.waiting);
        for wanted in waiting {
            if durable < wanted.upto {
                self.flush.force();
                self.hashes.waiting.push(wanted);
                continue;
            }
            let ticket = self.ticket();
            self.hashes.running.push((ticket, wanted));
            effects.push(Effect::Hash {
                ticket,
                reader: self.store.reader().clone(),
                revision: wanted.revision,
                compacted: wanted.compacted,
                is_paced: wanted.whose == Whose::Compaction,
            });
        }
    }

    pub(crate) fn hashed(&mut self, ticket: Ticket, hash: u32, effects: &mut Effects) {
        let is_it = |(running, _): &(Ticket, Wanted)| *running == ticket;
        let Some(at) = self.hashes.running.iter().position(is_it) else { return };
        let (_, wanted) = self.hashes.running.swap_remove(at);
        let (id, kind) = match wanted.whose {
            Whose::Client(id, kind) => (id, kind),
            Whose::Compaction => return self.hashed_compaction(wanted.revision, hash, effects),
        };
        let response = match kind {
            Kind::Hash => Response::Hash(hash),
            Kind::HashKv => Response::HashKv {
                hash,
                compact_revision: wanted.compacted,
                hash_revision: wanted.revision,
            },
        };
        self.reply(id, Ok(response), effects);
    }

    fn hashed_compaction(&mut self, revision: i64, hash: u32, effects: &mut Effects) {
        let found = self.hashes.kept.iter_mut().find(|kept| kept.revision == revision);
        let Some(kept) = found else { return };
        kept.hash = Some(hash);
        let (response, asked) = (kept.response(hash), std::mem::take(&mut kept.asked));
        for id in asked {
            self.reply(id, Ok(response.clone()), effects);
        }
    }
}
