//! What workers do while they wait.
//!
//! **Leapfrogging** (Wagner and Calder 1993; Lace, figure 1): steal only from the thief of the awaited task. Whatever it
//! has to give descends from that task: nothing of its own was left when it stole, so it has forked in that task what
//! is there now. So a waiting worker runs nothing but parts of what it waits for: no lock held across a join can
//! deadlock with unrelated work, and no stack gets deeper than in the sequential run.
//!
//! **Transitive leapfrogging** (Faxén, *Efficient Work Stealing for Fine Grained Parallelism*, ICPP 2010): if the thief has
//! nothing, its own work may have been stolen further. The entries of its stack at or above the base that its theft
//! recorded descend from the awaited task; follow the stolen ones to their thieves. A task won from such a thief is
//! given back if the theft that led there has ended meanwhile, so the property of leapfrogging is kept. From then on it is its owner's
//! alone: with both kinds of leapfrogging nobody may rely on a fork's being run by somebody else.
//!
//! **Random**: steal from anybody, and run what was spawned. Keeps everybody busy, and gives up both properties.
//!
//! **Scopes.** With both kinds of leapfrogging a worker that waits for a scope runs nothing but tasks of that scope, wherever they were
//! spawned. With the others it runs whatever it finds. So does, with all of them, who waits for a call into another pool, since what is
//! waited for may need any of it. A worker on such a *detour* has tasks to give that do not descend from what it had stolen, so
//! leapfroggers give back what they won from it. So is one that leapfrogs while it still has forks of its own: tasks that one worker
//! forks in both styles are in two places, of which thieves may have emptied only one.
//!
//! **Low stacks.** A worker whose thread stack is half used leaves unrelated work to others, also what it has itself spawned and forked.
//! Three things it runs at once: what it has spawned since the scope began that it waits for, of which that is likely the rest; its mail,
//! which is for nobody else; and what has come from outside. But everybody else may be waiting for that very work, asleep or in a loop of
//! the program's own. So it looks on for a while, and then does it after all: the deeper it is in such work already the longer it looks
//! on, so that the stack grows with the logarithm of the time.
//!
//! The loops themselves, and how nobody misses what ends them, are in [`protocol::waiting`](crate::protocol::waiting).
//!
//! What must always hold: a worker that waits for a job returns only when the job is settled, and what it pushed above
//! the job meanwhile is gone. Nothing unwinds out of a wait or a theft, since other threads use the memory below.

mod find;
mod here;
mod idle;
mod join;
mod policy;

pub(crate) use here::Here;
pub(crate) use idle::{Awaited, Reach, run_one, visit, wait_until, work};
pub(crate) use join::wait_job;
pub use policy::{Idle, Victims};

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use crate::protocol::waiting;

/// What a worker may run while it waits for a stolen task. A setting of the builder, consulted only when there is nothing
/// else to do.
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
    /// Tasks of the thief of the awaited task, and no others: only descendants of the awaited task are ever run, so a
    /// lock may be held across a join, and no stack gets deeper than in the sequential run. A branch must not block until the other one
    /// has started: that may be for nobody but the worker that is blocked. Who waits for a [scope](crate::scope()) runs tasks of that scope
    /// and no others, so what blocks until some other task has started may wait until a worker is idle.
    Leapfrog,
    /// As `Leapfrog`, and follows tasks that were stolen further. Same guarantees. Only for pools with a task stack:
    /// [`Split`](crate::pool::Split) and [`Wool`](crate::pool::Wool).
    Transitive,
    /// Leapfrogs first; if that fails a few times in a row, does as `Random` once. The default.
    ///
    /// On fine tasks, two processors, all strategies take the same time within 2 % (UTS T3, 2 and 8 workers). On 48, Lace's authors found
    /// strict leapfrogging to stop scaling on the larger T3L, and random stealing to mend it. On coarse and irregular tasks strict
    /// leapfrogging takes 1.1 to 1.25 times as long, transitive 1.06 to 1.2 times (medians, 4 to 64 workers whose leaves sleep:
    /// `filch probe hunger`, docs/spreading.md); this one and `Random` lose nothing.
    #[default]
    LeapfrogRandom,
    /// Steals from anybody, and runs what was spawned.
    Random,
}

impl Wait {
    /// All strategies.
    pub const EVERY: [Self; 4] = [Self::Leapfrog, Self::Transitive, Self::LeapfrogRandom, Self::Random];

    /// Whether a worker that waits at a join, or for a scope, runs nothing but parts of what it waits for.
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

/// There is no waiting strategy of this name.
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

/// Patience: busy waiting first, then giving the processor away, then sleep.
#[derive(Debug, Default)]
pub(crate) struct Patience {
    rounds: u32,
    idle: Idle,
}

impl Patience {
    /// Rounds of pauses, of doubling length.
    const SPINS: u32 = 7;
    /// Rounds of yields after them. With more workers than processors somebody useful runs meanwhile.
    const YIELDS: u32 = 6;

    /// Of one that does so once it is at an end, where nobody wakes anybody.
    pub(crate) fn then(idle: Idle) -> Self {
        Self { rounds: 0, idle }
    }

    /// Waits a little; `false` once it has been long enough to sleep.
    pub(crate) fn wait(&mut self) -> bool {
        if self.rounds < Self::SPINS {
            for _ in 0..1 << self.rounds {
                std::hint::spin_loop();
            }
        } else if self.rounds < Self::SPINS + Self::YIELDS {
            std::thread::yield_now();
        } else {
            return false;
        }
        self.rounds += 1;
        true
    }

    pub(crate) fn renew(&mut self) {
        self.rounds = 0;
    }

    /// As [`Patience::wait`], and sleeps for a while when it has been long enough, or begins anew: where nobody wakes anybody.
    pub(crate) fn wait_or_nap(&mut self) {
        if !self.wait() {
            match self.idle {
                Idle::Sleep => nap(),
                Idle::Spin => self.renew(),
            }
        }
    }
}

impl waiting::Patience for Patience {
    fn wait(&mut self) -> bool {
        self.wait()
    }

    fn hold_on(&mut self) {
        if !self.wait() {
            std::thread::yield_now();
        }
    }

    fn renew(&mut self) {
        self.renew();
    }
}

/// Sleeps for a while, whatever happens.
pub(crate) fn nap() {
    const NAP: Duration = Duration::from_micros(100);
    std::thread::sleep(NAP);
}
