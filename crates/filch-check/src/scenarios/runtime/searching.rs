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
        fn park(&self) {
            M::note(|| "sleeps".into());
        }
    }
    impl<M: Checker> Searcher for Taker<M> {
        type Find = ();
        type Backoff = Rounds<M>;
        fn backoff(&self) -> Rounds<M> {
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

/// How a worker that falls asleep knows that an owner pushes without a fence.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Unfenced {
    /// All owners do.
    Always,
    /// The owner says so before its first push, which it fences; it pushes two tasks.
    Told {
        /// Whether the owner ends it after them.
        takes_back: bool,
    },
}

/// An owner pushes without a fence to a queue that all others can steal from, and does nothing else, as in a long task.
/// The queue holds `before` tasks at the start, and as many thieves take one task each, old or new. One more thief
/// sleeps until it has as many tasks as the owner pushes; before it sleeps it executes a barrier on the owner's behalf,
/// if it knows that it must.
pub fn push_unfenced<M: Checker + Asymmetric>(before: usize, unfenced: Unfenced) -> Program {
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
        unfenced: Unfenced,
        has: Plain<usize>,
    }
    impl<M: Checker + Asymmetric> Sleeper for Worker<M> {
        type Memory = M;
        fn dormitory(&self) -> &Dormitory<M> {
            &self.shared.dormitory
        }
        fn index(&self) -> usize {
            self.me
        }
        fn settle(&self) {
            if self.unfenced != Unfenced::Always {
                return self.dormitory().settle(self.me);
            }
            // As on a system with barriers.
            self.dormitory().place(self.me).settle();
            M::heavy_barrier();
        }
        fn park(&self) {
            M::note(|| "sleeps".into());
        }
    }
    impl<M: Checker + Asymmetric> Searcher for Worker<M> {
        type Find = ();
        type Backoff = Rounds<M>;
        fn backoff(&self) -> Rounds<M> {
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
            self.has.set(self.has.get() + 1);
        }
        fn share(&self) {}
        fn ask(&self) {}
        fn sees_any(&self) -> bool {
            self.shared.taken.load(Ordering::Relaxed) < self.shared.pushed.load(Ordering::Relaxed)
        }
    }
    let dormitory = Dormitory::<M>::new(2);
    let shared = Arc::new(Shared { dormitory, pushed: Atomic::new(before), taken: Atomic::new(0) });
    let worker = |me| Worker { shared: Arc::clone(&shared), me, unfenced, has: Plain::new(0) };
    let (owner, sleeper) = (worker(0), worker(1));
    let push = move || {
        M::note(|| "pushes a task".into());
        let (shared, dormitory) = (&owner.shared, owner.dormitory());
        let Unfenced::Told { takes_back } = unfenced else {
            let was_empty = shared.taken.load(Ordering::Relaxed) == before;
            shared.pushed.store(before + 1, Ordering::Release);
            return has_pushed(&owner, was_empty);
        };
        dormitory.unfenced().begin();
        shared.pushed.store(before + 1, Ordering::Release);
        if dormitory.sleepers().sleepers_after() {
            dormitory.wake_for_any(1);
        }
        M::note(|| "pushes a task without a fence".into());
        shared.pushed.store(before + 2, Ordering::Release);
        if dormitory.sleepers().sleepers_after_unfenced() {
            dormitory.wake_for_any(1);
        }
        if takes_back {
            dormitory.unfenced().end();
        }
    };
    let wanted = if unfenced == Unfenced::Always { 1 } else { 2 };
    let sleep = move || search(&sleeper, ANY, &|| sleeper.has.get() == wanted);
    let mut threads: Threads = vec![("owner".to_owned(), Box::new(push)), ("sleeper".to_owned(), Box::new(sleep))];
    for thief in 1..=before {
        let shared = Arc::clone(&shared);
        threads.push((format!("thief {thief}"), Box::new(move || _ = shared.steal())));
    }
    Program { threads, finally: Box::new(|| ()) }
}
