//! Statistics of samples, and of comparisons round by round.

use std::collections::BTreeMap;

/// The summary of a set of samples.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    /// The number of samples.
    pub n: usize,
    /// Their mean.
    pub mean: f64,
    /// The smallest value.
    pub min: f64,
    /// The tenth percentile.
    pub p10: f64,
    /// The 25th percentile.
    pub lower_quartile: f64,
    /// The 50th percentile.
    pub median: f64,
    /// The 75th percentile.
    pub upper_quartile: f64,
    /// The 90th percentile.
    pub p90: f64,
    /// The largest value.
    pub max: f64,
}

impl Sample {
    /// Summarizes the finite values; `None` if there are none.
    ///
    /// ```
    /// use filch_catalogue::console::stats::Sample;
    ///
    /// let sample = Sample::of([4.0, 1.0, 3.0, 2.0]).unwrap();
    /// assert_eq!((sample.n, sample.median, sample.max), (4, 2.5, 4.0));
    /// ```
    pub fn of(values: impl IntoIterator<Item = f64>) -> Option<Self> {
        let values = sorted(values.into_iter());
        let (&min, &max) = (values.first()?, values.last()?);
        #[expect(clippy::cast_precision_loss, reason = "sample counts are small")]
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        Some(Self {
            n: values.len(),
            mean,
            min,
            p10: quantile(&values, 0.1),
            lower_quartile: quantile(&values, 0.25),
            median: quantile(&values, 0.5),
            upper_quartile: quantile(&values, 0.75),
            p90: quantile(&values, 0.9),
            max,
        })
    }

    /// The distance between the quartiles as a share of the median.
    ///
    /// The quartiles of fewer than five samples are nearly the extremes, so this says as much as [`Sample::range`].
    pub fn spread(&self) -> f64 {
        if self.median == 0.0 { 0.0 } else { (self.upper_quartile - self.lower_quartile) / self.median }
    }

    /// The distance between the extremes as a share of the median.
    pub fn range(&self) -> f64 {
        if self.median == 0.0 { 0.0 } else { (self.max - self.min) / self.median }
    }
}

/// Returns the quantile of sorted values, interpolated between neighbours.
pub fn quantile(sorted: &[f64], share: f64) -> f64 {
    let [first, .., last] = sorted else {
        return sorted.first().copied().unwrap_or(f64::NAN);
    };
    #[expect(clippy::cast_precision_loss, reason = "sample counts are small")]
    let position = share.clamp(0.0, 1.0) * (sorted.len() - 1) as f64;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "between 0 and the length")]
    let below = position.floor() as usize;
    match (sorted.get(below), sorted.get(below + 1)) {
        (Some(low), Some(high)) => low + (high - low) * position.fract(),
        (Some(_), None) => *last,
        _ => *first,
    }
}

/// The geometric mean of related ratios.
pub fn geometric_mean(values: &[f64]) -> Option<f64> {
    if values.is_empty() || values.iter().any(|value| *value <= 0.0 || !value.is_finite()) {
        return None;
    }
    #[expect(clippy::cast_precision_loss, reason = "few values")]
    let n = values.len() as f64;
    Some((values.iter().map(|value| value.ln()).sum::<f64>() / n).exp())
}

/// One number per round of a session.
pub type Rounds = BTreeMap<usize, f64>;

/// A number measured in several rounds: the median, and its confidence interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// The median.
    pub value: f64,
    /// The 95 % bootstrap interval; a single round has none.
    pub interval: Option<(f64, f64)>,
    /// The number of rounds; zero if the compared series share no round.
    pub rounds: usize,
}

impl Estimate {
    /// Applies `of` to numbers of the same round, since the machine drifts from round to round.
    ///
    /// Without a common round the estimate compares the medians. Its interval then knows of the noise within each
    /// series, and of no drift between them.
    ///
    /// ```
    /// use filch_catalogue::console::stats::{Estimate, Rounds};
    ///
    /// let (slow, fast) = (Rounds::from([(0, 2.0), (1, 6.0), (2, 3.0)]), Rounds::from([(0, 1.0), (1, 2.0), (2, 1.5)]));
    /// let ratio = Estimate::paired([&slow, &fast], |[slow, fast]| slow / fast).unwrap();
    /// assert_eq!((ratio.value, ratio.rounds), (2.0, 3));
    /// ```
    pub fn paired<const N: usize>(series: [&Rounds; N], of: impl Fn([f64; N]) -> f64) -> Option<Self> {
        let together = |round: &usize| {
            let numbers = series.map(|series| series.get(round).copied());
            numbers.iter().all(Option::is_some).then(|| of(numbers.map(Option::unwrap_or_default)))
        };
        let values = sorted(series.first()?.keys().filter_map(together));
        if !values.is_empty() {
            return Some(Self::of([&values], |[value]| value, values.len()));
        }
        let apart = series.map(|series| sorted(series.values().copied()));
        let estimate = apart.iter().all(|values| !values.is_empty()).then(|| Self::of(apart.each_ref(), of, 0))?;
        estimate.value.is_finite().then_some(estimate)
    }

