//! The knee of a curve: flat up to the store buffer's capacity, rising beyond it.

use std::fmt;

use super::median;

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
/// Each time is replaced by the median of this many on either side and itself, which removes stray ones and moves no
/// knee.
const AROUND: usize = 2;
/// The share of rounds that must have a knee: other programs disturb some.
const CLEAR: f64 = 0.5;
/// The share of all rounds that must find the same capacity.
const ENOUGH: f64 = 0.25;
/// The share of the rounds with a knee that must have it there or at half of it.
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

/// Returns the running medians; near an end, of fewer values.
fn smooth(times: &[f64]) -> Vec<f64> {
    let around = |at: usize| AROUND.min(at).min(times.len() - 1 - at);
    let window = |at: usize| median(times[at - around(at)..=at + around(at)].to_vec());
    (0..times.len()).map(window).collect()
}

/// Finds the knee of the times of 1, 2, … stores: the end of the first of the two lines that fit best.
pub(crate) fn knee(times: &[f64]) -> Result<Knee, NoKnee> {
    let times = &smooth(times)[..];
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
    /// The greatest that enough rounds have.
    pub(crate) stores: usize,
    /// The rounds that have exactly this one.
    pub(crate) exactly: usize,
    /// The rounds with half of it.
    pub(crate) halves: usize,
    /// The least and the greatest of all rounds.
    pub(crate) range: (usize, usize),
    /// The number of rounds, with a knee or without.
    pub(crate) rounds: usize,
}

/// Returns the greatest number that enough rounds have, give or take one, if most others have no knee or one at half of
/// it: the processor holds back half of its buffer while it runs a second thread on the same core, which a virtual
/// machine hides. Otherwise the reason why there is no such number.
pub(crate) fn agree(rounds: &[Result<Knee, NoKnee>]) -> Result<Agreed, String> {
    let mut knees: Vec<usize> = rounds.iter().filter_map(|round| round.ok().map(|knee| knee.stores)).collect();
    knees.sort_unstable();
    let n = rounds.len();
    let (Some(&least), Some(&greatest)) = (knees.first(), knees.last()) else {
        let why = rounds.iter().find_map(|round| round.err()).map_or_else(String::new, |why| why.to_string());
        return Err(format!("no knee in {n} rounds: {why}"));
    };
    let count = |is: &dyn Fn(usize) -> bool| knees.iter().filter(|&&knee| is(knee)).count();
    let agreed = |&stores: &usize| Agreed {
        stores,
        exactly: count(&|knee| knee == stores),
        halves: count(&|knee| (2 * knee).abs_diff(stores) <= 2),
        range: (least, greatest),
        rounds: n,
    };
    let near = |stores: usize| count(&|knee| knee.abs_diff(stores) <= 1);
    let is_enough = |stores: &usize| number(near(*stores)) >= ENOUGH * number(n) && near(*stores) > 1;
    // Of two neighbours the one that more rounds have.
    let top = knees.iter().rev().find(|stores| is_enough(stores)).map(|&top| top.saturating_sub(1)..=top);
    let best = top.and_then(|near| near.rev().map(|stores| agreed(&stores)).max_by_key(|agreed| agreed.exactly));
    let is_clear = number(knees.len()) >= CLEAR * number(n);
    best.filter(|best| is_clear && number(near(best.stores) + best.halves) >= AGREEING * number(knees.len()))
        .ok_or_else(|| {
            let knees: Vec<String> =
                knees.chunk_by(|a, b| a == b).map(|same| format!("{} × {}", same.len(), same[0])).collect();
            format!("the {n} rounds disagree: {}", knees.join(", "))
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONGEST: usize = 160;

    /// A curve that is flat up to `capacity`, then rises by `jump` at once and by `slope` per store, with noise of this
    /// amplitude.
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
    fn stray_times_hide_no_knee() {
        for seed in 0..50 {
            // As on a Golden Cove: 325 up to 112 stores, then 343 and more; each tenth time is 4 % longer.
            let mut random = fastrand::Rng::with_seed(seed);
            let mut times = curve(112, 17.0, 0.8, 1.0, seed);
            times.iter_mut().filter(|_| random.u8(..10) == 0).for_each(|time| *time *= 1.04);
            assert!(found(&times).expect("a knee").abs_diff(112) <= 2, "{:?}", found(&times));
        }
    }

    #[test]
    fn rounds_must_be_clear_and_agree() {
        let rounds = |knees: &[usize], without: usize| -> Vec<Result<Knee, NoKnee>> {
            let with = knees.iter().map(|&stores| Ok(Knee { stores, flat: 325.0, slope: 1.0 }));
            with.chain(vec![Err(NoKnee::Unclear); without]).collect()
        };
        let agreed = |stores, exactly, halves, range, rounds| Ok(Agreed { stores, exactly, halves, range, rounds });
        assert_eq!(agree(&rounds(&[64; 20], 0)), agreed(64, 20, 0, (64, 64), 20));
        let some = [64, 64, 64, 64, 64, 64, 64, 63, 65, 65, 32, 90];
        assert_eq!(agree(&rounds(&some, 8)), agreed(64, 7, 1, (32, 90), 20));
        let hidden = [32, 32, 32, 32, 33, 31, 64, 64, 64, 64, 64];
        assert_eq!(
            agree(&rounds(&hidden, 9)),
            agreed(64, 5, 6, (31, 64), 20),
            "a hidden sibling is busy half of the time"
        );
        assert_eq!(agree(&rounds(&[32; 19], 1)), agreed(32, 19, 0, (32, 32), 20), "all of the time");
        let why = agree(&rounds(&[64, 64, 64, 64, 64, 20, 50, 90], 2)).unwrap_err();
        assert_eq!(why, "the 10 rounds disagree: 1 × 20, 1 × 50, 5 × 64, 1 × 90");
        assert!(agree(&rounds(&[64; 9], 11)).is_err(), "most rounds have no knee");
        assert!(agree(&rounds(&[10, 30, 50, 70], 0)).is_err());
        assert_eq!(
            agree(&[Err(NoKnee::Flat); 3]).unwrap_err(),
            "no knee in 3 rounds: the time does not rise with the number of stores"
        );
        assert!(agree(&[]).is_err());
    }
}
