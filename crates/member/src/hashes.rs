//! Hashes of the keyspace: computed by a helper from what is durable, never from live state.

use crate::effect::{Effect, Effects};
use crate::member::Member;
use crate::request::{RequestId, Response, Ticket};
use types::{Index, OpError};

/// Whether the answer is that of Hash or of HashKV.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    Hash,
    HashKv,
}

#[derive(Clone, Copy, Debug)]
struct Wanted {
    id: RequestId,
    kind: Kind,
    revision: i64,
    compacted: i64,
    /// What must be durable first.
    upto: Index,
}

/// Hashes that clients wait for.
#[derive(Default, Debug)]
pub(crate) struct Hashes {
    waiting: Vec<Wanted>,
    running: Vec<(Ticket, Wanted)>,
}

impl Hashes {
    pub(crate) fn cancel(&mut self, id: RequestId) {
        self.waiting.retain(|wanted| wanted.id != id);
        self.running.retain(|(_, wanted)| wanted.id != id);
    }
}

impl Member {
    /// A client asks for a hash at `revision`, 0 for the newest one.
    pub(crate) fn hash(&mut self, id: RequestId, kind: Kind, revision: i64, effects: &mut Effects) {
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
        self.hashes.waiting.push(Wanted { id, kind, revision, compacted, upto });
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
            });
        }
    }

    pub(crate) fn hashed(&mut self, ticket: Ticket, hash: u32, effects: &mut Effects) {
        let is_it = |(running, _): &(Ticket, Wanted)| *running == ticket;
        let Some(at) = self.hashes.running.iter().position(is_it) else { return };
        let (_, wanted) = self.hashes.running.swap_remove(at);
        let response = match wanted.kind {
            Kind::Hash => Response::Hash(hash),
            Kind::HashKv => Response::HashKv {
                hash,
                compact_revision: wanted.compacted,
                hash_revision: wanted.revision,
            },
        };
        self.reply(wanted.id, Ok(response), effects);
    }
}
