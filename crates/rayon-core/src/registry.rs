//! The state shared by the threads of one pool, and how a thread finds it.
//!
//! A [`Registry`] is a crew of filch with rayon's handlers. The pool's threads reach it through [`CURRENT`].
//!
//! Invariant: a thread's [`CURRENT`] is null, or points to a handle that is alive while it is set. It is set exactly
//! while the thread is a worker of that registry's crew, or has called into that crew and runs at most that call. The
//! worker of a [recorded](settings::recorded) process, whose crew is that of several registries, has it set while it
//! runs a task of one.

use std::cell::Cell;
use std::fmt;
use std::io::{self, Write as _};
use std::marker::PhantomData;
use std::ptr::{self, null};
use std::sync::{Arc, Condvar, Mutex, Once, PoisonError, Weak};

use filch::inside::host::{
    AbortOnUnwind, Crew, Fifo, Host, Lease, PerProcess, Processors, Seat, Single, Thread, Threads, WeakLease, at_exit,
    keep,
};

use crate::private::Sealed;
use crate::unwind;
use crate::{ErrorKind, ExitHandler, PanicHandler, StartHandler, ThreadPoolBuildError, ThreadPoolBuilder, settings};

/// The assumed stack size of a thread started by a handler without a given size: Rust's default.
const ASSUMED_STACK_SIZE: usize = 2 << 20;

pub(crate) struct Registry {
    pub(crate) crew: Crew,
    /// Whether the crew records the process. It is that of other registries, too, and has one worker, who stands for
    /// all threads.
    is_recorded: bool,
    num_threads: usize,
    lease: WeakLease,
    /// The queues of `spawn_fifo`, one per worker.
    fifos: Box<[Fifo]>,
    breadth_first: bool,
    panic_handler: Option<Box<PanicHandler>>,
    start_handler: Option<Box<StartHandler>>,
    exit_handler: Option<Box<ExitHandler>>,
    /// Whether the first worker is a thread that stays a worker for the rest of its life.
    has_occupant: bool,
    /// Present if some threads start later, or again.
    pub(crate) ordinary: Option<Ordinary>,
    /// Present if the threads can end and start again.
    pub(crate) threads: Option<Threads>,
    /// Whether threads start when they are first needed.
    comes_late: bool,
    /// How many threads have started.
    started: Mutex<usize>,
    starts: Condvar,
    /// Guards the printing of the counters: the pool and the process may end at the same time.
    printing: Arc<Once>,
}

/// How ordinary threads start.
pub(crate) struct Ordinary {
    run: fn(ThreadBuilder),
    /// By thread.
    names: Vec<Option<String>>,
    stack_size: Option<usize>,
}

impl Ordinary {
    pub(crate) fn start(&self, registry: &Arc<Registry>, seat: Seat) -> io::Result<Thread> {
        let name = self.names[seat.index()].clone();
        ThreadBuilder::new(registry, seat, name, self.stack_size).start(self.run, Thread::start)
    }
}

thread_local! {
    /// The registry of which this thread is a worker.
    static CURRENT: Cell<*const Arc<Registry>> = const { Cell::new(null()) };
    /// The number of the thread of a recorded pool for which this one stands; otherwise 0.
    static STANDS_FOR: Cell<usize> = const { Cell::new(0) };
}

/// Calls `f` with the registry of which the current thread is a worker.
fn with_current<R>(f: impl FnOnce(Option<&Arc<Registry>>) -> R) -> R {
    let current = CURRENT.with(Cell::get);
    // SAFETY: by the file's invariant the pointer is null or valid; the reference does not leave `f`, and during `f`
    // the thread stays a worker.
    f(unsafe { current.as_ref() })
}

/// Runs `call`. If the current thread is no worker, it may be a guest of this registry's crew meanwhile.
fn as_guest<R>(registry: &Arc<Registry>, call: impl FnOnce() -> R) -> R {
    // A worker of another pool stays one, and runs that pool's jobs meanwhile.
    let is_outside = !is_worker() && filch::inside::host::current_index().is_none();
    let _inside = is_outside.then(|| Inside::new(registry));
    call()
}

/// The number of the thread for which this one stands otherwise.
struct Restored(usize);

