//! Multiplication of square matrices of integers by quarters, as the public comparison of C++ runtimes has it: four
//! products at a time, then the four that add to them, down to leaves of order 32. A run also makes the matrices, all
//! of whose elements are one.

use std::marker::PhantomData;

use filch_catalogue::ParamError;
use filch_catalogue::programs;
use filch_catalogue::programs::quarters::{LEAF, Params};

use crate::answer::Answer;
use crate::checks::sequence;
use crate::fork_join::join4;
use crate::lines::Lines;
use crate::spec::{Forks, Prepare, Runs};
use crate::{ForkJoin, Serial};

impl Prepare for Params {
    type Instance = Instance;

    fn prepare(&self) -> Result<Instance, ParamError> {
        Ok(Instance { params: *self, c: Lines::default() })
    }
}

/// The program, and its last product, row by row.
#[derive(Debug)]
pub struct Instance {
    params: Params,
    c: Lines<i32>,
}

impl Instance {
    fn run<J: ForkJoin>(&mut self, mut j: J) -> Answer {
        let n = self.params.n;
        let matrix = |number, element| Lines::new(number, element, n * n);
        let [a, b] = [matrix(0, 1), matrix(1, 1)];
        let mut c = matrix(2, 0);
        multiply(&mut j, Product::new(&a, &b, &mut c, n));
        self.c = c;
        Answer::Product(n)
    }
}

impl Runs for Instance {
    fn reset(&mut self) {
        self.c = Lines::default();
    }

    fn serial(&mut self) -> Answer {
        self.run(Serial)
    }

    fn check(&self, answer: &Answer) -> Result<(), String> {
        let n = self.params.n;
        let c = &self.c;
        if *answer != Answer::Product(n) || c.len() != n * n {
            return Err(format!("the answer is {answer}, but it should be a product of order {n}"));
        }
        match c.iter().position(|&element| element != n as i32) {
            None => Ok(()),
            Some(at) => {
                Err(format!("element ({}, {}) of the product is {}, but it should be {n}", at / n, at % n, c[at]))
            }
        }
    }

    fn tasks(&self, _: &Answer) -> Option<u64> {
        programs::Params::tasks(&self.params)
    }

    fn digest(&self) -> u64 {
        sequence(self.c.iter().map(|&element| element as u64))
    }

    fn damage(&mut self, at: u64) -> bool {
        let at = at as usize % self.c.len();
        self.c[at] += 1;
        true
    }
}

impl Forks for Instance {
    fn fork_join<J: ForkJoin>(&mut self, j: J) -> Answer {
        self.run(j)
    }
}

/// A task that adds a product of blocks of A and B to a block of C.
///
/// Invariant: `a`, `b` and `c` point to the first element of an n × n block of matrices with rows of `stride`, which
/// live for `'m`; n is [`LEAF`] times a power of two. During `'m` the blocks of A and B are only read, and only this
/// value accesses the block of C.
pub struct Product<'m> {
    a: *const i32,
    b: *const i32,
    c: *mut i32,
    n: usize,
    stride: usize,
    matrices: PhantomData<(&'m [i32], &'m mut [i32])>,
}

// SAFETY: it is two shared slices and one exclusive slice of numbers, all of which may cross threads.
unsafe impl Send for Product<'_> {}

impl<'m> Product<'m> {
    /// Creates the product of whole n × n matrices.
    ///
    /// ```
    /// use filch_workloads::{Serial, quarters::{Product, multiply}};
    ///
    /// let mut c = [0; 64 * 64];
    /// multiply(&mut Serial, Product::new(&[2; 64 * 64], &[3; 64 * 64], &mut c, 64));
    /// assert!(c.iter().all(|&element| element == 6 * 64));
    /// ```
    ///
    /// # Panics
    /// Unless n is 32 times a power of two, and the matrices are n × n.
    pub fn new(a: &'m [i32], b: &'m [i32], c: &'m mut [i32], n: usize) -> Self {
        assert!(n.is_multiple_of(LEAF) && (n / LEAF).is_power_of_two(), "{n} is not {LEAF} times a power of two");
        assert!([a.len(), b.len(), c.len()] == [n * n; 3], "the matrices must be {n} × {n}");
        Self { a: a.as_ptr(), b: b.as_ptr(), c: c.as_mut_ptr(), n, stride: n, matrices: PhantomData }
    }

    /// The products for the quarters of C of one half of the sums. This borrow must end before that for the other half.
    #[inline(always)]
    fn quarters(&mut self, inner: usize) -> [Product<'_>; 4] {
        let (n, stride) = (self.n / 2, self.stride);
        let at = |down: usize, right: usize| down * n * stride + right * n;
        [(0, 0), (0, 1), (1, 0), (1, 1)].map(|(row, column)| {
            // SAFETY: row, column and inner are 0 or 1, so these are quarters of the blocks. The borrow makes this
            // value inaccessible while they live, and the four of C are disjoint.
            let [a, b] = unsafe { [self.a.add(at(row, inner)), self.b.add(at(inner, column))] };
            // SAFETY: as above.
            let c = unsafe { self.c.add(at(row, column)) };
            Product { a, b, c, n, stride, matrices: PhantomData }
        })
    }

    /// Multiplies leaves by the widest instructions that this processor has.
    fn compute(self) {
        #[cfg(target_arch = "x86_64")]
        {
            if is_x86_feature_detected!("avx512f") {
                // SAFETY: the processor has them.
                return unsafe { self.compute_avx512() };
            }
            if is_x86_feature_detected!("avx2") {
                // SAFETY: as above.
                return unsafe { self.compute_avx2() };
            }
        }
        self.loops();
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx512f")]
    fn compute_avx512(self) {
        self.loops();
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2")]
    fn compute_avx2(self) {
        self.loops();
    }

    #[inline(always)]
    fn loops(self) {
        for i in 0..LEAF {
            // SAFETY: row i of the block of C, which is this value's alone.
            let c = unsafe { &mut *self.c.add(i * self.stride).cast::<[i32; LEAF]>() };
            let mut sums = *c;
            for k in 0..LEAF {
                // SAFETY: element (i, k) of the block of A, which nobody writes.
                let a = unsafe { *self.a.add(i * self.stride + k) };
                // SAFETY: row k of the block of B, which nobody writes.
                let b = unsafe { &*self.b.add(k * self.stride).cast::<[i32; LEAF]>() };
                // No iterators: the compiler does not inline all of their functions into one for other instructions.
                let mut j = 0;
                while j < LEAF {
                    sums[j] = sums[j].wrapping_add(a.wrapping_mul(b[j]));
                    j += 1;
                }
            }
            *c = sums;
        }
    }
}

/// The fork–join program.
pub fn multiply<J: ForkJoin>(j: &mut J, mut product: Product<'_>) {
    if product.n == LEAF {
        return product.compute();
    }
    for inner in 0..2 {
        let [upper_left, upper_right, lower_left, lower_right] = product.quarters(inner);
        join4!(
            j,
            move |mut j| multiply(&mut j, upper_left),
            move |mut j| multiply(&mut j, upper_right),
            move |mut j| multiply(&mut j, lower_left),
            move |mut j| multiply(&mut j, lower_right),
        );
    }
}
