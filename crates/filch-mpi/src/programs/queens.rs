//! Queens: a task is the columns and the diagonals that earlier rows attack, as bits.

use filch_workloads::Answer;

use super::{Around, Program};

/// All columns of the board.
pub(super) struct Queens(pub(super) u32);

impl Program for Queens {
    type Task = [u32; 3];
    type State = u64;

    fn root(&self) -> Self::Task {
        [0; 3]
    }

    #[inline]
    fn visit(&self, crew: &mut impl Around<Self::Task>, count: &mut u64, [columns, left, right]: Self::Task) {
        let Self(all) = *self;
        *count += u64::from(columns == all);
        let mut free = all & !(columns | left | right);
        while free != 0 {
            let queen = free & free.wrapping_neg();
            free ^= queen;
            crew.push([columns | queen, (left | queen) << 1, (right | queen) >> 1]);
        }
    }

    fn merge(a: u64, b: u64) -> u64 {
        a + b
    }

    fn answer(&self, count: u64) -> Answer {
        Answer::Number(count)
    }
}
