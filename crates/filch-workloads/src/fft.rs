//! The fast Fourier transform of 2ᵏ complex numbers, by halves.
//!
//! The program moves the numbers at even and at odd places to the two halves of a second array, transforms both halves
//! in parallel with the arrays in exchanged roles, and combines them into the first array. Moving and combining are
//! parallel loops while they are large. Below the cut-off, the size of the first-level cache, an iterative in-place
//! transform takes over.
//!
//! What it stresses: mainly memory, since each upper level streams both arrays; and both kinds of parallelism,
//! recursion and the loops within it. The work is Θ(n log n) and the span is Θ(log² n) plus a leaf, so parallelism
//! abounds; bandwidth bounds the speedup.
//!
//! Any schedule computes every number by the same operations, so the result equals that of the sequential program bit
//! for bit. The check transforms it back and compares it with the input.

use filch::iter::Zipped;
use filch_catalogue::ParamError;
use filch_catalogue::programs::fft::Params;

use crate::answer::{Answer, expect};
use crate::checks::sequence;
use crate::inputs::{filled, made, uniform};
use crate::spec::{Forks, Prepare, Runs};
use crate::{ForkJoin, Grain, Serial};

/// Loops over fewer pairs do not repay a check for idle workers.
const LOOP: usize = 4096;

impl Prepare for Params {
    type Instance = Instance;

    fn prepare(&self) -> Result<Instance, ParamError> {
        let number = |index| Complex { re: 2.0 * uniform(1, index) - 1.0, im: 2.0 * uniform(2, index) - 1.0 };
        Ok(Instance {
            cutoff: self.cutoff,
            grain: Grain::from_param(self.grain, LOOP),
            input: made("fft", self.n, number)?,
            roots: made("fft", self.n, root)?,
            numbers: filled("fft", self.n, Complex::default())?,
            scratch: filled("fft", self.n, Complex::default())?,
        })
    }
}

/// Returns entry `index` of the table of roots. For each power of two m, the entries from m/2 on are the first m/2
/// powers of exp(-2πi/m).
fn root(index: u64) -> Complex {
    if index == 0 {
        return Complex::default();
    }
    let half = 1_u64 << index.ilog2();
    let angle = -std::f64::consts::PI * (index - half) as f64 / half as f64;
    Complex { re: angle.cos(), im: angle.sin() }
}

/// A complex number.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Complex {
    /// The real part.
    pub re: f64,
    /// The imaginary part.
    pub im: f64,
}

impl Complex {
    fn conjugate(self) -> Self {
        Self { im: -self.im, ..self }
    }

    /// Returns the sum with `other` times `root`, and the difference from it.
    #[inline(always)]
    fn butterfly(self, other: Self, root: Self) -> (Self, Self) {
        let re = other.re * root.re - other.im * root.im;
        let im = other.re * root.im + other.im * root.re;
        (Self { re: self.re + re, im: self.im + im }, Self { re: self.re - re, im: self.im - im })
    }
}

/// The program, its input, and the numbers being transformed.
#[derive(Debug)]
pub struct Instance {
    cutoff: usize,
    grain: Grain,
    input: Vec<Complex>,
    roots: Vec<Complex>,
    numbers: Vec<Complex>,
    scratch: Vec<Complex>,
}

impl Instance {
    /// The input, and the result of the last run.
    pub fn numbers(&self) -> (&[Complex], &[Complex]) {
        (&self.input, &self.numbers)
    }

    fn transform(&self) -> Transform<'_> {
        Transform { roots: &self.roots, cutoff: self.cutoff, grain: self.grain }
    }

    /// Computes the input from the result.
    fn inverse(&self) -> Vec<Complex> {
        let mut numbers: Vec<Complex> = self.numbers.iter().map(|number| number.conjugate()).collect();
        let mut scratch = numbers.clone();
        self.transform().run(Serial, &mut numbers, &mut scratch);
        let n = numbers.len() as f64;
        for number in &mut numbers {
            *number = Complex { re: number.re / n, im: -number.im / n };
        }
        numbers
    }
}

impl Runs for Instance {
    fn reset(&mut self) {
        self.numbers.copy_from_slice(&self.input);
    }

    fn serial(&mut self) -> Answer {
        let mut numbers = std::mem::take(&mut self.numbers);
        let mut scratch = std::mem::take(&mut self.scratch);
        self.transform().serial(&mut numbers, &mut scratch);
        (self.numbers, self.scratch) = (numbers, scratch);
        Answer::Numbers(self.numbers.len())
    }

    fn check(&self, answer: &Answer) -> Result<(), String> {
        /// Rounding errors are some 10⁻¹⁵. An error of 1 in one place becomes an error of 1/n everywhere.
        const TOLERANCE: f64 = 1e-12;
        expect(answer, &Answer::Numbers(self.numbers.len()))?;
        let far = |a: f64, b: f64| (a - b).abs() > TOLERANCE || (a - b).is_nan();
        let inverse = self.inverse();
        let wrong = |(found, right): (&Complex, &Complex)| far(found.re, right.re) || far(found.im, right.im);
        match inverse.iter().zip(&self.input).position(wrong) {
            None => Ok(()),
            Some(at) => {
                Err(format!("transformed back, number {at} is {:?}, but it was {:?}", inverse[at], self.input[at]))
            }
        }
    }

    fn tasks(&self, _: &Answer) -> Option<u64> {
        None
    }

    fn digest(&self) -> u64 {
        sequence(self.numbers.iter().flat_map(|number| [number.re.to_bits(), number.im.to_bits()]))
    }

