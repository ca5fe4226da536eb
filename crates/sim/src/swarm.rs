//! What a seed draws for its run: sizes, rates, and which faults it may meet (SIM-5).

use crate::fault::Kind;
use crate::network::Weather;
use crate::rng::Rng;
use std::time::Duration;

/// The draw of one seed.
#[derive(Clone, Debug)]
pub(crate) struct Swarm {
    pub(crate) members: usize,
    pub(crate) weather: Weather,
    pub(crate) clients: usize,
    pub(crate) watchers: usize,
    pub(crate) keys: usize,
    /// Longest value in bytes.
    pub(crate) value_bytes_max: u64,
    pub(crate) wal_segment_bytes: u64,
    pub(crate) backend_segment_bytes: u64,
    pub(crate) resident_bytes: usize,
    pub(crate) recent_bytes: usize,
    pub(crate) flush_bytes: usize,
    pub(crate) flush_interval: Duration,
    pub(crate) unflushed_bytes_max: usize,
    pub(crate) log_bytes_max: usize,
    pub(crate) heartbeat: Duration,
    pub(crate) election: Duration,
    /// Usual time of a sync, at most.
    pub(crate) sync_max: Duration,
    /// True if a start can read past the page cache.
    pub(crate) device_reads: bool,
    pub(crate) faults: Vec<Kind>,
    /// Time between faults, at most.
    pub(crate) fault_interval: Duration,
    /// Acknowledged writes after which the run heals and ends.
    pub(crate) writes: u64,
}

impl Swarm {
    /// Some seeds, and all of them if `looks_at_disk`, have one member with large batches and a
    /// power that goes while they are written.
    pub(crate) fn draw(rng: &mut Rng, looks_at_disk: bool) -> Swarm {
        let heartbeat = Duration::from_millis(rng.between(29, 100));
        let kib = |kib: u64| usize::try_from(kib * 1024).expect("a small size");
        let looks_at_disk = rng.chance(10) || looks_at_disk;
        let members = rng.pick(&[1, 1, 1, 3, 3, 5]);
        let members = if looks_at_disk { 1 } else { members };
        let can_strike = |kind: &Kind| 1 < members || !kind.needs_others();
        let kinds = Kind::ALL.into_iter().filter(can_strike);
        let faults = kinds.filter(|_| rng.chance(60)).collect::<Vec<_>>();
        let mut faults = if faults.is_empty() { vec![Kind::PowerLoss] } else { faults };
        if looks_at_disk {
            faults.extend([Kind::PowerLossAtCall; 3]);
        }
        let flush = rng.between(1, 64);
        let weather = Weather::draw(rng);
        let election = heartbeat * u32::try_from(rng.between(5, 20)).expect("small");
        let fault_interval = Duration::from_millis(rng.between(60, 500));
        // A cluster needs time for an election and for its members to publish themselves.
        let rests = election * u32::try_from(rng.between(2, 10)).expect("small");
        let fault_interval = if members == 1 { fault_interval } else { fault_interval + rests };
        Swarm {
            members,
            weather,
            clients: 2 + rng.below(7),
            watchers: rng.below(4),
            keys: 4 + rng.below(30),
            value_bytes_max: if looks_at_disk {
                16_000
            } else {
                rng.pick(&[40, 300, 5000, 16_000])
            },
            wal_segment_bytes: rng.pick(&[32, 64, 128]) * 1024,
            backend_segment_bytes: rng.pick(&[32, 64, 256]) * 1024,
            resident_bytes: kib(rng.pick(&[0, 1, 8, 1024])),
            recent_bytes: kib(rng.pick(&[1, 8, 256])),
            flush_bytes: kib(flush),
            flush_interval: Duration::from_millis(rng.between(50, 2000)),
            unflushed_bytes_max: kib(flush * 2 + 16),
            log_bytes_max: kib(rng.pick(&[0, 2, 16_384])),
            heartbeat,
            election,
            sync_max: Duration::from_micros(rng.pick(&[300, 2000, 20_000])),
            device_reads: rng.chance(50),
            faults,
            fault_interval,
            writes: 220 + rng.between(0, 120),
        }
    }
}
