//! Spare workers, which work while others block.
//!
//! A spare is a worker with a thread, a number and a task pool like any other, but it works only while it is needed:
//! while more workers block than spares work, while it has mail, and while the pool closes. Otherwise its thread sleeps
//! here, and not in the [dormitory](crate::protocol::sleep): it is as if it had left. When it is not needed any more, it
//! ends the task that it runs, then the jobs that it has spawned, and comes back here with empty queues. So there is
//! nothing that only it could run, and no wake-up that it could swallow: its last search passes them on.
//!
//! Invariant: a spare that waits here has seen, under the lock, that it is not needed; whoever makes it needed notifies it
//! afterwards, under the same lock.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use filch_memory::{Atomic, Memory, Native, Ordering};

use crate::here::Here;
use crate::home::current_home;
use crate::levels::Level;
use crate::pool::Pool;
use crate::registry::Common;
use crate::worker::Worker;

/// The spare workers of a pool, which have its last numbers.
pub(crate) struct Spares {
    /// The number of the first.
    first: usize,
    counts: Mutex<Counts>,
    change: Condvar,
    /// Whether there are too many at work. A hint.
    is_surplus: <Native as Memory>::AtomicBool,
}

struct Counts {
    /// The number of workers that block.
    blocked: usize,
    /// The number of spares at work.
    active: usize,
}

impl Spares {
    pub(crate) fn new(first: usize) -> Self {
        let counts = Mutex::new(Counts { blocked: 0, active: 0 });
        Self { first, counts, change: Condvar::new(), is_surplus: Atomic::new(false) }
    }

    /// Whether worker `index` is one of them.
    pub(crate) fn has(&self, index: usize) -> bool {
        index >= self.first
    }

    fn counts(&self) -> MutexGuard<'_, Counts> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes the counts; returns whether more workers block than spares work.
    fn change(&self, counts: &mut Counts, change: impl FnOnce(&mut Counts)) -> bool {
        change(counts);
        // Relaxed: a hint, and the lock decides.
        self.is_surplus.store(counts.active > counts.blocked, Ordering::Relaxed);
        counts.blocked > counts.active
    }

    /// Wakes the spares, one of which may be needed.
    pub(crate) fn notify(&self) {
        let _counts = self.counts();
        self.change.notify_all();
    }

    /// Waits until spare `index` is needed.
    pub(crate) fn wait_until_needed(&self, common: &Common, index: usize) {
        let is_idle =
            |counts: &mut Counts| counts.blocked <= counts.active && !common.is_closing() && !common.has_mail(index);
        let counts = self.change.wait_while(self.counts(), is_idle);
        self.change(&mut counts.unwrap_or_else(PoisonError::into_inner), |counts| counts.active += 1);
    }

    /// Whether spare `index`, which is at work, is no longer needed: it has then left.
    pub(crate) fn leaves(&self, common: &Common, index: usize) -> bool {
        // Relaxed: a hint. A spare that misses it works until its next look.
        if !self.is_surplus.load(Ordering::Relaxed) || common.is_closing() {
            return false;
        }
        let mut counts = self.counts();
        let is_needed = counts.active <= counts.blocked || common.has_mail(index);
        if !is_needed {
            self.change(&mut counts, |counts| counts.active -= 1);
        }
        !is_needed
    }

    /// Counts a spare that leaves because the pool is over.
    pub(crate) fn ends(&self) {
        self.change(&mut self.counts(), |counts| counts.active -= 1);
    }
}

/// Returns the spares of the current worker's pool, if there are any.
fn spares_here() -> Option<&'static Spares> {
    current_home()?.seen().common.spares.as_ref()
}

/// A worker that blocks, until this is dropped.
struct Blocked<'s>(&'s Spares);

impl<'s> Blocked<'s> {
    fn new(spares: &'s Spares) -> Self {
        if spares.change(&mut spares.counts(), |counts| counts.blocked += 1) {
            spares.change.notify_all();
        }
        Self(spares)
    }
}

impl Drop for Blocked<'_> {
    fn drop(&mut self) {
        self.0.change(&mut self.0.counts(), |counts| counts.blocked -= 1);
    }
}

/// Runs `f`, which may block its thread: it waits for a message, a file, a lock. If the pool has
/// [spare workers](crate::Builder::spares), one of them works meanwhile, so that no processor idles, and what `f` waits
/// for can run even if all other workers block too. What the current worker has forked can be stolen, unless its pool keeps
/// forks from thieves until the worker answers, as queues of private tasks and of blocks do.
///
/// Otherwise, and outside all pools, this only calls `f`.
///
/// Cost: two uncontended locks, and waking a thread.
///
/// ```
/// let pool = filch::ThreadPool::builder().workers(1).spares(1).build()?;
/// let (sender, receiver) = std::sync::mpsc::channel();
/// let received = pool.install(move || {
///     filch::spawn(move || sender.send("from the spare worker").unwrap());
///     filch::blocking(|| receiver.recv())
/// });
/// assert_eq!(received, Ok("from the spare worker"));
/// # Ok::<(), filch::BuildError>(())
/// ```
///
/// # Panics
/// If `f` panics.
pub fn blocking<F, R>(f: F) -> R
where
    F: FnOnce() -> R,
{
    let Some(spares) = spares_here() else { return f() };
    // SAFETY: it is used at once.
    unsafe { Here::current() }.pause();
    let blocked = Blocked::new(spares);
    let result = f();
    drop(blocked);
    // SAFETY: it is used at once.
    unsafe { Here::current() }.poll();
    result
}

impl<P: Pool, L: Level> Worker<'_, P, L> {
    /// [`blocking`] in handle style.
    ///
    /// ```
    /// let pool = filch::ThreadPool::builder().workers(1).spares(1).build()?;
    /// let (sender, receiver) = std::sync::mpsc::channel();
    /// let (received, ()) = pool.run(move |mut w| {
    ///     w.join(|mut w| w.blocking(|| receiver.recv()), move |_| sender.send("from a stolen branch").unwrap())
    /// });
    /// assert_eq!(received, Ok("from a stolen branch"));
    /// # Ok::<(), filch::BuildError>(())
    /// ```
    ///
    /// # Panics
    /// If `f` panics.
    pub fn blocking<F, R>(&mut self, f: F) -> R
    where
        F: FnOnce() -> R,
    {
        let Some(spares) = spares_here() else { return f() };
        self.here().of_any().pause();
        let blocked = Blocked::new(spares);
        let result = f();
        drop(blocked);
        self.poll();
        result
    }
}
