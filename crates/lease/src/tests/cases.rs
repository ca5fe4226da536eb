//! One behaviour a test.

use crate::{Config, Expiry, Remaining, Renew, Row, RowError, Table, granted_ttl, ttl_min};
use bytes::Bytes;
use std::time::Duration;
use types::{Index, LeaseId, OpError, Time, limits};

fn at(seconds: u64) -> Time {
    Time::from_millis(seconds * 1000)
}

fn id(id: i64) -> LeaseId {
    LeaseId(id)
}

fn leader(table: &Table) -> Expiry {
    leader_with(Config::default(), table)
}

fn leader_with(config: Config, table: &Table) -> Expiry {
    let mut expiry = Expiry::new(config);
    expiry.promote(at(0), table);
    expiry
}

fn due(expiry: &mut Expiry, now: Time) -> Vec<i64> {
    let mut out = Vec::new();
    expiry.due(now, usize::MAX, &mut out);
    out.into_iter().map(|id| id.0).collect()
}

#[test]
fn the_smallest_ttl_is_one_and_a_half_election_timeouts_in_whole_seconds() {
    let ms = Duration::from_millis;
    for (heartbeat, election, least) in
        [(100, 1_000, 2), (100, 2_000, 3), (100, 500, 1), (300, 1_000, 2), (700, 1_500, 3)]
    {
        assert_eq!(ttl_min(ms(heartbeat), ms(election)), least, "{heartbeat} {election}");
    }
    let granted = [-1, 0, 1, 2, 60].map(|ttl| granted_ttl(ttl, ms(100), ms(1_000)));
    assert_eq!(granted, [2, 2, 2, 2, 60]);
}

/// UC-070, and a negative id of UC-069.
#[test]
fn grants_are_checked_in_order() {
    let mut table = Table::default();
    assert_eq!(table.grant(Index(1), id(1), limits::LEASE_TTL_MAX), Ok(()));
    assert_eq!(
        table.grant(Index(1), id(1), limits::LEASE_TTL_MAX + 1),
        Err(OpError::LeaseTtlTooLarge)
    );
    assert_eq!(table.grant(Index(1), id(2), 86_400_000_000_000), Err(OpError::LeaseTtlTooLarge));
    assert_eq!(table.grant(Index(1), id(1), 60), Err(OpError::LeaseExists));
    assert_eq!(table.grant(Index(1), id(0), 60), Err(OpError::LeaseNotFound));
    assert_eq!(table.grant(Index(1), id(-5), 60), Ok(()));
    assert_eq!(table.len(), 2);
}

#[test]
fn a_key_is_at_one_lease_and_a_revoke_gives_its_keys_in_order() {
    let mut table = Table::default();
    let [a, b, c] = ["a", "b", "c"].map(Bytes::from);
    table.grant(Index(1), id(1), 60).unwrap();
    table.grant(Index(1), id(2), 60).unwrap();
    for key in [&c, &a, &b] {
        table.attach(key, id(0), id(1));
    }
    table.attach(&b, id(1), id(2));
    table.attach(&b, id(2), id(2));
    table.check();
    assert_eq!(table.get(id(2)).unwrap().keys().collect::<Vec<_>>(), [&b]);
    assert_eq!(table.revoke(id(1)), Ok(vec![a.clone(), c]));
    table.attach(&a, id(1), id(0));
    table.attach(&b, id(2), id(0));
    table.check();
    assert_eq!(table.revoke(id(2)), Ok(vec![]));
    assert_eq!(table.revoke(id(2)), Err(OpError::LeaseNotFound));
}

#[test]
fn keys_are_taken_before_a_lease_is_revoked() {
    let mut table = Table::default();
    let [a, b] = ["a", "b"].map(Bytes::from);
    table.grant(Index(1), id(1), 60).unwrap();
    table.attach(&b, id(0), id(1));
    table.attach(&a, id(0), id(1));
    assert_eq!(table.take_keys(id(1)).collect::<Vec<_>>(), [a.clone(), b]);
    table.attach(&a, id(1), id(0));
    assert_eq!(table.revoke(id(1)), Ok(vec![]));
    assert_eq!(table.take_keys(id(1)).count(), 0);
}