impl Drop for Restored {
    fn drop(&mut self) {
        STANDS_FOR.set(self.0);
    }
}

/// Sets the current thread's registry until dropped.
struct Inside<'r> {
    registry: &'r Arc<Registry>,
    former: *const Arc<Registry>,
}

impl<'r> Inside<'r> {
    fn new(registry: &'r Arc<Registry>) -> Self {
        Self { registry, former: CURRENT.replace(registry) }
    }
}

impl Drop for Inside<'_> {
    fn drop(&mut self) {
        debug_assert!(std::ptr::eq(CURRENT.get(), self.registry), "a thread is a worker of one pool at a time");
        CURRENT.set(self.former);
    }
}

impl Drop for Registry {
    fn drop(&mut self) {
        if settings::wants_stats() {
            self.print_stats();
        }
    }
}

impl Registry {
    /// Starts the threads that `builder` asks for. The pool lives as long as its lease and the tasks spawned on it.
    pub(crate) fn new<S>(mut builder: ThreadPoolBuilder<S>, is_global: bool) -> Result<Started, ThreadPoolBuildError>
    where
        S: ThreadSpawn,
    {
        let io_error = |error| ThreadPoolBuildError::new(ErrorKind::IOError(error));
        let is_plain = S::RUN.is_some() && !builder.use_current_thread;
        // The threads of the global pool do not leave.
        let may_be_recorded = is_plain && (is_global || builder.exit_handler.is_none());
        let recorded = settings::recorded().map_err(io_error)?.filter(|_| may_be_recorded);
        let threads = match recorded {
            Some(recorded) if builder.num_threads == 0 => recorded.threads,
            _ => builder.get_num_threads(),
        };
        let threads = threads.min(crate::max_num_threads());
        if builder.use_current_thread && is_worker() {
            return Err(ThreadPoolBuildError::new(ErrorKind::CurrentThreadAlreadyInPool));
        }
        let has_handlers = builder.start_handler.is_some() || builder.exit_handler.is_some();
        let comes_late = is_plain && !has_handlers;
        // A program that installs something into its own pool may rely on the pool's threads to run it, as published
        // tests do. In a pool of one, it may rely on that one thread.
        let by_default = cfg!(feature = "callers-work")
            && is_global
            && comes_late
            && builder.get_thread_name.is_none()
            && builder.stack_size.is_none()
            && threads > 1;
        let callers_work = builder.callers_work.unwrap_or(by_default);
        let follows = builder.follows_processors();
        let (crew, lease, seats) = match recorded {
            Some(recorded) => (recorded.crew.clone(), recorded.lease.clone(), Vec::new()),
            None => settings::crew(threads, follows, builder.found, callers_work).map_err(io_error)?,
        };
        let may_restart = is_global && !builder.use_current_thread && recorded.is_none();
        let comes_late = comes_late && recorded.is_none();
        let mut name = builder.get_thread_name.take();
        let mut name = |index| {
            let name: Option<String> = name.as_mut().map(|name| name(index));
            name.inspect(|name| Thread::check_name(index, name))
        };
        // Naming may panic, with earlier threads started already: only threads that start later are named in advance.
        let ordinary = S::RUN.filter(|_| may_restart || comes_late).map(|run| Ordinary {
            run,
            names: (0..threads).map(&mut name).collect(),
            stack_size: builder.stack_size,
        });
        let registry = Arc::new(Self {
            crew,
            is_recorded: recorded.is_some(),
            num_threads: threads,
            lease: lease.downgrade(),
            fifos: (0..threads).map(|_| Fifo::default()).collect(),
            breadth_first: builder.breadth_first,
            panic_handler: builder.panic_handler.take(),
            start_handler: builder.start_handler.take(),
            exit_handler: builder.exit_handler.take(),
            has_occupant: builder.use_current_thread,
            threads: ordinary.as_ref().filter(|_| may_restart).map(|_| Threads::default()),
            ordinary,
            comes_late,
            started: Mutex::new(0),
            starts: Condvar::new(),
            printing: Arc::new(Once::new()),
        });
        let seats = if comes_late { registry.come_late(seats) } else { seats };
        // If anything fails or panics from here on, dropping the lease makes the started threads leave.
        for seat in seats {
            let name = match &registry.ordinary {
                Some(ordinary) => ordinary.names[seat.index()].clone(),
                None => name(seat.index()),
            };
            if seat.index() == 0 && builder.use_current_thread {
                // The handle lives for the rest of the thread's life.
                let handle: &'static Arc<Self> = Box::leak(Box::new(Arc::clone(&registry)));
                keep(handle);
                if seat.occupy(ASSUMED_STACK_SIZE).is_err() {
                    return Err(ThreadPoolBuildError::new(ErrorKind::CurrentThreadAlreadyInPool));
                }
                std::mem::forget(Inside::new(handle));
                registry.has_started();
                continue;
            }
            let thread = ThreadBuilder::new(&registry, seat, name, builder.stack_size);
            builder.spawn_handler.spawn(thread).map_err(io_error)?;
        }
        if let Some(handler) = registry.start_handler.as_ref().filter(|_| registry.is_recorded()) {
            registry.enter(|| registry.catch_unwind(|| handler(0)));
        }
        if settings::wants_stats() {
            print_stats_at_exit(&registry);
        }
        // Otherwise the tasks have the only leases besides the one that stays, which tells when they have ended.
        let lease = Some(lease).filter(|_| !registry.is_recorded());
        Ok((registry, lease))
    }

