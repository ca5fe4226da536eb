//! Lives of the process: starts, ends, and the faults between.

use crate::client::Outstanding;
use crate::fault::{self, End, Kind};
use crate::invariant;
use crate::process::{Failure, Start};
use crate::report::Violation;
use crate::state::View;
use crate::world::{Action, Phase, World};
use member::Event;
use member::event::DiskSpace;
use std::time::Duration;
use vfs::Disk;

impl World {
    fn start_with(&self, at: usize) -> Start<'_> {
        Start {
            member: self.hosts[at].id,
            disk: &self.hosts[at].disk,
            swarm: &self.swarm,
            seed: self.seed,
            mutant: self.options.mutant,
            now: self.now,
        }
    }

    pub(crate) fn log_settings(&self, at: usize) -> wal::WalConfig {
        self.start_with(at).log_settings()
    }

    pub(crate) fn start(&mut self, at: usize) -> Result<(), Violation> {
        if self.hosts[at].process.is_some() {
            return Ok(());
        }
        let opened = self.start_with(at).open();
        self.note(at, "start", u64::from(opened.is_ok()));
        match opened {
            Ok((process, found)) => {
                if 1 < found.log.boot {
                    self.counts.recoveries += 1;
                }
                self.hosts[at].record.recovered(&found.log)?;
                let index = usize::try_from(found.applied).expect("a small log");
                self.hosts[at].view = View::default();
                self.hosts[at].view.advance(&self.oracle, index);
                self.hosts[at].process = Some(process);
                self.check_state(at)?;
                if let Some(sound) = self.hosts[at].sound.take() {
                    // The rot hit nothing that matters; the next life has a sound disk again.
                    self.end(at, End::Kill);
                    self.hosts[at].disk = sound;
                    return Ok(());
                }
                if std::mem::take(&mut self.hosts[at].power_loss_next) {
                    let after = Duration::from_millis(self.rng.between(0, 20));
                    self.schedule(after, Action::Strike(at, Kind::PowerLoss));
                }
                self.schedule_turn(at);
                Ok(())
            }
            Err(Failure::Disk) => {
                let end = self.hosts[at].armed.unwrap_or(End::Kill);
                self.end(at, end);
                Ok(())
            }
            Err(Failure::NoSpace) => {
                self.hosts[at].disk.kill();
                self.schedule(Duration::from_millis(100), Action::Start(at));
                Ok(())
            }
            Err(Failure::Refused(text)) => match self.hosts[at].sound.take() {
                Some(sound) => {
                    self.counts.refusals += 1;
                    self.hosts[at].disk = sound;
                    self.schedule(Duration::from_millis(1), Action::Start(at));
                    Ok(())
                }
                None => Err(Violation::new("start", format!("a sound disk is refused: {text}"))),
            },
            Err(Failure::Violation(violation)) => Err(violation),
        }
    }

    fn check_state(&mut self, at: usize) -> Result<(), Violation> {
        let host = &mut self.hosts[at];
        match &mut host.process {
            Some(process) => invariant::acked_writes::check(process.member.store_mut(), &host.view),
            None => Ok(()),
        }
    }

    /// The process ends, and is started again a while later.
    pub(crate) fn end(&mut self, at: usize, end: End) {
        self.note(at, "end", u64::from(end == End::Kill));
        self.hosts[at].process = None;
        self.hosts[at].life += 1;
        self.hosts[at].armed = None;
        self.hosts[at].paused_until = self.now;
        match end {
            End::Kill => self.hosts[at].disk.kill(),
            End::PowerLoss => self.lose_power(at),
        }
        for client in 0..self.clients.len() {
            let is_here = |asked: &Outstanding| asked.host == at;
            if self.clients[client].outstanding.take_if(|asked| is_here(asked)).is_some() {
                self.counts.unknown += 1;
                self.schedule(Duration::from_millis(5), Action::Client(client));
            }
        }
        for number in 0..self.watchers.len() {
            let watcher = &mut self.watchers[number];
            if watcher.host == at && watcher.stream.take().is_some() {
                watcher.is_draining = false;
                self.schedule(Duration::from_millis(5), Action::OpenWatch(number));
            }
        }
        let after = Duration::from_millis(self.rng.between(1, 100));
        self.schedule(after, Action::Start(at));
    }

    /// A call to the disk failed: the rule of reliability ends the process.
    pub(crate) fn disk_failed(&mut self, at: usize) {
        self.counts.faults_landed += 1;
        let end = self.hosts[at].armed.unwrap_or(End::Kill);
        self.end(at, end);
    }

    pub(crate) fn strike(&mut self, at: usize, kind: Kind) -> Result<(), Violation> {
        if self.hosts[at].process.is_none() || self.hosts[at].sound.is_some() {
            return Ok(());
        }
        self.note(at, "fault", kind as u64);
        match kind {
            Kind::Kill => self.struck(at, End::Kill),
            Kind::PowerLoss => self.struck(at, End::PowerLoss),
            Kind::KillThenPowerLoss => {
                self.struck(at, End::Kill);
                if self.rng.chance(40) {
                    self.hosts[at].armed = Some(End::PowerLoss);
                    self.hosts[at].disk.stop_after(self.rng.between(0, 12));
                } else {
                    self.hosts[at].power_loss_next = true;
                }
            }
            Kind::KillAtCall | Kind::PowerLossAtCall | Kind::SyncFails | Kind::WriteFails => {
                let is_power = kind == Kind::PowerLossAtCall;
                self.hosts[at].armed = Some(if is_power { End::PowerLoss } else { End::Kill });
                // Pages whose sync failed look clean: only a power loss shows the difference.
                self.hosts[at].power_loss_next = kind == Kind::SyncFails && self.rng.chance(70);
                fault::arm(&self.hosts[at].disk, kind, &mut self.rng);
            }
            Kind::DiskFull => self.fill_disk(at),
            Kind::SlowSync => {
                self.hosts[at].syncs_slow = true;
                let after = Duration::from_millis(self.rng.between(500, 5000));
                self.schedule(after, Action::SyncsFast(at));
            }
            Kind::Stop => return self.stop(at),
            Kind::Pause => {
                let time = Duration::from_millis(self.rng.pick(&[50, 500, 3000, 15_000]));
                self.hosts[at].paused_until = self.now + time;
                self.counts.faults_landed += 1;
            }
            Kind::Isolate | Kind::Partition | Kind::OneWay | Kind::Clog => self.part(at, kind),
            Kind::KillAll => {
                let end = if self.rng.chance(50) { End::Kill } else { End::PowerLoss };
                for other in 0..self.hosts.len() {
                    if self.hosts[other].process.is_some() && self.hosts[other].sound.is_none() {
                        self.struck(other, end);
                    }
                }
            }
            Kind::Rot if self.rng.chance(50) => self.spoil_sealed_log(at),
            Kind::Rot | Kind::LostFile => self.spoil(at, kind),
        }
        Ok(())
    }

    /// The network falls apart for a while.
    fn part(&mut self, at: usize, kind: Kind) {
        let mut rest: Vec<usize> = (0..self.hosts.len()).filter(|other| *other != at).collect();
        let mut group = vec![at];
        let time = Duration::from_millis(self.rng.pick(&[100, 1000, 4000, 10_000]));
        match kind {
            Kind::Clog => {
                for other in rest {
                    if self.rng.chance(60) {
                        self.network.clog((at, other), self.now + time);
                    }
                    if self.rng.chance(30) {
                        self.network.clog((other, at), self.now + time);
                    }
                }
            }
            Kind::OneWay if self.rng.chance(50) => self.network.cut(&group, &rest, true),
            Kind::OneWay => self.network.cut(&rest, &group, true),
            _ => {
                if kind == Kind::Partition && 2 < rest.len() {
                    group.push(rest.swap_remove(self.rng.below(rest.len())));
                }
                self.network.cut(&group, &rest, false);
            }
        }
        self.counts.faults_landed += 1;
        self.schedule(time, Action::Heal);
    }

    fn struck(&mut self, at: usize, end: End) {
        self.counts.faults_landed += 1;
        self.end(at, end);
    }

    fn fill_disk(&mut self, at: usize) {
        const PLENTY: u64 = 1 << 40;
        self.hosts[at].disk.set_capacity(Some(PLENTY));
        let free = self.hosts[at].disk.available().unwrap_or(PLENTY);
        let used = PLENTY - free;
        self.hosts[at].disk.set_capacity(Some(used + self.rng.between(0, 96 * 1024)));
        let after = Duration::from_millis(self.rng.between(100, 3000));
        self.schedule(after, Action::SpaceBack(at));
    }

    pub(crate) fn space_back(&mut self, at: usize) -> Result<(), Violation> {
        self.hosts[at].disk.set_capacity(None);
        if std::mem::take(&mut self.hosts[at].is_full) {
            return self.step(at, Event::DiskSpace(DiskSpace::Ok));
        }
        Ok(())
    }

    /// A call found no space: told once.
    pub(crate) fn disk_is_full(&mut self, at: usize) -> Result<(), Violation> {
        if self.hosts[at].is_full {
            return Ok(());
        }
        self.hosts[at].is_full = true;
        self.counts.faults_landed += 1;
        self.step(at, Event::DiskSpace(DiskSpace::Full))
    }

    fn stop(&mut self, at: usize) -> Result<(), Violation> {
        if self.phase == Phase::Busy { self.step(at, Event::Stop) } else { Ok(()) }
    }

    /// The member has stopped: the log is sealed and the process ends.
    pub(crate) fn stopped(&mut self, at: usize) {
        let sealed = self.hosts[at].process.as_mut().map(|process| process.wal.seal());
        if let Some(Err(wal::Error::Vfs(_))) = sealed {
            self.counts.faults_landed += 1;
        }
        let end = self.hosts[at].armed.unwrap_or(End::Kill);
        self.end(at, end);
    }

    /// The log is sealed as if it had been idle, the process is killed, and the newest segment
    /// rots before the seal: no crash explains that.
    fn spoil_sealed_log(&mut self, at: usize) {
        let sealed = self.hosts[at].process.as_mut().map(|process| process.wal.seal());
        if self.hosts[at].armed.is_some() || !matches!(sealed, Some(Ok(()))) {
            return self.struck(at, self.hosts[at].armed.unwrap_or(End::Kill));
        }
        self.struck(at, End::Kill);
        let sound = self.hosts[at].disk.snapshot();
        sound.set_capacity(None);
        if fault::rot_before_seal(&self.hosts[at].disk, &mut self.rng) {
            self.hosts[at].sound = Some(sound);
        }
    }

    /// The process is killed, and a file of long ago rots or vanishes.
    fn spoil(&mut self, at: usize, kind: Kind) {
        let Some(path) = fault::sealed_file(&self.hosts[at].disk, &mut self.rng) else { return };
        self.struck(at, End::Kill);
        let sound = self.hosts[at].disk.snapshot();
        sound.set_capacity(None);
        if kind == Kind::Rot {
            fault::rot(&self.hosts[at].disk, &path, &mut self.rng);
        } else if self.hosts[at].disk.remove(&path).is_err() {
            return;
        }
        self.hosts[at].sound = Some(sound);
    }
}
