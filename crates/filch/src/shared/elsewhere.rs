//! Wake-ups that go to another processor than the waker's.
//!
//! The kernels of some virtual machines pack threads on few processors: a woken thread runs on its waker's processor,
//! even if others are idle, and stops the waker. A loop of half a millisecond then ends before the two have spread. So
//! the waker first takes its own processor out of those that the sleeper may use, which costs some microseconds, and
//! the woken worker puts it back. A pool does this for a while after a worker has found itself on its waker's
//! processor, and only if its last wakers had work for longer than it takes until another helps.
//!
//! Invariant: a woken worker has its own processors again before it runs anything; if a waker comes too late to wake
//! it, within microseconds. If somebody else has changed them meanwhile, they stay as they are.

use std::sync::{Mutex, PoisonError};

use filch_memory::{Atomic, Memory, Native, Ordering};
use filch_queue::Padded;

use crate::machine::processors::{self, Affinity};
use crate::protocol::sharer::Time;

/// How the workers of one pool were woken.
pub(crate) struct Elsewhere {
    beds: Box<[Padded<Bed>]>,
    /// How many more wake-ups go elsewhere.
    left: <Native as Memory>::AtomicU32,
    /// How many wakers in a row, up to [`Self::ENOUGH`], have had enough work.
    worth: <Native as Memory>::AtomicU32,
}

/// Where a worker sleeps.
struct Bed {
    /// The processor of its last waker.
    waker: <Native as Memory>::AtomicU32,
    sleeper: Mutex<Sleeper>,
}

#[derive(Default)]
struct Sleeper {
    /// The system's number of the worker's own thread, if it has one.
    thread: Option<i32>,
    sent: Option<Sent>,
}

struct Sent {
    /// The processors that the worker gets back.
    own: Affinity,
    /// Those that its waker has left to it.
    others: Affinity,
}

const NOWHERE: u32 = u32::MAX;

impl Elsewhere {
    /// How many wake-ups go elsewhere after one did not.
    const SERIES: u32 = 64;
    /// One long call may be a short one that was interrupted.
    const ENOUGH: u32 = 2;

    pub(crate) fn new(workers: usize) -> Self {
        let bed = || Bed { waker: Atomic::new(NOWHERE), sleeper: Mutex::default() };
        let beds = (0..workers).map(|_| Padded(bed())).collect();
        Self { beds, left: Atomic::new(0), worth: Atomic::new(0) }
    }

    fn sleeper(&self, worker: usize) -> impl std::ops::DerefMut<Target = Sleeper> {
        self.beds[worker].sleeper.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Called on a worker's own thread before it may sleep.
    pub(crate) fn begin(&self, worker: usize) {
        self.sleeper(worker).thread = Some(processors::this_thread());
    }

    /// Called on a worker's own thread when the worker sleeps no more: the system may give the thread's number to
    /// another thread soon.
    pub(crate) fn end(&self, worker: usize) {
        let mut sleeper = self.sleeper(worker);
        sleeper.come_back();
        sleeper.thread = None;
    }

    /// Returns the processors of a worker; `None` if it has no thread, or the system does not tell.
    pub(crate) fn own_of(&self, worker: usize) -> Option<Affinity> {
        let sleeper = self.sleeper(worker);
        sleeper.sent.as_ref().map(|sent| sent.own.clone()).or_else(|| Affinity::of(sleeper.thread?))
    }

    /// Called on a worker that is about to wake another and works on: sends the other elsewhere, if it seems to need
    /// that. Returns whether it did.
    pub(crate) fn send(&self, worker: usize) -> bool {
        let Some(here) = processors::current() else { return false };
        let bed = &self.beds[worker];
        // Relaxed, here and below: hints.
        bed.waker.store(u32::try_from(here).unwrap_or(NOWHERE), Ordering::Relaxed);
        let left = self.left.load(Ordering::Relaxed);
        if left == 0 || self.worth.load(Ordering::Relaxed) < Self::ENOUGH {
            return false;
        }
        self.left.store(left - 1, Ordering::Relaxed);
        self.go_without(worker, here)
    }

    fn go_without(&self, worker: usize, processor: usize) -> bool {
        // Whoever has the lock is waking, or has woken, the worker.
        self.beds[worker].sleeper.try_lock().is_ok_and(|mut sleeper| sleeper.go_without(processor).is_some())
    }

    /// As [`Elsewhere::send`], on a worker that is known to have enough work.
    pub(crate) fn send_now(&self, worker: usize) {
        if let Some(here) = processors::current().filter(|_| self.is_needed()) {
            self.go_without(worker, here);
        }
    }

    /// Whether a woken worker has lately found itself on its waker's processor.
    pub(crate) fn is_needed(&self) -> bool {
        self.left.load(Ordering::Relaxed) > 0
    }

    /// Called on a worker that has run out of work this long after it had woken another.
    pub(crate) fn note_work(&self, time: Time) {
        /// About 60 µs. On a virtual machine it takes 15 µs to send a worker, and 40 until it helps.
        const WORTH: Time = 180_000;
        let before = self.worth.load(Ordering::Relaxed);
        let worth = if time > WORTH { (before + 1).min(Self::ENOUGH) } else { 0 };
        if worth != before {
            self.worth.store(worth, Ordering::Relaxed);
        }
    }

    /// Undoes [`Elsewhere::send`].
    pub(crate) fn come_back(&self, worker: usize) {
        self.sleeper(worker).come_back();
    }

    /// Called on a worker that has been woken.
    pub(crate) fn wake_up(&self, worker: usize) {
        let waker = self.beds[worker].waker.swap(NOWHERE, Ordering::Relaxed);
        if waker != NOWHERE && processors::current() == Some(waker as usize) {
            self.left.store(Self::SERIES, Ordering::Relaxed);
        }
        self.come_back(worker);
    }
}

impl Sleeper {
    /// Does nothing, and returns `None`, if it is sent already, or has no other processor.
    fn go_without(&mut self, processor: usize) -> Option<()> {
        let thread = self.thread.filter(|_| self.sent.is_none())?;
        let own = Affinity::of(thread)?;
        let others = own.without(processor)?;
        others.give_to(thread).then(|| self.sent = Some(Sent { own, others }))
    }