    fn damage(&mut self, at: u64) -> bool {
        let at = at as usize % self.numbers.len();
        self.numbers[at].im += 1e-3;
        true
    }
}

impl Forks for Instance {
    fn fork_join<J: ForkJoin>(&mut self, j: J) -> Answer {
        let mut numbers = std::mem::take(&mut self.numbers);
        let mut scratch = std::mem::take(&mut self.scratch);
        self.transform().run(j, &mut numbers, &mut scratch);
        (self.numbers, self.scratch) = (numbers, scratch);
        Answer::Numbers(self.numbers.len())
    }
}

/// The parameters shared by all parts of a transform.
#[derive(Clone, Copy)]
struct Transform<'t> {
    roots: &'t [Complex],
    cutoff: usize,
    grain: Grain,
}

impl Transform<'_> {
    /// The fork–join program: transforms `x`, with scratch space `y` of the same size.
    fn run<J: ForkJoin>(&self, mut j: J, x: &mut [Complex], y: &mut [Complex]) {
        if x.len() <= self.cutoff {
            return self.leaf(x);
        }
        let half = x.len() / 2;
        let roots = &self.roots[half..2 * half];
        let (low, high) = y.split_at_mut(half);
        if half < LOOP {
            unshuffle(x.as_chunks().0, low, high);
        } else {
            let source = Zipped(x.as_chunks().0, Zipped(&mut *low, &mut *high));
            j.for_blocks(source, self.grain, |Zipped(x, Zipped(low, high))| unshuffle(x, low, high));
        }
        let (x_low, x_high) = x.split_at_mut(half);
        let (even, odd) = (&mut *low, &mut *high);
        let (even_scratch, odd_scratch) = (&mut *x_low, &mut *x_high);
        j.join(move |j| self.run(j, even, even_scratch), move |j| self.run(j, odd, odd_scratch));
        if half < LOOP {
            butterflies(x_low, x_high, low, high, roots);
        } else {
            let source = Zipped(Zipped(x_low, x_high), Zipped(&*low, Zipped(&*high, roots)));
            j.for_blocks(source, self.grain, |Zipped(Zipped(x_low, x_high), Zipped(low, Zipped(high, roots)))| {
                butterflies(x_low, x_high, low, high, roots);
            });
        }
    }

    /// The sequential program.
    fn serial(&self, x: &mut [Complex], y: &mut [Complex]) {
        if x.len() <= self.cutoff {
            return self.leaf(x);
        }
        let half = x.len() / 2;
        let (low, high) = y.split_at_mut(half);
        unshuffle(x.as_chunks().0, low, high);
        let (x_low, x_high) = x.split_at_mut(half);
        self.serial(low, x_low);
        self.serial(high, x_high);
        butterflies(x_low, x_high, low, high, &self.roots[half..2 * half]);
    }

    /// A small in-place transform: permutes the numbers by reversing the bits of their places, then combines pairs at
    /// doubling distances. Out of line, so that all executors run the same instructions.
    #[inline(never)]
    fn leaf(&self, x: &mut [Complex]) {
        let n = x.len();
        if n == 1 {
            return;
        }
        let shift = usize::BITS - n.ilog2();
        for at in 0..n {
            let other = at.reverse_bits() >> shift;
            if at < other {
                x.swap(at, other);
            }
        }
        let mut half = 1;
        while half < n {
            let roots = &self.roots[half..2 * half];
            for pair in x.chunks_exact_mut(2 * half) {
                let (low, high) = pair.split_at_mut(half);
                for ((low, high), &root) in low.iter_mut().zip(high).zip(roots) {
                    (*low, *high) = low.butterfly(*high, root);
                }
            }
            half *= 2;
        }
    }
}

/// Moves even places to `low` and odd ones to `high`.
#[inline(never)]
fn unshuffle(x: &[[Complex; 2]], low: &mut [Complex], high: &mut [Complex]) {
    for ((&[even, odd], low), high) in x.iter().zip(low).zip(high) {
        (*low, *high) = (even, odd);
    }
}

/// Combines the transforms of both halves.
#[inline(never)]
fn butterflies(x_low: &mut [Complex], x_high: &mut [Complex], low: &[Complex], high: &[Complex], roots: &[Complex]) {
    let places = x_low.iter_mut().zip(x_high);
    for (((x_low, x_high), low), (&high, &root)) in places.zip(low).zip(high.iter().zip(roots)) {
        (*x_low, *x_high) = low.butterfly(high, root);
    }
}

#[cfg(test)]
mod tests {
    use filch_catalogue::programs::grain::Grain;

    use super::*;

    #[test]
    fn it_is_the_discrete_fourier_transform() {
        let n = 256;
        for cutoff in [1, 8, 1024] {
            let params = Params { n, cutoff, grain: Grain::OnDemand };
            let mut instance = params.prepare().expect("there is memory");
            instance.reset();
            instance.serial();
            let (input, numbers) = instance.numbers();
            for (k, found) in numbers.iter().enumerate() {
                let mut right = Complex::default();
                for (at, number) in input.iter().enumerate() {
                    let angle = -2.0 * std::f64::consts::PI * (k * at % n) as f64 / n as f64;
                    let root = Complex { re: angle.cos(), im: angle.sin() };
                    (right, _) = right.butterfly(*number, root);
                }
                assert!((found.re - right.re).abs() < 1e-10, "{k}: {found:?}, {right:?}");
                assert!((found.im - right.im).abs() < 1e-10, "{k}: {found:?}, {right:?}");
            }
        }
    }
}
