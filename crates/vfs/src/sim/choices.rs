//! Where the choices of a power loss come from: all of them in turn, or a seed.

/// Walks through every sequence of choices, as an odometer of unknown length.
///
/// ```text
///   let mut all = Exhaustive::default();
///   while { run(&mut |n| all.choose(n)); all.advance() } {}
/// ```
#[derive(Clone, Default, Debug)]
pub struct Exhaustive {
    /// The choice taken and the number of options, at each place so far.
    path: Vec<(usize, usize)>,
    /// Places of the path that the current run has passed.
    at: usize,
}

impl Exhaustive {
    /// The next choice of the current run: 0 the first time it is asked for at this place.
    pub fn choose(&mut self, options: usize) -> usize {
        assert!(0 < options, "a choice needs an option");
        if self.at == self.path.len() {
            self.path.push((0, options));
        }
        let (choice, before) = self.path[self.at];
        assert!(before == options, "options changed from {before} to {options} between runs");
        self.at += 1;
        choice
    }

    /// Ends a run; false if every sequence was run.
    pub fn advance(&mut self) -> bool {
        self.path.truncate(self.at);
        self.at = 0;
        while let Some((choice, options)) = self.path.pop() {
            if choice + 1 < options {
                self.path.push((choice + 1, options));
                return true;
            }
        }
        false
    }

    /// Number of sequences, as far as the run before told, without overflow.
    pub fn combinations(&self) -> usize {
        self.path.iter().fold(1, |product, (_, options)| product.saturating_mul(*options))
    }
}

/// A small generator (splitmix64): equal seeds give equal choices.
#[derive(Clone, Debug)]
pub struct Seeded(u64);

impl Seeded {
    /// A generator of this seed.
    pub fn new(seed: u64) -> Seeded {
        Seeded(seed)
    }

    /// The next number.
    pub fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// A number below `options`.
    pub fn choose(&mut self, options: usize) -> usize {
        assert!(0 < options, "a choice needs an option");
        let options = u64::try_from(options).expect("usize has at most 64 bits");
        usize::try_from(self.next_u64() % options).expect("less than a usize")
    }
}