    /// Lets threads start when they are first needed; returns the seats that need them now.
    fn come_late(self: &Arc<Self>, seats: Vec<Seat>) -> Vec<Seat> {
        let registry = Arc::downgrade(self);
        self.crew.come_late(seats, move |seat| {
            let registry = registry.upgrade().ok_or_else(|| io::Error::other("the pool is gone"))?;
            registry.ordinary.as_ref().expect("ordinary threads come late").start(&registry, seat)
        })
    }

    pub(crate) fn num_threads(&self) -> usize {
        self.num_threads
    }

    /// Returns whether the crew is the one that [records](settings::recorded) the process.
    #[inline]
    pub(crate) fn is_recorded(&self) -> bool {
        cfg!(feature = "scale") && self.is_recorded
    }

    /// Returns the current thread's number as a worker of this registry.
    pub(crate) fn current_index(&self) -> Option<usize> {
        self.crew.current_index()
    }

    /// Returns the number of the thread of this registry that the current one is, or stands for.
    pub(crate) fn current_thread(&self) -> Option<usize> {
        let is_elsewhere = || with_current(|registry| registry.is_some_and(|registry| !ptr::eq(&**registry, self)));
        let index = self.current_index()?;
        if self.is_recorded() && is_elsewhere() { None } else { Some(index + STANDS_FOR.get()) }
    }

    /// Runs `f` in place of the thread of this number, of a recorded registry.
    pub(crate) fn in_place_of<R>(&self, index: usize, f: impl FnOnce() -> R) -> R {
        if !self.is_recorded() {
            return f();
        }
        let former = STANDS_FOR.replace(index);
        let _restored = Restored(former);
        f()
    }

    /// Runs `op` for the number of each thread, perhaps at the same time, and returns the results in this order.
    pub(crate) fn each<R: Send>(self: &Arc<Self>, op: &(impl Fn(usize) -> R + Sync)) -> Vec<R> {
        fn halves<R: Send>(first: usize, results: &mut [Option<R>], op: &(impl Fn(usize) -> R + Sync)) {
            if let [result] = results {
                *result = Some(op(first));
                return;
            }
            let (left, right) = results.split_at_mut(results.len() / 2);
            let middle = first + left.len();
            crate::join(|| halves(first, left, op), || halves(middle, right, op));
        }
        if !self.is_recorded() {
            return self.crew.broadcast(op);
        }
        let mut results: Vec<Option<R>> = (0..self.num_threads).map(|_| None).collect();
        self.in_worker(|| halves(0, &mut results, op));
        results.into_iter().map(|result| result.expect("each has run")).collect()
    }

    /// Posts a job to each thread, made from its number.
    ///
    /// # Safety
    /// As [`Registry::push`].
    pub(crate) unsafe fn post_to_each<F: FnOnce() + Send>(&self, job: impl FnMut(usize) -> F) {
        if self.is_recorded() {
            // SAFETY: by the caller's promise.
            (0..self.num_threads).map(job).for_each(|job| unsafe { self.crew.push(job) });
        } else {
            // SAFETY: by the caller's promise.
            unsafe { self.crew.post_to_each(job) };
        }
    }

