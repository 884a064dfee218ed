//! How many of several tasks to take: a parameter of the queues that share, take back or steal several at a time.

use core::num::NonZeroU32;

/// How many of several tasks are taken together.
///
/// ```
/// use filch_queue::Amount;
///
/// assert_eq!([Amount::One, Amount::Half, Amount::All].map(|amount| amount.of(5)), [1, 3, 5]);
/// assert_eq!([1, 2, 5].map(|count| Amount::AllButOne.of(count)), [1, 1, 4]);
/// assert_eq!(Amount::One.of(0), 0);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Amount {
    /// One, if there are any.
    One,
    /// Half, rounded up.
    #[default]
    Half,
    /// All but one, or the only one.
    AllButOne,
    /// All of them.
    All,
    /// This many, or all if there are fewer.
    UpTo(NonZeroU32),
}

impl Amount {
    /// Returns how many of `count` tasks to take: at least one, unless there are none.
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
            Self::AllButOne => {
                if count > 1 {
                    count - 1
                } else {
                    count
                }
            }
            Self::All => count,
            Self::UpTo(most) => {
                if count < most.get() {
                    count
                } else {
                    most.get()
                }
            }
        }
    }

    /// Returns the result of [`Amount::of`], but at most `max`.
    #[inline]
    pub(crate) fn of_at_most(self, count: u32, max: usize) -> u32 {
        u32::try_from(max).map_or(self.of(count), |max| self.of(count).min(max))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_amount_of_few_and_many() {
        let up_to_3 = Amount::UpTo(NonZeroU32::new(3).unwrap());
        let of = |amount: Amount| [0, 1, 2, 3, 4, 9].map(|count| amount.of(count));
        assert_eq!(of(Amount::One), [0, 1, 1, 1, 1, 1]);
        assert_eq!(of(Amount::Half), [0, 1, 1, 2, 2, 5]);
        assert_eq!(of(Amount::AllButOne), [0, 1, 1, 2, 3, 8]);
        assert_eq!(of(Amount::All), [0, 1, 2, 3, 4, 9]);
        assert_eq!(of(up_to_3), [0, 1, 2, 3, 3, 3]);
        assert_eq!([0, 2, 9].map(|max| up_to_3.of_at_most(9, max)), [0, 2, 3]);
    }
}
