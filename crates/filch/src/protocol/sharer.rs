//! A worker that shares tasks, as the protocols see it, and when it does.
//!
//! Invariants.
//! * I1: what is here affects only *how much* is shared, never correctness.
//! * I2: within an owner's turn nobody is woken and no thread is started. A [`Sharer`] can do neither: it remembers
//!   [whom to wake](Wakes) until the turn is over. So no code of the host's or the user's runs within a turn.

use filch_memory::Memory;
use filch_queue::Amount;

use super::sleep::Sleepers;
use super::waiting::{Sleeper, wake_another, wake_one};

/// A time, in ticks of a clock of some gigahertz, or of any other clock if nobody reads it.
pub type Time = u64;

/// What the owner of a split deque shares, and when. *Lace* (van Dijk and van de Pol, 2014) has one way, in section 3,
/// and asks in section 5 whether there are better ones.
///
/// ```
/// use filch::Builder;
/// use filch::pool::{Sharing, Split, SplitSettings};
/// use filch_queue::Amount;
///
/// let share = Sharing::OnRequest(Amount::Half); // as printed
/// let settings = SplitSettings::default().share(share);
/// let pool = Builder::<Split>::new().workers(1).settings(settings).build()?;
/// assert_eq!(pool.run(|mut w| w.join(|_| 1, |_| 2)), (1, 2));
/// let stats = pool.stats().total();
/// assert_eq!((stats.grows, stats.shrinks), (0, 1)); // the first task was shared, and taken back
/// # Ok::<(), filch::BuildError>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Sharing {
    /// The owner adapts to the length of its tasks: it shares all of them until they have proved short, and then half
    /// of them on request. A thief may share on its behalf. The default.
    #[default]
    ByGrain,
    /// The owner shares the first task, this much of its private tasks on request, and nothing else, except that it
    /// shares all before it sleeps or waits for a scope, since it does not answer then. Without a private task, it
    /// takes this much of the shared ones back. With [`Amount::Half`] this is figure 4 of *Lace*, which knows neither
    /// sleep nor scopes.
    OnRequest(Amount),
}

/// When an owner changes between sharing its forks and keeping them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Params {
    /// The number of consecutive fast joins before an owner keeps its forks; 0 if it always keeps them.
    pub window: u32,
    /// The same after a request; 0 if requests make no difference.
    pub doubt: u32,
    /// The greatest average time of a fast join.
    pub fine: Time,
    /// The longest that a thief should wait for an answer.
    pub patience: Time,
}

impl Params {
    /// A loop that a program splits by halves has some twenty joins down to its first item. To share a task and take it
    /// back costs 60 to 80 ns (Zen 3), at most 1.6 % of a join of 5 µs. A thief that asks waits for a join; to wake a
    /// worker takes 30 µs. (At 3 GHz.)
    pub const DEFAULT: Self = Self { window: 32, doubt: 4, fine: 16_000, patience: 100_000 };
    /// For an owner that keeps its forks until a thief asks.
    pub const FINE: Self = Self { window: 0, doubt: 0, fine: 0, patience: Time::MAX };
}

/// Whom an owner wakes once its turn is over.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Wakes {
    /// Nobody.
    #[default]
    Nobody,
    /// A worker that can take what was shared, unless one searches for work of any kind.
    One,
    /// A worker that can take what was shared, even if one searches.
    OneMore,
}

impl Wakes {
    /// Wakes them for the tasks that `worker` has shared. Not called within a turn. Precondition: as for
    /// [`Dormitory::wake_for_any`](super::sleep::Dormitory::wake_for_any).
    pub fn wake(self, worker: &impl Sleeper) {
        if self != Self::Nobody && !wake_one(worker) && self == Self::OneMore {
            wake_another(worker);
        }
    }
}

/// A worker that shares tasks from its own stack, as it is seen from within the owner's turn.
pub trait Sharer {
    /// The memory that workers share.
    type Memory: Memory;

    /// The counts of workers that sleep and search.
    fn sleepers(&self) -> &Sleepers<Self::Memory>;

    /// The number of workers.
    fn workers(&self) -> usize;

    /// Remembers whom to [wake](Wakes::wake) once the turn is over.
    fn wake_after(&self, wakes: Wakes);

    /// Whether some of its forks found no room on the stack.
    fn has_aside(&self) -> bool;

    /// Returns the time.
    fn now(&self) -> Time;

    /// Returns when it shares every fork.
    fn grain(&self) -> Params {
        Params::DEFAULT
    }

    /// Called after it has shared tasks.
    fn note_growth(&self) {}

    /// Called after it has synchronised to take shared tasks back, even if thieves were faster.
    fn note_shrinking(&self) {}
}
