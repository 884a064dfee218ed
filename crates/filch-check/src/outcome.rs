//! The outcome of an execution, as one number: everything its threads have read and everything they leave behind.
//!
//! The end of a program may check its threads' results at length. It runs alone, so it explores nothing; but it runs
//! after every execution, and most executions end alike. A thread's actions follow from the values it has read. So if
//! all threads have read the same values and leave the same values, the results are the same: a result that has passed
//! once need not be checked again, on any machine.
//!
//! Invariant: two executions have the same number only if they agree in these values. Addresses differ from run to run
//! and may be reused, so an address counts by its rank among the addresses its thread has written. Cells that are not
//! atomic do not count: the atomic values determine which thread may use them next.

/// Smaller values are task numbers, which are stored as addresses, or null.
const LEAST_ADDRESS: u64 = 1 << 12;

/// The thread that runs before and after the others.
pub(crate) const ALONE: usize = 0;

/// The number of threads, including the one that runs alone.
const THREADS: usize = 8;

/// The outcome of the running execution so far.
#[derive(Debug, Default)]
pub(crate) struct Outcome {
    /// What each thread has read.
    read: [u64; THREADS],
    /// Each address with the thread that first wrote it, and the number of addresses that thread had written before.
    addresses: Vec<(u64, u64)>,
}

/// Adds a value to a hash.
#[inline]
pub(crate) fn mix(hash: u64, value: u64) -> u64 {
    (hash.rotate_left(23) ^ value).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

impl Outcome {
    /// Starts the next execution.
    pub(crate) fn reset(&mut self) {
        self.read = [0; THREADS];
        self.addresses.clear();
    }

    /// Records what a thread, [`ALONE`] or counted from 1, has read, and whether its operation succeeded.
    #[inline]
    pub(crate) fn reads(&mut self, thread: usize, value: u64, succeeds: bool) {
        self.read[thread] = mix(self.read[thread], value << 1 | u64::from(succeeds));
    }

    /// Records that a thread writes a value that may be an address.
    pub(crate) fn writes_address(&mut self, thread: usize, value: u64) {
        if value >= LEAST_ADDRESS && self.addresses.iter().all(|&(address, _)| address != value) {
            let former = self.addresses.iter().filter(|&&(_, name)| (name >> 32) as usize == thread).count();
            self.addresses.push((value, (thread as u64) << 32 | former as u64));
        }
    }

    /// Returns the stand-in for a value that may be an address.
    pub(crate) fn name(&self, value: u64) -> u64 {
        self.addresses.iter().find(|&&(address, _)| address == value).map_or(value, |&(_, name)| !name)
    }

    /// Returns the number of an execution that leaves these values.
    pub(crate) fn number(&self, left: impl Iterator<Item = u64>) -> u64 {
        self.read.into_iter().chain(left).fold(0, mix)
    }
}
