//! Order statistics of samples.

/// What is said of a set of samples.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    /// How many there are.
    pub n: usize,
    /// The smallest one.
    pub min: f64,
    /// A quarter of them lies below it.
    pub lower_quartile: f64,
    /// The one in the middle.
    pub median: f64,
    /// A quarter of them lies above it.
    pub upper_quartile: f64,
    /// The largest one.
    pub max: f64,
}

impl Sample {
    /// Of finite numbers; `None` if there are none.
    pub fn of(values: impl IntoIterator<Item = f64>) -> Option<Self> {
        let mut values: Vec<f64> = values.into_iter().filter(|value| value.is_finite()).collect();
        values.sort_by(f64::total_cmp);
        let (&min, &max) = (values.first()?, values.last()?);
        Some(Self {
            n: values.len(),
            min,
            lower_quartile: quantile(&values, 0.25),
            median: quantile(&values, 0.5),
            upper_quartile: quantile(&values, 0.75),
            max,
        })
    }

    /// The distance between the quartiles as a share of the median.
    ///
    /// Quartiles of fewer than five samples are nearly their extremes, so these say as much.
    pub fn spread(&self) -> f64 {
        if self.median == 0.0 { 0.0 } else { (self.upper_quartile - self.lower_quartile) / self.median }
    }

    /// The distance between the extremes as a share of the median.
    pub fn range(&self) -> f64 {
        if self.median == 0.0 { 0.0 } else { (self.max - self.min) / self.median }
    }
}

/// The value below which a share of the sorted values lies, interpolated between neighbours.
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

/// The mean of ratios that belong together.
pub fn geometric_mean(values: &[f64]) -> Option<f64> {
    if values.is_empty() || values.iter().any(|value| *value <= 0.0 || !value.is_finite()) {
        return None;
    }
    #[expect(clippy::cast_precision_loss, reason = "few values")]
    let n = values.len() as f64;
    Some((values.iter().map(|value| value.ln()).sum::<f64>() / n).exp())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_interpolate() {
        let sample = Sample::of([4.0, 1.0, 3.0, 2.0]).unwrap();
        assert_eq!(sample.n, 4);
        assert_eq!((sample.min, sample.median, sample.max), (1.0, 2.5, 4.0));
        assert_eq!((sample.lower_quartile, sample.upper_quartile), (1.75, 3.25));
        assert!((sample.spread() - 0.6).abs() < 1e-12);
        assert!((sample.range() - 1.2).abs() < 1e-12);
    }

    #[test]
    fn one_sample_is_its_own_everything() {
        let sample = Sample::of([7.0]).unwrap();
        assert_eq!((sample.min, sample.lower_quartile, sample.median, sample.max), (7.0, 7.0, 7.0, 7.0));
        assert_eq!(sample.spread(), 0.0);
    }

    #[test]
    fn nothing_is_said_of_no_samples() {
        assert_eq!(Sample::of([]), None);
        assert_eq!(Sample::of([f64::NAN]), None);
        assert_eq!(geometric_mean(&[]), None);
        assert_eq!(geometric_mean(&[0.0]), None);
    }

    #[test]
    fn ratios_average_in_logarithms() {
        assert!((geometric_mean(&[2.0, 8.0]).unwrap() - 4.0).abs() < 1e-12);
    }
}
