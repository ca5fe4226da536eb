//! `lease grant|revoke|timetolive|list|keep-alive`

use std::time::Duration;

use client::Status;
use proto::etcdserverpb::{LeaseKeepAliveRequest, LeaseTimeToLiveRequest};

use super::open;
use crate::cli::Invocation;
use crate::printers::{Answer, Format};
use crate::session::{Session, status_text};
use crate::text::number::parse_int;
use crate::{Failure, say};

pub(super) async fn grant(invocation: &Invocation) -> Result<(), Failure> {
    if invocation.args.len() != 1 {
        return Err(Failure::bad_args("lease grant command needs TTL argument"));
    }
    let ttl = parse_int(&invocation.text(0), 10)
        .map_err(|why| Failure::bad_args(format!("bad TTL ({why})")))?;
    let session = open(invocation)?;
    let answer = session.client.lease_grant(0, ttl, &session.call()).await.map_err(|status| {
        let why = status_text(&status);
        Failure::new(Failure::ERROR, format!("failed to grant lease ({why})"))
    })?;
    session.print(&Answer::Grant(&answer))
}

pub(super) async fn revoke(invocation: &Invocation) -> Result<(), Failure> {
    if invocation.args.len() != 1 {
        return Err(Failure::bad_args("lease revoke command needs 1 argument"));
    }
    let id = lease_id(invocation)?;
    let session = open(invocation)?;
    let answer = session.client.lease_revoke(id, &session.call()).await.map_err(|status| {
        let why = status_text(&status);
        Failure::new(Failure::ERROR, format!("failed to revoke lease ({why})"))
    })?;
    session.print(&Answer::Revoke(id, &answer))
}

pub(super) async fn time_to_live(invocation: &Invocation) -> Result<(), Failure> {
    if invocation.args.len() != 1 {
        return Err(Failure::bad_args("lease timetolive command needs lease ID as argument"));
    }
    let session = open(invocation)?;
    let keys = invocation.flags.is_on("keys");
    let request = LeaseTimeToLiveRequest { id: lease_id(invocation)?, keys };
    let call = session.patient_call();
    let answer = session.client.lease_time_to_live(&request, &call).await.map_err(connection)?;
    session.print(&Answer::TimeToLive(&answer, keys))
}

pub(super) async fn list(invocation: &Invocation) -> Result<(), Failure> {
    let session = open(invocation)?;
    let answer = session.client.lease_list(&session.patient_call()).await.map_err(connection)?;
    session.print(&Answer::Leases(&answer))
}

pub(super) async fn keep_alive(invocation: &Invocation) -> Result<(), Failure> {
    if invocation.args.len() != 1 {
        return Err(Failure::bad_args("lease keep-alive command needs lease ID as argument"));
    }
    let id = lease_id(invocation)?;
    let session = open(invocation)?;
    if invocation.flags.is_on("once") {
        let call = session.patient_call();
        let answer = session.client.lease_keep_alive_once(id, &call).await.map_err(connection)?;
        if answer.ttl <= 0 {
            let text = "etcdserver: requested lease not found";
            return Err(Failure::new(Failure::BAD_CONNECTION, text));
        }
        return session.print(&Answer::KeepAlive(&answer));
    }
    keep_alive_forever(&session, id).await?;
    if session.display.format == Format::Simple {
        say(format!("lease {id:016x} expired or revoked.\n").as_bytes());
    }
    Ok(())
}

/// Renews at a third of the TTL until the lease is gone. A broken stream is opened again.
async fn keep_alive_forever(session: &Session, id: i64) -> Result<(), Failure> {
    loop {
        let call = session.patient_call();
        let (mut requests, mut answers) =
            session.client.lease_keep_alive(&call).await.map_err(connection)?;
        loop {
            if requests.send(&LeaseKeepAliveRequest { id }).is_err() {
                break;
            }
            let Some(Ok(answer)) = answers.next().await else { break };
            if answer.ttl <= 0 {
                return Ok(());
            }
            session.print(&Answer::KeepAlive(&answer))?;
            tokio::time::sleep(renewal_pause(answer.ttl)).await;
        }
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
}

/// When a lease of this TTL is renewed next.
pub(super) fn renewal_pause(ttl: i64) -> Duration {
    Duration::from_secs(1 + ttl.unsigned_abs()) / 3
}

fn connection(status: Status) -> Failure {
    Failure::new(Failure::BAD_CONNECTION, status_text(&status))
}

fn lease_id(invocation: &Invocation) -> Result<i64, Failure> {
    parse_int(&invocation.text(0), 16)
        .map_err(|why| Failure::bad_args(format!("bad lease ID arg ({why}), expecting ID in Hex")))
}
