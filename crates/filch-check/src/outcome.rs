//! What an execution has come to: all that its threads have read and all that they leave behind, as one number.
//!
//! The end of a program may ask much of what its threads have left. It runs alone, so it explores nothing; but it runs after
//! every execution, and most executions end alike. A thread knows nothing but what it has read, and does nothing
//! but what follows from that. So where all threads have read the same values, and leave the same values, they leave
//! the same: what has passed once need not be tried again, on whatever machine.
//!
//! What must always hold: two executions have one number only if they agree in this. An address differs from run to run and
//! may come back with another meaning, so it counts as what it is: the how-manieth that its thread has written. Cells that
//! are not atomic do not count: who may use them next is said by values that do.

/// Below any address: numbers of tasks, which lie in places for addresses, and null.
const LEAST_ADDRESS: u64 = 1 << 12;

/// The thread that runs before the others and after them.
pub(crate) const ALONE: usize = 0;

/// Threads, the one included that runs alone.
const THREADS: usize = 8;

/// Of the running execution.
#[derive(Debug, Default)]
pub(crate) struct Outcome {
    /// What each thread has read.
    read: [u64; THREADS],
    /// Who wrote an address first, and after how many others.
    addresses: Vec<(u64, u64)>,
}

/// A hash of what has been hashed before and one value more.
#[inline]
pub(crate) fn mix(hash: u64, value: u64) -> u64 {
    (hash.rotate_left(23) ^ value).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

impl Outcome {
    /// For the next execution.
    pub(crate) fn reset(&mut self) {
        self.read = [0; THREADS];
        self.addresses.clear();
    }

    /// A thread, [`ALONE`] or counted from 1, has read this, and has done or not done with it what it wanted.
    #[inline]
    pub(crate) fn reads(&mut self, thread: usize, value: u64, succeeds: bool) {
        self.read[thread] = mix(self.read[thread], value << 1 | u64::from(succeeds));
    }

    /// A thread writes what may be an address.
    pub(crate) fn writes_address(&mut self, thread: usize, value: u64) {
        if value >= LEAST_ADDRESS && self.addresses.iter().all(|&(address, _)| address != value) {
            let former = self.addresses.iter().filter(|&&(_, name)| (name >> 32) as usize == thread).count();
            self.addresses.push((value, (thread as u64) << 32 | former as u64));
        }
    }

    /// What counts of a value that may be an address.
    pub(crate) fn name(&self, value: u64) -> u64 {
        self.addresses.iter().find(|&&(address, _)| address == value).map_or(value, |&(_, name)| !name)
    }

    /// The number of an execution that leaves these values.
    pub(crate) fn number(&self, left: impl Iterator<Item = u64>) -> u64 {
        self.read.into_iter().chain(left).fold(0, mix)
    }
}
