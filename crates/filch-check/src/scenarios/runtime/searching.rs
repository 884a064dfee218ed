//! Idle workers search, sleep, and are woken for what others publish.
//!
//! Invariant: no worker sleeps while there is a piece for it.

use std::cell::Cell as Plain;
use std::sync::Arc;

use filch::inside::protocol::sleep::{ANY, Dormitory};
use filch::inside::protocol::waiting::{Searcher, Sleeper, has_pushed, search};
use filch_memory::{Asymmetric, Atomic, AtomicInt, Memory, Ordering};

use super::Threads;
use super::patience::Rounds;
use crate::Program;
use crate::scenario::Checker;

/// Idle workers search, sleep and wake each other. A publisher publishes `workers` pieces of work at once, one for each
/// worker. At the start all workers but the last sleep; the last is about to look once more before it sleeps too, or
/// `gives_way` first and looks again. A worker that sleeps while there is a piece for it sleeps for ever.
pub fn pieces<M: Checker>(workers: usize, gives_way: bool) -> Program {
    struct Shared<M: Memory> {
        dormitory: Dormitory<M>,
        pieces: M::AtomicUsize,
    }
    struct Taker<M: Memory> {
        shared: Arc<Shared<M>>,
        me: usize,
        gives_way: bool,
        has: Plain<bool>,
    }
    impl<M: Checker> Sleeper for Taker<M> {
        type Memory = M;
        fn dormitory(&self) -> &Dormitory<M> {
            &self.shared.dormitory
        }
        fn index(&self) -> usize {
            self.me
        }
        fn parks(&self) {
            M::note(|| "sleeps".into());
        }
    }
    impl<M: Checker> Searcher for Taker<M> {
        type Find = ();
        type Patience = Rounds<M>;
        fn patience(&self) -> Rounds<M> {
            // The last worker begins in the middle of a search.
            let is_last = self.me + 1 == self.shared.dormitory.len();
            Rounds::new(u32::from(is_last)).then_long(u32::from(is_last && self.gives_way))
        }
        fn find(&self) -> Option<()> {
            let mut pieces = self.shared.pieces.load(Ordering::Relaxed);
            while pieces != 0 {
                let less = pieces - 1;
                match self.shared.pieces.compare_exchange(pieces, less, Ordering::Acquire, Ordering::Relaxed) {
                    Ok(_) => return Some(()),
                    Err(now) => pieces = now,
                }
            }
            None
        }
        fn leaves_more(&self, (): &()) -> bool {
            self.sees_any()
        }
        fn run(&self, (): ()) {
            M::note(|| "has a piece".into());
            self.has.set(true);
        }
        fn share(&self) {}
        fn ask(&self) {}
        fn sees_any(&self) -> bool {
            self.shared.pieces.load(Ordering::Acquire) != 0
        }
    }
    let shared = Arc::new(Shared::<M> { dormitory: Dormitory::new(workers), pieces: Atomic::new(0) });
    let publisher = Arc::clone(&shared);
    let publish = move || {
        M::note(|| "publishes the pieces".into());
        publisher.pieces.fetch_add(workers, Ordering::Release);
        if publisher.dormitory.sleepers().sleepers_after() {
            publisher.dormitory.wake_for_any(0);
        }
    };
    let mut threads: Threads = vec![("publisher".to_owned(), Box::new(publish))];
    for me in 0..workers {
        let taker = Taker { shared: Arc::clone(&shared), me, gives_way, has: Plain::new(false) };
        threads.push((format!("worker {me}"), Box::new(move || search(&taker, ANY, &|| taker.has.get()))));
    }
    Program { threads, finally: Box::new(|| ()) }
}

/// An owner pushes a task without a fence to a queue that all others can steal from, and does nothing else, as in a
/// long task. The queue holds `before` tasks at the start, and as many thieves take one task each, old or new. One more
/// thief sleeps until there is a task for it; before it sleeps it executes a barrier on the owner's behalf.
pub fn push_unfenced<M: Checker + Asymmetric>(before: usize) -> Program {
    struct Shared<M: Memory> {
        dormitory: Dormitory<M>,
        /// A queue: the number of tasks pushed, and the number taken.
        pushed: M::AtomicUsize,
        taken: M::AtomicUsize,
    }
    impl<M: Memory> Shared<M> {
        fn steal(&self) -> bool {
            let mut taken = self.taken.load(Ordering::Relaxed);
            while taken < self.pushed.load(Ordering::Acquire) {
                match self.taken.compare_exchange(taken, taken + 1, Ordering::Relaxed, Ordering::Relaxed) {
                    Ok(_) => return true,
                    Err(now) => taken = now,
                }
            }
            false
        }
    }
    struct Worker<M: Memory> {
        shared: Arc<Shared<M>>,
        me: usize,
        has: Plain<bool>,
    }
    impl<M: Checker + Asymmetric> Sleeper for Worker<M> {
        type Memory = M;
        fn dormitory(&self) -> &Dormitory<M> {
            &self.shared.dormitory
        }
        fn index(&self) -> usize {
            self.me
        }
        fn settles(&self) {
            // As on a system with barriers.
            self.dormitory().place(self.me).settled();
            M::heavy_barrier();
        }
        fn parks(&self) {
            M::note(|| "sleeps".into());
        }
    }
    impl<M: Checker + Asymmetric> Searcher for Worker<M> {
        type Find = ();
        type Patience = Rounds<M>;
        fn patience(&self) -> Rounds<M> {
            Rounds::new(0)
        }
        fn find(&self) -> Option<()> {
            self.shared.steal().then_some(())
        }
        fn leaves_more(&self, (): &()) -> bool {
            self.sees_any()
        }
        fn run(&self, (): ()) {
            M::note(|| "has a task".into());
            self.has.set(true);
        }
        fn share(&self) {}
        fn ask(&self) {}
        fn sees_any(&self) -> bool {
            self.shared.taken.load(Ordering::Relaxed) < self.shared.pushed.load(Ordering::Relaxed)
        }
    }
    let dormitory = Dormitory::<M>::new(2);
    let shared = Arc::new(Shared { dormitory, pushed: Atomic::new(before), taken: Atomic::new(0) });
    let worker = |me| Worker { shared: Arc::clone(&shared), me, has: Plain::new(false) };
    let (owner, sleeper) = (worker(0), worker(1));
    let push = move || {
        M::note(|| "pushes a task".into());
        let was_empty = owner.shared.taken.load(Ordering::Relaxed) == before;
        owner.shared.pushed.store(before + 1, Ordering::Release);
        has_pushed(&owner, was_empty);
    };
    let sleep = move || search(&sleeper, ANY, &|| sleeper.has.get());
    let mut threads: Threads = vec![("owner".to_owned(), Box::new(push)), ("sleeper".to_owned(), Box::new(sleep))];
    for thief in 1..=before {
        let shared = Arc::clone(&shared);
        threads.push((format!("thief {thief}"), Box::new(move || _ = shared.steal())));
    }
    Program { threads, finally: Box::new(|| ()) }
}
