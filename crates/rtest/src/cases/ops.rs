//! Operations: probes, log lines, the end of a process.

use super::ask::{Must, call, get, load, pause, put, put_of};
use super::http::ask;
use super::place::Place;
use crate::server::Server;
use anyhow::{Context, Result, ensure};
use proto::etcdserverpb::alarm_request::AlarmAction;
use proto::etcdserverpb::{AlarmRequest, AlarmType};
use std::time::{Duration, Instant};

/// Asks for each path and compares the status; a text that the body must have.
async fn probe(server: &Server, state: &str, expected: &[(&str, u16, &str)]) -> Result<()> {
    for (path, code, text) in expected {
        let (status, body) = ask(server, "GET", path).await?;
        ensure!(status == *code, "{state}: {path} says {status}, expected {code}: {body}");
        ensure!(body.contains(text), "{state}: {path} says {body:?} without {text:?}");
    }
    Ok(())
}

/// Every probe in each state that one member can have: well, NOSPACE, CORRUPT.
pub(crate) async fn uc_140_probes_tell_liveness_from_readiness(place: &Place) -> Result<()> {
    let (server, client) = place.serve(&[]).await?;
    let member = client.status(&call()).await.must("status")?.header.unwrap_or_default().member_id;
    let well = [
        ("/livez", 200, "ok"),
        ("/readyz", 200, "ok"),
        ("/livez?verbose", 200, "[+]serializable_read ok"),
        ("/readyz?verbose", 200, "[+]linearizable_read ok"),
        ("/readyz?verbose", 200, "[+]data_corruption ok"),
        ("/livez/serializable_read", 200, ""),
        ("/readyz/data_corruption", 200, ""),
        ("/readyz/serializable_read", 200, ""),
        ("/readyz/linearizable_read", 200, ""),
        ("/readyz/non_learner", 200, ""),
        ("/readyz?exclude=data_corruption", 200, ""),
        ("/readyz/no_such_check", 404, ""),
        ("/health", 200, r#""health":"true""#),
        ("/health?serializable=true", 200, r#""health":"true""#),
    ];
    probe(&server, "well", &well).await?;
    let (status, _) = ask(&server, "POST", "/health").await?;
    ensure!(status == 405, "POST /health says {status}");
    let alarm = async |action: AlarmAction, alarm: AlarmType| {
        let request =
            AlarmRequest { action: action.into(), member_id: member, alarm: alarm.into() };
        client.alarm(&request, &call()).await.must("alarm")
    };
    alarm(AlarmAction::Activate, AlarmType::Nospace).await?;
    let full = [
        ("/livez", 200, "ok"),
        ("/readyz", 200, "ok"),
        ("/health", 503, "ALARM NOSPACE"),
        ("/health?exclude=NOSPACE", 200, r#""health":"true""#),
    ];
    probe(&server, "NOSPACE", &full).await?;
    alarm(AlarmAction::Deactivate, AlarmType::Nospace).await?;
    alarm(AlarmAction::Activate, AlarmType::Corrupt).await?;
    let corrupt = [
        ("/livez", 200, "ok"),
        ("/readyz", 503, "data_corruption"),
        ("/readyz/data_corruption", 503, ""),
        ("/readyz?exclude=data_corruption", 200, ""),
        ("/health", 503, "ALARM CORRUPT"),
    ];
    probe(&server, "CORRUPT", &corrupt).await?;
    alarm(AlarmAction::Deactivate, AlarmType::Corrupt).await?;
    probe(&server, "well again", &well).await
}

/// SIGTERM under load ends one member in time and well, and nothing that was answered is lost.
pub(crate) async fn uc_141_sigterm_ends_a_single_member(place: &Place) -> Result<()> {
    let (mut server, client) = place.serve(&[]).await?;
    let shared = client.clone();
    let work = tokio::task::spawn_local(async move {
        let mut n = 0;
        while put(&shared, &format!("k/{n}"), "v").await.is_ok() {
            n += 1;
        }
        n
    });
    pause(500).await;
    server.terminate()?;
    let answered = tokio::time::timeout(Duration::from_secs(15), work).await;
    let answered = answered.context("a put hangs")??;
    // etcd takes the signal up again at the end, so that there is no exit code.
    let code = server.wait(Duration::from_secs(10))?;
    ensure!(matches!(code, None | Some(0)), "exit code {code:?}");
    let client = super::place::start(&mut server).await?;
    ensure!(0 < answered, "nothing was answered");
    let last = get(&client, &format!("k/{}", answered - 1)).await?;
    ensure!(last.is_some(), "the last of {answered} puts is gone");
    Ok(())
}

/// A member at rest says nothing again and again.
pub(crate) async fn uc_146_a_member_at_rest_is_silent(place: &Place) -> Result<()> {
    let (_server, client) = place.serve(&[]).await?;
    load(&client, 100, |n| put_of(format!("k/{n}"), "v")).await?;
    let quiet_since = Instant::now();
    pause(3000).await;
    let before = place.log_text().lines().count();
    pause(5000).await;
    let text = place.log_text();
    ensure!(0 < before, "the log is empty");
    let lines: Vec<&str> = text.lines().skip(before).collect();
    ensure!(lines.len() <= 1, "after {:?} of rest: {lines:?}", quiet_since.elapsed());
    Ok(())
}
