//! Alarms of the cluster, and what they forbid.

use crate::Error;
use bytes::Bytes;
use std::collections::BTreeSet;
use types::MemberId;

/// Kinds of alarm, with etcd's numbers.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum AlarmKind {
    /// Over the quota.
    NoSpace = 1,
    /// Data differs between members or from its checksum.
    Corrupt = 2,
}

impl AlarmKind {
    /// etcd's number.
    pub fn number(self) -> i32 {
        match self {
            AlarmKind::NoSpace => 1,
            AlarmKind::Corrupt => 2,
        }
    }

    /// The kind of a number.
    pub fn of(number: i32) -> Option<AlarmKind> {
        match number {
            1 => Some(AlarmKind::NoSpace),
            2 => Some(AlarmKind::Corrupt),
            _ => None,
        }
    }
}

/// The alarms that are on.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(crate) struct Alarms {
    active: BTreeSet<(AlarmKind, MemberId)>,
}

impl Alarms {
    /// True while any member has raised this alarm.
    pub(crate) fn is_on(&self, kind: AlarmKind) -> bool {
        self.active.iter().any(|(active, _)| *active == kind)
    }

    /// Those of one kind, or all.
    pub(crate) fn list(&self, kind: Option<AlarmKind>) -> Vec<(MemberId, AlarmKind)> {
        let wanted = self.active.iter().filter(|(active, _)| kind.is_none_or(|k| k == *active));
        wanted.map(|(kind, member)| (*member, *kind)).collect()
    }

    pub(crate) fn insert(&mut self, member: MemberId, kind: AlarmKind) {
        self.active.insert((kind, member));
    }

    /// False if it was not on.
    pub(crate) fn remove(&mut self, member: MemberId, kind: AlarmKind) -> bool {
        self.active.remove(&(kind, member))
    }

    pub(crate) fn key(member: MemberId, kind: AlarmKind) -> Bytes {
        let mut key = member.0.to_be_bytes().to_vec();
        key.extend(kind.number().to_be_bytes());
        key.into()
    }

    pub(crate) fn restore(&mut self, key: &Bytes) -> Result<(), Error> {
        let malformed = || Error::Table("alarms");
        let (member, kind) = key.split_at_checked(8).ok_or_else(malformed)?;
        let member = u64::from_be_bytes(member.try_into().map_err(|_| malformed())?);
        let kind = i32::from_be_bytes(kind.try_into().map_err(|_| malformed())?);
        let kind = AlarmKind::of(kind).ok_or_else(malformed)?;
        self.insert(MemberId(member), kind);
        Ok(())
    }
}
