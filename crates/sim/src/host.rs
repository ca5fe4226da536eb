//! A machine: its disk, the process on it, and what the simulator knows of both.

use crate::fault::End;
use crate::process::Process;
use crate::record::Record;
use crate::state::View;
use types::{MemberId, Time};
use vfs::sim::SimDisk;

/// Ids of the members; the first is etcd's for a member of the default flags.
const MEMBERS: [MemberId; 5] = [
    MemberId(0x8e9e_05c5_2164_694d),
    MemberId(0x91bc_3c39_8fb3_c146),
    MemberId(0xfd42_2379_fda5_0e48),
    MemberId(0x2a1f_90c4_55d0_7b21),
    MemberId(0x6f0b_7de2_1c34_a993),
];

/// A machine with one member.
pub(crate) struct Host {
    pub(crate) id: MemberId,
    pub(crate) disk: SimDisk,
    pub(crate) process: Option<Process>,
    /// Number of the life of the process.
    pub(crate) life: u64,
    /// How the process ends when a call to the disk fails.
    pub(crate) armed: Option<End>,
    /// After the next start the power goes.
    pub(crate) power_loss_next: bool,
    /// The disk as it was before it rotted.
    pub(crate) sound: Option<SimDisk>,
    pub(crate) syncs_slow: bool,
    pub(crate) is_full: bool,
    /// The process stands still until then.
    pub(crate) paused_until: Time,
    /// The reference as of what this member has applied.
    pub(crate) view: View,
    /// What is on the disk.
    pub(crate) record: Record,
    /// Highest revision in a header of this member that a client saw.
    pub(crate) revision_seen: i64,
}

impl Host {
    pub(crate) fn new(number: usize, device_reads: bool) -> Host {
        let disk = SimDisk::new();
        disk.set_device_reads(device_reads);
        Host {
            id: MEMBERS[number],
            disk,
            process: None,
            life: 0,
            armed: None,
            power_loss_next: false,
            sound: None,
            syncs_slow: false,
            is_full: false,
            paused_until: Time(0),
            view: View::default(),
            record: Record::default(),
            revision_seen: 0,
        }
    }

    /// True if clients are served.
    pub(crate) fn serves(&self) -> bool {
        self.process.as_ref().is_some_and(Process::serves)
    }

    /// True if this member takes itself for the leader.
    pub(crate) fn leads(&self) -> bool {
        let leads = |process: &Process| process.member.node_status().role == member::Role::Leader;
        self.process.as_ref().is_some_and(leads)
    }

    /// Where the member stands, for the report of a failure.
    pub(crate) fn describe(&self) -> String {
        let status = self.process.as_ref().map(|process| process.member.node_status());
        format!("{} at {}, serves {}, {status:?}", self.id, self.view.index, self.serves())
    }

    /// True unless a fault was laid that has not struck yet.
    pub(crate) fn is_calm(&self) -> bool {
        self.armed.is_none() && !self.power_loss_next
    }
}

/// The ids of the members of a cluster of this size.
pub(crate) fn members(count: usize) -> &'static [MemberId] {
    &MEMBERS[..count]
}
