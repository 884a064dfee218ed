//! The knee of a curve: flat up to the store buffer's capacity, rising beyond it.

use std::fmt;

/// The fewest points on either side of a knee.
const SIDE: usize = 6;
/// How much two lines must fit better than one: the most that may remain of the sum of squares.
const REMAINS: f64 = 0.25;
/// How far the curve must rise above the line before the knee, as a share of its flat part.
const RISE: f64 = 0.03;
/// How far it must jump behind the knee, as a share of its flat part; or else
const JUMP: f64 = 0.02;
/// how many times steeper it must be.
const STEEPER: f64 = 4.0;
/// The share of rounds that must have a knee: other programs disturb some.
const CLEAR: f64 = 0.5;
/// The share of these that must agree.
const AGREEING: f64 = 0.75;

/// A knee.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Knee {
    /// The last number of stores of the flat part: the capacity.
    pub(crate) stores: usize,
    /// The time there.
    pub(crate) flat: f64,
    /// The time of each further store.
    pub(crate) slope: f64,
}

/// Why a curve has no knee.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NoKnee {
    /// It does not rise.
    Flat,
    /// It rises everywhere, or does not follow two lines.
    Unclear,
}

impl fmt::Display for NoKnee {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Flat => "the time does not rise with the number of stores",
            Self::Unclear => "the time does not follow two lines",
        })
    }
}

/// A line through points whose first coordinates are consecutive numbers.
#[derive(Clone, Copy, Debug)]
struct Line {
    at_zero: f64,
    slope: f64,
    /// The sum of the squared distances.
    squares: f64,
}

impl Line {
    /// Fits a line to values at `first`, `first` + 1, …: least squares.
    fn through(first: usize, values: &[f64]) -> Self {
        let n = number(values.len());
        let middle = number(first) + (n - 1.0) / 2.0;
        let mean = values.iter().sum::<f64>() / n;
        let points = || values.iter().enumerate().map(|(at, value)| (number(first + at) - middle, value - mean));
        let spread: f64 = points().map(|(x, _)| x * x).sum();
        let slope = points().map(|(x, y)| x * y).sum::<f64>() / spread;
        Self { at_zero: mean - slope * middle, slope, squares: points().map(|(x, y)| (y - slope * x).powi(2)).sum() }
    }

    fn at(&self, x: usize) -> f64 {
        self.at_zero + self.slope * number(x)
    }
}

#[expect(clippy::cast_precision_loss, reason = "a few hundred")]
fn number(count: usize) -> f64 {
    count as f64
}

/// Finds the knee of the times of 1, 2, … stores: the end of the first of the two lines that fit best.
pub(crate) fn knee(times: &[f64]) -> Result<Knee, NoKnee> {
    let last = times.len();
    let one = Line::through(1, times);
    let split = |at: usize| (at, Line::through(1, &times[..at]), Line::through(at + 1, &times[at..]));
    // Of equal ones the later: where the lines meet at a point, it lies on both, and is the last of the flat part.
    let better = |best: (usize, Line, Line), next: (usize, Line, Line)| {
        let [found, new] = [best, next].map(|(_, before, after)| before.squares + after.squares);
        if new <= found + 1e-9 * one.squares { next } else { best }
    };
    let best = (SIDE..=last.saturating_sub(SIDE)).map(split).reduce(better);
    let Some((stores, before, after)) = best else { return Err(NoKnee::Unclear) };
    let flat = before.at(stores);
    let rise = after.at(last) - before.at(last);
    if rise < RISE * flat && one.slope * number(last) < RISE * flat {
        return Err(NoKnee::Flat);
    }
    let fits = before.squares + after.squares <= REMAINS * one.squares;
    let jumps = after.at(stores + 1) - before.at(stores + 1) >= JUMP * flat;
    let bends = after.slope >= STEEPER * before.slope;
    let climbs = after.at(last) - after.at(stores + 1) >= RISE / 3.0 * flat;
    if rise < RISE * flat || !fits || !climbs || !(jumps || bends) {
        return Err(NoKnee::Unclear);
    }
    Ok(Knee { stores, flat, slope: after.slope })
}

/// A knee that the rounds of a measurement agree on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Agreed {
    /// The median of the rounds that have a knee.
    pub(crate) stores: usize,
    /// The rounds that have exactly this one.
    pub(crate) exactly: usize,
    /// The least and the greatest of all rounds.
    pub(crate) range: (usize, usize),
    /// The number of rounds, with a knee or without.
    pub(crate) rounds: usize,
}

