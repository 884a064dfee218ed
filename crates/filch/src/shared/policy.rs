//! Policies of workers without work: what they may run while they wait, which victims they try, and whether they sleep.
//!
//! Invariant: only [`Wait`] changes what a worker may run; the other policies change when and where it looks.

use std::fmt;
use std::num::NonZeroU32;
use std::str::FromStr;

/// Gives the values of an enumeration names, and a list of all.
macro_rules! named {
    ($($policy:ident { $($value:ident $name:literal),+ })+) => {$(
        impl $policy {
            /// All values.
            pub const EVERY: &'static [Self] = &[$(Self::$value),+];

            /// The name on command lines and in records.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$value => $name),+ }
            }
        }

        impl fmt::Display for $policy {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(self.name())
            }
        }
    )+};
}
#[cfg(feature = "worklists")]
pub(crate) use named;

named! {
    Wait { Leapfrog "leapfrog", Transitive "transitive", LeapfrogRandom "leapfrog-random", Random "random" }
    Victims { Random "random", Last "last", Next "next", One "one", Near "near" }
    Idle { Sleep "sleep", Spin "spin" }
    OnLoss { TryAgain "try-again", GiveUp "give-up" }
    First { Newest "newest", Oldest "oldest" }
}

/// What a worker may run while it waits for a stolen task. A setting of the builder, consulted only by workers without
/// work.
///
/// ```
/// use filch::{ThreadPool, Wait};
///
/// for &wait in Wait::EVERY {
///     let pool = ThreadPool::builder().workers(2).wait(wait).build()?;
///     assert_eq!(pool.run(|mut w| w.join(|_| 1, |_| 2)), (1, 2));
///     assert_eq!(wait.name().parse(), Ok(wait));
/// }
/// assert!("patiently".parse::<Wait>().is_err());
/// # Ok::<(), filch::BuildError>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Wait {
    /// It runs only tasks of the awaited task's thief. They are descendants of the awaited task, so a lock may be held
    /// across a join, and no stack gets deeper than in the sequential run. A branch must not block until the other one
    /// has started, because perhaps only the blocked worker may run the other one. A worker that waits for a
    /// [scope](crate::scope()) runs only tasks of that scope, so a task that blocks until another has started may wait
    /// until a worker is idle.
    Leapfrog,
    /// As `Leapfrog`, but [when](Leaps) the thief has no tasks, it also follows the tasks stolen from the thief. The
    /// guarantees are the same. Only for pools with a task stack: [`Split`](crate::pool::Split) and
    /// [`Wool`](crate::pool::Wool).
    Transitive,
    /// It leapfrogs first; after a [few](Leaps) failures in a row, it steals once as `Random` does. The default.
    ///
    /// On fine tasks and two processors, all strategies take the same time within 2 % (UTS T3, 2 and 8 workers). On 48
    /// processors, Lace's authors found that strict leapfrogging stops scaling on the larger T3L, and that random
    /// stealing mends it. On coarse and irregular tasks strict leapfrogging takes 1.1 to 1.25 times as long, transitive
    /// leapfrogging 1.06 to 1.2 times (medians, 4 to 64 workers whose leaves sleep: `filch probe hunger`,
    /// docs/spreading.md); this strategy and `Random` lose nothing.
    #[default]
    LeapfrogRandom,
    /// It steals from any worker, and runs spawned jobs.
    Random,
}

impl Wait {
    /// Whether a worker that waits at a join, or for a scope, runs only parts of what it waits for.
    pub(crate) const fn is_strict(self) -> bool {
        matches!(self, Self::Leapfrog | Self::Transitive)
    }
}

/// The error for an unknown name of a waiting strategy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownWait(String);

impl fmt::Display for UnknownWait {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = Wait::EVERY.iter().map(|wait| wait.name()).collect();
        write!(f, "no waiting strategy is called '{}'; there are {}", self.0, names.join(", "))
    }
}

impl std::error::Error for UnknownWait {}

impl FromStr for Wait {
    type Err = UnknownWait;

    fn from_str(name: &str) -> Result<Self, UnknownWait> {
        let of_name = Self::EVERY.iter().find(|wait| wait.name() == name);
        of_name.copied().ok_or_else(|| UnknownWait(name.to_owned()))
    }
}

