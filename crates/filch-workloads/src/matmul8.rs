//! Multiplication of square matrices by quadrants: eight products per level, in two forms.
//!
//! *In place* (`matmul-inplace`): the program forks four products, then the four others, which add to the first. It
//! needs no memory beyond the three matrices. The span is Θ(n), since on each level the second half of a sum waits for
//! the first. This is the form of the experiments on private deques. They choose the cut-off so that a leaf takes a
//! given time: a thief's request waits until the leaf is done, unless leaves `poll` or tasks are interrupted.
//!
//! *With temporaries* (`matmul-temp`): the program forks all eight products at once, four of them into a temporary
//! matrix, and then adds that in parallel. The span is Θ(log² n), so a level offers twice as many tasks; the price is
//! the memory, and the time for a pass over it. It represents the matrix product in the experiments on fence-free
//! deques, whose text gives only the order and a base case of 16 to 64.
//!
//! What they stress: little. Forks are rare and uniform, so all schedulers should agree here. The sequential program is
//! the in-place recursion.

use filch::iter::Zipped;
use filch_catalogue::ParamError;
use filch_catalogue::programs::matmul8::{InPlace, Temporaries};

use crate::answer::Answer;
use crate::fork_join::join4;
use crate::matrix::{Buffers, Factors, Into, instance_of_factors, product, quadrants, quadrants_mut};
use crate::spec::{Forks, Prepare};
use crate::{ForkJoin, Grain, Serial};

impl Prepare for InPlace {
    type Instance = InPlaceInstance;

    fn prepare(&self) -> Result<InPlaceInstance, ParamError> {
        let factors = Factors::new("matmul-inplace", self.size)?;
        Ok(InPlaceInstance { factors, forks: Some(self.size.forks()), polls: self.polls })
    }
}

impl Prepare for Temporaries {
    type Instance = TemporariesInstance;

    fn prepare(&self) -> Result<TemporariesInstance, ParamError> {
        Ok(TemporariesInstance { factors: Factors::new("matmul-temp", self.0)?, forks: None })
    }
}

instance_of_factors! {
    /// The in-place program and its matrices.
    InPlaceInstance, polls: bool
}

instance_of_factors! {
    /// The program with temporaries and its matrices.
    TemporariesInstance
}

/// The sequential program of both forms.
fn serial(Factors { layout, a, b, c, .. }: &mut Factors) {
    product::<false, _>(&mut Serial, Into::Set, c, a, b, layout.tile);
}

impl Forks for InPlaceInstance {
    fn fork_join<J: ForkJoin>(&mut self, mut j: J) -> Answer {
        let Factors { layout, a, b, c, .. } = &mut self.factors;
        let product = if self.polls { product::<true, J> } else { product::<false, J> };
        product(&mut j, Into::Set, c, a, b, layout.tile);
        self.factors.answer()
    }
}

impl Forks for TemporariesInstance {
    fn fork_join<J: ForkJoin>(&mut self, mut j: J) -> Answer {
        let Factors { layout, a, b, c, buffers } = &mut self.factors;
        with_temporary(&mut j, buffers, c, a, b, layout.tile);
        self.factors.answer()
    }
}

/// The number of elements whose addition takes some 10 µs.
const SUM: usize = 16 << 10;

/// Computes a product by eight products at once.
fn with_temporary<J: ForkJoin>(j: &mut J, buffers: &Buffers, c: &mut [f64], a: &[f64], b: &[f64], tile: usize) {
    // On the last level a pass over a temporary takes a good part of the time of its products.
    if c.len() <= 4 * tile * tile {
        return product::<false, _>(j, Into::Set, c, a, b, tile);
    }
    let mut temporary = buffers.take(c.len());
    let ([a00, a01, a10, a11], [b00, b01, b10, b11]) = (quadrants(a), quadrants(b));
    let ([c00, c01, c10, c11], [t00, t01, t10, t11]) = (quadrants_mut(c), quadrants_mut(&mut temporary));
    j.join(
        move |mut j| {
            join4!(
                &mut j,
                move |mut j| with_temporary(&mut j, buffers, c00, a00, b00, tile),
                move |mut j| with_temporary(&mut j, buffers, c01, a00, b01, tile),
                move |mut j| with_temporary(&mut j, buffers, c10, a10, b00, tile),
                move |mut j| with_temporary(&mut j, buffers, c11, a10, b01, tile),
            );
        },
        move |mut j| {
            join4!(
                &mut j,
                move |mut j| with_temporary(&mut j, buffers, t00, a01, b10, tile),
                move |mut j| with_temporary(&mut j, buffers, t01, a01, b11, tile),
                move |mut j| with_temporary(&mut j, buffers, t10, a11, b10, tile),
                move |mut j| with_temporary(&mut j, buffers, t11, a11, b11, tile),
            );
        },
    );
    if c.len() < 2 * SUM {
        return add(c, &temporary);
    }
    j.for_blocks(Zipped(c, &temporary[..]), Grain::Advice(SUM), |Zipped(c, temporary)| add(c, temporary));
}

#[inline(never)]
fn add(c: &mut [f64], temporary: &[f64]) {
    for (c, temporary) in c.iter_mut().zip(temporary) {
        *c += temporary;
    }
}