    /// Applies `of` to the medians of these sorted series.
    fn of<const N: usize>(series: [&Vec<f64>; N], of: impl Fn([f64; N]) -> f64, rounds: usize) -> Self {
        let value = of(series.map(|values| quantile(values, 0.5)));
        Self { value, interval: bootstrap(series, of), rounds }
    }
}

/// Returns the finite values in order.
fn sorted(values: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut values: Vec<f64> = values.filter(|value| value.is_finite()).collect();
    values.sort_by(f64::total_cmp);
    values
}

/// The number of bootstrap samples.
pub const RESAMPLES: usize = 5000;
/// Any seed will do; a fixed one gives the same report for the same lines.
const SEED: u64 = 1979;

/// The percentile bootstrap of Efron 1979: the middle 95 % of what `of` gives for the medians of samples as large as
/// each of these sorted series, drawn from it with replacement.
fn bootstrap<const N: usize>(series: [&Vec<f64>; N], of: impl Fn([f64; N]) -> f64) -> Option<(f64, f64)> {
    if series.iter().any(|values| values.len() < 2) {
        return None;
    }
    let mut random = fastrand::Rng::with_seed(SEED);
    let drawn = |_| of(series.map(|values| resampled_median(values, &mut random)));
    let drawn = sorted((0..RESAMPLES).map(drawn));
    Some((quantile(&drawn, 0.025), quantile(&drawn, 0.975)))
}

