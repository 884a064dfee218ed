//! tokio's threads for blocking calls: what people use who have a runtime and do not know better.
//!
//! A fork gives its second branch to such a thread, with half of the threads that its own branch may use; with one,
//! both branches are calls. So as many threads compute as there are workers, but none helps another that has more to
//! do.

use std::num::NonZero;
use std::time::Duration;

use filch_workloads::{Answer, ForkJoin, Instance, Program, forks_by_halves};
use tokio::runtime::{Builder, Runtime};

use crate::beside::{Job, beside};
use crate::peer::{Failure, Rival};

pub(crate) struct Tokio {
    runtime: Runtime,
    workers: usize,
}

impl Tokio {
    /// Starts a runtime, but no thread: the first forks start them.
    pub(crate) fn start(workers: NonZero<usize>, stack_bytes: usize) -> Result<Self, Failure> {
        let runtime = Builder::new_current_thread()
            .max_blocking_threads(workers.get())
            .thread_stack_size(stack_bytes)
            // So that they live from one run to the next.
            .thread_keep_alive(Duration::from_secs(3600))
            .build()?;
        Ok(Self { runtime, workers: workers.get() })
    }
}

impl Rival for Tokio {
    fn run(&self, instance: &mut Instance) -> Answer {
        instance.in_calls(|instance| instance.run(Handle { runtime: &self.runtime, threads: self.workers }))
    }
}

/// The runtime, and the number of threads that a branch may use, its own included.
#[derive(Clone, Copy)]
struct Handle<'r> {
    runtime: &'r Runtime,
    threads: usize,
}

impl ForkJoin for Handle<'_> {
    type Branch<'b> = Self;

    fn join<A, B, RA, RB>(&mut self, a: A, b: B) -> (RA, RB)
    where
        A: FnOnce(Self) -> RA + Send,
        B: FnOnce(Self) -> RB + Send,
        RA: Send,
        RB: Send,
    {
        let with = |threads| Self { threads, ..*self };
        if self.threads < 2 {
            return (a(with(1)), b(with(1)));
        }
        let (one, other) = (with(self.threads.div_ceil(2)), with(self.threads / 2));
        let start = |job: Job<()>| drop(self.runtime.spawn_blocking(move || job(&mut ())));
        beside(start, || a(one), move |()| b(other))
    }

    forks_by_halves!();
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use super::*;

    /// Returns the message of the panic that leaves a fork of two leaves of a tree.
    fn panics(handle: Handle<'_>, first: bool, second: bool) -> &'static str {
        let mut ended = [false; 2];
        let [one, other] = &mut ended;
        let fork = || {
            let mut handle = handle;
            handle.join(
                |mut j| {
                    j.join(|_| *one = true, |_| assert!(!first, "first"));
                },
                |mut j| {
                    j.join(|_| assert!(!second, "second"), |_| *other = true);
                },
            );
        };
        let panic = catch_unwind(AssertUnwindSafe(fork)).expect_err("a branch panics");
        assert!(ended[0] && (second || ended[1]), "{ended:?}");
        panic.downcast_ref::<&str>().expect("a constant message")
    }

    #[test]
    fn a_panic_waits_for_the_other_branch() {
        for workers in [2, 3, 8] {
            let tokio = Tokio::start(NonZero::new(workers).expect("not zero"), 1 << 20).expect("the runtime starts");
            let handle = Handle { runtime: &tokio.runtime, threads: workers };
            for _ in 0..20 {
                assert_eq!(panics(handle, true, false), "first");
                assert_eq!(panics(handle, false, true), "second");
                assert_eq!(panics(handle, true, true), "first");
            }
        }
    }
}
