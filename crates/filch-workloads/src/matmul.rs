//! Multiplication of square matrices by recursion on the longest side, in single precision.
//!
//! If rows or columns of the result are halved, the program forks the halves. If the inner side is halved, it runs them
//! one after the other, and the second adds to the first. The sides of a leaf add up to at most 64. The input is small
//! integers, so all results are exact in any order of additions.

use std::marker::PhantomData;

use filch_catalogue::ParamError;
use filch_catalogue::programs::hash;
use filch_catalogue::programs::matmul::{LEAF, Params, Side, forks};

use crate::ForkJoin;
use crate::answer::Answer;
use crate::checks::sequence;
use crate::lines::Lines;
use crate::spec::{Forks, Prepare, Runs};

impl Prepare for Params {
    type Instance = Instance;

    fn prepare(&self) -> Result<Instance, ParamError> {
        let len = self.n as usize * self.n as usize;
        let mut a = Lines::filled("matmul", len, 0.0)?;
        let mut b = Lines::filled("matmul", len, 0.0)?;
        fill(&mut a, 1);
        fill(&mut b, 2);
        Ok(Instance { n: self.n, a, b, c: Lines::filled("matmul", len, f32::NAN)? })
    }
}

/// Fills a matrix with integers from -2 to 2.
fn fill(matrix: &mut [f32], seed: u64) {
    for (value, index) in matrix.iter_mut().zip(0..) {
        *value = (hash(seed, index) % 5) as f32 - 2.0;
    }
}

/// The program and its matrices, row by row.
#[derive(Debug)]
pub struct Instance {
    n: u32,
    a: Lines<f32>,
    b: Lines<f32>,
    c: Lines<f32>,
}

impl Instance {
    /// The number of rows and of columns.
    pub fn n(&self) -> usize {
        self.n as usize
    }

    /// Both factors and the place of the product, row by row.
    pub fn matrices(&mut self) -> (&[f32], &[f32], &mut [f32]) {
        (&self.a, &self.b, &mut self.c)
    }

    fn product(&mut self) -> Product<'_> {
        Product::new(&self.a, &self.b, &mut self.c, self.n)
    }
}

impl Runs for Instance {
    fn reset(&mut self) {
        self.c.fill(f32::NAN);
    }

    fn serial(&mut self) -> Answer {
        serial(self.product());
        Answer::Product(self.n())
    }

    /// Freivalds' check: C·x must equal A·(B·x) for a random x. The arithmetic is in integers, so a wrong C passes with
    /// a probability of some 2⁻³⁰.
    fn check(&self, answer: &Answer) -> Result<(), String> {
        if *answer != Answer::Product(self.n()) {
            return Err(format!("the answer is {answer}, but it should be a product of order {}", self.n));
        }
        let n = self.n();
        if let Some(at) = self.c.iter().position(|c| c.fract() != 0.0 || c.is_nan()) {
            return Err(format!("element ({}, {}) of the product is {}, not an integer", at / n, at % n, self.c[at]));
        }
        let x: Vec<i64> = (0..n as u64).map(|index| (hash(3, index) >> 34) as i64).collect();
        let abx = times(&self.a, &times(&self.b, &x));
        let cx = times(&self.c, &x);
        match abx.iter().zip(&cx).position(|(right, found)| right != found) {
            None => Ok(()),
            Some(row) => Err(format!("row {row} of the product is wrong")),
        }
    }

    fn tasks(&self, _: &Answer) -> Option<u64> {
        Some(forks(self.n, self.n, self.n))
    }

    fn digest(&self) -> u64 {
        sequence(self.c.iter().map(|c| c.to_bits().into()))
    }

    fn damage(&mut self, at: u64) -> bool {
        let at = at as usize % self.c.len();
        self.c[at] += 1.0;
        true
    }
}

impl Forks for Instance {
    fn fork_join<J: ForkJoin>(&mut self, mut j: J) -> Answer {
        multiply(&mut j, self.product());
        Answer::Product(self.n())
    }
}

/// Multiplies a matrix of integers by a vector.
fn times(matrix: &[f32], x: &[i64]) -> Vec<i64> {
    let dot = |row: &[f32]| row.iter().zip(x).fold(0i64, |sum, (&a, &x)| sum.wrapping_add((a as i64).wrapping_mul(x)));
    matrix.chunks_exact(x.len()).map(dot).collect()
}

/// A task that sets a block of C to the product of blocks of A (m × n) and B (n × p), or adds the product to it.
///
/// Invariant: `a`, `b` and `c` point to the first element of an m × n, an n × p and an m × p block of matrices with
/// rows of `stride`, which live for `'m`. During `'m` the blocks of A and B are only read, and only this value accesses
/// the block of C.
pub struct Product<'m> {
    a: *const f32,
    b: *const f32,
    c: *mut f32,
    m: u32,
    n: u32,
    p: u32,
    stride: u32,
    /// Whether to add to C instead of overwriting it.
    add: bool,
    matrices: PhantomData<(&'m [f32], &'m mut [f32])>,
}

// SAFETY: it is two shared slices and one exclusive slice of numbers, all of which may cross threads.
unsafe impl Send for Product<'_> {}

