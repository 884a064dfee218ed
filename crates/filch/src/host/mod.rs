//! For libraries that give filch another face: pools whose kind is chosen at run time, and whose threads are the host's.
//!
//! The drop-in for `rayon-core` stands on this module. A [`Crew`] is a handle on the workers of a pool of any kind; each worker has a
//! [`Seat`], which the host gives to a thread; and the workers stay as long as somebody has a [`Lease`]. Jobs are spawned, in
//! either order, or addressed to one worker; a [`Countdown`] waits for them. [`join`] is the fast one of closure style, except that it
//! tells its branches whether they have moved and runs both whatever happens.
//!
//! ```
//! use filch::host::{self, Countdown, Fifo, Host, MayDangle};
//!
//! struct Here;
//! impl Host for Here {
//!     fn crew() -> &'static host::Crew {
//!         unreachable!("only workers join below")
//!     }
//! }
//!
//! let (crew, lease, seats) = filch::ThreadPool::builder().workers(2).seats()?;
//! std::thread::scope(|s| {
//!     for seat in seats {
//!         s.spawn(move || seat.run(2 << 20, || (), || ()));
//!     }
//!     assert_eq!((crew.workers(), crew.here()), (2, None));
//!     let (jobs, queue) = (Countdown::new(3), Fifo::default());
//!     let counted = |assert_here: fn()| {
//!         let jobs = MayDangle::new(&jobs);
//!         move || {
//!             assert_here();
//!             // SAFETY: the countdown is waited for, and each of the three ends it once.
//!             unsafe { Countdown::end(jobs.into_inner()) };
//!         }
//!     };
//!     // SAFETY: what they borrow lives until their last act: it is waited for.
//!     unsafe {
//!         crew.push(counted(|| ()));
//!         crew.push_fifo(&queue, counted(|| ()));
//!         crew.post(1, counted(|| assert_eq!(host::here(), Some(1))));
//!     }
//!     jobs.wait();
//!     let moved = crew.enter(|| host::join::<Here, _, _, _, _>(|moved| moved, |_| host::workers_here()));
//!     assert_eq!(moved, (false, Some(2)));
//!     assert_eq!((host::run_one(true), host::has_pending()), (None, None), "this thread is no worker");
//!     let again = lease.downgrade();
//!     drop(lease); // the last one: the workers leave
//!     assert!(again.upgrade().is_none());
//! });
//! # Ok::<(), filch::BuildError>(())
//! ```
//!
//! What must always hold: a seat is taken by one thread, which is the worker from then on; and a job that borrows is waited for
//! before what it borrows ends, which is the duty of whoever pushes it.

mod crew;

use std::marker::PhantomData;

use crate::fork;
use crate::front::Reach;
use crate::here::{Any, Here};
use crate::home::current_home;
use crate::job::Body;
use crate::latch::{self, Latch, Waiter};
use crate::processors;

pub use self::crew::{Crew, Fifo, Lease, Seat, WeakLease};
pub use crate::kept::keep;
pub use crate::process::PerProcess;
pub use crate::spawn::MayDangle;
pub use crate::unwind::{AbortOnUnwind, FirstPanic};

/// Waits until a number of things have ended.
///
/// ```
/// use filch::host::Countdown;
///
/// let countdown = Countdown::new(2);
/// std::thread::scope(|s| {
///     for _ in 0..2 {
///         // SAFETY: the countdown outlives both threads, and each ends it once.
///         s.spawn(|| unsafe { Countdown::end(&raw const countdown) });
///     }
///     countdown.wait();
/// });
/// ```
#[derive(Debug)]
pub struct Countdown(Latch);

impl Countdown {
    /// For the current thread to wait until `things` things have ended.
    pub fn new(things: usize) -> Self {
        Self(Latch::new(things, Waiter::here()))
    }

    /// More things to wait for. Call it while something that has been counted has not ended; otherwise the wait may be over already.
    pub fn add(&self, things: usize) {
        self.0.add(things);
    }

    /// The number of things that have not ended. A snapshot.
    pub fn pending(&self) -> usize {
        self.0.pending()
    }

    /// One thing has ended.
    ///
    /// # Safety
    /// `this` is alive as long as the thing is counted, and the thing ends once. Afterwards it may be gone.
    pub unsafe fn end(this: *const Self) {
        // SAFETY: the caller's promise.
        unsafe { Latch::end(&raw const (*this).0) };
    }

    /// Waits until everything has ended. A worker runs jobs of any kind meanwhile; other threads sleep.
    ///
    /// # Panics
    /// If another thread made the countdown.
    pub fn wait(&self) {
        assert!(self.0.waiter().is_here(), "a countdown is for the thread that made it");
        latch::wait(&self.0, None, false);
    }
}

/// How large a stack a host should give each of so many threads for which nobody has asked for another size:
/// [`DEFAULT_STACK_SIZE`](crate::DEFAULT_STACK_SIZE), or less where the address space is limited.
///
/// ```
/// assert!(filch::host::stack_size(4) <= filch::DEFAULT_STACK_SIZE);
/// ```
pub fn stack_size(workers: usize) -> usize {
    crate::limits::default_stack_size(workers)
}