/// UC-069: a negative id is the same after it was stored.
#[test]
fn rows_read_back_and_damaged_ones_are_refused() {
    for row in [
        Row { id: id(-5), ttl: 600, remaining: 0, since: Index(3) },
        Row { id: id(i64::MAX), ttl: limits::LEASE_TTL_MAX, remaining: 12, since: Index(u64::MAX) },
    ] {
        assert_eq!(Row::decode(&Row::key(row.id), &row.encode()), Ok(row));
    }
    let good = Row { id: id(1), ttl: 1, remaining: 0, since: Index(3) }.encode();
    assert_eq!(Row::decode(&[1, 2], &good), Err(RowError));
    assert_eq!(Row::decode(&Row::key(id(1)), &good[..9]), Err(RowError));
    assert_eq!(Row::decode(&Row::key(id(0)), &good), Err(RowError));
}

#[test]
fn a_lease_runs_out_at_its_deadline_and_not_before() {
    let mut expiry = leader(&Table::default());
    expiry.granted(at(10), id(1), 5);
    assert_eq!(expiry.next_deadline(), Some(at(15)));
    assert_eq!(due(&mut expiry, Time(at(15).0 - 1)), []);
    assert_eq!(due(&mut expiry, at(15)), [1]);
    assert_eq!(due(&mut expiry, at(15)), [], "its revoke is on the way");
    assert_eq!(due(&mut expiry, at(18)), [1], "tried again until it is applied");
    expiry.revoked(id(1));
    assert_eq!(due(&mut expiry, at(100)), []);
    assert_eq!(expiry.next_deadline(), None);
}

#[test]
fn due_leases_come_in_batches_by_deadline() {
    let mut expiry = leader(&Table::default());
    for lease in 1..=5 {
        expiry.granted(at(0), id(lease), 10 - lease);
    }
    let mut out = Vec::new();
    expiry.due(at(20), 2, &mut out);
    assert_eq!(out, [id(5), id(4)]);
    expiry.due(at(20), 2, &mut out);
    assert_eq!(out, [id(5), id(4), id(3), id(2)]);
}

#[test]
fn a_renewal_starts_the_whole_ttl_anew() {
    let mut expiry = leader(&Table::default());
    expiry.granted(at(0), id(1), 5);
    assert_eq!(expiry.renew(at(4), id(1)), Renew::Done { ttl: 5 });
    assert_eq!(due(&mut expiry, at(8)), []);
    assert_eq!(expiry.time_to_live(at(8), id(1)), Some(Remaining { seconds: 1, ttl: 5 }));
    assert_eq!(expiry.renew(at(9), id(1)), Renew::Expired, "past its end it waits for the revoke");
    assert_eq!(expiry.time_to_live(at(11), id(1)), Some(Remaining { seconds: -2, ttl: 5 }));
    assert_eq!(expiry.renew(at(9), id(2)), Renew::Unknown);
    assert_eq!(expiry.time_to_live(at(9), id(2)), None);
}

#[test]
fn only_a_leader_counts() {
    let mut expiry = Expiry::new(Config::default());
    expiry.granted(at(0), id(1), 5);
    expiry.checkpointed(id(1), 3);
    assert_eq!(due(&mut expiry, at(100)), []);
    assert_eq!(expiry.renew(at(0), id(1)), Renew::NotLeader);
    let mut table = Table::default();
    table.grant(Index(1), id(1), 5).unwrap();
    expiry.promote(at(100), &table);
    assert_eq!(expiry.time_to_live(at(100), id(1)), Some(Remaining { seconds: 6, ttl: 5 }));
    expiry.demote();
    assert_eq!(due(&mut expiry, at(1000)), []);
}