/// Which victims a worker tries first when it may steal from any. A setting of the [builder](crate::Builder::victims),
/// of [worklists](crate::worklist::Worklist::victims) and [jobs](crate::jobs::Jobs::victims), consulted only by workers
/// without work.
///
/// ```
/// use filch::{ThreadPool, Victims};
///
/// for &victims in Victims::EVERY {
///     let pool = ThreadPool::builder().workers(2).victims(victims).build()?;
///     assert_eq!(pool.run(|mut w| w.join(|_| 1, |_| 2)), (1, 2));
///     println!("{victims}");
/// }
/// # Ok::<(), filch::BuildError>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Victims {
    /// A random worker, then the others by number. The default.
    #[default]
    Random,
    /// The victim of its last steal, then as [`Random`](Self::Random). That victim probably has more tasks, but all
    /// thieves may come to the same few victims.
    Last,
    /// A random worker, and no other before the next look: as the papers' thieves do.
    One,
    /// The next worker by number, then the others in turn. Neighbours by number may share a cache if workers are
    /// [pinned](crate::Builder::pin).
    Next,
    /// The workers that share its last-level cache, then those of its memory node, then the others. In each of these
    /// rings, it begins with a random worker and goes on in turn. At each look it tries each worker once, so it finds
    /// work far away as soon as there is none nearer.
    ///
    /// For workers that are [pinned](crate::Builder::pin), if the system describes its caches and nodes (Linux).
    /// Otherwise, and on a machine with one last-level cache, as [`Random`](Self::Random).
    Near,
}

impl Victims {
    /// Returns all workers, including `index`, in the order in which worker `index` looks for work, if the pool has no
    /// order by [nearness](crate::shared::near). `last` is the victim of its last steal, `random` any worker.
    pub(crate) fn order(self, workers: usize, index: usize, last: usize, random: usize) -> impl Iterator<Item = usize> {
        let (first, start) = match self {
            Self::Random | Self::One | Self::Near => (None, random),
            Self::Last => (Some(last), random),
            Self::Next => (None, index + 1),
        };
        let in_turn = (start..workers).chain(0..start).take(if self == Self::One { 1 } else { workers });
        first.into_iter().chain(in_turn.filter(move |&victim| Some(victim) != first))
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
/// assert_eq!(pool.stats().workers[0].parks, 0);
/// # Ok::<(), filch::BuildError>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Idle {
    /// It sleeps until there is work for it. On worklists and job systems, which have no wake-ups, it sleeps for a
    /// tenth of a millisecond at a time. The default.
    #[default]
    Sleep,
    /// It keeps looking, and yields its processor now and then, as in the papers' schedulers, whose thieves never
    /// sleep. Nobody has to be woken, but a pool without work keeps as many processors busy as it has workers; and so
    /// does the team of a worklist or a job system between its runs.
    ///
    /// If [callers may work](crate::Builder::caller_works) in a thread pool, its last worker sleeps all the same, and a
    /// caller takes its place: the others and the caller are then as many threads as there are workers.
    Spin,
}

/// What a thief does after it has lost a race for a task, to another thief or to the owner. A setting of the
/// [builder](crate::Builder::on_loss), of [worklists](crate::worklist::Worklist::on_loss) and
/// [jobs](crate::jobs::Jobs::on_loss).
///
/// ```
/// use filch::{OnLoss, ThreadPool};
///
/// let pool = ThreadPool::builder().workers(2).on_loss(OnLoss::GiveUp).build()?;
/// assert_eq!(pool.run(|mut w| w.join(|_| 1, |_| 2)), (1, 2));
/// # Ok::<(), filch::BuildError>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum OnLoss {
    /// It tries again at once, as often as it takes: there is likely another task. The default.
    #[default]
    TryAgain,
    /// It gives this victim up, as if the victim had nothing, and goes on to the next, as in the papers of Lace (figure
    /// 4) and Wool.
    GiveUp,
}

/// How many attempts in a row at the thief of the awaited task must find nothing before a worker looks further, if its
/// [strategy](Wait) lets it. With [`LeapfrogRandom`](Wait::LeapfrogRandom) it then looks once at anybody, with
/// [`Transitive`](Wait::Transitive) at the workers that stole from that thief. A setting of the
/// [builder](crate::Builder::leaps).
///
/// ```
/// use std::num::NonZeroU32;
///
/// use filch::{Leaps, ThreadPool, Wait};
///
/// // As in the paper: from anybody whenever the thief has nothing.
/// let leaps = Leaps::After(NonZeroU32::MIN);
/// let pool = ThreadPool::builder().workers(2).wait(Wait::LeapfrogRandom).leaps(leaps).build()?;
/// assert_eq!(pool.run(|mut w| w.join(|_| 1, |_| 2)), (1, 2));
/// # Ok::<(), filch::BuildError>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Leaps {
    /// 32 before a worker looks at anybody, as in Lace's program today, and 1 before it follows thieves, as in Lace's
    /// paper (section 4.3). The default.
    ///
    /// After 32 failures a worker has waited some 25 µs. An unrelated task that it takes sooner delays its awaited
    /// task: on sixteen processors a product of matrices with leaves of 4 µs takes 2, 1.5 and 1 times as long if
    /// workers look further after 1, 8, and 16 to 64 failures.
    #[default]
    ByStrategy,
    /// This many.
    After(NonZeroU32),
    /// A number that adapts, from 1 to 300, as in Wool. It falls to a third after looking further has found something,
    /// and triples after looking further has found nothing.
    Adaptive,
}

