//! What code in closure style asks of the current worker.

use crate::home::current_home;
#[cfg(doc)]
use crate::worker::Worker;

/// The number of the current worker in its pool; `None` outside all pools. This is [`Worker::index`] in closure style.
///
/// After a wait the number is the same; in a branch or an item that another worker runs, it is that worker's. Numbers
/// of different pools overlap.
///
/// Cost: a load from thread-local storage.
///
/// ```
/// assert_eq!(filch::current_index(), None);
/// let pool = filch::ThreadPool::new(2)?;
/// assert!(pool.install(filch::current_index).is_some_and(|index| index < 2));
/// # Ok::<(), filch::BuildError>(())
/// ```
pub fn current_index() -> Option<usize> {
    current_home().map(|home| home.index)
}