/// Returns what three quarters of the rounds with a knee agree on, give or take one store, if at least half of all have one; otherwise the
/// reason why there is no such number.
pub(crate) fn agree(rounds: &[Result<Knee, NoKnee>]) -> Result<Agreed, String> {
    let mut knees: Vec<usize> = rounds.iter().filter_map(|round| round.ok().map(|knee| knee.stores)).collect();
    knees.sort_unstable();
    let n = rounds.len();
    let (Some(&least), Some(&greatest)) = (knees.first(), knees.last()) else {
        let why = rounds.iter().find_map(|round| round.err()).map_or_else(String::new, |why| why.to_string());
        return Err(format!("no knee in {n} rounds: {why}"));
    };
    let stores = knees[knees.len() / 2];
    let near = knees.iter().filter(|knee| knee.abs_diff(stores) <= 1).count();
    if number(knees.len()) < CLEAR * number(n) || number(near) < AGREEING * number(knees.len()) {
        return Err(format!(
            "the rounds disagree: {} of {n} have a knee, from {least} to {greatest} stores, and {near} are at {stores} ± 1",
            knees.len()
        ));
    }
    let exactly = knees.iter().filter(|&&knee| knee == stores).count();
    Ok(Agreed { stores, exactly, range: (least, greatest), rounds: n })
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONGEST: usize = 160;

    /// A curve that is flat up to `capacity`, then rises by `jump` at once and by `slope` per store, with noise of this amplitude.
    fn curve(capacity: usize, jump: f64, slope: f64, noise: f64, seed: u64) -> Vec<f64> {
        let mut random = fastrand::Rng::with_seed(seed);
        let beyond = |stores: usize| number(stores.saturating_sub(capacity));
        let time = |stores| 325.0 + slope * beyond(stores) + if stores > capacity { jump } else { 0.0 };
        (1..=LONGEST).map(|stores| time(stores) + noise * (random.f64() - 0.5)).collect()
    }

    fn found(times: &[f64]) -> Result<usize, NoKnee> {
        knee(times).map(|knee| knee.stores)
    }

    #[test]
    fn every_capacity_is_found() {
        for capacity in SIDE..=LONGEST - 20 {
            for (jump, slope) in [(0.0, 1.0), (15.0, 0.35), (15.0, 0.6), (0.0, 5.0)] {
                assert_eq!(found(&curve(capacity, jump, slope, 0.0, 0)), Ok(capacity), "{jump} {slope}");
            }
        }
    }

    #[test]
    fn a_knee_tells_what_it_separates() {
        let knee = knee(&curve(42, 0.0, 2.0, 0.0, 0)).unwrap();
        assert!((knee.flat - 325.0).abs() < 1e-6 && (knee.slope - 2.0).abs() < 1e-6, "{knee:?}");
    }

    #[test]
    fn noise_moves_a_knee_little() {
        for seed in 0..50 {
            for capacity in [32, 42, 56, 64, 72, 112] {
                let found = found(&curve(capacity, 0.0, 1.0, 4.0, seed)).expect("a knee");
                assert!(found.abs_diff(capacity) <= 5, "{found} instead of {capacity}");
                let found = super::knee(&curve(capacity, 15.0, 0.4, 4.0, seed)).expect("a knee").stores;
                assert_eq!(found, capacity);
            }
        }
    }

    #[test]
    fn a_small_step_before_the_knee_does_not_hide_it() {
        // As on a Zen 4: 317 up to 20 stores, 322 up to 31, 327 up to 64, 347 and more beyond.
        let mut times = curve(64, 20.0, 0.35, 1.0, 3);
        times[20..].iter_mut().for_each(|time| *time += 5.0);
        times[31..].iter_mut().for_each(|time| *time += 5.0);
        assert_eq!(found(&times), Ok(64));
    }

    #[test]
    fn other_curves_have_no_knee() {
        let by = |time: &dyn Fn(f64) -> f64| -> Vec<f64> { (1..=LONGEST).map(|n| time(number(n))).collect() };
        assert_eq!(found(&by(&|_| 325.0)), Err(NoKnee::Flat));
        assert_eq!(found(&by(&|n| 325.0 + 2.0 * n)), Err(NoKnee::Unclear), "a line");
        assert_eq!(found(&by(&|n| 325.0 - 2.0 * (n - 64.0).max(0.0))), Err(NoKnee::Flat), "it falls");
        assert_eq!(found(&by(&|n| 325.0 + 40.0 * (n / 3.0).sin())), Err(NoKnee::Unclear), "waves");
        assert_eq!(found(&by(&|n| 325.0 + n * n / 100.0)), Err(NoKnee::Unclear), "a parabola");
        assert_eq!(found(&by(&|n| if n > 64.0 { 400.0 } else { 325.0 })), Err(NoKnee::Unclear), "a step");
        assert_eq!(found(&[1.0; 5]), Err(NoKnee::Unclear), "too few");
        for seed in 0..50 {
            assert!(found(&curve(LONGEST, 0.0, 0.0, 5.0, seed)).is_err(), "noise around one time");
            assert!(found(&curve(LONGEST, 0.0, 0.0, 500.0, seed)).is_err(), "only noise");
        }
    }

    #[test]
    fn rounds_must_be_clear_and_agree() {
        let knee = |stores| Ok(Knee { stores, flat: 325.0, slope: 1.0 });
        let mut rounds = vec![knee(64); 6];
        rounds.extend([knee(63), knee(65), knee(65), knee(32), knee(90), knee(64)]);
        rounds.extend([Err(NoKnee::Unclear); 8]);
        assert_eq!(agree(&rounds), Ok(Agreed { stores: 64, exactly: 7, range: (32, 90), rounds: 20 }));
        rounds[0] = knee(32);
        rounds[1] = knee(50);
        let why = agree(&rounds).unwrap_err();
        assert!(why.contains("12 of 20 have a knee, from 32 to 90") && why.contains("8 are at 64 ± 1"), "{why}");
        let few: Vec<_> = (0..20).map(|round| if round < 9 { knee(64) } else { Err(NoKnee::Unclear) }).collect();
        assert!(agree(&few).unwrap_err().contains("9 of 20 have a knee"));
        assert_eq!(
            agree(&[Err(NoKnee::Flat); 3]).unwrap_err(),
            "no knee in 3 rounds: the time does not rise with the number of stores"
        );
        assert!(agree(&[]).is_err());
    }
}
