//! What clients ask: drawn from the seed, over few keys, with all values different.

use crate::client::{Asked, Plan};
use crate::host::members;
use crate::oracle::Oracle;
use crate::rng::Rng;
use crate::swarm::Swarm;
use bytes::Bytes;
use member::request::{Request, WriteKind};
use prost::Message;
use proto::etcdserverpb::{
    CompactionRequest, Compare, DeleteRangeRequest, LeaseRevokeRequest, PutRequest, RangeRequest,
    RequestOp, TxnRequest, compare, request_op,
};
use proto::log::Kind;
use types::op::{SortOrder, SortTarget};
use types::{KeyRange, LeaseId, Op, RangeOp, TxnOp};

/// Draws requests.
pub(crate) struct Workload<'a> {
    pub(crate) rng: &'a mut Rng,
    pub(crate) swarm: &'a Swarm,
    pub(crate) oracle: &'a Oracle,
    /// Who asks, and for the how many-th time.
    pub(crate) client: usize,
    pub(crate) sequence: &'a mut u64,
}

impl Workload<'_> {
    pub(crate) fn draw(&mut self) -> Plan {
        match self.rng.below(100) {
            0..35 => self.write(Kind::Put),
            35..43 => self.write(Kind::DeleteRange),
            43..55 => self.write(Kind::Txn),
            55..70 => self.range(),
            70..73 => self.read_txn(),
            73..76 => self.compact(),
            76..80 => {
                let ttl = self.rng.signed(0, 6);
                let request = Request::LeaseGrant { id: LeaseId(0), ttl };
                Plan { request, asked: Asked::Grant }
            }
            80..88 => self.on_lease(),
            88..90 => Plan { request: Request::LeaseLeases, asked: Asked::Leases },
            90..92 => Plan { request: Request::HashKv(0), asked: Asked::HashKv },
            92..93 => Plan { request: Request::Defragment, asked: Asked::Other },
            93..95 => Plan { request: Request::Barrier, asked: Asked::Other },
            95..97 if 1 < self.swarm.members && self.rng.chance(50) => {
                let to = self.rng.pick(members(self.swarm.members));
                Plan { request: Request::MoveLeader(to), asked: Asked::Other }
            }
            95..97 => Plan { request: Request::Status, asked: Asked::Other },
            _ => self.write(Kind::Put),
        }
    }

    fn key(&mut self) -> Bytes {
        format!("k{:02}", self.rng.below(self.swarm.keys)).into()
    }

    fn interval(&mut self) -> (Bytes, Bytes) {
        let key = self.key();
        let end = match self.rng.below(4) {
            0 => self.key(),
            1 => Bytes::from_static(&[0]),
            _ => Bytes::new(),
        };
        (key, end)
    }

    fn value(&mut self) -> Bytes {
        *self.sequence += 1;
        let mut value = format!("c{}-{}-", self.client, self.sequence).into_bytes();
        let len = self.rng.between(0, self.swarm.value_bytes_max);
        let len = usize::try_from(len).expect("a small value");
        let fill = b'a' + u8::try_from(self.rng.below(26)).expect("a letter");
        value.resize(value.len().max(len), fill);
        value.into()
    }

    fn lease(&mut self) -> i64 {
        let count = self.oracle.state.leases.len();
        let known = self.oracle.state.leases.keys().nth(self.rng.below(count.max(1)));
        known.copied().unwrap_or(77)
    }

    fn put_request(&mut self) -> PutRequest {
        let lease = if self.rng.chance(20) { self.lease() } else { 0 };
        PutRequest {
            key: self.key(),
            value: self.value(),
            lease,
            prev_kv: self.rng.chance(20),
            ..PutRequest::default()
        }
    }

    fn delete_request(&mut self) -> DeleteRangeRequest {
        let (key, range_end) = self.interval();
        DeleteRangeRequest { key, range_end, prev_kv: self.rng.chance(30) }
    }

    fn write(&mut self, kind: Kind) -> Plan {
        let (body, cost, kind_of) = match kind {
            Kind::DeleteRange => (self.delete_request().encode_to_vec(), 0, WriteKind::DeleteRange),
            Kind::Txn => (self.txn_request(1).encode_to_vec(), 300, WriteKind::Txn),
            _ => (self.put_request().encode_to_vec(), 300, WriteKind::Put),
        };
        let body = Bytes::from(body);
        let request = Request::Write { kind: kind_of, body: body.clone(), quota_cost: cost };
        Plan { request, asked: Asked::Write { kind, body } }
    }

    /// A transaction that puts at least one value of its own, so that no two are equal.
    fn txn_request(&mut self, depth: usize) -> TxnRequest {
        let compare = (0..self.rng.below(3)).map(|_| self.compare()).collect();
        let own = RequestOp { request: Some(request_op::Request::RequestPut(self.put_request())) };
        let success = self.branch(own.clone(), depth);
        let failure = self.branch(own, depth);
        TxnRequest { compare, success, failure }
    }

    /// Operations that do not change one key twice: the edge refuses those.
    fn branch(&mut self, own: RequestOp, depth: usize) -> Vec<RequestOp> {
        let mut ops = vec![own];
        if self.rng.chance(40) {
            let (key, range_end) = self.interval();
            let range = RangeRequest { key, range_end, ..RangeRequest::default() };
            let request = Some(request_op::Request::RequestRange(range));
            let at = self.rng.below(2);
            ops.insert(at, RequestOp { request });
        }
        if 0 < depth && self.rng.chance(25) {
            let (key, range_end) = self.interval();
            let range = RangeRequest { key, range_end, ..RangeRequest::default() };
            let op = RequestOp { request: Some(request_op::Request::RequestRange(range)) };
            let compare = vec![self.compare()];
            let nested = TxnRequest { compare, success: vec![op], failure: Vec::new() };
            ops.push(RequestOp { request: Some(request_op::Request::RequestTxn(nested)) });
        }
        ops
    }

    fn compare(&mut self) -> Compare {
        use compare::TargetUnion as Union;
        let revision = self.oracle.state.model.revision();
        let (target, union) = match self.rng.below(5) {
            0 => (0, Union::Version(self.rng.signed(0, 5))),
            1 => (1, Union::CreateRevision(self.rng.signed(0, revision))),
            2 => (2, Union::ModRevision(self.rng.signed(0, revision))),
            3 => (3, Union::Value(format!("c{}", self.rng.below(9)).into())),
            _ => (4, Union::Lease(0)),
        };
        let result = self.rng.pick(&[0, 1, 2, 3]);
        let (key, range_end) = self.interval();
        Compare { result, target, key, range_end, target_union: Some(union) }
    }

    fn range_op(&mut self) -> RangeOp {
        let (key, end) = self.interval();
        let revision = self.oracle.state.model.revision();
        let mut op = RangeOp { range: KeyRange::new(key, end), ..RangeOp::default() };
        if self.rng.chance(30) {
            op.revision = self.rng.signed((revision - 20).max(1), revision + 1);
        }
        if self.rng.chance(30) {
            op.limit = self.rng.signed(1, 5);
        }
        if self.rng.chance(20) {
            op.sort_order = self.rng.pick(&SortOrder::ALL);
            op.sort_target = self.rng.pick(&SortTarget::ALL);
        }
        if self.rng.chance(10) {
            op.min_mod_revision = self.rng.signed(0, revision);
        }
        op.keys_only = self.rng.chance(10);
        op.count_only = self.rng.chance(10);
        op.serializable = self.rng.chance(30);
        op
    }

    fn range(&mut self) -> Plan {
        let op = self.range_op();
        Plan { request: Request::Range(op.clone()), asked: Asked::Range(op) }
    }

    fn read_txn(&mut self) -> Plan {
        let op = RangeOp { serializable: false, revision: 0, ..self.range_op() };
        let other = RangeOp { serializable: false, revision: 0, ..self.range_op() };
        let success = vec![Op::Range(op), Op::Range(other)];
        let txn = TxnOp { compare: Vec::new(), success, failure: Vec::new() };
        Plan { request: Request::ReadTxn(txn.clone()), asked: Asked::ReadTxn(txn) }
    }

    fn compact(&mut self) -> Plan {
        let revision = self.oracle.state.model.revision();
        let back = self.rng.signed(-1, 30);
        let (revision, physical) = ((revision - back).max(1), self.rng.chance(30));
        let body = CompactionRequest { revision, physical }.encode_to_vec().into();
        let request = Request::Compact { revision, physical };
        Plan { request, asked: Asked::Write { kind: Kind::Compaction, body } }
    }

    fn on_lease(&mut self) -> Plan {
        let id = self.lease();
        match self.rng.below(6) {
            0 => {
                let body = LeaseRevokeRequest { id }.encode_to_vec().into();
                let request = Request::LeaseRevoke(LeaseId(id));
                Plan { request, asked: Asked::Write { kind: Kind::LeaseRevoke, body } }
            }
            1 => {
                let request = Request::LeaseTimeToLive { id: LeaseId(id), keys: true };
                Plan { request, asked: Asked::TimeToLive(id) }
            }
            _ => {
                let request = Request::LeaseKeepAlive(LeaseId(id));
                Plan { request, asked: Asked::KeepAlive(id) }
            }
        }
    }
}
