//! How many of several tasks: a parameter of the queues that share, take back or steal several at a time.

/// How many of several tasks are taken together.
///
/// ```
/// use filch_queue::Amount;
///
/// assert_eq!([Amount::One, Amount::Half, Amount::All].map(|amount| amount.of(5)), [1, 3, 5]);
/// assert_eq!(Amount::One.of(0), 0);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Amount {
    /// One, if there is one.
    One,
    /// Half, rounded up.
    #[default]
    Half,
    /// All of them.
    All,
}

impl Amount {
    /// How many of `count` tasks: not none, unless there are none.
    #[inline]
    pub const fn of(self, count: u32) -> u32 {
        match self {
            Self::One => {
                if count == 0 {
                    0
                } else {
                    1
                }
            }
            Self::Half => count.div_ceil(2),
            Self::All => count,
        }
    }

    /// As [`Amount::of`], and no more than `max`.
    #[inline]
    pub(crate) fn of_at_most(self, count: u32, max: usize) -> u32 {
        u32::try_from(max).map_or(self.of(count), |max| self.of(count).min(max))
    }
}