    /// Identifies this registry in messages.
    pub(crate) fn id(&self) -> usize {
        std::ptr::from_ref(self).addr()
    }

    /// Calls `f` with the current thread's registry, or else with the global one.
    pub(crate) fn with_current<R>(f: impl FnOnce(&Arc<Self>) -> R) -> R {
        with_current(|registry| f(registry.unwrap_or_else(|| global_registry())))
    }

    /// Runs `f` on a worker of this registry.
    #[inline]
    pub(crate) fn in_worker<R: Send>(self: &Arc<Self>, f: impl FnOnce() -> R + Send) -> R {
        if self.current_index().is_some() { self.here(f) } else { self.enter(f) }
    }

    /// Runs `f` on a worker of the crew, as one of this registry.
    #[inline]
    pub(crate) fn here<R>(self: &Arc<Self>, f: impl FnOnce() -> R) -> R {
        if self.is_recorded() { self.in_place_of_another(f) } else { f() }
    }

    #[cold]
    #[inline(never)]
    fn in_place_of_another<R>(self: &Arc<Self>, f: impl FnOnce() -> R) -> R {
        let _inside = Inside::new(self);
        f()
    }

    /// As [`Registry::in_worker`], on a thread that is no worker here. Out of line, so that it is no part of frames in
    /// which `f` runs at once.
    #[inline(never)]
    pub(crate) fn enter<R: Send>(self: &Arc<Self>, f: impl FnOnce() -> R + Send) -> R {
        if self.is_recorded() { self.enter_recorded(f) } else { as_guest(self, || self.crew.enter(f)) }
    }

    #[cold]
    #[inline(never)]
    fn enter_recorded<R: Send>(self: &Arc<Self>, f: impl FnOnce() -> R + Send) -> R {
        as_guest(self, || self.crew.enter(|| self.here(f)))
    }

    /// Returns a lease for a task being spawned. Returns `None` once the last lease has been dropped and the threads
    /// are leaving. Then only their exit handlers, and a thread that [stays](Self::stays), can still spawn.
    pub(crate) fn lease(&self) -> Option<Lease> {
        self.lease.upgrade()
    }

    /// Returns whether the current thread is a worker that does not leave with the others.
    pub(crate) fn stays(&self) -> bool {
        self.has_occupant && self.current_index() == Some(0)
    }

    /// Queues `job`, newest first.
    ///
    /// # Safety
    /// Everything that `job` borrows must live until it has run.
    pub(crate) unsafe fn push(&self, job: impl FnOnce() + Send) {
        if self.breadth_first {
            // SAFETY: the caller's promise holds for `job`; the queues live as long as the registry, which its threads
            // keep alive.
            unsafe { self.push_fifo(&self.fifos, job) };
        } else {
            // SAFETY: by the caller's promise.
            unsafe { self.crew.push(job) };
        }
    }

    /// Queues `job`, oldest first among the jobs of `fifos`, which has a queue per worker.
    ///
    /// # Safety
    /// As [`Registry::push`]; the queues must live as long.
    pub(crate) unsafe fn push_fifo(&self, fifos: &[Fifo], job: impl FnOnce() + Send) {
        let here = self.current_index().unwrap_or(0);
        // SAFETY: by the caller's promises.
        unsafe { self.crew.push_fifo(&fifos[here], job) };
    }

    /// The queues of tasks that belong to no scope.
    pub(crate) fn fifos(&self) -> &[Fifo] {
        &self.fifos
    }

    /// Runs a spawned task. A panic in it goes to the panic handler, or ends the process.
    pub(crate) fn catch_unwind(&self, f: impl FnOnce()) {
        if let Err(payload) = unwind::halt_unwinding(f) {
            // Aborts if there is no handler or the handler panics.
            let unhandled = AbortOnUnwind("a task that nobody waits for panicked, and no panic handler took it");
            if let Some(handler) = &self.panic_handler {
                handler(payload);
                std::mem::forget(unhandled);
            }
        }
    }

