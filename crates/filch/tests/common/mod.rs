//! What the integration tests share.
#![allow(clippy::disallowed_types, reason = "tests count; what they test is the algorithm")]
#![allow(dead_code, reason = "each test program uses its part")]

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use filch::pool::Pool;
use filch::{Builder, ThreadPool, Wait};
use filch_queue::{
    Abp, Adws, BwosF, BwosL, ChaseLev, ChaseLevAsym, Dsq, HendlerShavit, Lace, Locked, OneExposed, PadWs, PdqR, PdqR2,
    PdqS, Queue, The, Wsq,
};

/// Far beyond what anything here takes, on a busy machine and under a sanitizer too.
pub(crate) const PATIENCE: Duration = Duration::from_secs(120);

/// Ends the process with a message unless dropped in time: a hanging test says nothing.
pub(crate) fn watchdog(what: &'static str) -> Sender<()> {
    let (alive, patience) = channel();
    thread::spawn(move || {
        if patience.recv_timeout(PATIENCE * 2) == Err(RecvTimeoutError::Timeout) {
            eprintln!("{what} hangs");
            std::process::abort();
        }
    });
    alive
}

/// Waits until `done`, and gives up when it takes far too long.
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

/// What `f` throws, which it must.
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

/// Counts its drops.
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

/// Numbers of workers to try.
pub(crate) const WORKERS: [usize; 3] = [1, 2, 8];

/// Lets a test have every queue that returns each task once.
pub(crate) trait EveryQueue {
    fn with<Q: Queue>(&self);

    fn every(&self) {
        self.with::<Abp>();
        self.with::<Adws>();
        self.with::<BwosF>();
        self.with::<BwosL>();
        self.with::<ChaseLev>();
        self.with::<ChaseLevAsym>();
        self.with::<Dsq>();
        self.with::<HendlerShavit>();
        self.with::<Lace>();
        self.with::<Locked>();
        self.with::<OneExposed>();
        self.with::<PadWs>();
        self.with::<PdqR>();
        self.with::<PdqR2>();
        self.with::<PdqS>();
        self.with::<The>();
        self.with::<Wsq>();
    }
}