impl<'m> Product<'m> {
    /// Creates the product of whole n × n matrices.
    ///
    /// ```
    /// use filch_workloads::{Serial, matmul::{Product, multiply}};
    ///
    /// let mut c = [0.0; 4];
    /// multiply(&mut Serial, Product::new(&[1.0, 2.0, 3.0, 4.0], &[1.0, 0.0, 1.0, 1.0], &mut c, 2));
    /// assert_eq!(c, [3.0, 2.0, 7.0, 4.0]);
    /// ```
    pub fn new(a: &'m [f32], b: &'m [f32], c: &'m mut [f32], n: u32) -> Self {
        let len = n as usize * n as usize;
        assert!(a.len() == len && b.len() == len && c.len() == len, "the matrices must be {n} × {n}");
        let (a, b, c) = (a.as_ptr(), b.as_ptr(), c.as_mut_ptr());
        Self { a, b, c, m: n, n, p: n, stride: n, add: false, matrices: PhantomData }
    }

    fn is_leaf(&self) -> bool {
        self.m + self.n + self.p <= LEAF
    }

    /// Splits into the products for the upper and the lower rows of C.
    #[inline(always)]
    fn split_rows(self) -> (Self, Self) {
        let upper = self.m / 2;
        let skip = upper as usize * self.stride as usize;
        // SAFETY: an offset of `upper` ≤ m rows stays inside the blocks of A and C or just past their last row.
        let (a, c) = unsafe { (self.a.add(skip), self.c.add(skip)) };
        let m = self.m - upper;
        // The two blocks of C have no row in common.
        (Self { m: upper, ..self }, Self { a, c, m, ..self })
    }

    /// Splits into the products for the left and the right columns of C.
    #[inline(always)]
    fn split_columns(self) -> (Self, Self) {
        let left = self.p / 2;
        // SAFETY: an offset of `left` ≤ p columns stays inside the first rows of the blocks of B and C or just past
        // them.
        let (b, c) = unsafe { (self.b.add(left as usize), self.c.add(left as usize)) };
        let p = self.p - left;
        // The two blocks of C have no column in common.
        (Self { p: left, ..self }, Self { b, c, p, ..self })
    }

    /// The first half of the sums. This borrow must end before `second_sums`, the second half.
    #[inline(always)]
    fn first_sums(&mut self) -> Product<'_> {
        Product { n: self.n / 2, matrices: PhantomData, ..*self }
    }

    #[inline(always)]
    fn second_sums(self) -> Self {
        let first = self.n / 2;
        // SAFETY: an offset of `first` ≤ n columns of A and rows of B stays inside the blocks or just past them.
        let (a, b) = unsafe { (self.a.add(first as usize), self.b.add(first as usize * self.stride as usize)) };
        Self { a, b, n: self.n - first, add: true, ..self }
    }

    /// The triple loop, over groups of columns of C that fit registers.
    #[inline(never)]
    fn compute(self) {
        const WIDTH: usize = 16;
        let (m, p) = (self.m as usize, self.p as usize);
        for i in 0..m {
            let mut j = 0;
            while j + WIDTH <= p {
                // SAFETY: i < m and j + WIDTH ≤ p.
                unsafe { self.compute_group::<WIDTH>(i, j) };
                j += WIDTH;
            }
            while j < p {
                // SAFETY: i < m and j < p.
                unsafe { self.compute_group::<1>(i, j) };
                j += 1;
            }
        }
    }

    /// Computes elements (i, j) to (i, j + W - 1) of C.
    ///
    /// # Safety
    ///
    /// i < m and j + W ≤ p.
    #[inline(always)]
    unsafe fn compute_group<const W: usize>(&self, i: usize, j: usize) {
        let stride = self.stride as usize;
        // SAFETY: row i < m, columns j to j + W - 1 < p of C, which is ours alone.
        let c = unsafe { &mut *self.c.add(i * stride + j).cast::<[f32; W]>() };
        let mut sums = if self.add { *c } else { [0.0; W] };
        for k in 0..self.n as usize {
            // SAFETY: row i < m and column k < n of A, which nobody writes.
            let a = unsafe { *self.a.add(i * stride + k) };
            // SAFETY: row k < n and columns j to j + W - 1 < p of B, which nobody writes.
            let b = unsafe { &*self.b.add(k * stride + j).cast::<[f32; W]>() };
            for (sum, b) in sums.iter_mut().zip(b) {
                *sum += a * b;
            }
        }
        *c = sums;
    }
}

/// The fork–join program. It borrows the handle because the two halves of the sums use it one after the other.
pub fn multiply<J: ForkJoin>(j: &mut J, mut product: Product<'_>) {
    if product.is_leaf() {
        return product.compute();
    }
    let (first, second) = match Side::longest(product.m, product.n, product.p) {
        Side::Rows => product.split_rows(),
        Side::Columns => product.split_columns(),
        Side::Inner => {
            multiply(j, product.first_sums());
            return multiply(j, product.second_sums());
        }
    };
    j.join(move |mut j| multiply(&mut j, first), move |mut j| multiply(&mut j, second));
}

/// The sequential program.
fn serial(mut product: Product<'_>) {
    if product.is_leaf() {
        return product.compute();
    }
    let (first, second) = match Side::longest(product.m, product.n, product.p) {
        Side::Rows => product.split_rows(),
        Side::Columns => product.split_columns(),
        Side::Inner => {
            serial(product.first_sums());
            return serial(product.second_sums());
        }
    };
    serial(first);
    serial(second);
}
