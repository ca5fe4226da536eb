//! `alarm list` and `alarm disarm`

use proto::etcdserverpb::alarm_request::AlarmAction;
use proto::etcdserverpb::{AlarmMember, AlarmRequest, AlarmResponse};

use super::open;
use crate::Failure;
use crate::cli::Invocation;
use crate::printers::Answer;
use crate::session::Session;

pub(super) async fn list(invocation: &Invocation) -> Result<(), Failure> {
    if !invocation.args.is_empty() {
        return Err(Failure::bad_args("alarm list command accepts no arguments"));
    }
    let session = open(invocation)?;
    let answer = active(&session).await?;
    session.print(&Answer::Alarms(&answer))
}

pub(super) async fn disarm(invocation: &Invocation) -> Result<(), Failure> {
    if !invocation.args.is_empty() {
        return Err(Failure::bad_args("alarm disarm command accepts no arguments"));
    }
    let session = open(invocation)?;
    let active = active(&session).await?;
    let mut disarmed = AlarmResponse::default();
    for alarm in active.alarms {
        let answer = request(&session, AlarmAction::Deactivate, &alarm).await?;
        disarmed.header = answer.header;
        disarmed.alarms.extend(answer.alarms);
    }
    session.print(&Answer::Alarms(&disarmed))
}

async fn active(session: &Session) -> Result<AlarmResponse, Failure> {
    request(session, AlarmAction::Get, &AlarmMember::default()).await
}

async fn request(
    session: &Session,
    action: AlarmAction,
    alarm: &AlarmMember,
) -> Result<AlarmResponse, Failure> {
    let request =
        AlarmRequest { action: action.into(), member_id: alarm.member_id, alarm: alarm.alarm };
    Ok(session.client.alarm(&request, &session.call()).await?)
}
