//! Policies of workers without work: what they may run while they wait, which victims they try, and whether they sleep.
//!
//! Invariant: only [`Wait`] changes what a worker may run; the others change when and where it looks.

use std::fmt;
use std::str::FromStr;

/// What a worker may run while it waits for a stolen task. A setting of the builder, consulted only by workers without
/// work.
///
/// ```
/// use filch::{ThreadPool, Wait};
///
/// for wait in Wait::EVERY {
///     let pool = ThreadPool::builder().workers(2).wait(wait).build()?;
///     assert_eq!(pool.run(|mut w| w.join(|_| 1, |_| 2)), (1, 2));
///     assert_eq!(wait.name().parse(), Ok(wait));
/// }
/// assert!("patiently".parse::<Wait>().is_err());
/// # Ok::<(), filch::BuildError>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Wait {
    /// Only tasks of the awaited task's thief. They are descendants of the awaited task, so a lock may be held across a
    /// join, and no stack gets deeper than in the sequential run. A branch must not block until the other one has
    /// started, because perhaps only the blocked worker may run that. A worker that waits for a [scope](crate::scope())
    /// runs only tasks of that scope, so a task that blocks until another has started may wait until a worker is idle.
    Leapfrog,
    /// As `Leapfrog`, but also follows tasks stolen from the thief. It has the same guarantees. Only for pools with a
    /// task stack: [`Split`](crate::pool::Split) and [`Wool`](crate::pool::Wool).
    Transitive,
    /// Leapfrogs first; after a few failures in a row, steals once as `Random` does. The default.
    ///
    /// On fine tasks and two processors, all strategies take the same time within 2 % (UTS T3, 2 and 8 workers). On 48
    /// processors, Lace's authors found that strict leapfrogging stops scaling on the larger T3L, and that random
    /// stealing mends it. On coarse and irregular tasks strict leapfrogging takes 1.1 to 1.25 times as long, transitive
    /// leapfrogging 1.06 to 1.2 times (medians, 4 to 64 workers whose leaves sleep: `filch probe hunger`,
    /// docs/spreading.md); this strategy and `Random` lose nothing.
    #[default]
    LeapfrogRandom,
    /// Steals from any worker, and runs spawned jobs.
    Random,
}

impl Wait {
    /// All strategies.
    pub const EVERY: [Self; 4] = [Self::Leapfrog, Self::Transitive, Self::LeapfrogRandom, Self::Random];

    /// Whether a worker that waits at a join, or for a scope, runs only parts of what it waits for.
    pub(crate) const fn is_strict(self) -> bool {
        matches!(self, Self::Leapfrog | Self::Transitive)
    }

    /// The name on command lines and in records.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Leapfrog => "leapfrog",
            Self::Transitive => "transitive",
            Self::LeapfrogRandom => "leapfrog-random",
            Self::Random => "random",
        }
    }
}

impl fmt::Display for Wait {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// The error for an unknown name of a waiting strategy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownWait(String);

impl fmt::Display for UnknownWait {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = Wait::EVERY.map(Wait::name).join(", ");
        write!(f, "no waiting strategy is called '{}'; there are {names}", self.0)
    }
}

impl std::error::Error for UnknownWait {}

impl FromStr for Wait {
    type Err = UnknownWait;

    fn from_str(name: &str) -> Result<Self, UnknownWait> {
        Self::EVERY.into_iter().find(|wait| wait.name() == name).ok_or_else(|| UnknownWait(name.to_owned()))
    }
}

/// Which victims a worker tries first when it may steal from any. A setting of the [builder](crate::Builder::victims),
/// of [worklists](crate::worklist::Worklist::victims) and [jobs](crate::jobs::Jobs::victims), consulted only by workers
/// without work.
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
    /// A random worker, then the others by number. The default.
    #[default]
    Random,
    /// The victim of its last steal, then as [`Random`](Self::Random): that victim probably has more tasks, but then
    /// all thieves come to the same few victims.
    Last,
    /// The next worker by number, then the others in turn: neighbours share a cache where workers are
    /// [pinned](crate::Builder::pin).
    Next,
}

impl Victims {
    /// All policies, the default first.
    pub const EVERY: [Self; 3] = [Self::Random, Self::Last, Self::Next];

    /// Returns all workers, including `index`, in the order in which worker `index` looks for work. `last` is the
    /// victim of its last steal, `random` any worker.
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

/// What a worker does after it has found no work for a while. A setting of the [builder](crate::Builder::idle), of
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
    /// It sleeps until there is work for it; on worklists and job systems, which have no wake-ups, for a tenth of a
    /// millisecond at a time. The default.
    #[default]
    Sleep,
    /// It keeps looking, and yields its processor now and then, as in the papers' schedulers, whose thieves never
    /// sleep. Nobody has to be woken, but a pool without work keeps as many processors busy as it has workers.
    Spin,
}

impl Idle {
    /// Both policies, the default first.
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
    fn each_worker_is_looked_at_once_in_the_order_of_the_policy() {
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
