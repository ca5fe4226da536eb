//! Lock and election as clients see them.

use super::super::frame::framed;
use super::super::status::Code;
use super::rig::{Client, Incoming, with_server};
use h2::Reason;
use prost::Message;
use proto::etcdserverpb as pb;
use proto::v3electionpb as epb;
use proto::v3lockpb::{LockRequest, LockResponse, UnlockRequest, UnlockResponse};

const LOCK: &str = "/v3lockpb.Lock/Lock";

async fn lease(client: &mut Client) -> i64 {
    let request = pb::LeaseGrantRequest { ttl: 100, id: 0 };
    client.call::<pb::LeaseGrantResponse>("/etcdserverpb.Lease/LeaseGrant", &request).await.id
}

/// Waits until this many keys lie under a prefix.
async fn await_count(client: &mut Client, prefix: &str, count: i64) {
    let range_end = types::range::prefix_end(prefix.as_bytes());
    let key = prefix.to_string().into();
    let request = pb::RangeRequest { key, range_end, count_only: true, ..Default::default() };
    loop {
        let found: pb::RangeResponse = client.call("/etcdserverpb.KV/Range", &request).await;
        if found.count == count {
            return;
        }
    }
}

#[test]
fn a_thousand_waiting_locks_do_not_block_the_unlock_on_their_connection() {
    with_server(&[], async |rig| {
        let mut client = rig.connect().await;
        let first = LockRequest { name: "l".into(), lease: lease(&mut client).await };
        let held: LockResponse = client.call(LOCK, &first).await;
        let mut waiting = Vec::new();
        for _ in 0..200 {
            let request = LockRequest { name: "l".into(), lease: lease(&mut client).await };
            let (response, mut stream) = client.open(LOCK, &[]).await;
            stream.send_data(framed(&request), true).unwrap();
            waiting.push((response, stream));
        }
        await_count(&mut client, "l/", 201).await;
        let unlock = UnlockRequest { key: held.key };
        client.call::<UnlockResponse>("/v3lockpb.Lock/Unlock", &unlock).await;
        let (response, _stream) = waiting.remove(0);
        let mut incoming = Incoming::new(response.await.unwrap().into_body());
        let next = LockResponse::decode(incoming.next().await.unwrap()).unwrap();
        assert!(next.key.starts_with(b"l/"));
    });
}

#[test]
fn a_waiting_lock_that_is_cancelled_takes_its_key_back() {
    with_server(&[], async |rig| {
        let mut client = rig.connect().await;
        let first = LockRequest { name: "l".into(), lease: lease(&mut client).await };
        client.call::<LockResponse>(LOCK, &first).await;
        let second = LockRequest { name: "l".into(), lease: lease(&mut client).await };
        let (_response, mut stream) = client.open(LOCK, &[]).await;
        stream.send_data(framed(&second), true).unwrap();
        await_count(&mut client, "l/", 2).await;
        stream.send_reset(Reason::CANCEL);
        await_count(&mut client, "l/", 1).await;
    });
}

#[test]
fn a_waiting_lock_whose_time_is_over_ends_and_takes_its_key_back() {
    with_server(&[], async |rig| {
        let mut client = rig.connect().await;
        let first = LockRequest { name: "l".into(), lease: lease(&mut client).await };
        client.call::<LockResponse>(LOCK, &first).await;
        let second = LockRequest { name: "l".into(), lease: lease(&mut client).await };
        let headers = [("grpc-timeout", "300m")];
        let (_, _, ended) = client.call_raw(LOCK, &headers, framed(&second)).await;
        assert!(ended.is(Code::DeadlineExceeded), "{ended:?}");
        await_count(&mut client, "l/", 1).await;
    });
}

#[test]
fn failures_of_lock_and_election_have_code_unknown() {
    with_server(&[], async |rig| {
        let mut client = rig.connect().await;
        let unknown_lease = LockRequest { name: "l".into(), lease: 77 };
        let ended = client.fail(LOCK, &unknown_lease).await;
        assert!(ended.is(Code::Unknown));
        assert_eq!(ended.message, "etcdserver: requested lease not found");
        let none = epb::LeaderRequest { name: "e".into() };
        let ended = client.fail("/v3electionpb.Election/Leader", &none).await;
        assert_eq!(ended.message, "election: no leader");
        let nobody = epb::ProclaimRequest::default();
        let ended = client.fail("/v3electionpb.Election/Proclaim", &nobody).await;
        assert_eq!(ended.message, "\"leader\" field must be provided");
    });
}

#[test]
fn a_campaign_is_won_proclaimed_observed_and_resigned() {
    with_server(&[], async |rig| {
        let mut client = rig.connect().await;
        let lease = lease(&mut client).await;
        let request = epb::CampaignRequest { name: "e".into(), lease, value: "one".into() };
        let won: epb::CampaignResponse =
            client.call("/v3electionpb.Election/Campaign", &request).await;
        let leader = won.leader.unwrap();
        let observe = epb::LeaderRequest { name: "e".into() };
        let (response, mut stream) = client.open("/v3electionpb.Election/Observe", &[]).await;
        stream.send_data(framed(&observe), true).unwrap();
        let mut incoming = Incoming::new(response.await.unwrap().into_body());
        let mut next = async || {
            let message = incoming.next().await.unwrap();
            epb::LeaderResponse::decode(message).unwrap().kv.unwrap().value
        };
        assert_eq!(next().await, "one");
        let proclaim = epb::ProclaimRequest { leader: Some(leader.clone()), value: "two".into() };
        let path = "/v3electionpb.Election/Proclaim";
        client.call::<epb::ProclaimResponse>(path, &proclaim).await;
        assert_eq!(next().await, "two");
        let resign = epb::ResignRequest { leader: Some(leader) };
        client.call::<epb::ResignResponse>("/v3electionpb.Election/Resign", &resign).await;
        await_count(&mut client, "e/", 0).await;
    });
}
