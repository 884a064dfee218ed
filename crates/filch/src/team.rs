//! A team: a queue for each of its members, and threads that last from one run to the next.
//!
//! The thread that calls is the first worker of each run; the others sleep between runs, and what a run does is handed to them by
//! [`rounds`](crate::protocol::rounds).
//!
//! What must always hold: whatever a run has borrowed is used by no thread of the team when the run returns, in whichever way; and
//! between runs the queues are empty.

use std::fmt;
use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{Builder, JoinHandle};

use core_affinity::CoreId;
use filch_memory::Native;
use filch_queue::Queue;

use crate::deal::deal_any;
use crate::patience::Patience;
use crate::process;
use crate::processors::{self, Bound, Deal};
use crate::protocol::rounds::Rounds;
use crate::unwind::{FirstPanic, abort_on_panic};
use crate::worker_queue::{Habits, Loot, WorkerQueue};

/// Why a team could not be started. Threads that had been have left again.
#[derive(Debug)]
#[non_exhaustive]
pub enum StartError {
    /// A thread could not be started.
    Thread {
        /// How many had been, with the one that is there.
        started: usize,
        /// How many were wanted.
        workers: usize,
        /// What the system said.
        source: io::Error,
    },
    /// A thread could not be bound to a processor.
    Pin {
        /// What the system said.
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

/// What the threads are to do, each with its number.
#[derive(Clone, Copy)]
struct Part(*const (dyn Fn(usize) + Sync));

// SAFETY: what it points to may be called from any thread, by `Sync`, as long as `Threads::each` is at it.
unsafe impl Send for Part {}

/// Where the items of [`Threads::each`] lie.
struct Items<T>(*mut T);

// SAFETY: each thread uses an item of its own, which may go there.
unsafe impl<T: Send> Sync for Items<T> {}

/// Threads that last, besides the one that calls.
pub(crate) struct Threads {
    rounds: Arc<Rounds<Native, Part>>,
    threads: Vec<JoinHandle<()>>,
    /// That of who calls.
    processor: Option<CoreId>,
    process: u32,
}

impl Threads {
    /// Threads for so many workers, called by the name and a number from 1; or fewer, and why.
    fn launch(workers: usize, name: &str, pin: bool) -> (Self, io::Result<()>, Receiver<io::Result<()>>) {
        let (sender, receiver) = channel();
        let mut outcome = Ok(());
        let mut processors = Deal::default();
        if pin {
            let _ = sender.send(Deal::of_this_thread().map(|found| processors = found));
        }
        let (rounds, process) = (Arc::default(), process::current());
        let mut team = Self { rounds, threads: Vec::with_capacity(workers - 1), processor: processors.to(0), process };
        for index in 1..workers {
            let (rounds, processor, sender) = (Arc::clone(&team.rounds), processors.to(index), sender.clone());
            let thread = Builder::new().name(format!("{name} {index}"));
            match thread.spawn(move || live(index, &rounds, processor, sender)) {
                Ok(thread) => team.threads.push(thread),
                Err(source) => {
                    outcome = Err(source);
                    break;
                }
            }
        }
        (team, outcome, receiver)
    }

    /// Threads for so many workers, which run when this returns.
    fn start(workers: usize, name: &str, pin: bool) -> Result<Self, StartError> {
        let (team, outcome, reports) = Self::launch(workers, name, pin);
        outcome.map_err(|source| StartError::Thread { started: team.threads.len() + 1, workers, source })?;
        reports.iter().collect::<io::Result<()>>().map_err(|source| StartError::Pin { source })?;
        Ok(team)
    }

    /// # Panics
    /// In the child of a `fork()`, where the threads are not.
    pub(crate) fn check_process(&self) {
        assert!(self.process == process::current(), "the threads of a team stay in the process that has started them");
    }

    /// Has each thread call `others` with its number and the item of that number, while this one calls `own` with the first item; returns
    /// when all have. Items for which there is no thread stay as they are.
    ///
    /// # Panics
    /// As [`Threads::check_process`], before anything is called; if `own` does, once the others have done their part. A panic in `others` ends the process.
    pub(crate) fn each<T: Send, R>(
        &mut self,
        items: &mut [T],
        others: impl Fn(usize, &mut T) + Sync,
        own: impl FnOnce(&mut T) -> R,
    ) -> R {
        self.check_process();
        let _bound = self.processor.map(Bound::to);
        let (first, rest) = items.split_first_mut().expect("who calls is a worker");
        // With more threads than items some would have none; that is never so.
        assert!(self.threads.len() <= rest.len(), "each thread has an item");
        if self.threads.is_empty() {
            return own(first);
        }
        let rest = Items(rest.as_mut_ptr());
        let part = |index: usize| {
            let Items(rest) = &rest;
            // SAFETY: threads are numbered from 1, each with a number of its own, and there are as many items at least; the caller's borrow
            // of them lasts until all threads have done their part.
            others(index, unsafe { &mut *rest.add(index - 1) });
        };
        let part: *const (dyn Fn(usize) + Sync + '_) = &raw const part;
        // SAFETY: only the lifetime changes. Nobody uses the pointer after `Waits` has been dropped, by the protocol's I2, which is before
        // what it points to is.
        let part = Part(unsafe {
            std::mem::transmute::<*const (dyn Fn(usize) + Sync + '_), *const (dyn Fn(usize) + Sync)>(part)
        });
        let _waits = Waits(&self.rounds);
        // SAFETY: there are so many threads, which leave when this is dropped; this one has the only reference; and it has waited for every
        // round before.
        unsafe { self.rounds.begin(self.threads.len() as u32, Some(part)) };
        own(first)
    }
}

/// Waits for the end of the round when it is dropped, by a panic too.
struct Waits<'r>(&'r Rounds<Native, Part>);

impl Drop for Waits<'_> {
    fn drop(&mut self) {
        let mut patience = Patience::default();
        self.0.wait(|| patience.wait());
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        if self.process != process::current() {
            // The threads are not in this process, and to its system their handles mean nothing.
            std::mem::forget(std::mem::take(&mut self.threads));
            return;
        }
        // SAFETY: as in `each`.
        unsafe { self.rounds.begin(self.threads.len() as u32, None) };
        for thread in self.threads.drain(..) {
            let outcome = thread.join();
            debug_assert!(outcome.is_ok(), "the threads of a team abort rather than panic");
        }
    }
}

/// A thread's life.
fn live(index: usize, rounds: &Rounds<Native, Part>, processor: Option<CoreId>, reports: Sender<io::Result<()>>) {
    // Nobody listens to a team for one run.
    let _ = reports.send(processor.map_or(Ok(()), processors::bind));
    drop(reports);
    let mut seen = 0;
    loop {
        let mut patience = Patience::default();
        let Some(Part(part)) = rounds.next(&mut seen, || patience.wait()) else { return };
        // SAFETY: who calls waits until `done`.
        abort_on_panic("a worker of a team panicked", || unsafe { (*part)(index) });
        rounds.done();
    }
}

/// What a team is made of.
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
    fn queues(&self) -> Vec<WorkerQueue<Q>> {
        let hands = deal_any::<Q>(self.workers, self.capacity, self.params).into_iter();
        hands.enumerate().map(|(index, hand)| WorkerQueue::new(index, hand, self.loot, self.habits)).collect()
    }

    /// With all its threads.
    pub(crate) fn start(&self) -> Result<Members<Q>, StartError> {
        let queues = self.queues();
        Ok(Members { threads: Threads::start(self.workers, self.name, self.pin)?, queues })
    }

    /// For one run, which need not wait for threads that come late, nor for those that the system refuses.
    pub(crate) fn start_what_can_be(&self) -> Members<Q> {
        let queues = self.queues();
        Members { threads: Threads::launch(self.workers, self.name, self.pin).0, queues }
    }
}

/// A team's threads and queues.
pub(crate) struct Members<Q: Queue<Native>> {
    pub(crate) threads: Threads,
    /// One for each worker; elsewhere during a run.
    pub(crate) queues: Vec<WorkerQueue<Q>>,
}

impl<Q: Queue<Native>> Members<Q> {
    /// Calls `f` on each worker's thread, with its number.
    ///
    /// # Panics
    /// If `f` does, with the payload of the first, once all calls have ended; and as [`Threads::check_process`].
    pub(crate) fn on_each(&mut self, f: impl Fn(usize) + Sync) {
        let panic = FirstPanic::default();
        let call = |index| _ = panic.catch(|| f(index));
        self.threads.each(&mut vec![(); self.queues.len()], |index, ()| call(index), |()| call(0));
        panic.resume();
    }
}
