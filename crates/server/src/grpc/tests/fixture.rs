//! A data folder that an earlier version wrote: this one opens it, with everything in it.
//!
//! `testdata/data-v1` holds the files of a folder as a kill left them, without the zeros at their
//! ends; `files.txt` there says how long each is. `UPDATE=1` writes it anew, which only a new
//! version of the format may ask for.

use super::rig::{Client, Rig, with_server_in};
use proto::etcdserverpb as pb;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

const RANGE: &str = "/etcdserverpb.KV/Range";
const PUT: &str = "/etcdserverpb.KV/Put";
const DELETE: &str = "/etcdserverpb.KV/DeleteRange";
const COMPACT: &str = "/etcdserverpb.KV/Compact";
const LEASE: i64 = 77;

fn fixture() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/data-v1")
}

async fn put(client: &mut Client, key: &str, value: String, lease: i64) {
    let (key, value) = (key.to_string().into(), value.into());
    let put = pb::PutRequest { key, value, lease, ..Default::default() };
    client.call::<pb::PutResponse>(PUT, &put).await;
}

async fn delete(client: &mut Client, key: &str) {
    let delete = pb::DeleteRangeRequest { key: key.to_string().into(), ..Default::default() };
    client.call::<pb::DeleteRangeResponse>(DELETE, &delete).await;
}

async fn compact(client: &mut Client, revision: i64) {
    let compact = pb::CompactionRequest { revision, physical: true };
    client.call::<pb::CompactionResponse>(COMPACT, &compact).await;
}

/// 52 revisions, the last six of which are in the log alone.
async fn write(client: &mut Client) {
    for id in [LEASE, -5, 9] {
        let grant = pb::LeaseGrantRequest { id, ttl: 1_000_000 };
        client.call::<pb::LeaseGrantResponse>("/etcdserverpb.Lease/LeaseGrant", &grant).await;
    }
    for n in 0..30 {
        let lease = if n % 5 == 0 { LEASE } else { 0 };
        put(client, &format!("k/{:02}", n % 12), format!("value {n} ").repeat(40), lease).await;
    }
    delete(client, "k/03").await;
    compact(client, 20).await;
    for n in 30..44 {
        put(client, &format!("k/{:02}", n % 12), format!("value {n} ").repeat(40), 0).await;
    }
    let revoke = pb::LeaseRevokeRequest { id: 9 };
    client.call::<pb::LeaseRevokeResponse>("/etcdserverpb.Lease/LeaseRevoke", &revoke).await;
    compact(client, 25).await;
    let op = |request| pb::RequestOp { request: Some(request) };
    let put_of = |key: &str| {
        let put = pb::PutRequest {
            key: key.to_string().into(),
            value: "t".into(),
            lease: LEASE,
            ..Default::default()
        };
        op(pb::request_op::Request::RequestPut(put))
    };
    let gone = pb::DeleteRangeRequest { key: "k/01".into(), ..Default::default() };
    let txn = pb::TxnRequest {
        success: vec![
            put_of("t/1"),
            put_of("t/2"),
            op(pb::request_op::Request::RequestDeleteRange(gone)),
        ],
        ..Default::default()
    };
    client.call::<pb::TxnResponse>("/etcdserverpb.KV/Txn", &txn).await;
    delete(client, "k/04").await;
    for n in 0..4 {
        put(client, &format!("l/{n}"), format!("in the log {n}"), 0).await;
    }
}

