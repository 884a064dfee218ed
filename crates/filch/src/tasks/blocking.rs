//! Tasks that block, and say so, so that [stand-ins](crate::shared::stand_ins) work meanwhile.

use crate::fork::here::Here;
use crate::interrupts::poll;
use crate::shared::stand_ins::Spares;
use crate::tasks::{handle::Worker, levels::Level};
use crate::worker::{home::current_home, plumbing::Pool};

/// Returns the stand-ins of the current worker's pool, if there are any.
fn spares_here() -> Option<&'static Spares> {
    let common = &current_home()?.seen().common;
    common.spares.as_ref().filter(|spares| spares.has_any(common))
}

/// Runs `f`, which may block its thread: it waits for a message, a file, a lock. If the pool has [spare
/// workers](crate::Builder::spares), one of them works meanwhile. So no processor idles, and the task for which `f`
/// waits can run even if all other workers block too. Thieves can take the current worker's forks, unless its pool
/// keeps forks from thieves until the worker answers, as queues of private tasks and of blocks do.
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
    Here::with(|here| {
        here.pause();
    });
    let blocked = spares.block();
    let result = f();
    drop(blocked);
    poll();
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
        let blocked = spares.block();
        let result = f();
        drop(blocked);
        self.poll();
        result
    }
}
