//! Helpers shared by the integration tests.
#![allow(clippy::disallowed_types, reason = "tests count; what they test is the algorithm")]
#![allow(dead_code, reason = "each test program uses its part")]

use std::any::Any;
use std::hash::{BuildHasher, RandomState};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::{Duration, Instant};

use filch::pool::{Heartbeat, Pool, PrivateStack, Queued, Request, Split, Wool};
use filch::{Builder, ThreadPool, Wait};
#[cfg(not(filch_long))]
use filch_queue::{BwosF, PdqR2, PdqS, Wsq};
use filch_queue::{ChaseLev, Lace, Queue};

/// Far longer than anything here takes, even on a busy machine or under a sanitizer.
pub(crate) const PATIENCE: Duration = Duration::from_secs(120);

/// Aborts the process with a message unless dropped in time: a hanging test says nothing. There is time for a whole
/// test.
pub(crate) fn watchdog(what: &'static str) -> Sender<()> {
    let (alive, patience) = channel();
    if cfg!(miri) {
        // Miri requires all threads to end before the process does, and reports a deadlock itself.
        return alive;
    }
    thread::spawn(move || {
        if patience.recv_timeout(PATIENCE * 10) == Err(RecvTimeoutError::Timeout) {
            eprintln!("{what} hangs");
            std::process::abort();
        }
    });
    alive
}

/// Waits until `done`, and fails if that takes far too long.
pub(crate) fn wait_for(what: &str, mut done: impl FnMut() -> bool) {
    let start = Instant::now();
    while !done() {
        assert!(start.elapsed() < PATIENCE, "{what} does not happen");
        thread::yield_now();
    }
}

/// A payload that no panic hook sees.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Thrown(pub(crate) usize);

pub(crate) fn throw(what: usize) -> ! {
    resume_unwind(Box::new(Thrown(what)))
}

/// Returns the payload of `f`, which must throw one.
pub(crate) fn thrown_by<R>(f: impl FnOnce() -> R) -> usize {
    let Err(payload) = catch_unwind(AssertUnwindSafe(f)) else { panic!("nothing was thrown") };
    payload_of(&*payload)
}

pub(crate) fn payload_of(payload: &(dyn Any + Send)) -> usize {
    payload.downcast_ref::<Thrown>().unwrap_or_else(|| panic!("a payload of another type")).0
}

pub(crate) fn pool(workers: usize, wait: Wait) -> ThreadPool {
    pool_of(workers, wait)
}

pub(crate) fn pool_of<P: Pool>(workers: usize, wait: Wait) -> ThreadPool<P> {
    Builder::new().workers(workers).wait(wait).build().unwrap()
}

/// A pool of one worker that is busy until the sender is used or dropped.
pub(crate) fn busy() -> (ThreadPool, Sender<()>) {
    let pool = ThreadPool::builder().workers(1).caller_works(false).build().unwrap();
    let (go, wait) = channel::<()>();
    let begun = Arc::new(Barrier::new(2));
    let inside = Arc::clone(&begun);
    pool.spawn(move || {
        inside.wait();
        let _ = wait.recv();
    });
    begun.wait();
    (pool, go)
}

/// Counts the values that are alive.
pub(crate) struct Counted<'c>(pub(crate) &'c AtomicUsize);

impl<'c> Counted<'c> {
    pub(crate) fn new(alive: &'c AtomicUsize) -> Self {
        alive.fetch_add(1, SeqCst);
        Self(alive)
    }
}

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        assert!(self.0.fetch_sub(1, SeqCst) > 0, "dropped twice");
    }
}

/// Returns `many`, or `few` under Miri, where each step takes a thousand times as long.
pub(crate) const fn times(many: usize, few: usize) -> usize {
    if cfg!(miri) { few } else { many }
}

/// The numbers of workers to test.
pub(crate) const WORKERS: [usize; 3] = [1, 2, 8];

