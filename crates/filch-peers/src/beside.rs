//! Borrowing closures for threads that take only owned ones.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::mpsc::sync_channel;

/// A closure for another thread, which has an `S`.
pub(crate) type Job<S> = Box<dyn FnOnce(&mut S) + Send>;

/// Gives `theirs` to `start`, calls `ours`, and waits until `theirs` has run. A panic in either resumes here, first
/// that of `ours`; one in `start` ends the process.
pub(crate) fn beside<S: 'static, A, B: Send>(
    start: impl FnOnce(Job<S>),
    ours: impl FnOnce() -> A,
    theirs: impl FnOnce(&mut S) -> B + Send,
) -> (A, B) {
    let (sender, receiver) = sync_channel::<Result<B, Box<dyn Any + Send>>>(1);
    // A pair drops its fields in order, so a job that is dropped has dropped `theirs` before the sender.
    let parts = (theirs, sender);
    let job: Box<dyn FnOnce(&mut S) + Send + '_> = Box::new(move |with| {
        let parts = parts;
        let (theirs, sender) = parts;
        let result = catch_unwind(AssertUnwindSafe(|| theirs(with)));
        drop(sender.send(result));
    });
    // SAFETY: only the lifetime changes. The job's borrows outlive its use: from here on, this function returns or
    // unwinds only after the receiver has the result or sees the sender gone, and both happen after `theirs` was
    // consumed or dropped. Both closures below run inside `catch_unwind`. A job that is leaked makes the receiver wait
    // for ever.
    let job = unsafe { std::mem::transmute::<Box<dyn FnOnce(&mut S) + Send + '_>, Job<S>>(job) };
    if catch_unwind(AssertUnwindSafe(|| start(job))).is_err() {
        // The job may wait in a queue that nobody empties.
        std::process::abort();
    }
    let ours = catch_unwind(AssertUnwindSafe(ours));
    let theirs = receiver.recv();
    let ours = ours.unwrap_or_else(|panic| resume_unwind(panic));
    match theirs {
        Ok(Ok(theirs)) => (ours, theirs),
        Ok(Err(panic)) => resume_unwind(panic),
        Err(_) => panic!("the other thread ended before it took the job"),
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    #[test]
    fn both_run_and_may_borrow() {
        let (mut mine, mut yours) = (0, 0);
        let start = |job: Job<u32>| drop(thread::spawn(move || job(&mut 7)));
        let results = beside(
            start,
            || mine += 1,
            |with| {
                yours += *with;
                "done"
            },
        );
        assert_eq!((results, mine, yours), (((), "done"), 1, 7));
    }

    #[test]
    fn a_job_that_never_runs_is_a_panic() {
        let ran = catch_unwind(|| beside(|job: Job<()>| drop(job), || (), |()| ()));
        assert_eq!(
            ran.expect_err("it did not run").downcast_ref(),
            Some(&"the other thread ended before it took the job")
        );
    }
}
