//! Starting the threads of a pool, and ending them.
//!
//! Invariant: a failed start leaves no thread behind.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use crate::interrupts::{By, Handler, Interrupts, Listening};
use crate::interrupts::{by_thieves::Answering, ticker::Ticker};
use crate::machine::processors::{self, Places};
use crate::machine::signals;
use crate::machine::thread::{Name, Thread};
use crate::shared::late::{self, Begins, Late};
use crate::shared::{common::Common, policy::Idle};
use crate::threads::builder::{Builder, Hook};
use crate::threads::running::{Interrupter, Running, aside};
use crate::threads::{defaults::LEAST_STACK_SIZE, error::BuildError, thread_pool::ThreadPool};
use crate::unwind::warn;
use crate::wait;
use crate::worker::{core::Core, plumbing::Pool};

/// Why a pool cannot be built. Dropping it ends what has been built, and waits for the threads that have started.
pub(crate) struct Failed<P: Pool> {
    error: BuildError,
    pool: Option<Box<ThreadPool<P>>>,
}

impl<P: Pool> From<BuildError> for Failed<P> {
    fn from(error: BuildError) -> Self {
        Self { error, pool: None }
    }
}

impl<P: Pool> From<Failed<P>> for BuildError {
    fn from(Failed { error, pool }: Failed<P>) -> Self {
        drop(pool);
        error
    }
}

impl<P: Pool> Builder<P> {
    /// As [`Builder::build`], but if the system refuses, tries smaller stacks and then fewer workers, and reports this
    /// on standard error.
    pub(crate) fn build_at_most(&mut self) -> Result<ThreadPool<P>, BuildError> {
        const STEP: usize = 1 << 2;
        let wanted = self.settle_workers()?;
        let (mut workers, mut refused) = (wanted, None);
        // This comes before the smaller stacks below, since a stack size that is set counts as asked for.
        self.caller_works = Some(self.lets_callers_work());
        loop {
            match self.build_with(workers) {
                Err(BuildError::Thread { source, .. }) if self.stack_size_for(workers) > LEAST_STACK_SIZE => {
                    self.stack_size = Some((self.stack_size_for(workers) / STEP).max(LEAST_STACK_SIZE));
                    refused = Some(source);
                }
                Err(BuildError::Thread { started, source, .. }) if started > 0 => {
                    workers = started;
                    refused = Some(source);
                }
                built => {
                    if let (Some(source), Ok(_)) = (refused, &built) {
                        let stack = self.stack_size_for(workers) >> 20;
                        warn(format_args!(
                            "starting {workers} of {wanted} workers, with stacks of {stack} MiB ({source})"
                        ));
                    }
                    return built;
                }
            }
        }
    }

    /// Builds a pool of this many workers.
    pub(crate) fn build_with(&self, workers: usize) -> Result<ThreadPool<P>, BuildError> {
        Ok(self.try_build_with(workers)?)
    }

    /// As [`Builder::build_with`], but on failure the caller drops the unfinished pool.
    // Never inlined, so that programs take this crate's instance for the default pool, and compile neither this nor the
    // workers.
    #[inline(never)]
    pub(crate) fn try_build_with(&self, workers: usize) -> Result<ThreadPool<P>, Failed<P>> {
        let interrupts = self.possible_interrupts();
        if interrupts.is_some_and(|interrupts| interrupts.period.is_zero()) {
            return Err(BuildError::Interrupts(io::Error::other("the time between two interrupts is zero")).into());
        }
        let places = self.places();
        let cores = self.prepare(workers, interrupts.map(|interrupts| interrupts.by), &places)?;
        let common = Arc::clone(&cores[0].home.common);
        // SAFETY: there is no worker's thread yet, and no task.
        let begins: Vec<Begins> = cores.iter().map(|core| unsafe { self.let_lie(core) }).collect();
        // Dropping the pool, also on failure, makes the started threads leave and waits for them.
        let pool = ThreadPool { cores, common, running: Mutex::default() };
        // Not with an exit hook, which all threads call, or pinned workers: late threads have the first one's
        // processors.
        let first = late::first(&begins);
        if first < begins.len() && self.on_exit.is_none() && places.len() == 0 {
            pool.common.come_late(self.late(first, &pool.cores));
        }
        let mut running = pool.running.lock().expect("nobody else knows the pool");
        let started = self.start(&pool, &places, &mut running, |worker| begins[worker]);
        drop(running);
        match started {
            Ok(()) => Ok(pool),
            Err(error) => Err(Failed { error, pool: Some(Box::new(pool)) }),
        }
    }

