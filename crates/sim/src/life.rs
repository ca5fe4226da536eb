//! Lives of the process: starts, ends, and the faults between.

use crate::client::Outstanding;
use crate::fault::{self, End, Kind};
use crate::invariant;
use crate::process::{Failure, Start};
use crate::report::Violation;
use crate::world::{Action, Phase, World};
use member::Event;
use member::event::DiskSpace;
use std::time::Duration;
use vfs::Disk;

impl World {
    fn start_with(&self) -> Start<'_> {
        Start {
            disk: &self.disk,
            swarm: &self.swarm,
            seed: self.seed,
            mutant: self.options.mutant,
            now: self.now,
        }
    }

    pub(crate) fn log_settings(&self) -> wal::WalConfig {
        self.start_with().log_settings()
    }

    pub(crate) fn start(&mut self) -> Result<(), Violation> {
        if self.process.is_some() {
            return Ok(());
        }
        let opened = self.start_with().open();
        self.trace.note(self.now, "start", u64::from(opened.is_ok()));
        match opened {
            Ok((process, found)) => {
                if 1 < found.boot {
                    self.counts.recoveries += 1;
                }
                self.oracle.recovered(found.base, &found.entries)?;
                self.oracle.restart(found.applied)?;
                self.process = Some(process);
                self.check_state()?;
                if let Some(sound) = self.sound.take() {
                    // The rot hit nothing that matters; the next life has a sound disk again.
                    self.end(End::Kill);
                    self.disk = sound;
                    return Ok(());
                }
                if std::mem::take(&mut self.power_loss_next) {
                    let after = Duration::from_millis(self.rng.between(0, 20));
                    self.schedule(after, Action::Strike(Kind::PowerLoss));
                }
                self.schedule_turn();
                Ok(())
            }
            Err(Failure::Disk) => {
                let end = self.armed.unwrap_or(End::Kill);
                self.end(end);
                Ok(())
            }
            Err(Failure::NoSpace) => {
                self.disk.kill();
                self.schedule(Duration::from_millis(100), Action::Start);
                Ok(())
            }
            Err(Failure::Refused(text)) => match self.sound.take() {
                Some(sound) => {
                    self.counts.refusals += 1;
                    self.disk = sound;
                    self.schedule(Duration::from_millis(1), Action::Start);
                    Ok(())
                }
                None => Err(Violation::new("start", format!("a sound disk is refused: {text}"))),
            },
            Err(Failure::Violation(violation)) => Err(violation),
        }
    }

    fn check_state(&mut self) -> Result<(), Violation> {
        match &mut self.process {
            Some(process) => {
                invariant::acked_writes::check(process.member.store_mut(), &self.oracle)
            }
            None => Ok(()),
        }
    }

    /// The process ends, and is started again a while later.
    pub(crate) fn end(&mut self, end: End) {
        self.trace.note(self.now, "end", u64::from(end == End::Kill));
        self.process = None;
        self.life += 1;
        self.armed = None;
        match end {
            End::Kill => self.disk.kill(),
            End::PowerLoss => self.lose_power(),
        }
        let lost = self.clients.iter_mut().filter_map(|client| client.outstanding.take());
        let lost: Vec<Outstanding> = lost.collect();
        self.counts.unknown += u64::try_from(lost.len()).expect("a few clients");
        for at in 0..self.clients.len() {
            self.schedule(Duration::from_millis(5), Action::Client(at));
        }
        for at in 0..self.watchers.len() {
            let watcher = &mut self.watchers[at];
            watcher.stream = None;
            watcher.is_draining = false;
            self.schedule(Duration::from_millis(5), Action::OpenWatch(at));
        }
        let after = Duration::from_millis(self.rng.between(1, 100));
        self.schedule(after, Action::Start);
    }

    /// A call to the disk failed: the rule of reliability ends the process.
    pub(crate) fn disk_failed(&mut self) {
        self.counts.faults_landed += 1;
        let end = self.armed.unwrap_or(End::Kill);
        self.end(end);
    }

    pub(crate) fn strike(&mut self, kind: Kind) -> Result<(), Violation> {
        if self.process.is_none() || self.sound.is_some() {
            return Ok(());
        }
        self.trace.note(self.now, "fault", kind as u64);
        match kind {
            Kind::Kill => self.struck(End::Kill),
            Kind::PowerLoss => self.struck(End::PowerLoss),
            Kind::KillThenPowerLoss => {
                self.struck(End::Kill);
                if self.rng.chance(40) {
                    self.armed = Some(End::PowerLoss);
                    self.disk.stop_after(self.rng.between(0, 12));
                } else {
                    self.power_loss_next = true;
                }
            }
            Kind::KillAtCall | Kind::PowerLossAtCall | Kind::SyncFails | Kind::WriteFails => {
                let is_power = kind == Kind::PowerLossAtCall;
                self.armed = Some(if is_power { End::PowerLoss } else { End::Kill });
                // Pages whose sync failed look clean: only a power loss shows the difference.
                self.power_loss_next = kind == Kind::SyncFails && self.rng.chance(70);
                fault::arm(&self.disk, kind, &mut self.rng);
            }
            Kind::DiskFull => self.fill_disk(),
            Kind::SlowSync => {
                self.syncs_slow = true;
                let after = Duration::from_millis(self.rng.between(500, 5000));
                self.schedule(after, Action::SyncsFast);
            }
            Kind::Stop => return self.stop(),
            Kind::Rot if self.rng.chance(50) => self.spoil_sealed_log(),
            Kind::Rot | Kind::LostFile => self.spoil(kind),
        }
        Ok(())
    }

    fn struck(&mut self, end: End) {
        self.counts.faults_landed += 1;
        self.end(end);
    }

    fn fill_disk(&mut self) {
        const PLENTY: u64 = 1 << 40;
        self.disk.set_capacity(Some(PLENTY));
        let free = self.disk.available().unwrap_or(PLENTY);
        let used = PLENTY - free;
        self.disk.set_capacity(Some(used + self.rng.between(0, 96 * 1024)));
        let after = Duration::from_millis(self.rng.between(100, 3000));
        self.schedule(after, Action::SpaceBack);
    }

    pub(crate) fn space_back(&mut self) -> Result<(), Violation> {
        self.disk.set_capacity(None);
        if std::mem::take(&mut self.is_full) {
            return self.step(Event::DiskSpace(DiskSpace::Ok));
        }
        Ok(())
    }

    /// A call found no space: told once.
    pub(crate) fn disk_is_full(&mut self) -> Result<(), Violation> {
        if self.is_full {
            return Ok(());
        }
        self.is_full = true;
        self.counts.faults_landed += 1;
        self.step(Event::DiskSpace(DiskSpace::Full))
    }

    fn stop(&mut self) -> Result<(), Violation> {
        if self.phase == Phase::Busy { self.step(Event::Stop) } else { Ok(()) }
    }

    /// The member has stopped: the log is sealed and the process ends.
    pub(crate) fn stopped(&mut self) {
        let sealed = self.process.as_mut().map(|process| process.wal.seal());
        if let Some(Err(wal::Error::Vfs(_))) = sealed {
            self.counts.faults_landed += 1;
        }
        let end = self.armed.unwrap_or(End::Kill);
        self.end(end);
    }

    /// The log is sealed as if it had been idle, the process is killed, and the newest segment
    /// rots before the seal: no crash explains that.
    fn spoil_sealed_log(&mut self) {
        let sealed = self.process.as_mut().map(|process| process.wal.seal());
        if self.armed.is_some() || !matches!(sealed, Some(Ok(()))) {
            return self.struck(self.armed.unwrap_or(End::Kill));
        }
        self.struck(End::Kill);
        let sound = self.disk.snapshot();
        sound.set_capacity(None);
        if fault::rot_before_seal(&self.disk, &mut self.rng) {
            self.sound = Some(sound);
        }
    }

    /// The process is killed, and a file of long ago rots or vanishes.
    fn spoil(&mut self, kind: Kind) {
        let Some(path) = fault::sealed_file(&self.disk, &mut self.rng) else { return };
        self.struck(End::Kill);
        let sound = self.disk.snapshot();
        sound.set_capacity(None);
        if kind == Kind::Rot {
            fault::rot(&self.disk, &path, &mut self.rng);
        } else if self.disk.remove(&path).is_err() {
            return;
        }
        self.sound = Some(sound);
    }
}