/// The largest number of failures after which an adaptive worker looks further.
const MOST_LEAPS: u32 = 300;

impl Leaps {
    /// The limit of failures under strategy `wait`; `adapted` is the present limit of an adaptive worker.
    pub(crate) fn before(self, wait: Wait, adapted: u32) -> u32 {
        match self {
            Self::ByStrategy => {
                if wait == Wait::Transitive {
                    1
                } else {
                    32
                }
            }
            Self::After(leaps) => leaps.get(),
            Self::Adaptive => adapted,
        }
    }

    /// The next limit of an adaptive worker that has looked further after `adapted` failures.
    pub(crate) fn adapt(adapted: u32, found: bool) -> u32 {
        if found { (adapted / 3).max(1) } else { (adapted * 3).min(MOST_LEAPS) }
    }
}

impl fmt::Display for Leaps {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ByStrategy => f.pad("by-strategy"),
            Self::After(leaps) => leaps.fmt(f),
            Self::Adaptive => f.pad("adaptive"),
        }
    }
}

/// How many tasks a thief takes at once, and in which order it runs them. A setting of
/// [pools](crate::pool::QueueSettings::loot), [worklists](crate::worklist::Worklist::loot) and
/// [jobs](crate::jobs::Jobs::loot). A number converts to a haul of that many, the newest first.
///
/// ```
/// use filch::pool::{First, Haul};
/// use filch::worklist::Worklist;
/// use filch_queue::Wsq;
///
/// let list = Worklist::new(2).queue::<Wsq>(Default::default()).loot(Haul::from(64).first(First::Oldest));
/// let sum = list.run(0..100_u32, |_| 0, |_, sum, n| *sum += n);
/// assert_eq!(sum.states.iter().sum::<u32>(), 4950);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Haul {
    /// The most tasks that a thief takes: one to run, the others for its own queue.
    pub(crate) most: usize,
    pub(crate) first: First,
}

impl Haul {
    /// Sets which of the tasks the thief runs first.
    pub fn first(self, first: First) -> Self {
        Self { first, ..self }
    }
}

impl From<usize> for Haul {
    fn from(most: usize) -> Self {
        Self { most, first: First::default() }
    }
}

/// Which of several stolen tasks their thief runs first. The others come out of its queue from the newest to the
/// oldest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum First {
    /// The newest, so that the thief runs all of them from the last one stolen to the first, the order in which their
    /// owner joins them. Thieves do this in Lace's paper (section 3.3), and so does a worker on private deques that has
    /// been given half of another's. The default.
    #[default]
    Newest,
    /// The oldest, which is likely the largest, as in the source of WSQ.
    Oldest,
}

/// What idle workers of any kind do.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Habits {
    pub(crate) victims: Victims,
    pub(crate) idle: Idle,
    pub(crate) on_loss: OnLoss,
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
        assert_eq!(order(Victims::One, 1, 4, 3), [3]);
        assert_eq!(order(Victims::Near, 1, 4, 3), [3, 4, 0, 1, 2]);
        for &victims in Victims::EVERY {
            assert_eq!(victims.order(1, 0, 0, 0).collect::<Vec<_>>(), [0]);
        }
    }

    #[test]
    fn leaps_are_those_of_the_strategy_those_that_are_set_or_those_that_have_proved_right() {
        assert_eq!([Wait::LeapfrogRandom, Wait::Transitive].map(|wait| Leaps::ByStrategy.before(wait, 5)), [32, 1]);
        let seven = Leaps::After(NonZeroU32::new(7).unwrap());
        assert!(Wait::EVERY.iter().all(|&wait| seven.before(wait, 5) == 7));
        assert!(Wait::EVERY.iter().all(|&wait| Leaps::Adaptive.before(wait, 5) == 5));
        let further = |found| move |adapted: &u32| Some(Leaps::adapt(*adapted, found));
        let failed: Vec<u32> = std::iter::successors(Some(1), further(false)).take(8).collect();
        assert_eq!(failed, [1, 3, 9, 27, 81, 243, 300, 300]);
        let found: Vec<u32> = std::iter::successors(Some(300), further(true)).take(8).collect();
        assert_eq!(found, [300, 100, 33, 11, 3, 1, 1, 1]);
    }
}
