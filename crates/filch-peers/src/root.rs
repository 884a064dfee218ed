//! A thread for peers that run the root task on the calling thread: its stack has the requested size.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::mpsc::{Receiver, Sender, channel, sync_channel};
use std::thread::JoinHandle;

/// A thread that owns a scheduler and runs one program at a time on it.
pub(crate) struct Root<S> {
    jobs: Option<Sender<Job<S>>>,
    thread: Option<JoinHandle<()>>,
}

type Job<S> = Box<dyn FnOnce(&mut S) + Send>;

impl<S: 'static> Root<S> {
    /// Starts the thread, which first creates the scheduler.
    pub(crate) fn start<E: From<std::io::Error> + Send + 'static>(
        stack_bytes: usize,
        make: impl FnOnce() -> Result<S, E> + Send + 'static,
    ) -> Result<Self, E> {
        let (jobs, inbox): (_, Receiver<Job<S>>) = channel();
        let (ready, started) = sync_channel(1);
        let thread = std::thread::Builder::new().name("root".to_owned()).stack_size(stack_bytes).spawn(move || {
            let mut scheduler = match make() {
                Ok(scheduler) => scheduler,
                Err(error) => return drop(ready.send(Err(error))),
            };
            drop(ready.send(Ok(())));
            for job in inbox {
                job(&mut scheduler);
            }
        })?;
        match started.recv() {
            Ok(Ok(())) => Ok(Self { jobs: Some(jobs), thread: Some(thread) }),
            Ok(Err(error)) => Err(error),
            // The thread ended without a message: `make` panicked.
            Err(_) => match thread.join() {
                Err(panic) => resume_unwind(panic),
                Ok(()) => unreachable!("the thread sends a message before it ends"),
            },
        }
    }

    /// Runs `f` on the thread and waits for it. A panic in `f` resumes here.
    pub(crate) fn run<R: Send>(&self, f: impl FnOnce(&mut S) -> R + Send) -> R {
        let (sender, receiver) = sync_channel::<Result<R, Box<dyn Any + Send>>>(1);
        let job: Box<dyn FnOnce(&mut S) + Send + '_> = Box::new(move |scheduler| {
            let result = catch_unwind(AssertUnwindSafe(|| f(scheduler)));
            drop(sender.send(result));
        });
        // SAFETY: only the lifetime changes. The job's borrows outlive its use: this function returns only after the
        // receiver below has the result or sees the sender gone, and both happen after `f` is consumed. The thread
        // keeps no job: it consumes each by calling it, and drops the rest when it ends.
        let job = unsafe { std::mem::transmute::<Box<dyn FnOnce(&mut S) + Send + '_>, Job<S>>(job) };
        let sent = self.jobs.as_ref().is_some_and(|jobs| jobs.send(job).is_ok());
        assert!(sent, "the thread ended before this value was dropped");
        match receiver.recv() {
            Ok(Ok(result)) => result,
            Ok(Err(panic)) => resume_unwind(panic),
            Err(_) => unreachable!("the job always sends a result"),
        }
    }
}

impl<S> Drop for Root<S> {
    fn drop(&mut self) {
        self.jobs = None;
        if let Some(thread) = self.thread.take() {
            // Jobs catch their panics, and the thread has reported a panic of the scheduler's own end.
            drop(thread.join());
        }
    }
}
