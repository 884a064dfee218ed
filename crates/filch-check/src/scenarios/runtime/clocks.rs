//! Beats and ticks: a clock's thread sleeps when no thread wants the time.
//!
//! Invariant: another beat follows a beat that was taken, and another tick follows when one is wanted.

use std::sync::Arc;

use filch::inside::protocol::beat::{Clock, Due};
use filch::inside::protocol::ticks::{Tick, Ticks};
use filch_memory::{Atomic, Ordering};

use crate::Program;
use crate::scenario::Checker;

/// A worker waits for and takes `beats` beats, waits for one more, and closes. The clock sleeps when it may. If it
/// sleeps after a beat was taken, the worker waits for ever.
pub fn beat<M: Checker>(beats: usize) -> Program {
    let due = Arc::new(Due::<M>::new(true));
    let clock = Arc::new(Clock::new([Arc::clone(&due)]));
    let ticking = Arc::clone(&clock);
    let work = move || {
        let wait = || {
            while !due.is_raised() {
                M::spin_loop();
            }
        };
        for _ in 0..beats {
            wait();
            M::note(|| "takes a beat".into());
            due.lower();
            clock.taken();
        }
        wait();
        M::note(|| "closes".into());
        clock.close();
    };
    let tick = move || ticking.run(|| M::note(|| "ticks".into()));
    Program {
        threads: vec![("worker".into(), Box::new(work)), ("clock".into(), Box::new(tick))],
        finally: Box::new(|| ()),
    }
}

/// A thief wants a tick `in_vain` times in vain, makes a request, and wants another tick, as if it went to sleep. The
/// owner answers on ticks only. If the last tick comes before the request is visible, the thief waits for ever.
pub fn ticks<M: Checker>(in_vain: usize) -> Program {
    struct Shared<M: Checker> {
        ticks: Ticks<M>,
        request: M::AtomicBool,
        answer: M::AtomicBool,
    }
    let shared: Arc<Shared<M>> =
        Arc::new(Shared { ticks: Ticks::new(1), request: Atomic::new(false), answer: Atomic::new(false) });
    let (thief, owner, ticker) = (Arc::clone(&shared), Arc::clone(&shared), shared);
    let steal = move || {
        for _ in 0..in_vain {
            thief.ticks.want();
        }
        M::note(|| "asks".into());
        // Relaxed, as the fence orders it.
        thief.request.store(true, Ordering::Relaxed);
        M::fence(Ordering::SeqCst);
        thief.ticks.want();
        while !thief.answer.load(Ordering::Relaxed) {
            M::spin_loop();
        }
        thief.ticks.clock().close();
    };
    let own = move || {
        loop {
            if owner.ticks.take(0) == Tick::Made && owner.request.load(Ordering::Relaxed) {
                M::note(|| "answers".into());
                owner.answer.store(true, Ordering::Relaxed);
                return;
            }
            M::spin_loop();
        }
    };
    let tick = move || {
        ticker.ticks.clock().run(|| {
            M::note(|| "ticks".into());
            ticker.ticks.make();
        });
    };
    Program {
        threads: vec![
            ("thief".into(), Box::new(steal)),
            ("owner".into(), Box::new(own)),
            ("ticker".into(), Box::new(tick)),
        ],
        finally: Box::new(|| ()),
    }
}
