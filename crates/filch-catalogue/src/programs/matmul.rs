//! Multiplication of square matrices by recursion on the longest side: its parameters and forks.

use super::{ParamError, ParamSpec, Settings, Spec, spec};

/// Up to this order all sums are integers that single precision represents: 4 n < 2²⁴.
const LARGEST: u64 = 1 << 20;

/// The largest sum of the sides of a leaf.
pub const LEAF: u32 = 64;

/// The size of the matrices.
#[derive(Clone, Copy, Debug)]
pub struct Params {
    pub n: u32,
}

impl spec::Params for Params {
    const SPEC: Spec = Spec {
        name: "matmul",
        summary: "product of two n × n matrices by recursion on the longest side",
        source: "Lace (van Dijk, van de Pol, 2014); Cilk",
        params: &[ParamSpec { name: "n", help: "rows and columns", default: "1024" }],
        quick: &[("n", "512")],
        compare: &[("n", "1024")],
        paper: &[("n", "4096")],
    };

    fn parse(settings: &Settings<'_>) -> Result<Self, ParamError> {
        let n = settings.whole("n", 1, LARGEST, ", beyond which single precision is not exact")?;
        Ok(Self { n: n as u32 })
    }

    fn values(&self) -> Vec<String> {
        vec![self.n.to_string()]
    }

    fn tasks(&self) -> Option<u64> {
        Some(forks(self.n, self.n, self.n))
    }

    fn memory_bytes(&self) -> u64 {
        3 * 4 * u64::from(self.n) * u64::from(self.n)
    }
}

/// The forks of a product, by the same recursion.
pub fn forks(m: u32, n: u32, p: u32) -> u64 {
    if m + n + p <= LEAF {
        return 0;
    }
    let halves = |x: u32| (x / 2, x - x / 2);
    match Side::longest(m, n, p) {
        Side::Rows => {
            let (first, second) = halves(m);
            1 + both(first, second, |m| forks(m, n, p))
        }
        Side::Inner => {
            let (first, second) = halves(n);
            both(first, second, |n| forks(m, n, p))
        }
        Side::Columns => {
            let (first, second) = halves(p);
            1 + both(first, second, |p| forks(m, n, p))
        }
    }
}

/// The sum for both halves, which are mostly equal and differ by at most one.
fn both(first: u32, second: u32, forks: impl Fn(u32) -> u64) -> u64 {
    if first == second { 2 * forks(first) } else { forks(first) + forks(second) }
}

pub enum Side {
    Rows,
    Inner,
    Columns,
}

impl Side {
    /// The longest side; of equal ones the first in the order rows, inner, columns.
    #[inline(always)]
    pub fn longest(m: u32, n: u32, p: u32) -> Self {
        if m >= n && m >= p {
            Self::Rows
        } else if n >= m && n >= p {
            Self::Inner
        } else {
            Self::Columns
        }
    }
}
