//! Means of simulated runs.

use super::claim::Evidence;
use crate::stats::Estimate;

/// The mean of some runs.
#[derive(Clone, Copy)]
pub(crate) struct Mean {
    pub(crate) value: f64,
    /// The standard error.
    pub(crate) error: f64,
    pub(crate) runs: usize,
}

impl Mean {
    #[expect(clippy::cast_precision_loss, reason = "some hundred runs")]
    pub(crate) fn of(numbers: &[f64]) -> Self {
        let runs = numbers.len() as f64;
        let value = numbers.iter().sum::<f64>() / runs;
        let variance = numbers.iter().map(|number| (number - value).powi(2)).sum::<f64>() / (runs - 1.0);
        Self { value, error: (variance / runs).sqrt(), runs: numbers.len() }
    }

    pub(crate) fn over(self, scale: f64) -> Self {
        Self { value: self.value / scale, error: self.error / scale, ..self }
    }

    /// A number over this mean.
    pub(crate) fn under(self, number: f64) -> Self {
        let value = number / self.value;
        Self { value, error: value * self.error / self.value, ..self }
    }

    /// The ratio of means of independent runs.
    pub(crate) fn over_mean(self, other: Self) -> Self {
        let value = self.value / other.value;
        Self { value, error: value * (self.error / self.value).hypot(other.error / other.value), ..self }
    }

    /// The ratio of means of the same runs.
    pub(crate) fn ratio(numbers: &[f64], of: &[f64]) -> Self {
        let (numerator, denominator) = (Self::of(numbers).value, Self::of(of).value);
        let value = numerator / denominator;
        let apart: Vec<f64> = numbers.iter().zip(of).map(|(number, of)| number - value * of).collect();
        Self { value, error: Self::of(&apart).error / denominator, runs: numbers.len() }
    }

    /// A number for a claim, with the 95 % interval of means of many runs.
    pub(crate) fn evidence(self, of: String) -> Evidence {
        let half = 1.96 * self.error;
        let interval = Some((self.value - half, self.value + half));
        Evidence { of, estimate: Estimate { value: self.value, interval, rounds: self.runs }, rows: Vec::new() }
    }
}