/// How many processors the process may use, whatever the current thread is pinned to.
///
/// ```
/// assert!(filch::host::processors() >= 1);
/// ```
pub fn processors() -> usize {
    processors::count()
}

/// Lets the current thread use all processors that the process may use, though the thread that started it was pinned. Where the system
/// does not tell which these are, does nothing.
///
/// ```
/// std::thread::spawn(filch::host::unpin).join().unwrap();
/// ```
pub fn unpin() {
    processors::unpin();
}

/// The number of the worker, of whatever pool, that the current thread is.
#[inline]
pub fn here() -> Option<usize> {
    current_home().map(|home| home.index)
}

/// The number of workers of the pool that the current thread belongs to.
pub fn workers_here() -> Option<usize> {
    current_home().map(|home| home.common.workers())
}

/// Runs one job on the current worker, in the middle of whatever it is doing; returns whether there was one, or `None` if the
/// thread is no worker. First what it has spawned itself, what has been posted to it, and its own forks; if `everywhere`, then
/// whatever others have.
pub fn run_one(everywhere: bool) -> Option<bool> {
    let reach = if everywhere { Reach::All } else { Reach::Own };
    // SAFETY: used at once.
    unsafe { Here::current() }.run_one(reach)
}

/// Whether the current worker has something to run that nobody has taken: spawned, posted or forked. `None` if the thread is no
/// worker. A snapshot.
pub fn has_pending() -> Option<bool> {
    let home = current_home()?;
    // SAFETY: used at once.
    Some(home.has_mail() || home.has_own_spawned() || unsafe { Here::current() }.has_own())
}

/// Who [`join`]s, and where forks from outside of all pools go.
pub trait Host: 'static {
    /// The crew for threads that are no workers. Called only by them.
    fn crew() -> &'static Crew;

    /// Hands the crew to a call of such a thread, which may be its guest meanwhile: for a host that wants to know, or prepare the thread.
    fn call<R>(call: impl FnOnce(&'static Crew) -> R) -> R {
        call(Self::crew())
    }
}

/// As [`filch::join`](crate::join()), for another host: threads outside go to [`Host::crew`]; each branch is told whether it runs
/// on another thread than the one that forked it; and both are always run, even if the other panics.
///
/// Costs as much.
///
/// # Panics
/// If a branch panics, with its payload, once both have ended. If both panic, it is with the payload of `a`.
#[inline(always)]
pub fn join<H, A, B, RA, RB>(a: A, b: B) -> (RA, RB)
where
    H: Host,
    A: FnOnce(bool) -> RA + Send,
    B: FnOnce(bool) -> RB + Send,
    RA: Send,
    RB: Send,
{
    // SAFETY: used at once; from outside, `Hosted` finds a worker first, for which its parts are `Send`, as they are here.
    fork::join(unsafe { Here::current() }, Hosted::<H, A>::new(a), Hosted::<H, B>::new(b))
}

/// Work of [`join`]; its parts are `Send`.
#[repr(transparent)]
struct Hosted<H, F> {
    work: F,
    host: PhantomData<H>,
}

impl<H, F> Hosted<H, F> {
    #[inline(always)]
    fn new(work: F) -> Self {
        Self { work, host: PhantomData }
    }
}

impl<H: Host, F: FnOnce(bool) -> R, R> Body for Hosted<H, F> {
    type Out = R;
    type In = Any;

    const MAY_BE_OUTSIDE: bool = true;

    const ALWAYS_RUN: bool = true;

    #[inline(always)]
    fn inline(self, _: Here<'_>) -> R {
        (self.work)(false)
    }

    #[inline]
    fn stolen(self, here: Here<'_>) -> R {
        let _entered = here.enter();
        (self.work)(true)
    }

    fn moved(self, _: Here<'_>) -> R {
        (self.work)(true)
    }

    #[cold]
    #[inline(never)]
    fn outside<B: Body<In = Any>>(self, b: B) -> (R, B::Out) {
        // SAFETY: it is a near join that has come here, and only bodies that `join` made are ever outside.
        H::call(|crew| unsafe { crew.common().enter_fork(Moved(self), Moved(b)) })
    }
}

/// Work that has moved to a worker together with its fork.
struct Moved<B>(B);

impl<B: Body> Body for Moved<B> {
    type Out = B::Out;
    type In = B::In;

    const ALWAYS_RUN: bool = B::ALWAYS_RUN;

    fn inline(self, here: Here<'_, B::In>) -> B::Out {
        self.0.moved(here)
    }

    fn stolen(self, here: Here<'_, B::In>) -> B::Out {
        self.0.stolen(here)
    }

    fn raise(here: &Here<'_, B::In>) {
        B::raise(here);
    }

    fn lower(here: &Here<'_, B::In>) {
        B::lower(here);
    }
}