    /// Returns the workers from number `first` on, whose threads start when they are first needed.
    fn late(&self, first: usize, cores: &Arc<[Box<Core<P>>]>) -> Late {
        let workers = cores.len();
        // Made now, since the function that makes names may do anything.
        let names: Vec<_> = (first..workers).map(|worker| self.name_of(worker)).collect();
        let cores = Arc::downgrade(cores);
        let (usual, is_asked_for, unpin) = (self.stack_size_for(workers), self.stack_size.is_some(), self.unpin);
        Late::new(first, workers, move |worker, begins, inherited| {
            let start = |stack_size| {
                let cores = cores.upgrade().expect("whoever wakes a worker keeps it");
                let inherited = Arc::clone(&inherited);
                Thread::start(Some(names[worker - first].clone()), Some(stack_size), move || {
                    inherited.adopt();
                    if unpin {
                        processors::unpin();
                    }
                    let core = &cores[worker];
                    core.home.common.begin_late();
                    // SAFETY: this thread is the worker until the thread ends.
                    unsafe { wait::work(core, stack_size, begins, || (), || ()) };
                })
            };
            match start(usual) {
                Err(_) if !is_asked_for => start(usual.min(LEAST_STACK_SIZE)),
                started => started,
            }
        })
    }

    fn name_of(&self, worker: usize) -> String {
        let name = self.name.as_ref().map_or_else(|| format!("filch {worker}"), |name| name(worker));
        Thread::check_name(worker, &name);
        name
    }

    /// Lets a worker begin asleep, unless it has interrupts or a start hook, which must run before all work.
    ///
    /// # Safety
    /// As for [`wait::lie_down`].
    unsafe fn let_lie(&self, core: &Core<P>) -> Begins {
        let has_more = self.on_start.is_some() || self.interrupts.is_some();
        // SAFETY: the caller's promise.
        if has_more { Begins::Awake } else { unsafe { let_lie(core) } }
    }

    /// Starts the threads of a pool that has none. On failure some may have started.
    pub(crate) fn start(
        &self,
        pool: &ThreadPool<P>,
        places: &Places,
        running: &mut Running,
        begins: impl Fn(usize) -> Begins,
    ) -> Result<(), BuildError> {
        let (workers, interrupts) = (pool.workers(), self.possible_interrupts());
        let has_signals = interrupts.is_some_and(|interrupts| interrupts.by.is_signal());
        let handler = has_signals.then(Handler::install).transpose().map_err(BuildError::Interrupts)?.map(Arc::new);
        {
            let _held = has_signals.then(signals::Held::new);
            for index in 0..workers - pool.common.threads_apart() {
                let thread = self.start_one(pool, index, places, handler.clone(), begins(index));
                let thread = thread.map_err(|source| BuildError::Thread { started: index, workers, source })?;
                running.threads.push(thread);
            }
        }
        if let Some(interrupts) = interrupts {
            let threads = if has_signals { &running.threads[..] } else { &[] };
            running.interrupter = Some(pool.interrupt(interrupts, threads).map_err(BuildError::Interrupts)?);
        }
        Ok(())
    }

    fn possible_interrupts(&self) -> Option<Interrupts> {
        self.interrupts.filter(|interrupts| interrupts.by == By::Flag || P::ANSWERS_SIGNALS)
    }

