//! Past versions against a plain list of them.

use super::{BLOCK, Past};
use crate::slab::Version;

/// Versions of one key as puts, deletes, leases and transactions make them.
fn versions(count: u32) -> Vec<Version> {
    let mut made: Vec<Version> = Vec::new();
    let (mut main, mut create, mut number) = (3, 0, 0);
    for at in 0..count {
        let again = at % 23 == 7;
        main += if again { 0 } else { i64::from(at % 9) * 40 + 1 };
        let sub = if again { made.last().map_or(0, |last| last.sub + 1) } else { at % 11 / 10 };
        let len = 300 + at / 50 % 3;
        if at % 37 == 36 {
            (create, number) = (0, 0);
            made.push(Version { main, create: 0, version: 0, lease: 0, sub, len });
            continue;
        }
        create = if number == 0 { main } else { create };
        number += 1;
        let lease = if at % 100 < 20 { i64::MIN + 5 } else { 0 };
        made.push(Version { main, create, version: number, lease, sub, len });
    }
    made
}

fn past_of(versions: &[Version]) -> Past {
    let mut past = Past::default();
    versions.windows(2).for_each(|pair| past.push(&pair[0], &pair[1]));
    past
}

#[test]
fn every_version_is_found_at_every_revision() {
    for count in [1, 2, BLOCK, BLOCK + 1, BLOCK + 2, 2 * BLOCK + 1, 500] {
        let all = versions(count);
        let (past, newest) = (past_of(&all), all[all.len() - 1]);
        let older = &all[..all.len() - 1];
        for at in 0..newest.main {
            let upto = older.partition_point(|version| version.main <= at);
            let last = older[..upto].last().copied();
            assert_eq!(past.version_at(&newest, at), last, "{count} versions, at {at}");
            if at % 17 == 0 {
                assert_eq!(past.upto(&newest, at), older[..upto], "{count} versions, at {at}");
            }
        }
        assert_eq!(past.upto(&newest, i64::MAX), older, "all of {count} versions");
    }
}

#[test]
fn the_oldest_are_dropped_and_no_others() {
    let all = versions(400);
    let newest = all[all.len() - 1];
    for step in [1, 3, BLOCK - 1, BLOCK, BLOCK + 1, 200, 399] {
        let (mut past, mut left) = (past_of(&all), &all[..all.len() - 1]);
        while !left.is_empty() {
            let count = left.len().min(step as usize);
            left = &left[count..];
            let is_empty = past.drop_oldest(&newest, u32::try_from(count).unwrap_or(0));
            assert_eq!(is_empty, left.is_empty(), "{} left in steps of {step}", left.len());
            assert_eq!(past.upto(&newest, i64::MAX), left, "in steps of {step}");
        }
        assert_eq!(past.heap_bytes(), 0, "nothing is kept of nothing");
    }
}

#[test]
fn a_version_of_a_key_that_is_put_over_and_over_takes_five_bytes() {
    let version = |number: i64| Version {
        main: 2 + number * 10_000,
        create: 2,
        version: 1 + number,
        lease: 0,
        sub: 0,
        len: 345,
    };
    let all: Vec<Version> = (0..10_000).map(version).collect();
    let bytes = past_of(&all).heap_bytes();
    assert!(bytes < 5 * all.len(), "{bytes} bytes for {} versions", all.len());
}
