//! A thread for peers that run the root task on the calling thread: its stack has the requested size.

use std::panic::resume_unwind;
use std::sync::mpsc::{Receiver, Sender, channel, sync_channel};
use std::thread::JoinHandle;

use crate::beside::{Job, beside};

/// A thread that owns a scheduler and runs one program at a time on it.
pub(crate) struct Root<S> {
    jobs: Option<Sender<Job<S>>>,
    thread: Option<JoinHandle<()>>,
}

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
        let start = |job| drop(self.jobs.as_ref().map(|jobs| jobs.send(job)));
        beside(start, || (), f).1
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
