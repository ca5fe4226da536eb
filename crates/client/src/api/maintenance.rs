//! `etcdserverpb.Maintenance`, as far as single members have it.

use proto::etcdserverpb::{
    AlarmRequest, AlarmResponse, DefragmentRequest, DefragmentResponse, HashKvRequest,
    HashKvResponse, HashRequest, HashResponse, StatusRequest, StatusResponse,
};
use proto::healthpb::{HealthCheckRequest, HealthCheckResponse};

use crate::{Call, Client, Status};

impl Client {
    /// Version, sizes and raft state of the member.
    pub async fn status(&self, call: &Call) -> Result<StatusResponse, Status> {
        let call = call.clone().repeatable();
        self.unary("/etcdserverpb.Maintenance/Status", &StatusRequest {}, &call).await
    }

    /// Lists, raises or ends alarms.
    pub async fn alarm(
        &self,
        request: &AlarmRequest,
        call: &Call,
    ) -> Result<AlarmResponse, Status> {
        self.unary("/etcdserverpb.Maintenance/Alarm", request, call).await
    }

    /// Gives unused space back now.
    pub async fn defragment(&self, call: &Call) -> Result<DefragmentResponse, Status> {
        self.unary("/etcdserverpb.Maintenance/Defragment", &DefragmentRequest {}, call).await
    }

    /// Hash over the whole backend.
    pub async fn hash(&self, call: &Call) -> Result<HashResponse, Status> {
        let call = call.clone().repeatable();
        self.unary("/etcdserverpb.Maintenance/Hash", &HashRequest {}, &call).await
    }

    /// Hash over the keys' history up to a revision.
    pub async fn hash_kv(&self, revision: i64, call: &Call) -> Result<HashKvResponse, Status> {
        let call = call.clone().repeatable();
        let request = HashKvRequest { revision };
        self.unary("/etcdserverpb.Maintenance/HashKV", &request, &call).await
    }

    /// The standard health check.
    pub async fn health(&self, service: &str, call: &Call) -> Result<HealthCheckResponse, Status> {
        let request = HealthCheckRequest { service: service.to_owned() };
        self.unary("/grpc.health.v1.Health/Check", &request, call).await
    }
}
