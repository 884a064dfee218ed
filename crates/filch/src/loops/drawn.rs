//! Loops over sources that draw their items bit by bit, such as [bridges](crate::iter::bridge).
//!
//! Invariant: one worker at a time has the source, and draws from it.

use filch_memory::{Atomic, Memory, Native, Ordering};

use super::forker::Lent;
use super::{Divisible, Forker, Loop, Pace, divide};

/// Runs a loop over a source that draws its items bit by bit. A thief may draw the next batch while this one is
/// divided; so nobody waits for a lock, and a worker's stack holds two batches at most.
pub(super) fn feed<K, D, T, Z, F, R>(mut forker: K, mut source: D, mut sum: T, plan: &Loop<'_, Z, F, R>) -> T
where
    K: Forker,
    D: Divisible,
    T: Send,
    Z: Fn() -> T + Sync,
    F: for<'b> Fn(K::Branch<'b>, T, D) -> T + Sync,
    R: Fn(T, T) -> T + Sync,
{
    let mut batch = source.draw(&|| true);
    while let Some(items) = batch {
        let idles = Raised::new();
        let (below, lent) = forker.lend(
            |forker| {
                let _raised = idles.at_the_end();
                divide(forker, items, sum, plan, &mut Pace::start())
            },
            source,
            &|_, mut source: D| {
                let batch = source.draw(&|| idles.is_raised());
                (source, batch)
            },
        );
        sum = below;
        (source, batch) = match lent {
            Lent::Done(drawn) => drawn,
            Lent::Back(mut source) => {
                let batch = source.draw(&|| true);
                (source, batch)
            }
        };
    }
    sum
}

/// A flag that is raised once.
struct Raised(<Native as Memory>::AtomicBool);

impl Raised {
    fn new() -> Self {
        Self(Atomic::new(false))
    }

    fn is_raised(&self) -> bool {
        // Relaxed: a hint.
        self.0.load(Ordering::Relaxed)
    }

    /// Raises the flag when the guard is dropped.
    fn at_the_end(&self) -> impl Drop {
        struct AtTheEnd<'r>(&'r Raised);

        impl Drop for AtTheEnd<'_> {
            fn drop(&mut self) {
                // Relaxed: a hint.
                self.0.0.store(true, Ordering::Relaxed);
            }
        }

        AtTheEnd(self)
    }
}
