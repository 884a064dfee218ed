//! A worker, or a thread outside any pool, waits until others have ended their parts.
//!
//! Invariant: what the others did is visible when the wait is over.

use std::sync::Arc;

use filch::inside::protocol::grain;
use filch::inside::protocol::latch::{Event, Latch, Waiter};
use filch::inside::protocol::sleep::ANY_MEANWHILE;
use filch::inside::protocol::waiting::search;
use filch_memory::{Cell, Memory};

use super::Threads;
use super::worker::{Team, Waiting, Worker};
use crate::Program;
use crate::scenario::Checker;

/// A worker that waits for a latch.
struct Waits<M: Memory>(Arc<Team<M>>, usize);

impl<M: Memory> Clone for Waits<M> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0), self.1)
    }
}

impl<M: Checker> Waiter for Waits<M> {
    fn wake(&self) {
        self.0.dormitory.notify(self.1);
    }
}

/// A worker waits until `things` other threads have each ended a thing; what they did is visible then.
pub fn latch<M: Checker>(things: usize) -> Program {
    let worker = Worker::<M>::team(1, Waiting::Sleeps, &[], grain::Params::FINE).pop().expect("a worker");
    let waits = Waits(Arc::clone(&worker.team), 0);
    ended::<M, _>(things, waits, move |is_over, _| search(&worker, ANY_MEANWHILE, is_over))
}

/// Like [`latch`], but the waiter is not a worker.
pub fn event<M: Checker>(things: usize) -> Program {
    ended::<M, _>(things, Arc::new(Event::<M>::default()), |is_over, event| {
        while !is_over() {
            M::note(|| "sleeps".into());
            event.wait();
        }
    })
}

fn ended<M, W>(things: usize, waiter: W, wait: impl FnOnce(&dyn Fn() -> bool, &W) + 'static) -> Program
where
    M: Checker,
    W: Waiter + 'static,
{
    struct Frame<M: Memory, W> {
        latch: Latch<M, W>,
        done: Vec<M::Cell<usize>>,
    }
    let frame = Arc::new(Frame {
        latch: Latch::<M, W>::new(things, waiter),
        done: (0..things).map(|_| Cell::new(0)).collect(),
    });
    let mut threads: Threads = Vec::new();
    for thing in 0..things {
        let frame = Arc::clone(&frame);
        let end = move || {
            M::note(|| "ends a thing".into());
            // SAFETY: a cell of the program; the checker reports any other access at the same time.
            frame.done[thing].with_mut(|done| unsafe { *done = 1 });
            // SAFETY: each thread ends one thing; the program keeps the frame.
            unsafe { Latch::end(&raw const frame.latch) };
        };
        threads.push((format!("thread {}", thing + 1), Box::new(end)));
    }
    let wait = move || {
        let Frame { latch, done } = &*frame;
        wait(&|| latch.is_over(), latch.waiter());
        // SAFETY: as above.
        assert!(done.iter().all(|done| done.with(|done| unsafe { *done }) == 1));
    };
    threads.insert(0, ("waiter".into(), Box::new(wait)));
    Program { threads, finally: Box::new(|| ()) }
}
