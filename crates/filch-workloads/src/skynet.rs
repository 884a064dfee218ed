//! Skynet: a tree of tasks by tens, which adds up the numbers of its leaves.
//!
//! A leaf does nothing, and a node forks all ten children, so the time is that of forks of many children. It is a
//! program of the public comparison of C++ runtimes, with 10⁸ leaves.

use filch_catalogue::ParamError;
use filch_catalogue::programs::skynet::{Params, Unrolled, forks, sum};

use crate::ForkJoin;
use crate::answer::{Answer, expect};
use crate::spec::{Forks, Prepare, Runs};

impl Prepare for Params {
    type Instance = Instance;

    fn prepare(&self) -> Result<Instance, ParamError> {
        Ok(Instance { levels: self.levels })
    }
}

impl Prepare for Unrolled {
    type Instance = UnrolledInstance;

    fn prepare(&self) -> Result<UnrolledInstance, ParamError> {
        Ok(UnrolledInstance { levels: self.levels })
    }
}

/// The program; it needs no memory.
#[derive(Debug)]
pub struct Instance {
    levels: u32,
}

/// The unrolled program; it needs no memory.
#[derive(Debug)]
pub struct UnrolledInstance {
    levels: u32,
}

macro_rules! runs {
    ($instance:ident, $function:ident) => {
        impl Runs for $instance {
            fn serial(&mut self) -> Answer {
                Answer::Number(serial(0, self.levels))
            }

            fn check(&self, answer: &Answer) -> Result<(), String> {
                expect(answer, &Answer::Number(sum(self.levels)))
            }

            fn tasks(&self, _: &Answer) -> Option<u64> {
                Some(forks(self.levels))
            }
        }

        impl Forks for $instance {
            fn fork_join<J: ForkJoin>(&mut self, j: J) -> Answer {
                Answer::Number($function(j, 0, self.levels))
            }
        }
    };
}

runs!(Instance, skynet);
runs!(UnrolledInstance, skynet_unrolled);

/// The fork–join program: the sum of the numbers of `10^levels` leaves from `first`.
///
/// ```
/// use filch_workloads::{Serial, skynet::skynet};
///
/// assert_eq!(skynet(Serial, 0, 3), 999 * 1000 / 2);
/// ```
pub fn skynet<J: ForkJoin>(mut j: J, first: u64, levels: u32) -> u64 {
    let Some(below) = levels.checked_sub(1) else { return first };
    let step = 10u64.pow(below);
    j.fork_all(0..10, move |j, index| skynet(j, first + step * index, below), 0, |sum, more| sum + more)
}

/// `skynet` with two levels of the recursion in one function, and as many forks.
#[filch::inline_recursion(2)]
pub fn skynet_unrolled<J: ForkJoin>(mut j: J, first: u64, levels: u32) -> u64 {
    let Some(below) = levels.checked_sub(1) else { return first };
    let step = 10u64.pow(below);
    j.fork_all(0..10, move |j, index| skynet_unrolled(j, first + step * index, below), 0, |sum, more| sum + more)
}

/// The sequential program.
#[inline(never)]
fn serial(first: u64, levels: u32) -> u64 {
    let Some(below) = levels.checked_sub(1) else { return first };
    let step = 10u64.pow(below);
    (0..10).fold(0, |sum, index| sum + serial(first + step * index, below))
}