    fn has_started(&self) {
        *self.started.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        self.starts.notify_all();
    }

    /// Waits until all threads have started. Returns at once if they start when they are first needed: without handlers
    /// nobody can tell.
    pub(crate) fn wait_until_primed(&self) {
        if self.comes_late || self.is_recorded() {
            return;
        }
        let started = self.started.lock().unwrap_or_else(PoisonError::into_inner);
        let all = self.starts.wait_while(started, |started| *started < self.num_threads());
        drop(all.unwrap_or_else(PoisonError::into_inner));
    }

    fn print_stats(&self) {
        self.printing.call_once(|| {
            // A program that closed standard error does not want the message.
            let _ = writeln!(io::stderr(), "filch: pool of {}: {}", self.num_threads(), self.crew.stats().total());
        });
    }
}

impl fmt::Debug for Registry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Registry")
            .field("id", &self.id())
            .field("num_threads", &self.num_threads())
            .finish_non_exhaustive()
    }
}

/// Returns whether the current thread is a worker of any registry.
pub(crate) fn is_worker() -> bool {
    !CURRENT.get().is_null()
}

/// Returns the current thread's number as a worker of any registry.
pub(crate) fn current_index() -> Option<usize> {
    if is_worker() { filch::inside::host::current_index().map(|index| index + STANDS_FOR.get()) } else { None }
}

/// Runs `f` on a worker: at once if the current thread is one, otherwise on a worker of the global registry.
pub(crate) fn in_worker<R: Send>(f: impl FnOnce() -> R + Send) -> R {
    if is_worker() { f() } else { global_registry().enter(f) }
}

/// Each process's global registry, which is never dropped.
static GLOBAL: PerProcess<Single<Started>> = PerProcess::new();

/// A registry, and the lease that keeps its threads, unless they stay anyway.
pub(crate) type Started = (Arc<Registry>, Option<Lease>);

/// Returns the registry for threads that are not workers. The first use starts it.
#[inline]
pub(crate) fn global_registry() -> &'static Arc<Registry> {
    match GLOBAL.get().get_or_make(|| recorded(default_global_registry)) {
        Ok((registry, _)) => registry,
        Err(error) => panic!("the global thread pool cannot be started: {error}"),
    }
}

/// Returns the global registry, if it has been started.
pub(crate) fn started_global() -> Option<&'static Started> {
    GLOBAL.get().get()
}

/// Makes the global registry with `builder`, unless there already is one.
pub(crate) fn init_global_registry<S>(
    builder: ThreadPoolBuilder<S>,
) -> Result<&'static Arc<Registry>, ThreadPoolBuildError>
where
    S: ThreadSpawn,
{
    let made = GLOBAL.get().make_first(|| recorded(|| Registry::new(builder, true)))?;
    made.map(|(registry, _)| registry).ok_or(ThreadPoolBuildError::new(ErrorKind::GlobalPoolAlreadyInitialized))
}

/// Makes a global registry, and records its timeline if the environment asks for that.
fn recorded(make: impl FnOnce() -> Result<Started, ThreadPoolBuildError>) -> Result<Started, ThreadPoolBuildError> {
    let wanted = settings::timeline().map_err(|error| ThreadPoolBuildError::new(ErrorKind::IOError(error)))?;
    let made = make()?;
    wanted.record_crew(&made.0.crew);
    Ok(made)
}

/// Makes a registry with the number of threads given by the environment, or else by the system's processors; with fewer
/// if the system refuses them; with the current thread alone on a system without threads.
fn default_global_registry() -> Result<Started, ThreadPoolBuildError> {
    // Neither the number of threads nor their processors depend on the affinity of the thread that happens to come
    // first.
    let is_recorded = settings::recorded().is_ok_and(|recorded| recorded.is_some());
    if is_recorded {
        return Registry::new(ThreadPoolBuilder::new().spawned_by(UnpinnedSpawn), true);
    }
    let asked = ThreadPoolBuilder::new().asked_num_threads();
    let found = asked.is_none().then(Processors::of_process);
    let wanted = asked.or(found.map(Processors::count)).expect("a number is asked for or found");
    let mut threads = wanted;
    let mut refused = None;
    loop {
        let builder = ThreadPoolBuilder::new();
        match Registry::new(builder.some_threads(threads, found).spawned_by(UnpinnedSpawn), true) {
            Err(error) if error.is_unsupported() && !is_worker() => {
                // The first error says more than a second one would.
                return Registry::new(ThreadPoolBuilder::new().num_threads(1).use_current_thread(), true)
                    .map_err(|_| error);
            }
            Err(error) if threads > 1 && error.is_refusal() => {
                threads /= 2;
                refused = Some(error);
            }
            made => {
                if let (Some(error), Ok(_)) = (refused, &made) {
                    // A program that closed standard error does not want the message.
                    let _ = writeln!(io::stderr(), "filch: starting {threads} threads instead of {wanted} ({error})");
                }
                return made;
            }
        }
    }
}

