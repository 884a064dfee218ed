//! Fibonacci numbers by naive recursion: almost nothing but forks, so the time per fork can be read off.
//!
//! The result is `n` if `n < 2`; otherwise the program forks `n-1` and `n-2` and adds their results. There are
//! F(n+1) - 1 forks.

use filch_catalogue::ParamError;
use filch_catalogue::programs::fib::{Params, Unrolled, forks, number};

use crate::ForkJoin;
use crate::answer::{Answer, expect};
use crate::spec::{Forks, Prepare, Runs};

impl Prepare for Params {
    type Instance = Instance;

    fn prepare(&self) -> Result<Instance, ParamError> {
        Ok(Instance { params: *self })
    }
}

impl Prepare for Unrolled {
    type Instance = UnrolledInstance;

    fn prepare(&self) -> Result<UnrolledInstance, ParamError> {
        Ok(UnrolledInstance { n: self.n })
    }
}

/// The program; it needs no memory.
#[derive(Debug)]
pub struct Instance {
    params: Params,
}

impl Instance {
    /// The index of the number.
    pub fn n(&self) -> u64 {
        self.params.n
    }

    /// The largest argument that is computed without forks, by recursion alone.
    pub fn cutoff(&self) -> u64 {
        self.params.cutoff
    }
}

impl Runs for Instance {
    fn serial(&mut self) -> Answer {
        Answer::Number(serial(self.params.n))
    }

    fn check(&self, answer: &Answer) -> Result<(), String> {
        expect(answer, &Answer::Number(number(self.params.n)))
    }

    fn tasks(&self, _: &Answer) -> Option<u64> {
        Some(forks(self.params.n, self.params.cutoff))
    }
}

impl Forks for Instance {
    fn fork_join<J: ForkJoin>(&mut self, j: J) -> Answer {
        let Params { n, cutoff } = self.params;
        Answer::Number(if cutoff < 2 { fib(j, n) } else { fib_above(j, n, cutoff) })
    }
}

/// The unrolled program; it needs no memory.
#[derive(Debug)]
pub struct UnrolledInstance {
    n: u64,
}

impl Runs for UnrolledInstance {
    fn serial(&mut self) -> Answer {
        Answer::Number(serial(self.n))
    }

    fn check(&self, answer: &Answer) -> Result<(), String> {
        expect(answer, &Answer::Number(number(self.n)))
    }

    fn tasks(&self, _: &Answer) -> Option<u64> {
        Some(forks(self.n, 0))
    }
}

impl Forks for UnrolledInstance {
    fn fork_join<J: ForkJoin>(&mut self, j: J) -> Answer {
        Answer::Number(fib_unrolled(j, self.n))
    }
}

/// The fork–join program.
///
/// ```
/// use filch_workloads::{Serial, fib::fib};
///
/// assert_eq!(fib(Serial, 20), 6765);
/// ```
#[inline]
pub fn fib<J: ForkJoin>(mut j: J, n: u64) -> u64 {
    if n < 2 {
        return n;
    }
    let (a, b) = j.join(move |j| fib(j, n - 1), move |j| fib(j, n - 2));
    a + b
}

/// `fib` with a cut-off. A separate function, so that `fib` need not compare.
fn fib_above<J: ForkJoin>(mut j: J, n: u64, cutoff: u64) -> u64 {
    if n <= cutoff {
        return sequential(n);
    }
    let (a, b) = j.join(move |j| fib_above(j, n - 1, cutoff), move |j| fib_above(j, n - 2, cutoff));
    a + b
}

/// `fib` with three levels of the recursion in one function, and as many forks.
#[filch::inline_recursion(3)]
pub fn fib_unrolled<J: ForkJoin>(mut j: J, n: u64) -> u64 {
    if n < 2 {
        return n;
    }
    let (a, b) = j.join(move |j| fib_unrolled(j, n - 1), move |j| fib_unrolled(j, n - 2));
    a + b
}

/// The sequential program, for arguments at or below a cut-off.
#[inline(never)]
pub fn sequential(n: u64) -> u64 {
    serial(n)
}

/// The sequential program: each call makes two real calls. No generic function calls it, so it is local to this crate
/// and calls itself directly, not through the table of global symbols.
#[inline(never)]
fn serial(n: u64) -> u64 {
    if n < 2 {
        return n;
    }
    serial(n - 1) + opaque(serial(n - 2))
}

/// Keeps the compiler from turning the last call into a loop, which would halve the number of calls. It has no
/// instructions.
#[inline(always)]
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
fn opaque(mut x: u64) -> u64 {
    // SAFETY: the block has no instructions; it leaves `x` unchanged.
    unsafe { std::arch::asm!("/* {0} */", inout(reg) x, options(pure, nomem, nostack, preserves_flags)) };
    x
}

#[inline(always)]
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn opaque(x: u64) -> u64 {
    std::hint::black_box(x)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_forks_match_the_table() {
        let table = [
            (10, 55, 88),
            (20, 6765, 10_945),
            (25, 75_025, 121_392),
            (40, 102_334_155, 165_580_140),
            (48, 4_807_526_976, 7_778_742_048),
            (50, 12_586_269_025, 20_365_011_073),
        ];
        for (n, value, spawns) in table {
            assert_eq!((number(n), forks(n, 0)), (value, spawns), "n = {n}");
        }
        assert_eq!((number(0), number(1), forks(0, 0), forks(1, 0), forks(2, 0)), (0, 1, 0, 0, 1));
        assert_eq!(forks(20, 18), 2);
    }
}
