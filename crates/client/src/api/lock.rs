//! `v3lockpb.Lock` and `v3electionpb.Election`: the server-side forms.

use proto::v3electionpb::{
    CampaignRequest, CampaignResponse, LeaderRequest, LeaderResponse, ProclaimRequest,
    ProclaimResponse, ResignRequest, ResignResponse,
};
use proto::v3lockpb::{LockRequest, LockResponse, UnlockRequest, UnlockResponse};

use crate::{Call, Client, Status, Streaming};

impl Client {
    /// Waits for a lock.
    pub async fn lock(&self, request: &LockRequest, call: &Call) -> Result<LockResponse, Status> {
        self.unary("/v3lockpb.Lock/Lock", request, call).await
    }

    /// Releases a lock.
    pub async fn unlock(
        &self,
        request: &UnlockRequest,
        call: &Call,
    ) -> Result<UnlockResponse, Status> {
        self.unary("/v3lockpb.Lock/Unlock", request, call).await
    }

    /// Waits to be elected.
    pub async fn campaign(
        &self,
        request: &CampaignRequest,
        call: &Call,
    ) -> Result<CampaignResponse, Status> {
        self.unary("/v3electionpb.Election/Campaign", request, call).await
    }

    /// Changes the elected leader's value.
    pub async fn proclaim(
        &self,
        request: &ProclaimRequest,
        call: &Call,
    ) -> Result<ProclaimResponse, Status> {
        self.unary("/v3electionpb.Election/Proclaim", request, call).await
    }

    /// Who is elected.
    pub async fn leader(
        &self,
        request: &LeaderRequest,
        call: &Call,
    ) -> Result<LeaderResponse, Status> {
        let call = call.clone().repeatable();
        self.unary("/v3electionpb.Election/Leader", request, &call).await
    }

    /// Follows who is elected.
    pub async fn observe(
        &self,
        request: &LeaderRequest,
        call: &Call,
    ) -> Result<Streaming<LeaderResponse>, Status> {
        self.server_stream("/v3electionpb.Election/Observe", request, call).await
    }

    /// Gives the election up.
    pub async fn resign(
        &self,
        request: &ResignRequest,
        call: &Call,
    ) -> Result<ResignResponse, Status> {
        self.unary("/v3electionpb.Election/Resign", request, call).await
    }
}
