//! `elect`

use std::os::unix::ffi::OsStrExt;

use bytes::Bytes;
use client::{Call, Client, Status};
use proto::etcdserverpb::range_request::{SortOrder, SortTarget};
use proto::etcdserverpb::{RangeRequest, RangeResponse, WatchCreateRequest};
use proto::mvccpb::KeyValue;
use proto::mvccpb::event::EventType;

use super::mutex::{Place, SessionLease};
use super::{interrupted, open, prefix_end};
use crate::Failure;
use crate::cli::Invocation;
use crate::printers::Answer;
use crate::session::Session;

/// TTL of a candidate's lease, in seconds.
const SESSION_TTL: i64 = 60;

pub(super) async fn run(invocation: &Invocation) -> Result<(), Failure> {
    let count = invocation.args.len();
    let listens = invocation.flags.is_on("listen");
    if count != 1 && count != 2 {
        return Err(Failure::bad_args(
            "elect takes one election name argument and an optional proposal argument",
        ));
    }
    if count == 1 && !listens {
        return Err(Failure::bad_args("no proposal argument but -l not set"));
    }
    if count == 2 && listens {
        return Err(Failure::bad_args("proposal given but -l is set"));
    }
    let session = open(invocation)?;
    let lease = SessionLease::grant(&session.client, SESSION_TTL).await?;
    let name = invocation.args[0].as_bytes();
    if !listens {
        return campaign(&session, &lease, name, invocation.bytes(1)).await;
    }
    tokio::select! {
        () = interrupted() => Ok(()),
        lost = observe(&session, name) => {
            lost?;
            Err(Failure::new(Failure::ERROR, "elect: observer lost"))
        }
    }
}

async fn campaign(
    session: &Session,
    lease: &SessionLease,
    name: &[u8],
    proposal: Bytes,
) -> Result<(), Failure> {
    let client = &session.client;
    let place = Place::take(client, name, lease.id, proposal).await?;
    tokio::select! {
        waited = place.wait(client) => waited?,
        () = interrupted() => {
            place.leave(client).await?;
            return Err(Failure::new(Failure::ERROR, "context canceled"));
        }
    }
    session.print(&Answer::Range(&place.read(client).await?))?;
    tokio::select! {
        () = interrupted() => Ok(place.leave(client).await?),
        () = lease.expired() => Err(Failure::new(Failure::ERROR, "elect: session expired")),
    }
}

/// Prints each leader and each of its proclamations.
async fn observe(session: &Session, name: &[u8]) -> Result<(), Failure> {
    let client = &session.client;
    let prefix = Bytes::from([name, b"/"].concat());
    loop {
        let first = RangeRequest {
            key: prefix.clone(),
            range_end: prefix_end(&prefix),
            limit: 1,
            sort_order: SortOrder::Ascend.into(),
            sort_target: SortTarget::Create.into(),
            ..RangeRequest::default()
        };
        let answer = client.range(&first, &call()).await?;
        let mut header = answer.header.unwrap_or_default();
        let kv = match answer.kvs.into_iter().next() {
            Some(kv) => kv,
            None => {
                let kv = first_put(client, &prefix, header.revision).await?;
                header.revision = kv.mod_revision;
                kv
            }
        };
        let (key, revision) = (kv.key.clone(), header.revision);
        let found = RangeResponse { header: Some(header), kvs: vec![kv], ..Default::default() };
        session.print(&Answer::Range(&found))?;
        follow(session, key, revision + 1).await?;
    }
}

async fn first_put(client: &Client, prefix: &Bytes, revision: i64) -> Result<KeyValue, Status> {
    let mut stream = client.watch(&call()).await?;
    stream.create(WatchCreateRequest {
        key: prefix.clone(),
        range_end: prefix_end(prefix),
        start_revision: revision,
        ..WatchCreateRequest::default()
    })?;
    while let Some(answer) = stream.next().await {
        for event in answer?.events {
            if event.r#type == i32::from(EventType::Put) {
                return Ok(event.kv.unwrap_or_default());
            }
        }
    }
    Err(Status::new(client::Code::UNAVAILABLE, "the watch ended"))
}

/// Prints the leader's proclamations until its key is deleted.
async fn follow(session: &Session, key: Bytes, revision: i64) -> Result<(), Failure> {
    let mut stream = session.client.watch(&call()).await?;
    stream.create(WatchCreateRequest {
        key,
        start_revision: revision,
        ..WatchCreateRequest::default()
    })?;
    while let Some(answer) = stream.next().await {
        let answer = answer?;
        for event in answer.events {
            if event.r#type == i32::from(EventType::Delete) {
                return Ok(());
            }
            let kvs = event.kv.into_iter().collect();
            let changed = RangeResponse { header: answer.header, kvs, ..Default::default() };
            session.print(&Answer::Range(&changed))?;
        }
    }
    Ok(())
}

fn call() -> Call {
    Call { wait_for_ready: true, ..Call::default() }
}
