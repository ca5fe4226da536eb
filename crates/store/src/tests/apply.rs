//! Entries and what they come to.

use super::rig::Rig;
use crate::Config;
use std::time::Duration;
use types::{KeyRange, OpError, Time};
use watch::{Create, StreamId};

fn rig() -> Rig {
    Rig::new(Config::default())
}

#[test]
fn a_first_life_of_a_store() {
    let mut rig = rig();
    let stream = StreamId(1);
    rig.store.hub_mut().open(stream, Time(0), Duration::from_secs(600));
    let all = KeyRange::new("a", "z");
    rig.store.hub_mut().create(stream, &Create { range: all, prev_kv: true, ..Create::default() });
    assert_eq!(rig.put("a", "1"), 2);
    assert_eq!(rig.grant(7, 60), Ok(()));
    assert_eq!(rig.put_with("b", "2", 7), Ok(3));
    assert_eq!(rig.put_with("c", "2", 8), Err(OpError::LeaseNotFound));
    rig.flush();
    assert_eq!(rig.range("a", "z", 0).unwrap(), "a=1@2 b=2@3");
    assert_eq!(rig.revoke(7), Ok(()));
    assert_eq!(rig.delete("a", "").deleted, 1);
    assert_eq!(rig.range("a", "z", 3).unwrap(), "a=1@2 b=2@3");
    assert_eq!(rig.compact(4), Ok(()));
    assert_eq!(rig.range("a", "z", 3), Err(OpError::Compacted));
    assert_eq!(
        rig.drain(stream),
        [
            "#0 rev 1 created",
            "#0 rev 2 +a@2",
            "#0 rev 3 +b@3",
            "#0 rev 4 -b@4<3",
            "#0 rev 5 -a@5<2",
        ]
    );
    rig.restart().unwrap();
    assert_eq!(rig.range("a", "z", 0).unwrap(), "");
    assert_eq!(rig.store.revision(), 5);
}
