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
        let statuses = [(String::new(), status)].into_iter().collect();
        return Ok(Prepared::message(&pb::HealthListResponse { statuses }));
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
