//! The current thread's recorder, and what the scheduler tells it.

use std::cell::{Cell, RefCell};
use std::sync::Arc;

use super::event::Event;
use super::log::Log;
use super::recorder::Recorder;

thread_local! {
    static IS_ON: Cell<bool> = const { Cell::new(false) };
    static LOG: RefCell<Option<Arc<Log>>> = const { RefCell::new(None) };
}

/// Gives `f` the log, if this thread records, which it ceases to do if that returns `None`.
#[inline]
fn with_log<R>(f: impl FnOnce(&Log) -> Option<R>) -> Option<R> {
    if !IS_ON.get() {
        return None;
    }
    // The clock may come here again, which then finds no recorder.
    IS_ON.set(false);
    let result = LOG.try_with(|log| f(log.borrow().as_ref()?)).ok().flatten();
    IS_ON.set(result.is_some());
    result
}

/// Gives `f` the recorder, if this thread records.
#[inline]
pub(super) fn with<R>(f: impl FnOnce(&mut Recorder) -> R) -> Option<R> {
    with_log(|log| log.with(f))
}

/// Whether this thread records.
#[inline]
pub(crate) fn is_on() -> bool {
    IS_ON.get()
}

/// Begins to record on this thread; returns the log, which has the recorder.
pub(crate) fn start(recorder: Box<Recorder>) -> Arc<Log> {
    let log = Arc::new(Log::new(recorder));
    LOG.set(Some(Arc::clone(&log)));
    IS_ON.set(true);
    log
}

/// The computation has ended. Jobs that it has spawned may still run.
pub(crate) fn rest() {
    with(Recorder::pause);
}

/// Ends the recording, without the current strand.
pub(crate) fn take() -> Option<Box<Recorder>> {
    IS_ON.set(false);
    LOG.take()?.lock().take()
}

/// The thread's recorder counts on so many workers, and names its forks.
pub(crate) fn crowd(workers: usize) {
    with(|recorder| recorder.crowd(workers));
}

/// A fork of this kind: its first branch begins.
pub(crate) fn fork(kind: usize) {
    with_log(|log| log.note(Event::Fork, kind));
}

/// The first branch of the newest fork has ended: its second begins. Returns `false` if this thread does not record.
pub(crate) fn second() -> bool {
    with_log(|log| log.note(Event::Second, 0)).is_some()
}

/// The second branch of the newest fork, which has this name, runs as a thief would run it: returns whether a thief
/// would, on as many workers as the recorder counts on. A thread that does not record is a thief.
#[inline]
pub(crate) fn is_stolen(name: fn() -> &'static str) -> bool {
    #[cold]
    #[inline(never)]
    fn recorded(name: &'static str) -> bool {
        with(|recorder| recorder.is_stolen(name)).unwrap_or(true)
    }
    !IS_ON.get() || recorded(name())
}

/// The second branch has ended.
pub(crate) fn joined() {
    with_log(|log| log.note(Event::Join, 0));
}

/// The first branch has unwound, and the second never runs.
pub(crate) fn dropped() {
    with_log(|log| log.note(Event::Dropped, 0));
}

/// The job at this address is spawned.
pub(crate) fn spawned(job: usize) {
    with(|recorder| recorder.spawned(job));
}

/// The job at this address is queued, and one is spawned in whose place it may run.
pub(crate) fn queued(job: usize) {
    with(|recorder| {
        recorder.spawned(job);
        recorder.forks -= 1;
    });
}

/// Runs the job at this address, which was spawned on a worker.
pub(super) fn in_job<R>(job: usize, run: impl FnOnce() -> R) -> R {
    between(|recorder| recorder.job_begins(job), run, Recorder::job_ends)
}

/// Waits for a scope or something else.
pub(crate) fn in_wait<R>(is_for_scope: bool, wait: impl FnOnce() -> R) -> R {
    between(|recorder| recorder.wait_begins(is_for_scope), wait, Recorder::wait_ends)
}

/// Runs `f`, and tells the recorder before and after it, if this thread records before.
fn between<R>(begin: impl FnOnce(&mut Recorder), f: impl FnOnce() -> R, end: fn(&mut Recorder)) -> R {
    let is_recorded = with(begin).is_some();
    let result = f();
    if is_recorded {
        with(end);
    }
    result
}

/// The current job has the result with this address.
pub(crate) fn ended(result: usize) {
    with(|recorder| recorder.ended(result));
}

/// The result with this address is taken.
pub(crate) fn took(result: usize) {
    with(|recorder| recorder.takes(result));
}

/// Returns the length of pieces into which loops are split, in ticks; `None` if this thread does not record.
pub(crate) fn piece() -> Option<u64> {
    with(|recorder| recorder.piece)
}

/// Returns the work so far, in ticks.
pub(crate) fn work() -> u64 {
    let now = |recorder: &mut Recorder| {
        recorder.pause();
        recorder.resume();
        recorder.work
    };
    with(now).unwrap_or(0)
}

/// Returns the number of workers for which a recorded algorithm divides its work; 1 if this thread does not record.
pub(crate) fn workers() -> usize {
    const MANY: usize = 64;
    if is_on() { MANY } else { 1 }
}

/// Runs `f` as a region of this name: a [recording](crate::scale::measure) says how much of the work and of the span is
/// in it, without the regions within. Forks within `f` belong to it, too, and so do jobs that it spawns.
///
/// Cost: two looks at thread-local storage if nobody records.
///
/// ```
/// use filch::scale;
///
/// let measured = scale::measure(|| {
///     filch::scale::region("prepare", || std::hint::black_box((0..10_000).sum::<u32>()));
///     filch::for_each(0..100, |n| _ = std::hint::black_box(n));
/// });
/// assert!(measured.scale.regions().iter().any(|region| region.name == Some("prepare")));
/// ```
pub fn region<R>(name: &'static str, f: impl FnOnce() -> R) -> R {
    struct Leave(Option<usize>);

    impl Drop for Leave {
        fn drop(&mut self) {
            if let Some(former) = self.0 {
                with(|recorder| recorder.set_region(former));
            }
        }
    }

    let _leave = Leave(with(|recorder| recorder.enter(name)));
    f()
}
