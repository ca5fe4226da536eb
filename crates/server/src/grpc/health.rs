//! `grpc.health.v1.Health`: one service, the empty name.

use super::method::Method;
use super::service::Prepared;
use super::status::{Code, Status};
use super::stream_call::{End, StreamCall, decode};
use crate::driver::Shell;
use bytes::Bytes;
use proto::healthpb as pb;
use proto::healthpb::health_check_response::ServingStatus;
use std::time::Duration;

/// How often a watcher's state is looked at.
const WATCH_INTERVAL: Duration = Duration::from_millis(100);

/// `HealthListResponse` with its one entry. prost leaves an empty map key out, Go writes it.
#[derive(Clone, PartialEq, prost::Message)]
struct HealthList {
    #[prost(message, optional, tag = "1")]
    entry: Option<HealthEntry>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct HealthEntry {
    #[prost(string, optional, tag = "1")]
    service: Option<String>,
    #[prost(message, optional, tag = "2")]
    status: Option<pb::HealthCheckResponse>,
}

impl HealthEntry {
    fn of(status: pb::HealthCheckResponse) -> HealthEntry {
        HealthEntry { service: Some(String::new()), status: Some(status) }
    }
}

fn serving(shell: &Shell) -> ServingStatus {
    let gate = shell.config.feature_gates.get("StopGRPCServiceOnDefrag").copied();
    if gate == Some(true) && shell.is_defragmenting() {
        ServingStatus::NotServing
    } else {
        ServingStatus::Serving
    }
}

/// Answers a check or a list.
pub fn prepare(method: Method, message: Bytes, shell: &Shell) -> Result<Prepared, Status> {
    let status = pb::HealthCheckResponse { status: i32::from(serving(shell)) };
    if method == Method::HealthList {
        return Ok(Prepared::message(&HealthList { entry: Some(HealthEntry::of(status)) }));
    }
    let request: pb::HealthCheckRequest = decode(message)?;
    if !request.service.is_empty() {
        return Err(Status::new(Code::NotFound, "unknown service"));
    }
    Ok(Prepared::message(&status))
}

/// Serves a watch: the state now and each change of it.
pub async fn watch(call: &mut StreamCall) -> Result<(), End> {
    let request: pb::HealthCheckRequest = call.receive_one().await?;
    let known = request.service.is_empty();
    let mut last = None;
    loop {
        let status = if known { serving(&call.shell) } else { ServingStatus::ServiceUnknown };
        if last != Some(status) {
            last = Some(status);
            let message = pb::HealthCheckResponse { status: i32::from(status) };
            call.send_message(&message).await?;
        }
        call.while_connected(tokio::time::sleep(WATCH_INTERVAL)).await?;
    }
}
