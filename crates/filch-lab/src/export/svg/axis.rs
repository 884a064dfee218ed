//! Axes to scale, with ticks at round numbers.

/// An axis with ticks at round numbers.
pub(super) struct Axis {
    pub(super) from: f64,
    pub(super) to: f64,
    pub(super) pixels: (f64, f64),
    pub(super) ticks: Vec<f64>,
    pub(super) scale: Scale,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Scale {
    Linear,
    /// Each doubling has the same length.
    Logarithmic,
}

impl Axis {
    pub(super) fn new(from: f64, to: f64, pixels: (f64, f64), ticks: f64) -> Self {
        let raw = ((to - from) / ticks).max(f64::MIN_POSITIVE);
        let magnitude = 10_f64.powf(raw.log10().floor());
        let step = [1.0, 2.0, 2.5, 5.0, 10.0].map(|factor| factor * magnitude).into_iter().find(|step| *step >= raw);
        let step = step.unwrap_or(raw);
        let from = (from / step).floor() * step;
        let to = (to / step).ceil() * step;
        #[expect(clippy::cast_possible_truncation, reason = "a handful of ticks")]
        let count = ((to - from) / step).round() as i32;
        let ticks = (0..=count).map(|tick| from + f64::from(tick) * step).collect();
        Self { from, to, pixels, ticks, scale: Scale::Linear }
    }

    /// Makes an axis between powers of two, with a tick at each power.
    pub(super) fn doubling(from: f64, to: f64, pixels: (f64, f64)) -> Self {
        #[expect(clippy::cast_possible_truncation, reason = "exponents of measured values")]
        let (least, most) = (from.log2().floor() as i32, to.log2().ceil() as i32);
        let ticks = (least..=most.max(least + 1)).map(|exponent| 2_f64.powi(exponent));
        let ticks: Vec<f64> = ticks.collect();
        Self { from: ticks[0], to: ticks[ticks.len() - 1], pixels, ticks, scale: Scale::Logarithmic }
    }

    pub(super) fn at(&self, value: f64) -> f64 {
        let (start, end) = self.pixels;
        let [value, from, to] = [value, self.from, self.to].map(|number| match self.scale {
            Scale::Linear => number,
            Scale::Logarithmic => number.log2(),
        });
        start + (value - from) / (to - from) * (end - start)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_axis_has_round_ticks_around_its_values() {
        let axis = Axis::new(0.0, 0.93, (0.0, 100.0), 5.0);
        assert!((axis.to - 1.0).abs() < 1e-12 && axis.ticks.len() == 6);
        assert!((axis.at(0.5) - 50.0).abs() < 1e-9);
    }

    #[test]
    fn doublings_have_equal_lengths() {
        let axis = Axis::doubling(0.3, 6.0, (0.0, 100.0));
        assert_eq!(axis.ticks, [0.25, 0.5, 1.0, 2.0, 4.0, 8.0]);
        let places: Vec<f64> = axis.ticks.iter().map(|&tick| axis.at(tick)).collect();
        assert_eq!(places, [0.0, 20.0, 40.0, 60.0, 80.0, 100.0]);
    }
}