#[test]
fn a_new_leader_gives_the_ttl_or_its_checkpoint_and_an_election_timeout() {
    let mut table = Table::default();
    table.grant(Index(1), id(1), 100).unwrap();
    table.grant(Index(1), id(2), 100).unwrap();
    table.checkpoint(id(2), 30);
    let mut expiry = leader(&table);
    assert_eq!(due(&mut expiry, at(30)), []);
    assert_eq!(due(&mut expiry, at(31)), [2]);
    expiry.revoked(id(2));
    assert_eq!(due(&mut expiry, Time(at(101).0 - 1)), []);
    assert_eq!(due(&mut expiry, at(101)), [1]);
}

#[test]
fn leases_that_would_run_out_together_are_spread_out_and_none_is_earlier() {
    let mut table = Table::default();
    for lease in 1..=5000 {
        table.grant(Index(1), id(lease), 10 + lease % 3).unwrap();
    }
    let mut expiry = leader(&table);
    let mut counts = Vec::new();
    for second in 11..20 {
        let gone = due(&mut expiry, Time(at(second + 1).0 - 1));
        assert!(gone.iter().all(|lease| 10 + lease % 3 < i64::try_from(second).unwrap() + 1));
        for lease in &gone {
            expiry.revoked(id(*lease));
        }
        counts.push(gone.len());
    }
    assert_eq!(counts.iter().sum::<usize>(), 5000);
    assert!(counts.iter().all(|count| *count <= 750), "{counts:?}");
}

#[test]
fn long_leases_are_checkpointed_and_a_renewal_clears_the_record_first() {
    let config =
        Config { checkpoint_interval: Some(Duration::from_secs(300)), ..Config::default() };
    let mut expiry = leader_with(config, &Table::default());
    expiry.granted(at(0), id(1), 1000);
    expiry.granted(at(0), id(2), 100);
    let mut out = Vec::new();
    expiry.checkpoints_due(at(299), 10, &mut out);
    assert_eq!(out, []);
    expiry.checkpoints_due(at(300), 10, &mut out);
    assert_eq!(out, [(id(1), 700)], "only what outlasts the interval");
    assert_eq!(expiry.renew(at(301), id(1)), Renew::NeedsClear, "proposed counts as recorded");
    expiry.checkpointed(id(1), 700);
    assert_eq!(expiry.renew(at(301), id(1)), Renew::NeedsClear);
    expiry.checkpoints_due(at(900), 10, &mut out);
    assert_eq!(out.len(), 1, "nothing is proposed behind a clearing");
    expiry.checkpointed(id(1), 0);
    assert_eq!(expiry.renew(at(901), id(1)), Renew::Done { ttl: 1000 });
    assert_eq!(expiry.renew(at(901), id(1)), Renew::Done { ttl: 1000 });
    assert_eq!(expiry.next_deadline(), Some(at(100)), "of the short one");
}

#[test]
fn leases_are_listed_by_what_is_left() {
    let mut expiry = leader(&Table::default());
    expiry.granted(at(0), id(1), 50);
    expiry.granted(at(0), id(2), 10);
    expiry.granted(at(0), id(3), 30);
    assert_eq!(expiry.by_deadline(), [id(2), id(3), id(1)]);
}

#[test]
fn a_renewed_lease_runs_out_one_ttl_after_its_last_renewal() {
    let mut table = Table::default();
    table.grant(Index(1), id(1), 10).unwrap();
    table.grant(Index(1), id(2), 10).unwrap();
    let mut expiry = leader(&table);
    // After a change of leader it has one election timeout more than its TTL.
    assert_eq!(expiry.renew(at(0), id(1)), Renew::Done { ttl: 10 });
    assert_eq!(expiry.next_deadline(), Some(at(10)));
    for second in 1..=9 {
        assert_eq!(expiry.renew(at(second), id(1)), Renew::Done { ttl: 10 });
        assert!(expiry.next_deadline() <= Some(at(10)), "never later than a deadline");
    }
    assert_eq!(due(&mut expiry, at(10)), [0; 0], "it moves to its deadline");
    assert_eq!(expiry.next_deadline(), Some(at(11)), "the other one is next");
    assert_eq!(due(&mut expiry, at(11)), [2]);
    assert_eq!(due(&mut expiry, at(19)), [2, 1]);
    expiry.revoked(id(2));
    expiry.revoked(id(1));
    assert_eq!(expiry.next_deadline(), None);
}
