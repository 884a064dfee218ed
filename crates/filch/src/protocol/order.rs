//! Which is older: what an owner has forked, or what it has spawned.
//!
//! **Idea.** Forks lie on the owner's task stack, spawned jobs in a queue beside it. But a wait for one of them may be
//! a wait for everything older, so both have one order, as if they lay in one deque: a thief takes the
//! [oldest](steal_oldest), and the owner runs the newest first. A job carries its [`Height`], the number of forks that
//! its owner had in progress when it spawned the job. Those forks are older; forks at this height or above are younger.
//!
//! **Fields.** [`Marks`]: used by the owner alone. A height travels with its job; thieves read it before they take the
//! job. The owner replaces the words of jobs whose height it lowers.
//!
//! **Invariants.**
//! * I1: while a job is in its owner's queue, the forks below its height are in progress or stolen. Before the owner
//!   pops a fork, it runs the jobs above it, which are the newest. If it leaves some, because a thief has ended the
//!   fork, or the owner unwinds or its stack is low, it [lowers](Marks::lower) their height to that of the fork.
//! * I2: the heights of the jobs in a queue rise from the oldest to the newest.
//! * I3: the [floor](super::limits) of the owner's limits is at the newest mark or higher. So the pop of a fork takes
//!   the cold path if a job above it may still be there, or if the owner has run the fork before its join.
//!
//! **Edges.**
//! * E1: the owner's push of a job, then its publication of a fork ↔ the thief's look at the forks, then at the jobs. A
//!   thief that sees the fork sees the job, and the heights that the owner has lowered.
//! * E2: the publication of a fork, then the push of a job ↔ the thief's look at the jobs, then at the forks.
//!
//! Heights are hints, with which a thief decides what is oldest; the queues decide who gets it. Another thief may take
//! it first, and the next may be younger than something of the other kind. So a thief takes a fork only from below the
//! oldest job that it has seen, and a job only up to the height of that one.

/// The number of forks that an owner has in progress. Forks that are not on its task stack lie above all forks on it.
///
/// ```
/// use filch::inside::protocol::order::Height;
///
/// assert!(Height::GROUND < Height::on_stack(1) && Height::on_stack(1) < Height::aside(0));
/// assert_eq!(Height::on_stack(3).forks_on_stack(), 3);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Height(usize);

impl Height {
    /// The height of an empty stack.
    pub const GROUND: Self = Self(0);
    /// A height above all forks.
    pub const TOP: Self = Self(usize::MAX);
    /// The height of the first fork that is not on the stack.
    const ASIDE: usize = 1 << (usize::BITS - 2);

    /// The height with this many forks on the task stack, and none elsewhere.
    pub const fn on_stack(forks: usize) -> Self {
        Self(forks)
    }

    /// The height with this many forks that are not on the task stack, and any number on it.
    pub const fn aside(forks: usize) -> Self {
        Self(Self::ASIDE + forks)
    }

    /// Returns the number of forks on the task stack that lie below this height, or a larger number.
    pub fn forks_on_stack(self) -> u32 {
        u32::try_from(self.0).unwrap_or(u32::MAX).min(u32::MAX / 4)
    }

    /// Returns the height above one more fork.
    #[must_use]
    pub const fn above(self) -> Self {
        Self(self.0 + 1)
    }

    /// Returns the [floor](super::limits) that admits no pop below this height, for a stack with this bottom and slots
    /// of this size.
    pub fn floor(self, bottom: usize, slot_size: usize) -> usize {
        match self.0 {
            0 => 0,
            1..Self::ASIDE => bottom + self.0 * slot_size,
            _ => usize::MAX / 4,
        }
    }

    /// Returns a number of `bits` bits that stands for the height. Heights that are too large become equal.
    pub(crate) fn pack(self, bits: u32) -> usize {
        let aside = 1 << (bits - 1);
        if self.0 < Self::ASIDE { self.0.min(aside - 1) } else { aside + (self.0 - Self::ASIDE).min(aside - 1) }
    }

    /// The inverse of [`Height::pack`].
    pub(crate) fn unpack(number: usize, bits: u32) -> Self {
        let aside = 1 << (bits - 1);
        Self(if number < aside { number } else { Self::ASIDE + number - aside })
    }
}

/// The heights at which an owner has spawned, with the position of the first job at each. Heights and positions rise.
///
/// ```
/// use filch::inside::protocol::order::{Height, Marks};
///
/// let mut marks = Marks::default();
/// assert!(marks.note(Height::on_stack(2), 7), "the first job above two forks");
/// assert!(!marks.note(Height::on_stack(2), 8));
/// assert_eq!(marks.first_above(Height::on_stack(1)), Some(7), "it comes before the join of the second fork");
/// assert_eq!(marks.lower(Height::on_stack(1)), Some(7));
/// assert_eq!(marks.newest(), Height::on_stack(1));
/// ```
#[derive(Debug, Default)]
pub struct Marks {
    marks: Vec<Mark>,
    /// The height of the last mark.
    newest: Height,
}

