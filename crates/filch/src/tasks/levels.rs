//! Levels of a recursion, distinguished by the type of the handle.
//!
//! The compiler does not inline a function that calls itself. A function that is generic in its handle's level does not
//! call itself: level 0 calls the copy for level 1, and so on in a cycle, and the compiler inlines each copy into the
//! previous one until only every Nth call is real.
//!
//! Invariant: [`Level::Next`] forms a cycle, since otherwise compilation would not end; and a level is only a type, so
//! that handles of all levels of a pool are the same two words.

mod sealed {
    pub trait Sealed {}
}

/// The level of a [handle](crate::Worker) in a recursion: see [`Worker::in_levels`](crate::Worker::in_levels).
///
/// ```
/// use filch::levels::{Flat, Level, Levels};
///
/// fn after<L: Level>(n: usize) -> &'static str {
///     if n == 0 { std::any::type_name::<L>() } else { after::<L::Next>(n - 1) }
/// }
/// assert_eq!(after::<Flat>(5), after::<Flat>(0));
/// assert_eq!(after::<Levels<3>>(5), after::<Levels<3, 2>>(0));
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no level of a recursion",
    label = "neither `Flat` nor one of `Levels<2>`, `Levels<3>` and `Levels<4>`",
    note = "for more levels use the attribute, as in `#[filch::inline_recursion(8)]`"
)]
pub trait Level: sealed::Sealed + 'static {
    /// The level of the branches' handles.
    type Next: Level;
}

/// No levels: branches receive handles of their parent's type, and recursion is one function. Handles from pools have
/// no levels.
///
/// ```
/// use filch::Worker;
/// use filch::levels::Flat;
/// use filch::pool::Split;
///
/// fn index(w: Worker<'_, Split, Flat>) -> usize {
///     w.index()
/// }
/// let pool = filch::ThreadPool::new(1)?;
/// assert_eq!(pool.run(|w| index(w)), 0);
/// # Ok::<(), filch::BuildError>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub enum Flat {}

impl sealed::Sealed for Flat {}

impl Level for Flat {
    type Next = Self;
}

/// Level `AT` of `OF` levels, counted from 0. It is a [`Level`] if `OF` is 2, 3 or 4.
///
/// ```
/// use filch::Worker;
/// use filch::levels::Levels;
/// use filch::pool::Split;
///
/// fn below(_: Worker<'_, Split, Levels<2, 1>>) -> &'static str {
///     "on the other level"
/// }
/// let pool = filch::ThreadPool::new(1)?;
/// let (a, _) = pool.run(|w| w.in_levels::<Levels<2>>().join(|w| below(w), |_| ()));
/// assert_eq!(a, "on the other level");
/// # Ok::<(), filch::BuildError>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub enum Levels<const OF: u8, const AT: u8 = 0> {}

impl<const OF: u8, const AT: u8> sealed::Sealed for Levels<OF, AT> {}

macro_rules! levels {
    ($($of:literal: $($at:literal -> $next:literal),+;)+) => {
        $($(impl Level for Levels<$of, $at> {
            type Next = Levels<$of, $next>;
        })+)+
    };
}

levels! {
    2: 0 -> 1, 1 -> 0;
    3: 0 -> 1, 1 -> 2, 2 -> 0;
    4: 0 -> 1, 1 -> 2, 2 -> 3, 3 -> 0;
}

#[cfg(test)]
mod tests {
    use std::any::TypeId;

    use super::*;
    use crate::pool::{Queued, Split};
    use crate::worker::plumbing::Pool;
    use crate::{ThreadPool, Worker};

    /// Returns the levels of a task and of its first descendants, forked alternately by `join` and by `fork_all`.
    fn levels<P: Pool, L: Level>(mut w: Worker<'_, P, L>, depth: usize) -> Vec<TypeId> {
        let mut below = match depth {
            0 => Vec::new(),
            _ if depth.is_multiple_of(2) => {
                let (mut a, b) = w.join(|w| levels(w, depth - 1), |w| levels(w, depth - 1));
                assert_eq!(a, b, "both branches are on the same levels");
                a.truncate(depth);
                a
            }
            _ => w.fork_all(0..2, |w, _| levels(w, depth - 1), Vec::new(), |_, below| below),
        };
        below.insert(0, TypeId::of::<L>());
        below
    }

    fn go_around<P: Pool>() {
        let pool = crate::Builder::<P>::new().workers(2).build().unwrap();
        let two = [TypeId::of::<Levels<2>>(), TypeId::of::<Levels<2, 1>>()];
        let three = [TypeId::of::<Levels<3>>(), TypeId::of::<Levels<3, 1>>(), TypeId::of::<Levels<3, 2>>()];
        for _ in 0..if cfg!(miri) { 2 } else { 20 } {
            assert_eq!(pool.run(|w| levels(w, 5)), [TypeId::of::<Flat>(); 6]);
            assert_eq!(pool.run(|w| levels(w.in_levels::<Levels<2>>(), 5)), [two, two, two].concat());
            assert_eq!(pool.run(|w| levels(w.in_levels::<Levels<3>>(), 5)), [three, three].concat());
        }
    }

    #[test]
    fn branches_are_on_the_next_level() {
        go_around::<Split>();
        go_around::<Queued<filch_queue::ChaseLev>>();
    }

    #[test]
    fn a_handle_on_a_level_has_loops() {
        let pool = ThreadPool::new(2).unwrap();
        let sum = pool.run(|w| w.in_levels::<Levels<4>>().map_reduce(0..1000, 0, |i| i, |a, b| a + b));
        assert_eq!(sum, 499_500);
    }
}