    fn come_back(&mut self) {
        if let (Some(thread), Some(Sent { own, others })) = (self.thread, self.sent.take())
            && Affinity::of(thread).is_some_and(|now| now == others)
        {
            // The system refuses if the process may no longer use any of these processors.
            own.give_to(thread);
        }
    }
}

#[cfg(all(test, target_os = "linux", not(miri)))]
mod tests {
    use std::sync::mpsc;
    use std::thread;

    use super::*;
    use crate::ThreadPool;

    /// Lets the next wake-ups go elsewhere.
    fn urge(elsewhere: &Elsewhere) {
        elsewhere.left.store(Elsewhere::SERIES, Ordering::Relaxed);
        elsewhere.worth.store(Elsewhere::ENOUGH, Ordering::Relaxed);
    }

    /// Calls `check` with the number of a thread that is worker 0, and a processor that the thread shall not use.
    fn with_sleeper(check: impl FnOnce(&Elsewhere, i32, usize)) {
        let elsewhere = Elsewhere::new(1);
        urge(&elsewhere);
        thread::scope(|s| {
            let (says, number) = mpsc::channel();
            let (ends, end) = mpsc::channel::<()>();
            let elsewhere = &elsewhere;
            s.spawn(move || {
                elsewhere.begin(0);
                says.send(processors::this_thread()).unwrap();
                assert!(end.recv().is_err());
                elsewhere.end(0);
            });
            // The system may move the current thread meanwhile, but not away from the processor to which it is bound.
            let here = processors::current().expect("Linux tells");
            let _bound = processors::Bound::to(here);
            check(elsewhere, number.recv().unwrap(), here);
            drop(ends);
        });
        assert_eq!(elsewhere.sleeper(0).thread, None);
    }

    #[test]
    fn a_worker_sent_elsewhere_has_all_but_its_wakers_processor_until_it_is_awake() {
        with_sleeper(|elsewhere, thread, here| {
            let own = Affinity::of(thread).unwrap();
            let Some(others) = own.without(here) else {
                assert!(!elsewhere.send(0), "there is nowhere else");
                return;
            };
            assert!(elsewhere.send(0) && !elsewhere.send(0), "it is sent once");
            assert!(Affinity::of(thread).unwrap() == others && elsewhere.own_of(0).unwrap() == own);
            elsewhere.wake_up(0);
            assert!(Affinity::of(thread).unwrap() == own);
        });
    }

    #[test]
    fn processors_that_somebody_else_sets_meanwhile_stay() {
        with_sleeper(|elsewhere, thread, here| {
            let own = Affinity::of(thread).unwrap();
            if own.without(here).is_some() {
                assert!(elsewhere.send(0));
                let only = Affinity::of(processors::this_thread()).unwrap();
                assert!(only.give_to(thread));
                elsewhere.wake_up(0);
                assert!(Affinity::of(thread).unwrap() == only);
            }
        });
    }

    #[test]
    fn wake_ups_go_elsewhere_after_one_did_not_and_while_wakers_have_enough_work() {
        let elsewhere = Elsewhere::new(1);
        let goes = || {
            let _ = elsewhere.send(0);
            elsewhere.left.load(Ordering::Relaxed)
        };
        assert_eq!(goes(), 0);
        let here = processors::Bound::to(processors::current().expect("Linux tells"));
        goes();
        elsewhere.wake_up(0);
        assert_eq!(goes(), Elsewhere::SERIES, "wakers have too little work");
        let long = Time::MAX;
        (0..Elsewhere::ENOUGH).for_each(|_| elsewhere.note_work(long));
        assert_eq!(goes(), Elsewhere::SERIES - 1);
        elsewhere.note_work(0);
        assert_eq!(goes(), Elsewhere::SERIES - 1);
        drop(here);
    }

    #[test]
    fn tasks_run_with_the_processors_of_their_workers() {
        let pool = ThreadPool::builder().workers(2).build().unwrap();
        let Some(elsewhere) = pool.common.elsewhere.clone() else { return };
        let own = Affinity::of(0).unwrap();
        for _ in 0..300 {
            urge(&elsewhere);
            let is_own = || Affinity::of(0).unwrap() == own;
            let tree = || crate::join(|| crate::join(is_own, is_own) == (true, true), is_own);
            assert_eq!(pool.install(tree), (true, true));
            thread::sleep(std::time::Duration::from_micros(300));
        }
    }
}
