//! Limits and bad arguments: etcd's codes and texts.

use super::ask::{Must, call, get, head, op, put, put_of, range_of, refused};
use super::place::{Place, READY};
use anyhow::{Context, Result, ensure};
use client::{Client, Code, Config};
use proto::etcdserverpb::compare::{CompareResult, CompareTarget, TargetUnion};
use proto::etcdserverpb::{
    CompactionRequest, Compare, DeleteRangeRequest, PutRequest, RangeRequest, RequestOp,
    TxnRequest, request_op::Request,
};

fn puts(count: usize) -> Vec<RequestOp> {
    (0..count).map(|n| op(Request::RequestPut(put_of(format!("k/{n}"), "v")))).collect()
}

fn nested(outer: usize, inner: usize) -> TxnRequest {
    let mut success = puts(outer - 1);
    let inner =
        (0..inner).map(|n| op(Request::RequestPut(put_of(format!("n/{n}"), "v")))).collect();
    let inner = TxnRequest { success: inner, ..TxnRequest::default() };
    success.push(op(Request::RequestTxn(inner)));
    TxnRequest { success, ..TxnRequest::default() }
}

fn compares(count: usize) -> TxnRequest {
    let compare = Compare {
        result: CompareResult::Equal.into(),
        target: CompareTarget::Version.into(),
        key: "k".into(),
        target_union: Some(TargetUnion::Version(0)),
        ..Compare::default()
    };
    TxnRequest { compare: vec![compare; count], ..TxnRequest::default() }
}

fn of(success: Vec<RequestOp>) -> TxnRequest {
    TxnRequest { success, ..TxnRequest::default() }
}

pub(crate) async fn uc_134_operations_are_counted_as_etcd_does(place: &Place) -> Result<()> {
    let (mut server, client) = place.serve(&[]).await?;
    let text = "etcdserver: too many operations in txn request";
    for (what, request, is_taken) in [
        ("128 puts", of(puts(128)), true),
        ("129 puts", of(puts(129)), false),
        ("128 compares", compares(128), true),
        ("129 compares", compares(129), false),
        ("64 with 64 nested", nested(64, 64), true),
        ("64 with 65 nested", nested(64, 65), false),
    ] {
        let answer = client.txn(&request, &call()).await;
        if is_taken {
            answer.must(what)?;
        } else {
            refused(what, answer, Code::INVALID_ARGUMENT, text)?;
        }
    }
    server.kill()?;
    let (_server, client) = place.serve(&["--max-txn-ops=200"]).await?;
    client.txn(&of(puts(150)), &call()).await.must("150 puts with the flag")?;
    Ok(())
}

/// A client that sends more than etcd's own would.
fn generous(endpoint: &str) -> Result<Client> {
    let mut config = Config::new([endpoint]);
    config.send_bytes_max = 64 << 20;
    Client::new(config).must("client")
}

pub(crate) async fn uc_136_the_size_of_requests_has_one_limit(place: &Place) -> Result<()> {
    const MIB_TENTH: usize = (1 << 20) / 10;
    let (mut server, _) = place.serve(&[]).await?;
    let client = generous(&server.endpoint())?;
    put(&client, "small", vec![b'v'; 14 * MIB_TENTH]).await?;
    let large = client.put(&put_of("large", vec![b'v'; 16 * MIB_TENTH]), &call()).await;
    let text = "etcdserver: request is too large";
    refused("1.6 MiB", large, Code::INVALID_ARGUMENT, text)?;
    let huge = client.put(&put_of("huge", vec![b'v'; 160 * MIB_TENTH]), &call()).await;
    ensure!(
        huge.as_ref().is_err_and(|status| status.code == Code::RESOURCE_EXHAUSTED),
        "16 MiB: {huge:?}"
    );
    server.kill()?;

    let data = place.path().join("raised");
    let mut server = place.server_on(&data, &["--max-request-bytes=20971520"])?;
    for round in 0..2 {
        server.start()?;
        server.ready(READY).await.with_context(|| format!("start {round}"))?;
        let client = generous(&server.endpoint())?;
        if round == 0 {
            put(&client, "large", vec![b'v'; 150 * MIB_TENTH]).await?;
        }
        let value = get(&client, "large").await?;
        ensure!(value.is_some_and(|value| value.len() == 150 * MIB_TENTH), "start {round}");
        server.kill()?;
    }
    Ok(())
}

pub(crate) async fn uc_137_bad_arguments_have_etcds_answers(place: &Place) -> Result<()> {
    let (_server, client) = place.serve(&[]).await?;
    put(&client, "k", "v").await?;
    put(&client, "k", "w").await?;
    bad_ranges_and_deletes(&client).await?;
    bad_puts(&client).await?;
    bad_revisions(&client).await
}

async fn bad_ranges_and_deletes(client: &Client) -> Result<()> {
    let text = "etcdserver: key is not provided";
    let code = Code::INVALID_ARGUMENT;
    let answer = client.range(&range_of(""), &call()).await;
    refused("range of no key", answer, code, text)?;
    let answer = client.delete_range(&DeleteRangeRequest::default(), &call()).await;
    refused("delete of no key", answer, code, text)?;
    let answer = client.put(&put_of("", "v"), &call()).await;
    refused("put of no key", answer, code, text)?;
    let unsorted = RangeRequest { sort_order: 99, ..range_of("k") };
    let answer = client.range(&unsorted, &call()).await;
    refused("sort order 99", answer, code, "etcdserver: invalid sort option")
}

async fn bad_puts(client: &Client) -> Result<()> {
    let code = Code::INVALID_ARGUMENT;
    let request = PutRequest { ignore_value: true, ..put_of("k", "x") };
    let answer = client.put(&request, &call()).await;
    refused("ignore_value with a value", answer, code, "etcdserver: value is provided")?;
    let request = PutRequest { ignore_lease: true, lease: 1, ..put_of("k", "x") };
    let answer = client.put(&request, &call()).await;
    refused("ignore_lease with a lease", answer, code, "etcdserver: lease is provided")?;
    let request = PutRequest { ignore_value: true, ..put_of("new", "") };
    let answer = client.put(&request, &call()).await;
    refused("ignore_value of a new key", answer, code, "etcdserver: key not found")?;
    let request = PutRequest { lease: 12345, ..put_of("k", "x") };
    let answer = client.put(&request, &call()).await;
    refused("unknown lease", answer, Code::NOT_FOUND, "etcdserver: requested lease not found")
}

async fn bad_revisions(client: &Client) -> Result<()> {
    let head = head(client).await?;
    let future = "etcdserver: mvcc: required revision is a future revision";
    let request = RangeRequest { revision: head + 1, ..range_of("k") };
    let answer = client.range(&request, &call()).await;
    refused("range at head + 1", answer, Code::OUT_OF_RANGE, future)?;
    let compact = async |revision| {
        let request = CompactionRequest { revision, physical: false };
        client.compact(&request, &call()).await
    };
    refused("compact at head + 1", compact(head + 1).await, Code::OUT_OF_RANGE, future)?;
    compact(head).await.must("compact")?;
    let compacted = "etcdserver: mvcc: required revision has been compacted";
    refused("compact again", compact(head).await, Code::OUT_OF_RANGE, compacted)?;
    let request = RangeRequest { revision: head - 1, ..range_of("k") };
    let answer = client.range(&request, &call()).await;
    refused("range at a compacted revision", answer, Code::OUT_OF_RANGE, compacted)
}
