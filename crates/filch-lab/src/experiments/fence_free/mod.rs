//! Stealing without the owner's fence.

mod fig1;
mod fig10;
mod fig11;
mod fig7;
mod fig8;
mod tab1;

use std::sync::LazyLock;

use filch_protocol::cores;

use crate::experiment::claim::{Claim, Need};
use crate::experiment::{Experiment, Program};
use crate::experiments::two_and;

/// Returns all experiments of this document.
pub(super) fn all() -> Vec<Experiment> {
    vec![
        fig1::experiment(),
        fig7::experiment(),
        fig8::experiment(),
        tab1::experiment(),
        fig10::experiment(),
        fig11::times(),
        fig11::shares(),
    ]
}

/// The eleven programs, in the order of table 1. Loops are halved down to some iterations, as by Cilk.
const PROGRAMS: [[Option<&str>; 3]; 11] = [
    [Some("fib:n=30"), Some("fib:n=32"), Some("fib:n=42")],
    [Some("jacobi:n=512:sweeps=40:grain=8"), Some("jacobi:n=1024:sweeps=50:grain=16"), Some("jacobi:n=1024:grain=16")],
    [Some("quicksort:n=200000"), Some("quicksort:n=1000000"), Some("quicksort:n=100000000")],
    [Some("matmul-temp:n=256:cutoff=32"), Some("matmul-temp:n=512:cutoff=32"), Some("matmul-temp:n=1024:cutoff=32")],
    [Some("integrate:n=200"), Some("integrate:n=500"), Some("integrate:n=10000")],
    [Some("knapsack:items=43"), Some("knapsack:items=46"), Some("knapsack:items=32")],
    [
        Some("cholesky:n=500:nonzeros=2000"),
        Some("cholesky:n=1000:nonzeros=6000"),
        Some("cholesky:n=4000:nonzeros=40000"),
    ],
    [Some("heat:nx=512:ny=256:steps=50"), Some("heat:nx=1024:ny=512"), Some("heat:nx=4096:ny=1024")],
    [Some("lud:n=256"), Some("lud:n=512"), Some("lud:n=1024")],
    [Some("strassen:n=256"), Some("strassen:n=512"), Some("strassen:n=4096")],
    [Some("fft:n=131072:grain=leaves"), Some("fft:n=524288:grain=leaves"), Some("fft:n=67108864:grain=leaves")],
];

fn programs() -> [Program; 11] {
    PROGRAMS.map(Program::sized)
}

/// Those whose tasks are a few instructions.
const FINE: &[&str] = &["fib", "integrate", "knapsack"];
/// Those whose tasks take microseconds.
const COARSE: &[&str] = &["jacobi", "quicksort", "matmul-temp", "heat", "lud", "strassen", "fft"];

/// The numbers of workers of the paper's programs, each with a processor of its own, on a machine with so many cores
/// and processors.
#[derive(Debug, PartialEq, Eq)]
struct Threads {
    /// As many as there are cores, up to the paper's number, and at least two.
    one_on_a_core: usize,
    /// Twice as many, as far as the processors reach; `None` if no two share a core.
    two_on_a_core: Option<usize>,
}

/// As many cores and processors as this machine has. A virtual machine may not say which share a core.
static HERE: LazyLock<(usize, usize)> = LazyLock::new(|| (num_cpus::get_physical().min(cores()), cores()));

impl Threads {
    /// Those of this machine; `most` is the number of cores of the paper's.
    fn here(most: usize) -> Self {
        Self::of(*HERE, most)
    }

    fn of((cores, processors): (usize, usize), most: usize) -> Self {
        let one_on_a_core = cores.clamp(2, most);
        let both = processors.min(2 * one_on_a_core);
        Self { one_on_a_core, two_on_a_core: (both > one_on_a_core && processors > cores).then_some(both) }
    }

    /// Two workers, one on each core, and two on each.
    fn all(&self) -> Vec<usize> {
        two_and(self.one_on_a_core).into_iter().chain(self.two_on_a_core).collect()
    }

    /// Restricts a claim to workers of which two share each core.
    fn on_shared_cores(&self, claim: Claim) -> Claim {
        match self.two_on_a_core {
            Some(both) => claim.on(both),
            None => claim.needs(Need::Else("the system does not say that processors share a core")),
        }
        .by_machine()
    }

    /// Restricts a claim to four workers or more, each on a core of its own.
    fn on_four_cores(&self, claim: Claim) -> Claim {
        claim.on(self.one_on_a_core.max(4)).needs(Need::Processors(4)).by_machine()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn workers_have_a_core_each_and_then_two_share_one() {
        let all = |machine, most| Threads::of(machine, most).all();
        assert_eq!(all((2, 2), 10), [2]);
        assert_eq!(all((8, 8), 10), [2, 8]);
        assert_eq!(all((4, 8), 10), [2, 4, 8]);
        assert_eq!(all((16, 32), 10), [2, 10, 20]);
        assert_eq!(all((16, 32), 4), [2, 4, 8]);
        // A process that may use some of the processors.
        assert_eq!(all((16, 24), 10), [2, 10, 20]);
        assert_eq!(all((1, 2), 10), [2]);
    }
}