/// What clients see of it, as text.
async fn seen(client: &mut Client) -> String {
    let mut out = String::new();
    for revision in [0, 30, 25, 24] {
        let range = pb::RangeRequest {
            key: "a".into(),
            range_end: "z".into(),
            revision,
            ..Default::default()
        };
        writeln!(out, "at {revision}").unwrap();
        if revision == 24 {
            let failed = client.fail(RANGE, &range).await;
            writeln!(out, "  {}", failed.message).unwrap();
            continue;
        }
        let found: pb::RangeResponse = client.call(RANGE, &range).await;
        for kv in found.kvs {
            let (key, value) = (kv.key.to_vec(), kv.value.to_vec());
            let (key, value) = (String::from_utf8(key).unwrap(), String::from_utf8(value).unwrap());
            let numbers = [kv.create_revision, kv.mod_revision, kv.version, kv.lease];
            let first = value.split_at(value.len().min(10)).0.trim_end();
            writeln!(out, "  {key} {numbers:?} {first} of {}", value.len()).unwrap();
        }
    }
    for revision in [0, 40, 30, 26] {
        let hash: pb::HashKvResponse =
            client.call("/etcdserverpb.Maintenance/HashKV", &pb::HashKvRequest { revision }).await;
        let (compacted, hash, at) = (hash.compact_revision, hash.hash, hash.hash_revision);
        writeln!(out, "hash {hash} at {at}, compacted {compacted}").unwrap();
    }
    let leases: pb::LeaseLeasesResponse =
        client.call("/etcdserverpb.Lease/LeaseLeases", &pb::LeaseLeasesRequest {}).await;
    let mut ids: Vec<i64> = leases.leases.iter().map(|lease| lease.id).collect();
    ids.sort_unstable();
    for id in ids {
        let ask = pb::LeaseTimeToLiveRequest { id, keys: true };
        let lease: pb::LeaseTimeToLiveResponse =
            client.call("/etcdserverpb.Lease/LeaseTimeToLive", &ask).await;
        let keys: Vec<_> = lease.keys.iter().map(|key| String::from_utf8_lossy(key)).collect();
        writeln!(out, "lease {id} of {} s holds {}", lease.granted_ttl, keys.join(" ")).unwrap();
    }
    out
}

/// Files below a folder, by path.
fn files(folder: &Path, below: &str, found: &mut Vec<String>) {
    for entry in std::fs::read_dir(folder.join(below)).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let path = if below.is_empty() { name } else { format!("{below}/{name}") };
        match folder.join(&path).is_dir() {
            true => files(folder, &path, found),
            false => found.push(path),
        }
    }
    found.sort();
}

/// Keeps the files of a running server, without the zeros at their ends. What holds nothing but
/// room is left out: a start makes it again.
fn keep(data: &Path) {
    let mut paths = Vec::new();
    files(data, "", &mut paths);
    let mut list = String::new();
    for path in paths {
        let bytes = std::fs::read(data.join(&path)).unwrap();
        let Some(last) = bytes.iter().rposition(|byte| *byte != 0) else { continue };
        let target = fixture().join(&path);
        std::fs::create_dir_all(target.parent().unwrap()).unwrap();
        std::fs::write(target, &bytes[..=last]).unwrap();
        writeln!(list, "{path} {}", bytes.len()).unwrap();
    }
    std::fs::write(fixture().join("files.txt"), list).unwrap();
}

/// The folder as the kill left it.
fn unpack(data: &Path) {
    for line in std::fs::read_to_string(fixture().join("files.txt")).unwrap().lines() {
        let (path, len) = line.rsplit_once(' ').unwrap();
        let target = data.join(path);
        std::fs::create_dir_all(target.parent().unwrap()).unwrap();
        std::fs::copy(fixture().join(path), &target).unwrap();
        let file = std::fs::OpenOptions::new().write(true).open(target).unwrap();
        file.set_len(len.parse().unwrap()).unwrap();
    }
}

#[test]
fn a_data_folder_of_version_1_is_opened_with_all_that_is_in_it() {
    let expected = fixture().join("seen.txt");
    if std::env::var_os("UPDATE").is_some_and(|update| update == "1") {
        let folder = tempfile::tempdir().unwrap();
        if fixture().exists() {
            std::fs::remove_dir_all(fixture()).unwrap();
        }
        with_server_in(folder.path(), &["--name=one"], async |rig: Rig| {
            let mut client = rig.connect().await;
            write(&mut client).await;
            keep(folder.path());
            std::fs::write(&expected, seen(&mut client).await).unwrap();
        });
    }
    let folder = tempfile::tempdir().unwrap();
    unpack(folder.path());
    let expected = std::fs::read_to_string(expected).unwrap();
    for _ in 0..2 {
        with_server_in(folder.path(), &["--name=two"], async |rig: Rig| {
            let mut client = rig.connect().await;
            assert_eq!(seen(&mut client).await, expected);
        });
    }
    with_server_in(folder.path(), &[], async |rig: Rig| {
        let mut client = rig.connect().await;
        put(&mut client, "after", "1".to_string(), LEASE).await;
        let revoke = pb::LeaseRevokeRequest { id: LEASE };
        client.call::<pb::LeaseRevokeResponse>("/etcdserverpb.Lease/LeaseRevoke", &revoke).await;
        let range = pb::RangeRequest { key: "after".into(), ..Default::default() };
        let found: pb::RangeResponse = client.call(RANGE, &range).await;
        assert_eq!(found.count, 0, "its leases are leases still");
    });
}