    /// Starts the thread of worker `index`, which has none.
    pub(crate) fn start_one(
        &self,
        pool: &ThreadPool<P>,
        index: usize,
        places: &Places,
        handler: Option<Arc<Handler>>,
        begins: Begins,
    ) -> io::Result<Thread> {
        let cores = Arc::clone(&pool.cores);
        let (on_start, on_exit) = (self.on_start.clone(), self.on_exit.clone());
        let processor = places.to(index);
        let (name, stack_size, unpin) = (self.name_of(index), self.stack_size_for(pool.workers()), self.unpin);
        Thread::start(Some(name), Some(stack_size), move || {
            if let Some(processor) = processor {
                // Where the system cannot pin it, the worker runs unpinned.
                let _ = processors::bind(processor);
            } else if unpin {
                processors::unpin();
            }
            let core = &cores[index];
            // SAFETY: this thread is the worker until the thread ends.
            let _listening = handler.map(|handler| unsafe { Listening::new(&core.detached, handler) });
            let call = |hook: Option<Hook>| hook.into_iter().for_each(|hook| hook(index));
            // SAFETY: this thread is the worker until the thread ends, and its task stack is empty.
            unsafe { wait::work(core, stack_size, begins, || call(on_start), || call(on_exit)) };
        })
    }
}

/// Lets a worker begin asleep, unless it is to stay awake, or stands in for others.
///
/// # Safety
/// As for [`wait::lie_down`].
pub(crate) unsafe fn let_lie<P: Pool>(core: &Core<P>) -> Begins {
    let common = &core.home.common;
    let counts = || common.spares.as_ref().is_none_or(|spares| spares.count_in(core.home.index));
    if common.habits.idle == Idle::Spin && !core.home.is_for_callers() || !counts() {
        return Begins::Awake;
    }
    // SAFETY: the caller's promise.
    unsafe { wait::lie_down(core) };
    Begins::Asleep
}

/// Interrupts a pool's workers that are awake.
///
/// # Safety
/// As for [`signals::send`].
unsafe fn send_to_all(common: &Common, threads: &[Name]) {
    for (worker, &thread) in threads.iter().enumerate() {
        if !common.dormitory.place(worker).would_help(|_| true) {
            // SAFETY: the caller's promise.
            unsafe { signals::send(thread) };
        }
    }
}

impl<P: Pool> ThreadPool<P> {
    fn interrupt(&self, interrupts: Interrupts, threads: &[Thread]) -> io::Result<Interrupter> {
        const PROMISE: &str = "a pool with interrupts was made for ticks";
        let Interrupts { period, is_steady, .. } = interrupts;
        let common = Arc::clone(&self.common);
        let threads = signals::names(threads);
        if let Some(calls) = &common.calls {
            return Ok(Interrupter::Thieves { _answering: Answering::new(calls, threads) });
        }
        let clock = Arc::clone(common.ticks.as_ref().expect(PROMISE).clock());
        let want_next = move |common: &Common| {
            if is_steady {
                common.want_tick();
            }
        };
        want_next(&common);
        let ticker = Ticker::start("filch ticker", clock, period, move || {
            common.ticks.as_ref().expect(PROMISE).make();
            // SAFETY: the workers' threads leave when the pool closes, which drops the ticker before.
            unsafe { send_to_all(&common, &threads) };
            want_next(&common);
        });
        ticker.map(|ticker| Interrupter::Clock { _ticker: ticker })
    }
}

impl<P: Pool> Drop for ThreadPool<P> {
    // Never inlined, for the same reason as `try_build_with`.
    #[inline(never)]
    fn drop(&mut self) {
        let mut running = std::mem::take(self.running.get_mut().unwrap_or_else(PoisonError::into_inner));
        if !self.common.is_in_this_process() {
            // The threads are in another process; their handles mean nothing in this one.
            std::mem::forget(running);
            return;
        }
        running.interrupter = None;
        if self.common.current_home().is_some() {
            // A task drops its own pool. The threads leave by themselves, and keep the workers alive.
            drop(running);
            return self.common.close_alone();
        }
        self.common.close();
        let running = Mutex::new(running);
        let ends = || {
            running.lock().unwrap_or_else(PoisonError::into_inner).join();
            self.common.late_ends();
        };
        // If the system refuses a thread for this, a worker of another pool waits without working.
        aside(&ends).unwrap_or_else(|_| ends());
    }
}
