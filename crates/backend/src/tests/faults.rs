//! CM-4: every call fails once. After it the store refuses to go on, and a start finds every
//! acknowledged job.

use super::crash::{models, ops, run, state_of, tiny};
use super::support::*;
use crate::{Backend, Error};
use std::sync::Arc;
use vfs::sim::{CallKind, Fault, SimDisk};

/// Lets the `nth` call of a kind fail and checks what follows; false if there is no such call.
fn fail_at(kind: Option<CallKind>, nth: u64, fault: Fault) -> bool {
    let ops = ops();
    let models = models(&ops);
    let disk = SimDisk::new();
    disk.fail(kind, nth, fault);
    let (acked, error) = run(&disk, &tiny(), &ops);
    if disk.faults_left() != 0 {
        assert!(error.is_none(), "nothing was injected, and yet: {error:?}");
        return false;
    }
    assert!(error.is_some(), "{fault:?} at call {nth} of {kind:?} went unnoticed");
    for lose_power in [false, true] {
        let after = disk.snapshot();
        if lose_power {
            after.power_loss(&mut |_| 0);
        }
        match Backend::open(Arc::new(after.clone()), DIR, tiny()) {
            Ok((_, mut recovered)) => {
                let found = contents(&mut recovered).unwrap();
                state_of(&found, &models, acked.unwrap_or(0)).unwrap();
                // After a failed sync the pages are clean: what a start has read of them must
                // not go with the power.
                after.power_loss(&mut |_| 0);
                let again = Backend::open(Arc::new(after.clone()), DIR, tiny());
                let (_, mut recovered) = again.expect("a store that was open before");
                assert_eq!(contents(&mut recovered).unwrap(), found, "{kind:?} {nth}");
            }
            Err(Error::Missing { .. }) if acked.is_none() => {}
            Err(error) => panic!("{fault:?} at call {nth} of {kind:?}: {error}"),
        }
    }
    true
}

#[test]
fn an_io_error_at_any_call_loses_nothing_acknowledged() {
    let mut sites = 0;
    for kind in [
        CallKind::Open,
        CallKind::Create,
        CallKind::Read,
        CallKind::Write,
        CallKind::Sync,
        CallKind::SetLen,
        CallKind::Allocate,
        CallKind::Rename,
        CallKind::Remove,
        CallKind::SyncDir,
        CallKind::List,
        CallKind::CreateDir,
    ] {
        let of_kind = (0..).take_while(|nth| fail_at(Some(kind), *nth, Fault::Io)).count();
        assert!(0 < of_kind, "no call of kind {kind:?} was met");
        sites += of_kind;
    }
    assert!(150 < sites, "only {sites} call sites");
    assert!(
        (0..).take_while(|nth| fail_at(Some(CallKind::Write), *nth, Fault::Short)).count() > 10
    );
}

#[test]
fn after_a_failed_sync_nothing_is_written_any_more() {
    let disk = SimDisk::new();
    let mut backend = create(&disk);
    backend.flush(&job(2..=3, 10)).unwrap();
    disk.fail(Some(CallKind::Sync), 0, Fault::Io);
    assert!(matches!(backend.flush(&job(4..=5, 10)), Err(Error::Vfs(_))));
    let effects = disk.effects();
    assert!(matches!(backend.flush(&job(4..=5, 10)), Err(Error::Refused(_))));
    assert!(matches!(backend.rewrite_step(crate::Pace::Now), Err(Error::Refused(_))));
    assert_eq!(disk.effects(), effects, "the disk was touched again");
}

#[test]
fn no_space_on_bytes_that_were_allocated_is_a_failure() {
    let disk = SimDisk::new();
    let mut backend = create(&disk);
    disk.fail(Some(CallKind::Write), 0, Fault::NoSpace);
    assert!(matches!(backend.flush(&job(2..=3, 10)), Err(Error::Vfs(_))));
}
