//! Multiplication of square matrices by Strassen's algorithm: seven products per level instead of eight.
//!
//! Each product is a task that first forms its two factors, sums of quadrants. Four of the products go to the quadrants
//! of the result and three to temporary matrices; one parallel loop then combines them. Below the cut-off a triple loop
//! multiplies a tile.
//!
//! What it stresses: tasks that take memory. Each task takes memory for its sums and returns it, a stolen task on
//! another worker, so the memory in use grows with the number of steals. The work is Θ(n^2.81). Sums are formed
//! sequentially, so the span is Θ(n²) and the parallelism Θ(n^0.81). Temporary matrices are kept between runs.
//!
//! The input is small integers, so all results are exact and Freivalds' check decides.

use filch::iter::Zipped;
use filch_catalogue::ParamError;
use filch_catalogue::programs::strassen::Params;

use crate::answer::Answer;
use crate::matrix::{Buffer, Buffers, Factors, Into, instance_of_factors, quadrants, quadrants_mut, tile_product};
use crate::spec::{Forks, Prepare};
use crate::{ForkJoin, Grain, Serial};

impl Prepare for Params {
    type Instance = Instance;

    fn prepare(&self) -> Result<Instance, ParamError> {
        Ok(Instance { factors: Factors::new("strassen", self.0)?, forks: None })
    }
}

instance_of_factors! {
    /// The program and its matrices.
    Instance
}

/// The sequential program.
fn serial(Factors { layout, a, b, c, buffers }: &mut Factors) {
    multiply(&mut Serial, buffers, c, a, b, layout.tile);
}

impl Forks for Instance {
    fn fork_join<J: ForkJoin>(&mut self, mut j: J) -> Answer {
        let Factors { layout, a, b, c, buffers } = &mut self.factors;
        multiply(&mut j, buffers, c, a, b, layout.tile);
        self.factors.answer()
    }
}

/// A factor of one of the seven products.
#[derive(Clone, Copy)]
enum Factor<'m> {
    Quadrant(&'m [f64]),
    Sum(&'m [f64], &'m [f64]),
    Difference(&'m [f64], &'m [f64]),
}

use Factor::{Difference, Quadrant, Sum};

/// A formed factor.
enum Formed<'m> {
    Old(&'m [f64]),
    New(Buffer<'m>),
}

impl<'m> Factor<'m> {
    fn form(self, buffers: &'m Buffers) -> Formed<'m> {
        match self {
            Quadrant(a) => Formed::Old(a),
            Sum(a, b) => Formed::New(combined(buffers, a, b, |a, b| a + b)),
            Difference(a, b) => Formed::New(combined(buffers, a, b, |a, b| a - b)),
        }
    }
}

fn combined<'b>(buffers: &'b Buffers, a: &[f64], b: &[f64], of: impl Fn(f64, f64) -> f64) -> Buffer<'b> {
    let mut buffer = buffers.take(a.len());
    for (sum, (&a, &b)) in buffer.iter_mut().zip(a.iter().zip(b)) {
        *sum = of(a, b);
    }
    buffer
}

impl Formed<'_> {
    fn numbers(&self) -> &[f64] {
        match self {
            Self::Old(numbers) => numbers,
            Self::New(buffer) => buffer,
        }
    }
}

/// One of the seven products.
struct Task<'m> {
    into: &'m mut [f64],
    a: Factor<'m>,
    b: Factor<'m>,
}

/// The number of elements whose combination takes some 10 µs.
const COMBINED: usize = 4 << 10;

fn multiply<J: ForkJoin>(j: &mut J, buffers: &Buffers, c: &mut [f64], a: &[f64], b: &[f64], tile: usize) {
    if c.len() == tile * tile {
        return tile_product(Into::Set, c, a, b, tile);
    }
    let quarter = c.len() / 4;
    let [mut m1, mut m4, mut m5] = [(); 3].map(|()| buffers.take(quarter));
    let ([a11, a12, a21, a22], [b11, b12, b21, b22]) = (quadrants(a), quadrants(b));
    // The second, third, sixth and seventh product are stored where one of their sums goes.
    let [m7, m3, m2, m6] = quadrants_mut(c);
    let task = |into, a, b| Task { into, a, b };
    let tasks = [
        task(&mut m1, Sum(a11, a22), Sum(b11, b22)),
        task(&mut *m2, Sum(a21, a22), Quadrant(b11)),
        task(&mut *m3, Quadrant(a11), Difference(b12, b22)),
        task(&mut m4, Quadrant(a22), Difference(b21, b11)),
        task(&mut m5, Sum(a11, a12), Quadrant(b22)),
        task(&mut *m6, Difference(a21, a11), Sum(b11, b12)),
        task(&mut *m7, Difference(a12, a22), Sum(b21, b22)),
    ];
    let run = move |mut j: J::Branch<'_>, Task { into, a, b }: Task<'_>| {
        let (a, b) = (a.form(buffers), b.form(buffers));
        multiply(&mut j, buffers, into, a.numbers(), b.numbers(), tile);
    };
    j.fork_all(tasks, run, (), |(), ()| ());
    let source = Zipped(Zipped(Zipped(m7, m3), Zipped(m2, m6)), Zipped(&m1[..], Zipped(&m4[..], &m5[..])));
    j.for_blocks(
        source,
        Grain::Advice(COMBINED),
        |Zipped(Zipped(Zipped(m7, m3), Zipped(m2, m6)), Zipped(m1, Zipped(m4, m5)))| {
            combine([m7, m3, m2, m6], [m1, m4, m5]);
        },
    );
}

/// Computes the quadrants of the result from the products.
#[inline(never)]
fn combine(quadrants: [&mut [f64]; 4], [m1, m4, m5]: [&[f64]; 3]) {
    let [c11, c12, c21, c22] = quadrants;
    let products = m1.iter().zip(m4).zip(m5);
    let upper = c11.iter_mut().zip(c12);
    let lower = c21.iter_mut().zip(c22);
    for (((c11, c12), (c21, c22)), ((m1, m4), m5)) in upper.zip(lower).zip(products) {
        let (m7, m3, m2, m6) = (*c11, *c12, *c21, *c22);
        (*c11, *c12) = (m1 + m4 - m5 + m7, m3 + m5);
        (*c21, *c22) = (m2 + m4, m1 - m2 + m3 + m6);
    }
}
