//! `endpoint health`, `endpoint status`, `endpoint hashkv`

use std::time::Instant;

use client::Code;
use proto::etcdserverpb::alarm_request::AlarmAction;
use proto::etcdserverpb::{AlarmRequest, AlarmType, RangeRequest};

use super::open;
use crate::cli::Invocation;
use crate::printers::{Answer, Health};
use crate::session::{Session, status_text};
use crate::text::duration;
use crate::{Failure, complain};

pub(super) async fn health(invocation: &Invocation) -> Result<(), Failure> {
    let session = open(invocation)?;
    let endpoints = session.each_endpoint(invocation.flags.is_on("cluster")).await?;
    let mut list = Vec::new();
    for endpoint in endpoints {
        list.push(health_of(&session, endpoint).await);
    }
    session.print(&Answer::Health(&list))?;
    if list.iter().any(|health| !health.error.is_empty()) {
        return Err(Failure::new(Failure::ERROR, "unhealthy cluster"));
    }
    Ok(())
}

async fn health_of(session: &Session, endpoint: String) -> Health {
    let start = Instant::now();
    let mut health = Health { endpoint, took: String::new(), error: String::new() };
    let client = match session.client_of(&health.endpoint) {
        Ok(client) => client,
        Err(failure) => {
            health.error = failure.text.unwrap_or_default();
            return health;
        }
    };
    let request = RangeRequest { key: "health".into(), ..RangeRequest::default() };
    let read = client.range(&request, &session.call()).await;
    health.took = duration::format(start.elapsed());
    match read {
        Err(status) if status.code != Code::PERMISSION_DENIED => {
            health.error = status_text(&status);
            return health;
        }
        _ => {}
    }
    let request = AlarmRequest { action: AlarmAction::Get.into(), ..AlarmRequest::default() };
    match client.alarm(&request, &session.call()).await {
        Err(_) => "Unable to fetch the alarm list".clone_into(&mut health.error),
        Ok(answer) if answer.alarms.is_empty() => {}
        Ok(answer) => {
            "Active Alarm(s): ".clone_into(&mut health.error);
            for alarm in answer.alarms {
                health.error.push_str(match AlarmType::try_from(alarm.alarm) {
                    Ok(AlarmType::Nospace) => "NOSPACE ",
                    Ok(AlarmType::Corrupt) => "CORRUPT ",
                    _ => "UNKNOWN ",
                });
            }
        }
    }
    health
}

pub(super) async fn status(invocation: &Invocation) -> Result<(), Failure> {
    let session = open(invocation)?;
    let mut list = Vec::new();
    let mut has_failed = false;
    for endpoint in session.each_endpoint(invocation.flags.is_on("cluster")).await? {
        match session.client_of(&endpoint)?.status(&session.call()).await {
            Ok(answer) => list.push((endpoint, answer)),
            Err(status) => {
                let why = status_text(&status);
                complain(&format!("Failed to get the status of endpoint {endpoint} ({why})"));
                has_failed = true;
            }
        }
    }
    session.print(&Answer::Status(&list))?;
    if has_failed { Err(Failure::silent(Failure::ERROR)) } else { Ok(()) }
}

pub(super) async fn hash_kv(invocation: &Invocation) -> Result<(), Failure> {
    let session = open(invocation)?;
    let revision = invocation.flags.int("rev");
    let mut list = Vec::new();
    let mut failed = None;
    for endpoint in session.each_endpoint(invocation.flags.is_on("cluster")).await? {
        match session.client_of(&endpoint)?.hash_kv(revision, &session.call()).await {
            Ok(answer) => list.push((endpoint, answer)),
            Err(status) => {
                let why = status_text(&status);
                complain(&format!("Failed to get the hash of endpoint {endpoint} ({why})"));
                failed = Some(status);
            }
        }
    }
    session.print(&Answer::HashKv(&list))?;
    failed.map_or(Ok(()), |status| Err(status.into()))
}
