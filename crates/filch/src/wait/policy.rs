//! Settings of those who have nothing to do: whom they steal from, and whether they sleep.
//!
//! What must always hold: they change when and where a worker looks, never what it may run.

use std::fmt;

/// Whom a worker tries to steal from first when it may steal from anybody. A setting of the [builder](crate::Builder::victims), consulted
/// only when there is nothing else to do.
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

/// What a worker does that has looked for work for a while and found none. A setting of the [builder](crate::Builder::idle).
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
    /// It sleeps until somebody has work for it. The default.
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