/// The host of a `join` outside all pools.
pub(crate) struct Global;

impl Host for Global {
    fn crew() -> &'static Crew {
        &global_registry().crew
    }

    fn call<R>(call: impl FnOnce(&'static Crew) -> R) -> R {
        let registry = global_registry();
        as_guest(registry, || call(&registry.crew))
    }

    fn within<R>(call: impl FnOnce() -> R) -> R {
        global_registry().here(call)
    }
}

/// Prints the counters when the process ends, if the registry still exists; waits for a drop that prints them.
fn print_stats_at_exit(registry: &Arc<Registry>) {
    static REGISTRIES: Mutex<Vec<(Weak<Registry>, Arc<Once>)>> = Mutex::new(Vec::new());

    extern "C" fn print() {
        let registries = REGISTRIES.lock().unwrap_or_else(PoisonError::into_inner);
        for (registry, printing) in &*registries {
            match registry.upgrade() {
                Some(registry) => registry.print_stats(),
                None => printing.wait_force(),
            }
        }
    }

    let mut registries = REGISTRIES.lock().unwrap_or_else(PoisonError::into_inner);
    if registries.is_empty() {
        at_exit(print);
    }
    registries.retain(|(_, printing)| !printing.is_completed());
    registries.push((Arc::downgrade(registry), Arc::clone(&registry.printing)));
}

/// A thread that a pool needs, given to a [spawn handler](ThreadPoolBuilder::spawn_handler) to start.
///
/// The handler starts a thread in any way, if possible with the requested name and stack size. That thread must call
/// [`run`](Self::run), which returns when the pool has ended.
pub struct ThreadBuilder {
    name: Option<String>,
    stack_size: Option<usize>,
    /// The assumed size of the stack.
    stack: usize,
    registry: Arc<Registry>,
    seat: Seat,
    /// Not `Sync`.
    _marker: PhantomData<Cell<()>>,
}

impl ThreadBuilder {
    pub(crate) fn new(registry: &Arc<Registry>, seat: Seat, name: Option<String>, stack_size: Option<usize>) -> Self {
        let stack = stack_size.unwrap_or(ASSUMED_STACK_SIZE);
        Self { name, stack_size, stack, registry: Arc::clone(registry), seat, _marker: PhantomData }
    }

    /// Starts an ordinary thread. A registry whose threads can end keeps it, to join it.
    fn start_plain(self, run: fn(Self)) -> io::Result<()> {
        let registry = Arc::clone(&self.registry);
        let thread = self.start(run, Thread::start)?;
        if let Some(threads) = &registry.threads {
            threads.keep(thread);
        }
        Ok(())
    }

    /// The number of the thread in its pool, from 0 on.
    pub fn index(&self) -> usize {
        self.seat.index()
    }

    /// The name given by [`ThreadPoolBuilder::thread_name`].
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// The stack size given by [`ThreadPoolBuilder::stack_size`], in bytes.
    pub fn stack_size(&self) -> Option<usize> {
        self.stack_size
    }

    /// Works for the pool until it ends. Afterwards the thread may do the same for another pool.
    ///
    /// # Panics
    /// If the thread belongs to a pool.
    pub fn run(self) {
        let Self { registry, seat, stack, .. } = self;
        assert!(!is_worker(), "this thread already belongs to a pool");
        let _inside = Inside::new(&registry);
        let index = seat.index();
        let start = || {
            registry.has_started();
            if let Some(handler) = &registry.start_handler {
                registry.catch_unwind(|| handler(index));
            }
        };
        let exit = || {
            if let Some(handler) = &registry.exit_handler {
                registry.catch_unwind(|| handler(index));
            }
        };
        seat.run(stack, start, exit);
    }

