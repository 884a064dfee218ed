//! The current thread's recorder, and what the scheduler tells it.
//!
//! Invariant: the recorder is out of its place only while one of these functions uses it, which runs no code of the
//! program's but its clock, and does not unwind: a fork is then half pushed or half popped.

use std::cell::Cell;

use super::recorder::Recorder;
use crate::unwind::abort_on_panic;

thread_local! {
    static CURRENT: Cell<Option<Box<Recorder>>> = const { Cell::new(None) };
}

/// Gives `f` the recorder, if this thread records.
#[inline]
fn with<R>(f: impl FnOnce(&mut Recorder) -> R) -> Option<R> {
    CURRENT.with(|current| {
        let mut recorder = current.take()?;
        let result = abort_on_panic("the clock of a recording panicked", || f(&mut recorder));
        current.set(Some(recorder));
        Some(result)
    })
}

/// Whether this thread records.
pub(crate) fn is_on() -> bool {
    with(|_| ()).is_some()
}

/// Begins to record on this thread.
pub(crate) fn start(mut recorder: Box<Recorder>) {
    recorder.resume();
    CURRENT.set(Some(recorder));
}

/// The computation has ended. Jobs that it has spawned may still run.
pub(crate) fn rest() {
    with(Recorder::pause);
}

/// Ends the recording, without the current strand.
pub(crate) fn take() -> Option<Box<Recorder>> {
    CURRENT.take()
}

/// A fork: its first branch begins.
pub(crate) fn fork() {
    with(Recorder::fork);
}

/// The first branch of the newest fork has ended: its second begins. Returns `false` if this thread does not record.
pub(crate) fn second() -> bool {
    with(Recorder::second).is_some()
}

/// The second branch has ended.
pub(crate) fn joined() {
    with(Recorder::join);
}

/// The first branch has unwound, and the second never runs.
pub(crate) fn dropped() {
    with(Recorder::drop_second);
}

/// The job at this address is spawned.
pub(crate) fn spawned(job: usize) {
    with(|recorder| recorder.spawned(job));
}

/// Runs the job at this address.
pub(crate) fn in_job<R>(job: usize, run: impl FnOnce() -> R) -> R {
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
