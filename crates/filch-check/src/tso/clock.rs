//! Vector clocks: the steps of each process that came before.

/// The maximum number of threads in a program.
pub const MAX_THREADS: usize = 5;
/// Each thread has a store buffer and an entry beyond it, which take steps of their own.
pub(crate) const MAX_PROCESSES: usize = 3 * MAX_THREADS + 1;

/// For each process, the number of its steps that came before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(align(32))]
pub(crate) struct Clock([u16; MAX_PROCESSES]);

impl Clock {
    #[inline]
    pub(crate) fn get(&self, process: usize) -> u16 {
        self.0[process]
    }

    #[inline]
    pub(crate) fn set(&mut self, process: usize, steps: u16) {
        self.0[process] = steps;
    }

    #[inline]
    pub(crate) fn join(&mut self, other: &Self) {
        for (mine, theirs) in self.0.iter_mut().zip(&other.0) {
            *mine = (*mine).max(*theirs);
        }
    }
}
