//! The threads of a running pool, their interrupter, and waits for their end.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Mutex, PoisonError};

use crate::fork::{front::Reach, here::Here};
use crate::interrupts::{by_thieves::Answering, ticker::Ticker};
use crate::machine::thread::Thread;
use crate::shared::common::Common;
use crate::unwind::AbortOnUnwind;
use crate::worker::{home::current_home, patience::Patience};

/// The threads of a pool.
#[derive(Default)]
pub(crate) struct Running {
    /// By worker.
    pub(crate) threads: Vec<Thread>,
    /// What interrupts the workers, if anything, until dropped.
    pub(crate) interrupter: Option<Interrupter>,
}

/// What interrupts the workers of a pool.
pub(crate) enum Interrupter {
    Clock { _ticker: Ticker },
    Thieves { _answering: Answering },
}

impl Running {
    /// Joins the threads, which are leaving.
    pub(crate) fn join(&mut self) {
        self.threads.drain(..).for_each(Thread::join);
    }
}

/// Waits until `is_done`, by looking again and again. A worker runs jobs of its own pool meanwhile, since the awaited
/// event may depend on them.
pub(crate) fn wait_until(is_done: impl Fn() -> bool) {
    let mut patience = Patience::default();
    while !is_done() {
        if Here::with(|here| here.run_one(Reach::All)) == Some(true) {
            patience.renew();
        } else {
            patience.wait_or_nap();
        }
    }
}

/// Runs `blocks` here or, if this thread is a worker, on a new thread. The worker runs jobs of its own pool meanwhile,
/// since `blocks` may wait for them.
///
/// # Errors
/// The system's, if it refuses that thread. Then nothing has run.
pub(crate) fn aside<R: Send>(blocks: &(impl Fn() -> R + Sync)) -> io::Result<R> {
    if current_home().is_none() {
        return Ok(blocks());
    }
    let outcome = Mutex::new(None);
    let call = || {
        let ended = catch_unwind(AssertUnwindSafe(blocks));
        *outcome.lock().unwrap_or_else(PoisonError::into_inner) = Some(ended);
    };
    let call: &(dyn Fn() + Sync) = &call;
    // SAFETY: the thread uses it until its body ends, which is awaited below; nothing unwinds in between.
    let call = unsafe { std::mem::transmute::<&(dyn Fn() + Sync), &'static (dyn Fn() + Sync)>(call) };
    let thread = Thread::start(Some("filch waits".to_owned()), None, call)?;
    let waiting = AbortOnUnwind("a worker panicked while another thread waited for it");
    wait_until(|| thread.is_finished());
    std::mem::forget(waiting);
    thread.join();
    let ended = outcome.into_inner().unwrap_or_else(PoisonError::into_inner).expect("the call has ended");
    Ok(ended.unwrap_or_else(|payload| resume_unwind(payload)))
}

impl Common {
    /// Ends the late threads, after the other threads have ended and when no guest will come any more.
    pub(crate) fn late_ends(&self) {
        // Each thread may still start another.
        loop {
            let threads = self.late_threads();
            if threads.is_empty() {
                break;
            }
            threads.into_iter().for_each(Thread::join);
        }
        wait_until(|| self.late_has_left());
    }
}