/// `[with]` for a queue that returns each task once and whose default parameters are usable.
#[cfg(filch_long)]
macro_rules! once {
    (twice $with:expr) => {
        &[]
    };
    ($lists:ident $with:expr, delta) => {
        &[]
    };
    ($lists:ident $with:expr $(, fifo)?) => {
        &[$with]
    };
}

/// Like `once`, for queues of which a pool can be made.
#[cfg(filch_long)]
macro_rules! lifo {
    ($lists:ident $with:expr, fifo) => {
        &[]
    };
    ($($row:tt)*) => {
        once!($($row)*)
    };
}

#[cfg(filch_long)]
macro_rules! queues {
    ($($lists:ident $module:ident: $queue:ty $(, $but:ident)?;)+) => {
        [$(once!($lists Self::with::<$queue> $(, $but)?)),+]
    };
}

#[cfg(filch_long)]
macro_rules! pools {
    ($($lists:ident $module:ident: $queue:ty $(, $but:ident)?;)+) => {
        [$(lifo!($lists Self::with::<Queued<$queue>> $(, $but)?)),+]
    };
}

/// Runs a test on one queue of each kind; or, compiled with `--cfg filch_long`, on every queue that returns each task
/// once.
pub(crate) trait EveryQueue {
    fn with<Q: Queue>(&self);

    #[cfg(not(filch_long))]
    fn all() -> Vec<fn(&Self)> {
        vec![
            Self::with::<ChaseLev>,
            Self::with::<Lace>,
            Self::with::<Wsq>,
            Self::with::<BwosF>,
            Self::with::<PdqR2>,
            Self::with::<PdqS>,
        ]
    }

    #[cfg(filch_long)]
    fn all() -> Vec<fn(&Self)> {
        let all: [&[fn(&Self)]; _] = filch_queue::for_each_queue!(queues);
        all.concat()
    }

    fn every(&self) {
        picked(&Self::all(), 2).for_each(|with| with(self));
    }
}

/// Runs a test on one pool of each kind; or, compiled with `--cfg filch_long`, on every pool, with every possible
/// queue.
pub(crate) trait EveryPool {
    fn with<P: Pool>(&self);

    #[cfg(not(filch_long))]
    fn others() -> Vec<fn(&Self)> {
        vec![
            Self::with::<Queued<ChaseLev>>,
            Self::with::<Queued<Lace>>,
            Self::with::<Queued<PdqR2>>,
            Self::with::<Queued<PdqS>>,
            Self::with::<Wool>,
            Self::with::<PrivateStack>,
            Self::with::<Heartbeat<Lace>>,
            Self::with::<Heartbeat<ChaseLev, Request>>,
        ]
    }

    #[cfg(filch_long)]
    fn others() -> Vec<fn(&Self)> {
        let on_queues: [&[fn(&Self)]; _] = filch_queue::for_each_queue!(pools);
        let mut others = on_queues.concat();
        others.extend([
            Self::with::<Wool>,
            Self::with::<Wool<1, 1>>,
            Self::with::<PrivateStack>,
            Self::with::<Heartbeat<ChaseLev>>,
            Self::with::<Heartbeat<ChaseLev, Request>>,
            Self::with::<Heartbeat<Lace>>,
            Self::with::<Heartbeat<filch_queue::Adws, Request>>,
        ] as [fn(&Self); _]);
        others
    }

    fn every(&self) {
        self.with::<Split>();
        picked(&Self::others(), 1).for_each(|with| with(self));
    }
}

/// Returns all of them; under Miri, where each takes a thousand times as long, a random few that depend on Miri's seed.
pub(crate) fn picked<T: Copy>(all: &[T], some: usize) -> impl Iterator<Item = T> {
    let mut all = all.to_vec();
    if cfg!(miri) {
        let chance = RandomState::new();
        for nth in 0..some.min(all.len()) {
            #[expect(clippy::cast_possible_truncation, reason = "any number will do")]
            let other = nth + chance.hash_one(nth) as usize % (all.len() - nth);
            all.swap(nth, other);
        }
        all.truncate(some);
    }
    all.into_iter()
}
