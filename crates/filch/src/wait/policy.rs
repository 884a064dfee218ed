//! Settings of those who have nothing to do: whom they steal from, and whether they sleep.
//!
//! What must always hold: they change when and where a worker looks, never what it may run.

use std::fmt;

/// Whom a worker tries to steal from first when it may steal from anybody. A setting of the [builder](crate::Builder::victims), of
/// [worklists](crate::worklist::Worklist::victims) and [jobs](crate::jobs::Jobs::victims), consulted only when there is nothing else to do.
///
/// ```
/// use filch::{ThreadPool, Victims};
///
/// for victims in Victims::EVERY {
///     let pool = ThreadPool::builder().workers(2).victims(victims).build()?;
///     assert_eq!(pool.run(|mut w| w.join(|_| 1, |_| 2)), (1, 2));
///     println!("{victims}");
/// }
/// # Ok::<(), filch::BuildError>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Victims {
    /// Anybody, and then the others by their numbers. The default.
    #[default]
    Random,
    /// Whomever it last stole from, and then as [`Random`](Self::Random): where one task was there are likely more, but all who think so come
    /// to the same few victims.
    Last,
    /// The next worker by number, and then the others in turn: neighbours share a cache where workers are [pinned](crate::Builder::pin).
    Next,
}

impl Victims {
    /// All policies, the default first.
    pub const EVERY: [Self; 3] = [Self::Random, Self::Last, Self::Next];

    /// All of so many workers, in the order in which worker `index` looks for work among them, itself included. `last`: whom it last stole
    /// from. `random`: any of them.
    pub(crate) fn order(self, workers: usize, index: usize, last: usize, random: usize) -> impl Iterator<Item = usize> {
        let (first, start) = match self {
            Self::Random => (None, random),
            Self::Last => (Some(last), random),
            Self::Next => (None, index + 1),
        };
        let in_turn = (start..workers).chain(0..start);
        first.into_iter().chain(in_turn.filter(move |&victim| Some(victim) != first))
    }

    /// The name on command lines and in records.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Random => "random",
            Self::Last => "last",
            Self::Next => "next",
        }
    }
}

impl fmt::Display for Victims {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// What a worker does that has looked for work for a while and found none. A setting of the [builder](crate::Builder::idle), of
/// [worklists](crate::worklist::Worklist::idle) and [jobs](crate::jobs::Jobs::idle).
///
/// ```
/// use filch::{Idle, ThreadPool};
///
/// let pool = ThreadPool::builder().workers(2).idle(Idle::Spin).build()?;
/// assert_eq!(pool.run(|mut w| w.join(|_| 1, |_| 2)), (1, 2));
/// assert_eq!(pool.stats().total().parks, 0);
/// # Ok::<(), filch::BuildError>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Idle {
    /// It sleeps until somebody has work for it; on a worklist or among jobs, where nobody wakes anybody, for a tenth of a millisecond at a
    /// time. The default.
    #[default]
    Sleep,
    /// It goes on looking, and gives its processor away now and then: as the papers' schedulers do, whose thieves never sleep. Nobody has to
    /// be woken; but a pool without work keeps as many processors busy as it has workers.
    Spin,
}

impl Idle {
    /// Both, the default first.
    pub const EVERY: [Self; 2] = [Self::Sleep, Self::Spin];

    /// The name on command lines and in records.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sleep => "sleep",
            Self::Spin => "spin",
        }
    }
}

impl fmt::Display for Idle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everybody_is_looked_at_once_in_the_order_of_the_policy() {
        let order =
            |victims: Victims, index, last, random| -> Vec<usize> { victims.order(5, index, last, random).collect() };
        assert_eq!(order(Victims::Random, 1, 4, 3), [3, 4, 0, 1, 2]);
        assert_eq!(order(Victims::Last, 1, 4, 3), [4, 3, 0, 1, 2]);
        assert_eq!(order(Victims::Last, 1, 3, 3), [3, 4, 0, 1, 2]);
        assert_eq!(order(Victims::Next, 1, 4, 3), [2, 3, 4, 0, 1]);
        assert_eq!(order(Victims::Next, 4, 4, 3), [0, 1, 2, 3, 4]);
        for victims in Victims::EVERY {
            assert_eq!(victims.order(1, 0, 0, 0).collect::<Vec<_>>(), [0]);
        }
    }
}
