//! A team: a queue for each member, and threads that persist from one run to the next.
//!
//! The calling thread is the first worker of each run; the other threads wait between runs, asleep or as they do for
//! tasks, and get each run's work by [`rounds`](crate::protocol::rounds).
//!
//! Invariant: when a run returns or unwinds, no thread of the team uses the run's borrows any more; and between runs
//! the queues are empty.

use std::fmt;
use std::io;
use std::path::Path;
use std::sync::Arc;

use filch_memory::Native;
use filch_queue::Queue;

use crate::machine::processors::{self, Bound, Places, ROOT};
use crate::machine::{monitor::Monitor, process, thread::Thread};
use crate::protocol::rounds::Rounds;
use crate::shared::handles::{Loot, deal_any};
use crate::shared::near::Near;
use crate::shared::policy::{Habits, Idle, Victims};
use crate::teams::worker_queue::WorkerQueue;
use crate::unwind::{FirstPanic, abort_on_panic};
use crate::worker::patience::Patience;

/// Why a team could not be started. Threads started before have ended.
#[derive(Debug)]
#[non_exhaustive]
pub enum StartError {
    /// A thread could not be started.
    Thread {
        /// The number started, including the calling thread.
        started: usize,
        /// The number wanted.
        workers: usize,
        /// The system's error.
        source: io::Error,
    },
    /// A thread could not be bound to a processor.
    Pin {
        /// The system's error.
        source: io::Error,
    },
}

impl fmt::Display for StartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Thread { started, workers, source } => write!(
                f,
                "cannot start thread {} of {workers} ({source}); use fewer workers, or raise the limits (ulimit -u, ulimit -v)",
                started + 1
            ),
            Self::Pin { source } => write!(f, "cannot bind threads to processors here: {source}"),
        }
    }
}

impl std::error::Error for StartError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Thread { source, .. } | Self::Pin { source } => Some(source),
        }
    }
}

/// The work of a round, which each thread calls with its number.
#[derive(Clone, Copy)]
struct Part(*const (dyn Fn(usize) + Sync));

// SAFETY: its target is `Sync`, so any thread may call it, and lives while `Threads::each` runs.
unsafe impl Send for Part {}

/// The items of [`Threads::each`].
struct Items<T>(*mut T);

// SAFETY: each thread uses its own item, which is `Send`.
unsafe impl<T: Send> Sync for Items<T> {}

/// The threads' reports when they begin: their number, and the first refusal of a processor.
#[derive(Default)]
struct Heard {
    count: usize,
    refusal: Option<io::Error>,
}

impl Heard {
    fn add(&mut self, outcome: io::Result<()>) {
        self.count += 1;
        self.refusal = self.refusal.take().or(outcome.err());
    }
}

type Reports = Monitor<Heard>;

/// Persistent threads, besides the calling one.
pub(crate) struct Threads {
    rounds: Arc<Rounds<Native, Part>>,
    threads: Vec<Thread>,
    /// The processor of the calling thread.
    processor: Option<usize>,
    process: u32,
    /// How threads wait for each other.
    idle: Idle,
}

impl Threads {
    /// Starts threads for this many workers, with this name and a number from 1. If one cannot be started, starts no
    /// others, and returns the error. The calling thread reports, too.
    fn launch(workers: usize, name: &str, pin: bool, idle: Idle) -> (Self, io::Result<()>, Arc<Reports>) {
        let reports = Arc::<Reports>::default();
        let mut outcome = Ok(());
        let mut processors = Places::default();
        let found = if pin { Places::of_this_thread(Path::new(ROOT)).map(|found| processors = found) } else { Ok(()) };
        reports.change(|heard| heard.add(found));
        let (rounds, process) = (Arc::default(), process::current());
        let (threads, processor) = (Vec::with_capacity(workers - 1), processors.to(0));
        let mut team = Self { rounds, threads, processor, process, idle };
        for index in 1..workers {
            let (rounds, processor, reports) = (Arc::clone(&team.rounds), processors.to(index), Arc::clone(&reports));
            let life = move || live(index, &rounds, processor, idle, &reports);
            match Thread::start(Some(format!("{name} {index}")), None, life) {
                Ok(thread) => team.threads.push(thread),
                Err(source) => {
                    outcome = Err(source);
                    break;
                }
            }
        }
        (team, outcome, reports)
    }

    /// Starts threads for this many workers, and returns once all of them run.
    fn start(workers: usize, name: &str, pin: bool, idle: Idle) -> Result<Self, StartError> {
        let (team, outcome, reports) = Self::launch(workers, name, pin, idle);
        outcome.map_err(|source| StartError::Thread { started: team.threads.len() + 1, workers, source })?;
        let refusal = reports.wait_while(|heard| heard.count < workers).refusal.take();
        refusal.map_or(Ok(team), |source| Err(StartError::Pin { source }))
    }

    /// # Panics
    /// In the child of a `fork()`, which does not have the threads.
    pub(crate) fn check_process(&self) {
        assert!(self.process == process::current(), "the threads of a team stay in the process that has started them");
    }

