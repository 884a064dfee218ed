//! The integral of (x² + 1)·x from 0 to n, by halving until the trapezoids agree.
//!
//! A task has an interval and the area of its trapezoid. It halves the interval. If the areas of the halves add up to
//! the whole area within 10⁻⁹, it returns their sum; otherwise it forks both halves. There is no cut-off.
//!
//! What it stresses: hardly anything but forks, on an uneven tree. A node takes some ten floating-point operations, so
//! the ratio of one worker to the sequential program is about that of `fib`: the price of a fork relative to a few
//! nanoseconds of work. The span is the depth of the tree: some 40 nodes out of millions.
//!
//! The tree depends only on the rounding of the areas, so the sum is the same in every run, bit for bit. For large n
//! the tolerance is below the last bit of an area; then a leaf is where the rounded areas agree.

use filch_catalogue::ParamError;
use filch_catalogue::programs::integrate::Params;

use crate::ForkJoin;
use crate::answer::{Answer, Real};
use crate::spec::{Forks, Prepare, Runs};

/// The error at which two trapezoids need no further halving.
const TOLERANCE: f64 = 1e-9;

impl Prepare for Params {
    type Instance = Instance;

    fn prepare(&self) -> Result<Instance, ParamError> {
        Ok(Instance { params: *self })
    }
}

/// The program; it needs no memory.
#[derive(Debug)]
pub struct Instance {
    params: Params,
}

impl Runs for Instance {
    fn serial(&mut self) -> Answer {
        Answer::Real(Real(serial(Trapezoid::new(0.0, self.params.n.into()))))
    }

    fn check(&self, answer: &Answer) -> Result<(), String> {
        let n = f64::from(self.params.n);
        let right = n.powi(4) / 4.0 + n.powi(2) / 2.0;
        match answer {
            Answer::Real(Real(sum)) if (sum - right).abs() <= 1e-6 * right => Ok(()),
            _ => Err(format!("the answer is {answer}, but it should be near {right}")),
        }
    }

    fn tasks(&self, _: &Answer) -> Option<u64> {
        None
    }
}

impl Forks for Instance {
    fn fork_join<J: ForkJoin>(&mut self, j: J) -> Answer {
        Answer::Real(Real(integrate(j, Trapezoid::new(0.0, self.params.n.into()))))
    }
}

/// An interval with the values of the function at both ends and the area between them.
#[derive(Clone, Copy, Debug)]
pub struct Trapezoid {
    x: [f64; 2],
    y: [f64; 2],
    area: f64,
}

fn f(x: f64) -> f64 {
    (x * x + 1.0) * x
}

impl Trapezoid {
    /// The trapezoid over the interval from `left` to `right`.
    pub fn new(left: f64, right: f64) -> Self {
        Self::between([left, right], [f(left), f(right)])
    }

    #[inline]
    fn between(x: [f64; 2], y: [f64; 2]) -> Self {
        Self { x, y, area: (y[0] + y[1]) / 2.0 * (x[1] - x[0]) }
    }

    #[inline]
    fn halves(self) -> (Self, Self) {
        let ([left, right], [low, high]) = (self.x, self.y);
        let middle = left + (right - left) / 2.0;
        let y = f(middle);
        (Self::between([left, middle], [low, y]), Self::between([middle, right], [y, high]))
    }
}

/// The fork–join program: integrates over a trapezoid's interval.
///
/// ```
/// use filch_workloads::{Serial, integrate::{Trapezoid, integrate}};
///
/// let area = integrate(Serial, Trapezoid::new(0.0, 10.0));
/// assert!((area - 2550.0).abs() < 1e-3);
/// ```
pub fn integrate<J: ForkJoin>(mut j: J, whole: Trapezoid) -> f64 {
    let (left, right) = whole.halves();
    let sum = left.area + right.area;
    if (sum - whole.area).abs() < TOLERANCE {
        return sum;
    }
    let (a, b) = j.join(move |j| integrate(j, left), move |j| integrate(j, right));
    a + b
}

/// The sequential program.
fn serial(whole: Trapezoid) -> f64 {
    let (left, right) = whole.halves();
    let sum = left.area + right.area;
    if (sum - whole.area).abs() < TOLERANCE { sum } else { serial(left) + serial(right) }
}
