//! The network between members: every message goes its own way, late, lost or doubled.

use crate::rng::Rng;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;
use types::Time;

/// How the network of a seed behaves.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Weather {
    /// Shortest way.
    pub(crate) delay_min: Duration,
    /// Usual way, at most.
    pub(crate) delay_max: Duration,
    /// Of 1000 messages, how many take up to `tail`.
    pub(crate) late_permille: u64,
    /// Longest way.
    pub(crate) tail: Duration,
    /// Of 100 messages, how many are lost.
    pub(crate) loss_percent: u64,
    /// Of 100 messages, how many arrive twice.
    pub(crate) double_percent: u64,
}

impl Weather {
    pub(crate) fn draw(rng: &mut Rng) -> Weather {
        let is_calm = rng.chance(40);
        let micros = |micros: u64| Duration::from_micros(micros);
        let delay_max = rng.pick(&[300, 2_000, 10_000, 40_000]);
        Weather {
            delay_min: micros(rng.between(20, delay_max / 2)),
            delay_max: micros(delay_max),
            late_permille: if is_calm { 0 } else { rng.between(0, 20) },
            tail: Duration::from_millis(rng.between(100, 5000)),
            loss_percent: if is_calm { 0 } else { rng.pick(&[0, 1, 5, 20]) },
            double_percent: if is_calm { 0 } else { rng.pick(&[0, 1, 20]) },
        }
    }
}

/// The network. A link leads one way.
#[derive(Default, Debug)]
pub(crate) struct Network {
    cut: BTreeSet<(usize, usize)>,
    /// Messages of these links wait until then.
    clogged: BTreeMap<(usize, usize), Time>,
}

impl Network {
    /// How long the copies of a message take; none if it is lost.
    pub(crate) fn ways(
        &mut self,
        now: Time,
        link: (usize, usize),
        weather: &Weather,
        rng: &mut Rng,
    ) -> Vec<Duration> {
        if self.cut.contains(&link) || rng.chance(weather.loss_percent) {
            return Vec::new();
        }
        let waits = self.clogged.get(&link).map_or(Duration::ZERO, |end| end.since(now));
        let count = 1 + usize::from(rng.chance(weather.double_percent));
        (0..count).map(|_| waits + way(weather, rng)).collect()
    }

    /// Cuts all links from one group to the other, and back unless it is one-way.
    pub(crate) fn cut(&mut self, from: &[usize], to: &[usize], is_one_way: bool) {
        for one in from {
            for other in to {
                self.cut.insert((*one, *other));
                if !is_one_way {
                    self.cut.insert((*other, *one));
                }
            }
        }
    }

    pub(crate) fn clog(&mut self, link: (usize, usize), until: Time) {
        self.clogged.insert(link, until);
    }

    pub(crate) fn heal(&mut self) {
        self.cut.clear();
        self.clogged.clear();
    }
}

fn way(weather: &Weather, rng: &mut Rng) -> Duration {
    let micros = |time: Duration| u64::try_from(time.as_micros()).expect("a short time");
    let is_late = rng.next() % 1000 < weather.late_permille;
    let most = if is_late { weather.tail } else { weather.delay_max };
    let least = micros(weather.delay_min);
    Duration::from_micros(rng.between(least, least.max(micros(most))))
}
