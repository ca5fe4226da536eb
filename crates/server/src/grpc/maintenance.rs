//! `etcdserverpb.Maintenance`.

use super::encode::Parts;
use super::method::Method;
use super::service::{self, Prepared};
use super::status::{Code, Status};
use super::stream_call::{decode, unexpected};
use crate::driver::Shell;
use crate::version;
use bytes::Bytes;
use member::request::{AlarmAction, AlarmKind, StatusInfo};
use member::{Header, Request, Response};
use proto::etcdserverpb as pb;
use types::{MemberId, OpError};

/// Checks a request.
pub fn prepare(method: Method, message: Bytes, shell: &Shell) -> Result<Prepared, Status> {
    let request = match method {
        Method::Alarm => alarm(&decode(message)?)?,
        Method::Status => Request::Status,
        Method::Defragment => {
            tracing::info!("starting defragment");
            shell.set_defragmenting(true);
            Request::Defragment
        }
        Method::Hash => Request::Hash,
        Method::HashKv => {
            let request: pb::HashKvRequest = decode(message)?;
            Request::HashKv(request.revision)
        }
        Method::MoveLeader => {
            if shell.leader() != Some(shell.config.member_id) {
                return Err(OpError::NotLeader.into());
            }
            let request: pb::MoveLeaderRequest = decode(message)?;
            Request::MoveLeader(MemberId(request.target_id))
        }
        Method::Downgrade => downgrade(&decode(message)?)?,
        other => return Err(Status::not_implemented(other.name())),
    };
    Ok(Prepared::Ask(request))
}

fn alarm(request: &pb::AlarmRequest) -> Result<Request, Status> {
    let action = match request.action {
        0 => AlarmAction::Get,
        1 => AlarmAction::Activate,
        2 => AlarmAction::Deactivate,
        other => {
            let text = format!("mainstay: unknown alarm action {other}");
            return Err(Status::new(Code::InvalidArgument, text));
        }
    };
    let kind = match request.alarm {
        0 => AlarmKind::None,
        1 => AlarmKind::NoSpace,
        2 => AlarmKind::Corrupt,
        // A kind that nobody raises: the answer is an empty list, as clearing nobody's gives.
        _ => {
            let (action, member) = (AlarmAction::Deactivate, MemberId(0));
            return Ok(Request::Alarm { action, member, kind: AlarmKind::None });
        }
    };
    Ok(Request::Alarm { action, member: MemberId(request.member_id), kind })
}

/// A downgrade is validated and refused, or cancelled; enabling one is refused, because this
/// build has no older storage format to go back to.
fn downgrade(request: &pb::DowngradeRequest) -> Result<Request, Status> {
    const VALIDATE: i32 = 0;
    const ENABLE: i32 = 1;
    const CANCEL: i32 = 2;
    match request.action {
        VALIDATE | ENABLE => {
            let Some(target) = version::parse_major_minor(&request.version) else {
                return Err(Status::new(
                    Code::InvalidArgument,
                    "etcdserver: wrong downgrade target version format",
                ));
            };
            if target != version::DOWNGRADE_TARGET {
                return Err(Status::new(
                    Code::InvalidArgument,
                    "etcdserver: invalid downgrade target version",
                ));
            }
            if request.action == ENABLE {
                return Err(Status::not_implemented("Downgrade"));
            }
            Ok(Request::Barrier)
        }
        CANCEL => Ok(Request::Barrier),
        _ => Err(Status::new(Code::Unknown, "etcdserver: unknown method")),
    }
}

/// Writes an answer.
pub fn answer(header: &Header, response: Response, shell: &Shell) -> Result<Parts, Status> {
    let head = service::header(header);
    match response {
        Response::Alarm(alarms) => service::message(&pb::AlarmResponse {
            header: head,
            alarms: alarms
                .iter()
                .map(|(member, kind)| pb::AlarmMember { member_id: member.0, alarm: *kind as i32 })
                .collect(),
        }),
        Response::Status(info) => service::message(&status(header, info, shell)),
        Response::Hash(hash) => service::message(&pb::HashResponse { header: head, hash }),
        Response::HashKv { hash, compact_revision, hash_revision } => {
            service::message(&pb::HashKvResponse {
                header: head,
                hash,
                compact_revision,
                hash_revision,
            })
        }
        Response::Defragment => {
            tracing::info!("finished defragment");
            service::message(&pb::DefragmentResponse { header: None })
        }
        Response::MoveLeader => service::message(&pb::MoveLeaderResponse { header: None }),
        Response::Barrier => service::message(&pb::DowngradeResponse {
            header: head,
            version: version::CLUSTER_SHORT.to_string(),
        }),
        other => Err(unexpected(header, &other)),
    }
}

fn status(header: &Header, info: StatusInfo, shell: &Shell) -> pb::StatusResponse {
    let mut errors = Vec::new();
    if info.leader == MemberId(0) {
        errors.push("etcdserver: no leader".to_string());
    }
    errors.extend(info.alarms.iter().map(|(member, kind)| alarm_text(*member, *kind)));
    pb::StatusResponse {
        header: service::header(header),
        version: version::SERVER.to_string(),
        db_size: info.db_size,
        leader: info.leader.0,
        raft_index: info.raft_index,
        raft_term: header.term.0,
        raft_applied_index: info.applied_index,
        errors,
        // Never absent on the wire: clients divide by what is shown.
        db_size_in_use: info.db_size_in_use.max(1),
        is_learner: info.is_learner,
        storage_version: version::STORAGE.to_string(),
        db_size_quota: shell.config.quota_flag,
        downgrade_info: Some(pb::DowngradeInfo::default()),
    }
}

/// An alarm as protobuf's text form prints it, zero fields left out.
fn alarm_text(member: MemberId, kind: u32) -> String {
    let mut fields = Vec::new();
    if member.0 != 0 {
        fields.push(format!("memberID:{}", member.0));
    }
    match kind {
        0 => {}
        1 => fields.push("alarm:NOSPACE".to_string()),
        2 => fields.push("alarm:CORRUPT".to_string()),
        other => fields.push(format!("alarm:{other}")),
    }
    fields.join(" ")
}
