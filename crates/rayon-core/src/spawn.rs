//! Tasks that nobody waits for.

use std::sync::Arc;

use crate::registry::Registry;

/// Spawns `func` in the current thread's pool, or in the global pool, and returns at once.
///
/// Without thieves a thread runs its spawned tasks newest first. A dropped pool runs the tasks spawned on it before it
/// ends; an ending process does not.
///
/// Cost: an allocation, a push, and a fence.
///
/// ```
/// let (sender, receiver) = std::sync::mpsc::channel();
/// rayon_core::spawn(move || sender.send("done").unwrap());
/// assert_eq!(receiver.recv(), Ok("done"));
/// ```
///
/// # Panics
/// Never itself. A panic in `func` goes to the pool's [panic handler](crate::ThreadPoolBuilder::panic_handler); without
/// a handler it ends the process.
pub fn spawn<F>(func: F)
where
    F: FnOnce() + Send + 'static,
{
    Registry::with_current(|registry| spawn_in(func, registry));
}

/// Like [`spawn`], but of the tasks that one thread spawns this way, the oldest runs first.
///
/// ```
/// let pool = rayon_core::ThreadPoolBuilder::new().num_threads(1).build()?;
/// let (sender, receiver) = std::sync::mpsc::channel();
/// pool.install(move || {
///     for n in 0..3 {
///         let sender = sender.clone();
///         rayon_core::spawn_fifo(move || sender.send(n).unwrap());
///     }
/// });
/// assert_eq!(receiver.iter().collect::<Vec<_>>(), [0, 1, 2]);
/// # Ok::<(), rayon_core::ThreadPoolBuildError>(())
/// ```
///
/// # Panics
/// As [`spawn`].
pub fn spawn_fifo<F>(func: F)
where
    F: FnOnce() + Send + 'static,
{
    Registry::with_current(|registry| spawn_fifo_in(func, registry));
}

pub(crate) fn spawn_in<F: FnOnce() + Send + 'static>(func: F, registry: &Arc<Registry>) {
    if let Some(job) = job(func, registry) {
        // SAFETY: the job borrows nothing.
        unsafe { registry.push(job) };
    }
}

pub(crate) fn spawn_fifo_in<F: FnOnce() + Send + 'static>(func: F, registry: &Arc<Registry>) {
    if let Some(job) = job(func, registry) {
        // SAFETY: the job borrows nothing, and keeps the registry with its queues alive.
        unsafe { registry.push_fifo(registry.fifos(), job) };
    }
}

/// Packs the task with a lease that keeps the pool's threads at work until the task has run.
///
/// Returns `None` if the threads are leaving and nobody would run it.
fn job<F: FnOnce() + Send + 'static>(func: F, registry: &Arc<Registry>) -> Option<impl FnOnce() + Send + 'static> {
    let lease = registry.lease();
    if lease.is_none() && !registry.stays() {
        return None;
    }
    let registry = Arc::clone(registry);
    Some(move || {
        registry.here(|| registry.catch_unwind(func));
        drop(lease);
    })
}
