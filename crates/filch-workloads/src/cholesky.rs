//! Cholesky decomposition of a sparse matrix stored as a tree of quadrants.
//!
//! A node of the tree has four quadrants. A missing quadrant is 0. Leaves are blocks of 16 × 16. The tree keeps only
//! the elements on and below the diagonal. The program decomposes the upper left quadrant and uses its L to solve for
//! the lower left one, whose rows are solved in parallel. It subtracts the product of the lower left quadrant with its
//! own transpose from the lower right one; that computes all quadrants of the result in parallel and creates missing
//! ones. Then it decomposes the lower right quadrant.
//!
//! What it stresses: a sequence of small irregular task trees, with tasks down to a microsecond. Parallelism is scarce
//! while the matrix is sparse and grows as it fills. Tasks allocate blocks. The span has the Θ(n) leaves on the
//! diagonal, and the dependent steps between them.
//!
//! The pattern is random and symmetric, and the diagonal dominates, so the matrix is positive definite. Any schedule
//! computes every element by the same operations, so the result equals that of the sequential program, which is the
//! same recursion, bit for bit. The check compares L·(Lᵀ·x) with A·x for a random x.

use filch_catalogue::ParamError;
use filch_catalogue::programs::cholesky::{LEAF, Params};
use filch_catalogue::programs::hash;

use crate::answer::{Answer, expect};
use crate::checks::sequence;
use crate::inputs::uniform;
use crate::spec::{Forks, Prepare, Runs};
use crate::{ForkJoin, Serial};

impl Prepare for Params {
    type Instance = Instance;

    fn prepare(&self) -> Result<Instance, ParamError> {
        let order = LEAF * self.n.div_ceil(LEAF).next_power_of_two();
        let mut input = Tree::new(order);
        let mut diagonal = vec![1.0; order];
        for index in 0..self.nonzeros as u64 {
            let draw = |kind| (hash(self.seed, 3 * index + kind) % self.n as u64) as usize;
            let (row, column) = (draw(0).max(draw(1)), draw(0).min(draw(1)));
            if row != column {
                let value = 2.0 * uniform(self.seed, 3 * index + 2) - 1.0;
                input.add(order, row, column, value);
                diagonal[row] += value.abs();
                diagonal[column] += value.abs();
            }
        }
        for (at, &value) in diagonal.iter().enumerate() {
            input.add(order, at, at, value);
        }
        Ok(Instance { n: self.n, order, matrix: Tree::new(order), input })
    }
}

type Block = Box<[f64; LEAF * LEAF]>;

/// A matrix other than 0.
#[derive(Clone, Debug)]
enum Tree {
    Leaf(Block),
    /// Upper left, upper right, lower left, lower right.
    Quadrants(Box<[Option<Tree>; 4]>),
}

use Tree::{Leaf, Quadrants};

impl Tree {
    /// Creates an empty matrix.
    fn new(order: usize) -> Self {
        if order == LEAF { Leaf(Box::new([0.0; LEAF * LEAF])) } else { Quadrants(Box::default()) }
    }

    /// Creates an empty matrix with the structure of `other`.
    fn like(other: &Self) -> Self {
        match other {
            Leaf(_) => Self::new(LEAF),
            Quadrants(_) => Quadrants(Box::default()),
        }
    }

    fn add(&mut self, order: usize, row: usize, column: usize, value: f64) {
        match self {
            Leaf(block) => block[row * LEAF + column] += value,
            Quadrants(quadrants) => {
                let half = order / 2;
                let quadrant = &mut quadrants[2 * (row / half) + column / half];
                quadrant.get_or_insert_with(|| Self::new(half)).add(half, row % half, column % half, value);
            }
        }
    }

    /// Visits all blocks, each with the place of its first element.
    fn visit(&self, order: usize, (row, column): (usize, usize), see: &mut impl FnMut(usize, usize, &Block)) {
        match self {
            Leaf(block) => see(row, column, block),
            Quadrants(quadrants) => {
                let half = order / 2;
                for (which, quadrant) in quadrants.iter().enumerate() {
                    let place = (row + which / 2 * half, column + which % 2 * half);
                    if let Some(quadrant) = quadrant {
                        quadrant.visit(half, place, see);
                    }
                }
            }
        }
    }

    /// Visits all elements on and below the diagonal.
    fn elements(&self, order: usize, mut see: impl FnMut(usize, usize, f64)) {
        self.visit(order, (0, 0), &mut |top, left, block| {
            for (at, &value) in block.iter().enumerate() {
                let (row, column) = (top + at / LEAF, left + at % LEAF);
                if row >= column {
                    see(row, column, value);
                }
            }
        });
    }