    /// Calls `others` on each thread, with its number and the item of that number, and `own` on this thread, with the
    /// first item. Returns when all calls have ended. An item without a thread stays unchanged.
    ///
    /// # Panics
    /// As [`Threads::check_process`], before any call; and if `own` panics, once the others have done their part. A
    /// panic in `others` ends the process.
    pub(crate) fn each<T: Send, R>(
        &mut self,
        items: &mut [T],
        others: impl Fn(usize, &mut T) + Sync,
        own: impl FnOnce(&mut T) -> R,
    ) -> R {
        self.check_process();
        let _bound = self.processor.map(Bound::to);
        let (first, rest) = items.split_first_mut().expect("the calling thread is a worker");
        // There are never more threads than items.
        assert!(self.threads.len() <= rest.len(), "each thread has an item");
        if self.threads.is_empty() {
            return own(first);
        }
        let rest = Items(rest.as_mut_ptr());
        let part = |index: usize| {
            let Items(rest) = &rest;
            // SAFETY: threads have distinct numbers from 1, and there are at least as many items; the caller's borrow
            // of them lasts until all threads have done their part.
            others(index, unsafe { &mut *rest.add(index - 1) });
        };
        let part: *const (dyn Fn(usize) + Sync + '_) = &raw const part;
        // SAFETY: only the lifetime changes. By the protocol's I2 no thread uses the pointer after `Waits` is dropped,
        // which happens before the closure is dropped.
        let part = Part(unsafe {
            std::mem::transmute::<*const (dyn Fn(usize) + Sync + '_), *const (dyn Fn(usize) + Sync)>(part)
        });
        let _waits = Waits(&self.rounds, self.idle);
        // SAFETY: there are this many threads, which leave only when `self` is dropped; this thread has the only
        // reference to it, and has waited for every previous round.
        unsafe { self.rounds.begin(self.threads.len() as u32, Some(part)) };
        own(first)
    }
}

/// Waits for the end of the round when dropped, also during a panic.
struct Waits<'r>(&'r Rounds<Native, Part>, Idle);

impl Drop for Waits<'_> {
    fn drop(&mut self) {
        let mut patience = Patience::then(self.1);
        self.0.wait(|| patience.wait_or_spin());
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        if self.process != process::current() {
            // The threads are not in this process, where their handles mean nothing.
            std::mem::forget(std::mem::take(&mut self.threads));
            return;
        }
        // SAFETY: as in `each`.
        unsafe { self.rounds.begin(self.threads.len() as u32, None) };
        for thread in self.threads.drain(..) {
            thread.join();
        }
    }
}

/// The main loop of a thread.
fn live(index: usize, rounds: &Rounds<Native, Part>, processor: Option<usize>, idle: Idle, reports: &Reports) {
    // For a team of one run, nobody reads this.
    let outcome = processor.map_or(Ok(()), processors::bind);
    reports.change(|heard| heard.add(outcome));
    let mut seen = 0;
    loop {
        let mut patience = Patience::then(idle);
        let Some(Part(part)) = rounds.next(&mut seen, || patience.wait_or_spin()) else { return };
        // SAFETY: the caller waits until `done`.
        abort_on_panic("a worker of a team panicked", || unsafe { (*part)(index) });
        rounds.done();
    }
}

/// The settings of a team.
pub(crate) struct TeamSettings<'s, Q: Queue<Native>> {
    pub(crate) name: &'static str,
    pub(crate) workers: usize,
    pub(crate) capacity: usize,
    pub(crate) params: &'s Q::Params,
    pub(crate) loot: Option<Loot<Q>>,
    pub(crate) habits: Habits,
    pub(crate) pin: bool,
}

impl<Q: Queue<Native>> TeamSettings<'_, Q> {
    /// Makes the queues. If workers are pinned, makes each queue on its worker's processor.
    fn queues(&self) -> Vec<WorkerQueue<Q>> {
        let places = Places::if_pinned(self.pin, Path::new(ROOT));
        // SAFETY: one thread at a time uses a worker's queue, which has that worker's handles.
        let hands = unsafe { deal_any::<Q>(self.workers, self.capacity, self.params, &places) }.into_iter();
        let near = if self.habits.victims == Victims::Near {
            Near::of(self.workers, &places, Path::new(ROOT)).map(Arc::new)
        } else {
            None
        };
        let queue = |(index, hand)| WorkerQueue::new(index, hand, self.loot, self.habits, near.clone());
        hands.enumerate().map(queue).collect()
    }

    /// Starts a team with all its threads.
    pub(crate) fn start(&self) -> Result<Members<Q>, StartError> {
        let queues = self.queues();
        Ok(Members { threads: Threads::start(self.workers, self.name, self.pin, self.habits.idle)?, queues })
    }

    /// Starts a team for one run. It does not wait for late threads, and does without threads that the system refuses.
    pub(crate) fn start_what_can_be(&self) -> Members<Q> {
        let queues = self.queues();
        Members { threads: Threads::launch(self.workers, self.name, self.pin, self.habits.idle).0, queues }
    }
}

/// A team's threads and queues.
pub(crate) struct Members<Q: Queue<Native>> {
    pub(crate) threads: Threads,
    /// One per worker; a run borrows them.
    pub(crate) queues: Vec<WorkerQueue<Q>>,
}

impl<Q: Queue<Native>> Members<Q> {
    /// Calls `f` on each worker's thread, with the worker's number.
    ///
    /// # Panics
    /// If `f` panics, with the payload of the first, once all calls have ended; and as [`Threads::check_process`].
    pub(crate) fn on_each(&mut self, f: impl Fn(usize) + Sync) {
        let panic = FirstPanic::default();
        let call = |index| _ = panic.catch(|| f(index));
        self.threads.each(&mut vec![(); self.queues.len()], |index, ()| call(index), |()| call(0));
        panic.resume();
    }
}
