//! `etcdserverpb.Cluster`, as far as single members have it.

use proto::etcdserverpb::{MemberListRequest, MemberListResponse};

use crate::{Call, Client, Status};

impl Client {
    /// The members of the cluster.
    pub async fn member_list(
        &self,
        linearizable: bool,
        call: &Call,
    ) -> Result<MemberListResponse, Status> {
        let call = call.clone().repeatable();
        let request = MemberListRequest { linearizable };
        self.unary("/etcdserverpb.Cluster/MemberList", &request, &call).await
    }
}