    /// Changes an element of block `*at`.
    fn damage(&mut self, at: &mut u64) -> bool {
        match self {
            Leaf(block) if *at == 0 => {
                block[0] += 1e-3;
                true
            }
            Leaf(_) => {
                *at -= 1;
                false
            }
            Quadrants(quadrants) => quadrants.iter_mut().flatten().any(|quadrant| quadrant.damage(at)),
        }
    }
}

/// The program, its input, and the matrix being decomposed.
#[derive(Debug)]
pub struct Instance {
    n: usize,
    order: usize,
    input: Tree,
    matrix: Tree,
}

impl Instance {
    fn blocks(&self) -> u64 {
        let mut blocks = 0;
        self.matrix.visit(self.order, (0, 0), &mut |_, _, _| blocks += 1);
        blocks
    }
}

impl Runs for Instance {
    fn reset(&mut self) {
        self.matrix = self.input.clone();
    }

    fn serial(&mut self) -> Answer {
        decompose(&mut Serial, &mut self.matrix);
        Answer::Numbers(self.n * self.n)
    }

    fn check(&self, answer: &Answer) -> Result<(), String> {
        expect(answer, &Answer::Numbers(self.n * self.n))?;
        // Far from 0, so that every wrong element shows.
        let x: Vec<f64> = (0..self.order as u64).map(|index| 1.0 + uniform(2, index)).collect();
        let [mut right, mut ltx, mut lltx] = [(); 3].map(|()| vec![0.0; self.order]);
        self.input.elements(self.order, |row, column, a| {
            right[row] += a * x[column];
            if row != column {
                right[column] += a * x[row];
            }
        });
        self.matrix.elements(self.order, |row, column, l| ltx[column] += l * x[row]);
        self.matrix.elements(self.order, |row, column, l| lltx[row] += l * ltx[column]);
        let wrong =
            |(found, right): (&f64, &f64)| (found - right).abs() > 1e-9 * right.abs().max(1.0) || found.is_nan();
        match lltx.iter().zip(&right).position(wrong) {
            None => Ok(()),
            Some(row) => Err(format!("row {row} of L·Lᵀ·x is {}, but it should be {}", lltx[row], right[row])),
        }
    }

    fn tasks(&self, _: &Answer) -> Option<u64> {
        None
    }

    fn digest(&self) -> u64 {
        let mut digest = 0;
        self.matrix.visit(self.order, (0, 0), &mut |row, column, block| {
            let words = block.iter().map(|value| value.to_bits());
            digest = sequence([digest, row as u64, column as u64].into_iter().chain(words));
        });
        digest
    }

    fn damage(&mut self, at: u64) -> bool {
        let mut block = at % self.blocks();
        self.matrix.damage(&mut block)
    }
}

impl Forks for Instance {
    fn fork_join<J: ForkJoin>(&mut self, mut j: J) -> Answer {
        decompose(&mut j, &mut self.matrix);
        Answer::Numbers(self.n * self.n)
    }
}

/// Replaces A by L, A = L·Lᵀ.
fn decompose<J: ForkJoin>(j: &mut J, a: &mut Tree) {
    match a {
        Leaf(block) => decompose_block(block),
        Quadrants(quadrants) => {
            let [a00, _, a10, a11] = &mut **quadrants;
            let a00 = a00.as_mut().expect("no element of the diagonal is 0");
            decompose(j, a00);
            if let Some(a10) = a10 {
                solve(j, a10, a00);
                subtract(j, a11, a10, a10, true);
            }
            decompose(j, a11.as_mut().expect("no element of the diagonal is 0"));
        }
    }
}

/// Replaces M by X, X·Lᵀ = M.
fn solve<J: ForkJoin>(j: &mut J, m: &mut Tree, l: &Tree) {
    match (m, l) {
        (Leaf(m), Leaf(l)) => solve_block(m, l),
        (Quadrants(m), Quadrants(l)) => {
            let [m00, m01, m10, m11] = &mut **m;
            j.join(move |mut j| solve_row(&mut j, m00, m01, l), move |mut j| solve_row(&mut j, m10, m11, l));
        }
        _ => unreachable!("both are of the same order"),
    }
}

