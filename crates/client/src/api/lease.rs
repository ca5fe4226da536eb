//! `etcdserverpb.Lease`.

use proto::etcdserverpb::{
    LeaseGrantRequest, LeaseGrantResponse, LeaseKeepAliveRequest, LeaseKeepAliveResponse,
    LeaseLeasesRequest, LeaseLeasesResponse, LeaseRevokeRequest, LeaseRevokeResponse,
    LeaseTimeToLiveRequest, LeaseTimeToLiveResponse,
};

use crate::{Call, Client, Code, Sender, Status, Streaming};

impl Client {
    /// Creates a lease; id 0 lets the server choose.
    pub async fn lease_grant(
        &self,
        id: i64,
        ttl: i64,
        call: &Call,
    ) -> Result<LeaseGrantResponse, Status> {
        let request = LeaseGrantRequest { ttl, id };
        self.unary("/etcdserverpb.Lease/LeaseGrant", &request, call).await
    }

    /// Ends a lease and deletes its keys.
    pub async fn lease_revoke(&self, id: i64, call: &Call) -> Result<LeaseRevokeResponse, Status> {
        let request = LeaseRevokeRequest { id };
        self.unary("/etcdserverpb.Lease/LeaseRevoke", &request, call).await
    }

    /// What is left of a lease, and its keys where asked.
    pub async fn lease_time_to_live(
        &self,
        request: &LeaseTimeToLiveRequest,
        call: &Call,
    ) -> Result<LeaseTimeToLiveResponse, Status> {
        let call = call.clone().repeatable();
        self.unary("/etcdserverpb.Lease/LeaseTimeToLive", request, &call).await
    }

    /// All leases.
    pub async fn lease_list(&self, call: &Call) -> Result<LeaseLeasesResponse, Status> {
        let call = call.clone().repeatable();
        self.unary("/etcdserverpb.Lease/LeaseLeases", &LeaseLeasesRequest {}, &call).await
    }

    /// Opens a stream of keep-alives.
    pub async fn lease_keep_alive(
        &self,
        call: &Call,
    ) -> Result<(Sender<LeaseKeepAliveRequest>, Streaming<LeaseKeepAliveResponse>), Status> {
        self.bidi("/etcdserverpb.Lease/LeaseKeepAlive", call).await
    }

    /// Renews a lease once. TTL 0 in the answer means that it does not exist.
    pub async fn lease_keep_alive_once(
        &self,
        id: i64,
        call: &Call,
    ) -> Result<LeaseKeepAliveResponse, Status> {
        let (mut requests, mut answers) = self.lease_keep_alive(call).await?;
        requests.send(&LeaseKeepAliveRequest { id })?;
        let answer = answers.next().await;
        answer.unwrap_or_else(|| Err(Status::new(Code::UNAVAILABLE, "the stream ended")))
    }
}