    /// Starts an ordinary thread with `spawn` to `run` this. Its stack has the requested size; if there is none, the
    /// size of filch's workers, or a smaller one if the system refuses that.
    pub(crate) fn start<'s, T>(
        mut self,
        run: impl Fn(Self) + Copy + Send + 's,
        spawn: impl Fn(Option<String>, Option<usize>, Box<dyn FnOnce() + Send + 's>) -> io::Result<T>,
    ) -> io::Result<T> {
        const STEP: usize = 4;
        // As in the standard library.
        let least = std::env::var("RUST_MIN_STACK").ok().and_then(|size| size.parse().ok());
        let least = least.unwrap_or(ASSUMED_STACK_SIZE);
        let workers = self.registry.num_threads();
        let mut stack = self.stack_size.unwrap_or_else(|| filch::inside::host::stack_size(workers).max(least));
        let name = self.name.clone();
        let is_asked_for = self.stack_size.is_some();
        self.stack = least.min(stack);
        // A thread that fails to start drops its closure, so `self` is kept outside it.
        let this = Arc::new(Mutex::new(Some(self)));
        loop {
            let own = Arc::clone(&this);
            let body = move || {
                let this = own.lock().unwrap_or_else(PoisonError::into_inner).take();
                let mut this = this.expect("one thread has started");
                this.seat.inherit();
                run(this);
            };
            match spawn(name.clone(), Some(stack), Box::new(body)) {
                Err(_) if !is_asked_for && stack > least => stack = (stack / STEP).max(least),
                started => return started,
            }
        }
    }
}

impl fmt::Debug for ThreadBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ThreadBuilder")
            .field("pool", &self.registry.id())
            .field("index", &self.index())
            .field("name", &self.name)
            .field("stack_size", &self.stack_size)
            .finish()
    }
}

/// How a pool's threads are started: by default, or by a handler. Sealed.
pub trait ThreadSpawn {
    #[doc(hidden)]
    fn sealed(_: Sealed);

    /// The body of an ordinary thread; `None` if a handler starts the threads, which may then be anything.
    #[doc(hidden)]
    const RUN: Option<fn(ThreadBuilder)> = None;

    /// Starts a thread.
    fn spawn(&mut self, thread: ThreadBuilder) -> io::Result<()>;
}

/// Starts ordinary threads of the standard library.
#[derive(Debug, Default)]
pub struct DefaultSpawn;

impl ThreadSpawn for DefaultSpawn {
    fn sealed(_: Sealed) {}

    const RUN: Option<fn(ThreadBuilder)> = Some(ThreadBuilder::run);

    fn spawn(&mut self, thread: ThreadBuilder) -> io::Result<()> {
        thread.start_plain(ThreadBuilder::run)
    }
}

/// Like [`DefaultSpawn`], but with the process's full affinity, whatever the affinity of the first calling thread.
#[derive(Debug)]
struct UnpinnedSpawn;

impl UnpinnedSpawn {
    fn run(thread: ThreadBuilder) {
        filch::inside::host::unpin();
        thread.run();
    }
}

impl ThreadSpawn for UnpinnedSpawn {
    fn sealed(_: Sealed) {}

    const RUN: Option<fn(ThreadBuilder)> = Some(Self::run);

    fn spawn(&mut self, thread: ThreadBuilder) -> io::Result<()> {
        thread.start_plain(Self::run)
    }
}

/// Starts threads with a handler.
#[derive(Debug)]
pub struct CustomSpawn<F>(F);

impl<F: FnMut(ThreadBuilder) -> io::Result<()>> CustomSpawn<F> {
    pub(crate) fn new(spawn: F) -> Self {
        Self(spawn)
    }
}

impl<F: FnMut(ThreadBuilder) -> io::Result<()>> ThreadSpawn for CustomSpawn<F> {
    fn sealed(_: Sealed) {}

    fn spawn(&mut self, thread: ThreadBuilder) -> io::Result<()> {
        (self.0)(thread)
    }
}