fn solve_row<J: ForkJoin>(j: &mut J, left: &mut Option<Tree>, right: &mut Option<Tree>, l: &[Option<Tree>; 4]) {
    let [l00, _, l10, l11] = l;
    if let (Some(left), Some(l00)) = (&mut *left, l00) {
        solve(j, left, l00);
        if let Some(l10) = l10 {
            subtract(j, right, left, l10, false);
        }
    }
    if let (Some(right), Some(l11)) = (right, l11) {
        solve(j, right, l11);
    }
}

/// Subtracts A·Bᵀ from C; if `lower`, only the part on and below the diagonal.
fn subtract<J: ForkJoin>(j: &mut J, c: &mut Option<Tree>, a: &Tree, b: &Tree, lower: bool) {
    let c = c.get_or_insert_with(|| Tree::like(a));
    match (c, a, b) {
        (Leaf(c), Leaf(a), Leaf(b)) => subtract_block(c, a, b),
        (Quadrants(c), Quadrants(a), Quadrants(b)) => {
            let [c00, c01, c10, c11] = &mut **c;
            for k in 0..2 {
                let ([a0, a1], [b0, b1]) = ([&a[k], &a[2 + k]], [&b[k], &b[2 + k]]);
                let upper = if lower { &None } else { a0 };
                let left = [Part::of(c00, a0, b0, lower), Part::of(c01, upper, b1, false)];
                let right = [Part::of(c10, a1, b0, false), Part::of(c11, a1, b1, lower)];
                fork_parts(j, left, right);
            }
        }
        _ => unreachable!("all are of the same order"),
    }
}

/// A product to subtract.
struct Part<'t> {
    c: &'t mut Option<Tree>,
    a: &'t Tree,
    b: &'t Tree,
    lower: bool,
}

impl<'t> Part<'t> {
    /// Returns `None` if a factor is 0.
    fn of(c: &'t mut Option<Tree>, a: &'t Option<Tree>, b: &'t Option<Tree>, lower: bool) -> Option<Self> {
        Some(Self { c, a: a.as_ref()?, b: b.as_ref()?, lower })
    }

    fn run<J: ForkJoin>(self, j: &mut J) {
        subtract(j, self.c, self.a, self.b, self.lower);
    }
}

/// Runs up to four parts. Forks only if both sides have one.
fn fork_parts<J: ForkJoin>(j: &mut J, left: [Option<Part<'_>>; 2], right: [Option<Part<'_>>; 2]) {
    if left.iter().all(Option::is_none) {
        return fork_pair(j, right);
    }
    if right.iter().all(Option::is_none) {
        return fork_pair(j, left);
    }
    j.join(move |mut j| fork_pair(&mut j, left), move |mut j| fork_pair(&mut j, right));
}

fn fork_pair<J: ForkJoin>(j: &mut J, pair: [Option<Part<'_>>; 2]) {
    match pair {
        [Some(a), Some(b)] => {
            j.join(move |mut j| a.run(&mut j), move |mut j| b.run(&mut j));
        }
        [Some(part), None] | [None, Some(part)] => part.run(j),
        [None, None] => {}
    }
}

#[inline(never)]
fn decompose_block(a: &mut Block) {
    for k in 0..LEAF {
        let pivot = a[k * LEAF + k].sqrt();
        for row in k..LEAF {
            a[row * LEAF + k] /= pivot;
        }
        a[k * LEAF + k] = pivot;
        for row in k + 1..LEAF {
            for column in k + 1..=row {
                a[row * LEAF + column] -= a[row * LEAF + k] * a[column * LEAF + k];
            }
        }
    }
}

#[inline(never)]
fn solve_block(m: &mut Block, l: &Block) {
    for row in m.as_chunks_mut::<LEAF>().0 {
        for k in 0..LEAF {
            row[k] /= l[k * LEAF + k];
            for column in k + 1..LEAF {
                row[column] -= row[k] * l[column * LEAF + k];
            }
        }
    }
}

#[inline(never)]
fn subtract_block(c: &mut Block, a: &Block, b: &Block) {
    let mut transpose = [[0.0; LEAF]; LEAF];
    for (column, row) in b.as_chunks::<LEAF>().0.iter().enumerate() {
        for (k, &value) in row.iter().enumerate() {
            transpose[k][column] = value;
        }
    }
    for (c, a) in c.as_chunks_mut::<LEAF>().0.iter_mut().zip(a.as_chunks::<LEAF>().0) {
        for (a, b) in a.iter().zip(&transpose) {
            for (c, b) in c.iter_mut().zip(b) {
                *c -= a * b;
            }
        }
    }
}