#[derive(Clone, Copy, Debug)]
struct Mark {
    height: Height,
    position: usize,
}

impl Marks {
    /// Returns the greatest height at which the owner has spawned a job that may not have been taken.
    #[inline]
    pub fn newest(&self) -> Height {
        self.newest
    }

    /// Notes that the job at `position` is spawned at `height`; returns whether it is the first job at such a height.
    /// If so, the owner [raises](super::limits::Limits::raise_floor) the floor.
    pub fn note(&mut self, height: Height, position: usize) -> bool {
        let is_first = height > self.newest;
        if is_first {
            self.marks.push(Mark { height, position });
            self.newest = height;
        }
        is_first
    }

    /// Returns the position of the first job above the fork at the height `below`.
    pub fn first_above(&self, below: Height) -> Option<usize> {
        let first = self.marks.partition_point(|mark| mark.height <= below);
        self.marks.get(first).map(|mark| mark.position)
    }

    /// Lowers the jobs above `height` to it, because the forks above it have ended, or because the owner is about to
    /// run these jobs there. Returns the position of the first of these jobs, if there are any.
    #[inline]
    pub fn lower(&mut self, height: Height) -> Option<usize> {
        if self.newest > height { self.lower_newest(height) } else { None }
    }

    #[cold]
    fn lower_newest(&mut self, height: Height) -> Option<usize> {
        let position = self.first_above(height)?;
        self.marks.retain(|mark| mark.height <= height);
        self.newest = self.marks.last().map_or(Height::GROUND, |mark| mark.height);
        self.note(height, position);
        Some(position)
    }

    /// Returns the height of the job at `position`.
    pub fn height_at(&self, position: usize) -> Height {
        let next = self.marks.partition_point(|mark| mark.position <= position);
        next.checked_sub(1).map_or(Height::GROUND, |mark| self.marks[mark].height)
    }
}

/// A victim as its thief sees it.
pub trait Victim {
    /// The type of a stolen fork or job.
    type Loot;

    /// Returns a height below which the victim has forks that the thief may try to take, or the ground if there are
    /// none. The thief then sees all jobs that the victim has spawned before these forks.
    fn shared_below(&self) -> Height;

    /// Returns the height of the victim's oldest job, a snapshot. The thief then sees all forks that the victim has
    /// shared before it spawned that job.
    fn oldest_job(&self) -> Option<Height>;

    /// Whether the victim has a fork below this height that this thief can take, now or after asking. A snapshot.
    fn has_older(&self, height: Height) -> bool;

    /// Takes the oldest job, if it was spawned at this height or below.
    fn steal_job(&self, up_to: Height) -> Option<Self::Loot>;

    /// Takes the oldest fork, if it lies below this height. At the ground, asks for it.
    fn steal_fork(&self, below: Height) -> Option<Self::Loot>;
}

/// Takes the oldest of a victim's forks and jobs. If that is a fork which the victim has not shared, takes nothing: the
/// victim shares it soon, or the thief does. A fork that is shared during the search may be younger than a job spawned
/// during the search, so the next search takes it. (If the victim takes back the fork that the thief has seen, spawns,
/// and forks, all within the search, the thief takes the wrong one.)
///
/// Looks twice if another thread takes what it has seen.
///
/// ```
/// use filch::inside::protocol::order::{Height, Victim, steal_oldest};
///
/// /// One fork, and one job at this height.
/// struct Both(Height);
///
/// impl Victim for Both {
///     type Loot = &'static str;
///
///     fn shared_below(&self) -> Height {
///         Height::on_stack(1)
///     }
///
///     fn oldest_job(&self) -> Option<Height> {
///         Some(self.0)
///     }
///
///     fn has_older(&self, height: Height) -> bool {
///         height > Height::GROUND
///     }
///
///     fn steal_job(&self, up_to: Height) -> Option<&'static str> {
///         (self.0 <= up_to).then_some("job")
///     }
///
///     fn steal_fork(&self, below: Height) -> Option<&'static str> {
///         (below > Height::GROUND).then_some("fork")
///     }
/// }
///
/// assert_eq!(steal_oldest(&Both(Height::GROUND)), Some("job"), "it was there before the fork");
/// assert_eq!(steal_oldest(&Both(Height::on_stack(1))), Some("fork"));
/// ```
pub fn steal_oldest<V: Victim>(victim: &V) -> Option<V::Loot> {
    for _ in 0..2 {
        let shared = victim.shared_below();
        let Some(job) = victim.oldest_job() else { return victim.steal_fork(shared) };
        let loot = if victim.has_older(job) { victim.steal_fork(shared.min(job)) } else { victim.steal_job(job) };
        if loot.is_some() {
            return loot;
        }
    }
    None
}