/// The median of a sample of the same size, drawn with replacement.
fn resampled_median(sorted: &[f64], random: &mut fastrand::Rng) -> f64 {
    let mut drawn = vec![0; sorted.len()];
    for _ in sorted {
        drawn[random.usize(..sorted.len())] += 1;
    }
    let ranked = |rank: usize| {
        let ends = drawn.iter().scan(0, |end, count| {
            *end += count;
            Some(*end)
        });
        sorted[ends.take_while(|&end| end <= rank).count()]
    };
    f64::midpoint(ranked((sorted.len() - 1) / 2), ranked(sorted.len() / 2))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rounds(values: &[f64]) -> Rounds {
        values.iter().copied().enumerate().collect()
    }

    fn ratio(over: &Rounds, under: &Rounds) -> Estimate {
        Estimate::paired([over, under], |[over, under]| over / under).unwrap()
    }

    #[test]
    fn quantiles_interpolate() {
        let sample = Sample::of([4.0, 1.0, 3.0, 2.0]).unwrap();
        assert_eq!(sample.n, 4);
        assert_eq!((sample.min, sample.median, sample.max), (1.0, 2.5, 4.0));
        assert_eq!((sample.lower_quartile, sample.upper_quartile), (1.75, 3.25));
        assert_eq!((sample.p10, sample.mean, sample.p90), (1.3, 2.5, 3.7));
        assert!((sample.spread() - 0.6).abs() < 1e-12);
        assert!((sample.range() - 1.2).abs() < 1e-12);
    }

    #[test]
    fn one_sample_is_every_quantile() {
        let sample = Sample::of([7.0]).unwrap();
        assert_eq!((sample.min, sample.lower_quartile, sample.median, sample.max), (7.0, 7.0, 7.0, 7.0));
        assert_eq!(sample.spread(), 0.0);
    }

    #[test]
    fn no_samples_have_no_statistics() {
        assert_eq!(Sample::of([]), None);
        assert_eq!(Sample::of([f64::NAN]), None);
        assert_eq!(geometric_mean(&[]), None);
        assert_eq!(geometric_mean(&[0.0]), None);
    }

    #[test]
    fn ratios_average_in_logarithms() {
        assert!((geometric_mean(&[2.0, 8.0]).unwrap() - 4.0).abs() < 1e-12);
    }

    #[test]
    fn quantiles_match_the_textbook() {
        // Hyndman and Fan's type 7, which R, Julia and NumPy use too.
        let values = [15.0, 20.0, 35.0, 40.0, 50.0];
        let shares = [0.0, 0.05, 0.3, 0.4, 0.5, 1.0];
        let expected = [15.0, 16.0, 23.0, 29.0, 35.0, 50.0];
        for (share, expected) in shares.into_iter().zip(expected) {
            assert!((quantile(&values, share) - expected).abs() < 1e-9, "{share}");
        }
        let eleven = Sample::of((1..=11).map(f64::from)).unwrap();
        assert_eq!((eleven.p10, eleven.lower_quartile, eleven.median), (2.0, 3.5, 6.0));
        assert_eq!((eleven.upper_quartile, eleven.p90, eleven.mean), (8.5, 10.0, 6.0));
    }

    #[test]
    fn a_paired_ratio_is_not_the_ratio_of_medians() {
        // The rounds give 1/2, 1/4 and 3/4; both medians come from the second round.
        let (ours, theirs) = (rounds(&[1.0, 2.0, 9.0]), rounds(&[2.0, 8.0, 12.0]));
        let paired = ratio(&ours, &theirs);
        assert_eq!((paired.value, paired.rounds), (0.5, 3));
        let medians = [&ours, &theirs].map(|rounds| Sample::of(rounds.values().copied()).unwrap().median);
        assert_eq!(medians[0] / medians[1], 0.25);
    }

    #[test]
    fn only_common_rounds_are_paired() {
        let (ours, theirs) =
            (Rounds::from([(1, 1.0), (2, 2.0), (5, 100.0)]), Rounds::from([(0, 1.0), (1, 2.0), (2, 4.0)]));
        assert_eq!(ratio(&ours, &theirs), Estimate { value: 0.5, interval: Some((0.5, 0.5)), rounds: 2 });
        assert_eq!(Estimate::paired([&ours, &Rounds::new()], |[a, b]| a / b), None);
    }

    #[test]
    fn few_rounds_give_wide_intervals() {
        let one = ratio(&rounds(&[3.0]), &rounds(&[2.0]));
        assert_eq!(one, Estimate { value: 1.5, interval: None, rounds: 1 });
        let apart = ratio(&Rounds::from([(0, 3.0)]), &Rounds::from([(1, 2.0)]));
        assert_eq!(apart, Estimate { value: 1.5, interval: None, rounds: 0 });
        let apart = ratio(&Rounds::from([(0, 3.0), (1, 4.0)]), &Rounds::from([(2, 2.0), (3, 1.0)]));
        assert_eq!(
            apart,
            Estimate { value: 3.5 / 1.5, interval: Some((1.5, 4.0)), rounds: 0 },
            "all pairs are possible"
        );
        let three = ratio(&rounds(&[1.0, 3.0, 2.0]), &rounds(&[1.0; 3]));
        assert_eq!(three.interval, Some((1.0, 3.0)), "the whole range");
    }

    #[test]
    fn an_interval_matches_the_order_statistics() {
        // The ranks around the median of a large sample: (n + 1) / 2 ± 1.96 √n / 2.
        let values: Vec<f64> = (1..=401).map(f64::from).collect();
        let (low, high) = bootstrap([&values], |[value]| value).unwrap();
        assert!((low - 181.4).abs() < 3.0 && (high - 220.6).abs() < 3.0, "{low} {high}");
        assert_eq!(bootstrap([&values], |[value]| value), Some((low, high)), "not deterministic");
    }

    #[test]
    fn an_interval_covers_the_truth_as_often_as_claimed() {
        let mut random = fastrand::Rng::with_seed(7);
        // Ratios around 1.3, as skewed as times are: a floor, and occasionally much more.
        let mut noise = || 1.0 - 0.05 * (1.0 - random.f64()).ln();
        let median_noise = 1.0 + 0.05 * 2_f64.ln();
        let hits = (0..200).filter(|_| {
            let values: Rounds = (0..20).map(|round| (round, 1.3 * noise() / median_noise)).collect();
            let (low, high) = ratio(&values, &rounds(&[1.0; 20])).interval.unwrap();
            low <= 1.3 && 1.3 <= high
        });
        let hits = hits.count();
        assert!((176..=198).contains(&hits), "{hits} of 200");
    }
}
