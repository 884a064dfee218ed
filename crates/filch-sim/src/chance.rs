//! What a simulation leaves to chance: random numbers, or each sequence of choices in turn.
//!
//! Invariant: the probabilities of all [`Path`]s through the same steps sum to 1.

/// Returns a random worker other than this one, if there is another.
pub(crate) fn another(rng: &mut fastrand::Rng, workers: usize, me: usize) -> Option<usize> {
    let others = workers - 1;
    (others > 0).then(|| {
        let other = rng.usize(..others);
        other + usize::from(other >= me)
    })
}

/// Where the choices of a simulation come from.
#[derive(Clone, Debug)]
pub(crate) enum Chance {
    /// Random numbers.
    Drawn(fastrand::Rng),
    /// A listed path.
    #[cfg(test)]
    Listed(Path),
}

impl Chance {
    /// Draws random numbers, which the seed determines.
    pub(crate) fn with_seed(seed: u64) -> Self {
        Self::Drawn(fastrand::Rng::with_seed(seed))
    }

    /// Returns a number below `end`; all have the same probability.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        match self {
            Self::Drawn(rng) => rng.usize(..end),
            #[cfg(test)]
            Self::Listed(path) => path.choose(end, 1.0 / f64::from(u32::try_from(end).expect("few workers"))),
        }
    }

    /// Returns `true` in one case of `of`.
    pub(crate) fn happens(&mut self, of: u32) -> bool {
        match self {
            Self::Drawn(rng) => rng.u32(..of) == 0,
            #[cfg(test)]
            Self::Listed(path) => path.choose(2, 1.0 / f64::from(of)) == 0,
        }
    }
}

/// A choice: which way it went, of how many, and the probability of way 0. The others share the rest.
#[cfg(test)]
#[derive(Clone, Copy, Debug)]
struct Choice {
    way: usize,
    ways: usize,
    first: f64,
}

/// A sequence of choices. Beyond its end, each goes way 0.
#[cfg(test)]
#[derive(Clone, Debug, Default)]
pub(crate) struct Path {
    choices: Vec<Choice>,
    taken: usize,
}

#[cfg(test)]
impl Path {
    fn choose(&mut self, ways: usize, first: f64) -> usize {
        if self.taken == self.choices.len() {
            self.choices.push(Choice { way: 0, ways, first });
        }
        self.taken += 1;
        self.choices[self.taken - 1].way
    }

    /// The probability of the choices.
    pub(crate) fn probability(&self) -> f64 {
        let of = |choice: &Choice| match choice.way {
            0 => choice.first,
            _ => (1.0 - choice.first) / f64::from(u32::try_from(choice.ways - 1).expect("few ways")),
        };
        self.choices.iter().map(of).product()
    }

    /// Returns the next path in the order of their choices, if this is not the last.
    pub(crate) fn next(mut self) -> Option<Self> {
        while let Some(last) = self.choices.last_mut() {
            if last.way + 1 < last.ways {
                last.way += 1;
                self.taken = 0;
                return Some(self);
            }
            self.choices.pop();
        }
        None
    }
}
