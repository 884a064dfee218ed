//! Runs parts of a program on several processors: fork–join by work stealing.
//!
//! A program says where two computations *may* run in parallel, and the workers of a pool decide whether they do. A
//! fork that nobody steals costs a few nanoseconds, so there is no grain or threshold to tune.
//!
//! ```
//! fn fib(n: u64) -> u64 {
//!     if n < 2 { return n; }
//!     let (a, b) = filch::join(move || fib(n - 1), move || fib(n - 2));
//!     a + b
//! }
//! assert_eq!(fib(20), 6765);
//! ```
//!
//! | you have | use |
//! | --- | --- |
//! | two computations, or a recursion | [`join`] |
//! | many branches that are known at once | [`fork_all`] |
//! | a range, a slice, a collection, any iterator | [`par`], with the adaptors and consumers of iterators; or [`for_each`], [`map_reduce`], [`fold_blocks`]; if items may fail, [`try_for_each`], [`try_map_reduce`] |
//! | tasks that make tasks, and borrow from outside | [`scope()`] |
//! | a result that is wanted later, or in async code | [`submit()`] |
//! | work that nobody awaits | [`spawn`] |
//! | a graph search: tasks make tasks, in any order | [`worklist`], of the feature `worklists` |
//! | very many small jobs, awaited with all that they spawn | [`jobs`], of the same feature |
//!
//! This crate is not for tasks that wait for files, sockets or each other, since a task that blocks keeps its worker.
//!
//! <div class="warning">
//!
//! **Locks.** A worker that waits for a stolen part may run any other task meanwhile. If the worker holds a lock that
//! this task wants, it waits for itself. Release locks before you fork, or build the pool with [`Wait::Leapfrog`].
//!
//! </div>
//!
//! The repository has a book, `docs/SUMMARY.md`, with recipes and the way from other schedulers.
//!
//! # Fork and join
//!
//! [`join`] runs two closures, perhaps in parallel, and returns both results:
//!
//! ```
//! fn sort<T: Ord + Send>(v: &mut [T]) {
//!     if v.len() <= 1 {
//!         return;
//!     }
//!     let pivot = v.len() - 1;
//!     let middle = partition(v, pivot);
//!     let (left, right) = v.split_at_mut(middle);
//!     filch::join(|| sort(left), || sort(&mut right[1..]));
//! }
//! # fn partition<T: Ord>(v: &mut [T], pivot: usize) -> usize {
//! #     let mut middle = 0;
//! #     for i in 0..pivot {
//! #         if v[i] < v[pivot] { v.swap(i, middle); middle += 1; }
//! #     }
//! #     v.swap(middle, pivot);
//! #     middle
//! # }
//! let mut v = vec![3, 1, 4, 1, 5, 9, 2, 6];
//! sort(&mut v);
//! assert_eq!(v, [1, 1, 2, 3, 4, 5, 6, 9]);
//! ```
//!
//! The second closure becomes a task. Usually nobody steals the task, and it runs right after the first closure, on the
//! same thread. If an idle worker steals the task, the first worker helps with parts of the task while it waits.
//!
//! Loops are [`for_each`], [`map_reduce`] and, with the same floating-point result in every run, [`map_reduce_fixed`].
//! They split only when somebody wants work:
//!
//! ```
//! let v: Vec<u64> = (1..=1000).collect();
//! assert_eq!(filch::map_reduce(&v[..], 0, |x| x * x, |a, b| a + b), 333_833_500);
//! ```
//!
//! [`par`] makes a [parallel iterator](iter) of a range, a slice or a collection, with the adaptors and consumers of
//! [`Iterator`], sorting and prefix sums:
//!
//! ```
//! let even: Vec<u32> = filch::par(0..10).map(|i| i * i).filter(|square| square % 2 == 0).collect();
//! assert_eq!(even, [0, 4, 16, 36, 64]);
//! ```
//!
//! [`try_for_each`] and [`try_map_reduce`] end at the first error, such as the one that a request to [`Stop`] causes.
//!
//! [`for_each_init`] gives a loop a state for each worker, such as a scratch buffer. [`PerWorker`] keeps such values
//! beyond one loop. [`map_reduce_from`] takes a function that makes the neutral element, whereas [`map_reduce`] clones
//! one.
//!
//! For tasks that may outlive their spawner, use a [`scope`]; for a result that is wanted later, [`submit`]; for jobs
//! that nobody awaits, [`spawn`].
//!
//! # Handles: the fastest way
//!
//! The functions above find their worker in thread-local storage. The hottest code takes it as an argument instead. A
//! [`Worker`] is two words, passed by value, so a fork happens in registers:
//!
//! ```
//! use filch::{ThreadPool, Worker};
//!
//! fn fib(mut w: Worker<'_>, n: u64) -> u64 {
//!     if n < 2 {
//!         return n;
//!     }
//!     let (a, b) = w.join(move |w| fib(w, n - 1), move |w| fib(w, n - 2));
//!     a + b
//! }
//! let pool = ThreadPool::new(2)?;
//! assert_eq!(pool.run(|w| fib(w, 20)), 6765);
//! # Ok::<(), filch::BuildError>(())
//! ```
//!
//! Write `move` where you can: variables that a branch captures by reference must live in memory.
//!
//! [`Worker::fork_all`] forks any number of tasks at once; [`Worker::for_each`] and its siblings are the loops. If the
//! body of a loop forks or loops in turn, use [`Worker::for_each_with`] and its siblings, which pass a handle to the
//! body. The attribute `#[inline_recursion(3)]`, of the feature `macros`, makes the compiler unroll a recursive
//! function through its forks, so that only every third level is a real call; a function that is generic in its
//! handle's [level](levels) is inlined without an attribute. Handle style and closure style may be nested in each
//! other; within handle style, forks in closure style take a slower path.
//!
//! # Pools
//!
//! Outside all pools the free functions use [`ThreadPool::global`], which starts at first use. [`ThreadPool::builder`]
//! makes other pools: it sets the number of workers, pinning, stack sizes, and what workers do while they wait. If the
//! number of workers is not set, only as many work at once as the processors and the container's quota allow
//! ([`Builder::follow_processors`]). [`ThreadPool::run`] enters a pool in handle style, [`ThreadPool::install`] in
//! closure style. The caller takes the seat of a sleeping worker, so a short call costs little; the tasks of the call
//! then use the caller's stack and thread-local variables ([`Builder::caller_works`]). Dropping a pool joins its
//! threads.
//!
//! A task that blocks its thread calls [`blocking`], so that a [spare worker](Builder::spares) works meanwhile.
//! [`spawn_whenever`] and [`submit_whenever`] are for jobs that can wait: workers run them when they have nothing else
//! to do, and now and then even if they have.
//!
//! [`Builder::build_global`] gives the global pool other settings, and [`ThreadPool::end_global`] joins its threads,
//! for programs that must end without threads. [`ThreadPool::wait_idle`] waits for spawned jobs, [`Builder::on_panic`]
//! gets their panics, and [`broadcast`] runs a closure once on every worker.
//!
//! Idle workers sleep and use no processor time. [`ThreadPool::stats`] returns counters, which cost nothing while
//! nothing is stolen. With the feature `timeline`, `ThreadPool::record` returns what each worker did, and when, for a
//! viewer. With the feature `scale`, `scale::measure` says how many workers can help a computation, and why not more.
//!
//! *Waiting.* A worker whose task was stolen does useful work while it waits; [`Wait`] says which. With
//! [`Wait::Leapfrog`] it runs only parts of the awaited task, so locks may be held across a join, and no stack gets
//! deeper than in a sequential run.
//!
//! *Task pools.* The task pool, where workers keep their tasks, is a type parameter: see [`pool`]. The default is
//! [`pool::Split`], the direct task stack of Lace. [`pool::Queued`] makes a pool from most queues of the crate
//! `filch_queue`. With the feature `pools`, [`pool::Wool`] is Wool's stack, [`pool::PrivateStack`] the private deque
//! that Lace's paper compares with, and [`pool::Heartbeat`] a pool that seldom uses its queue.
//!
//! *Long tasks.* While a worker runs a task that neither forks nor joins for milliseconds, thieves that must ask cannot
//! get the worker's earlier forks. [`poll`] and [`Worker::poll`] answer such thieves, and [`Interrupts`] makes workers
//! answer by themselves.
//!
//! # Worklists
//!
//! Graph searches are not fork–join: a task makes others, and nobody waits for a single one. [`worklist`] runs such
//! tasks until none is left, on almost any kind of queue. A [team](worklist::Team) keeps threads and queues for the
//! next list.
//!
//! # Jobs
//!
//! [`jobs`] are spawned and forgotten, or awaited together with all that they spawn.
//!
//! # Forked processes
//!
//! The child of a `fork()` has none of the parent's workers. In the child, [`ThreadPool::global`], and with it the free
//! functions, start a new pool at first use. A pool that the parent made panics when the child gives it work; dropping
//! it waits for nobody, and frees little. This holds if the forking thread neither is a worker nor waits for one; a
//! task may fork a process only to run another program in it. The system must also let the child of a multithreaded
//! program do more than run another program: allocate memory, for instance. In the child, a worker that overflows its
//! stack ends the process without a message, and [`std::thread::current`] does not know the workers' names.
//!
//! # Panics
//!
//! A panic in a task propagates to its join, and from there as in a sequential program. Tasks that the panic leaves
//! behind are dropped unrun, or awaited if a worker runs them: nothing runs twice, nothing leaks, and the pool
//! continues.
//!
//! # Safety
//!
//! No use of this crate from safe code is undefined behaviour. All shared memory is synchronized by atomics, with
//! orderings of the Rust memory model.
//!
//! # Inside
//!
//! [`inside`] is for libraries that give filch another interface, as the drop-in for `rayon-core` does, and for
//! checkers of its protocols.

// The documentation is that of all features.
#![cfg_attr(not(all(feature = "pools", feature = "worklists")), allow(rustdoc::broken_intra_doc_links))]

#[cfg(not(target_pointer_width = "64"))]
compile_error!(
    "filch packs indices into 64-bit words next to pointers of the same size; it supports 64-bit targets only"
);

mod divide;
mod fork;
pub mod inside;
mod interrupts;
pub mod iter;
mod loops;
mod machine;
pub mod pool;
mod shared;
mod spawn;
mod tasks;
#[cfg(feature = "worklists")]
mod teams;
mod threads;
/// How far a computation scales: its work and span, and what makes them. With the feature `scale`.
///
/// *Work* is the time of everything, *span* that of the longest chain of steps that must follow one another. Their
/// quotient, the parallelism, is the greatest speed-up, however many workers there are. [`measure`](scale::measure)
/// runs a computation on one thread, and records its forks, loops, scopes and awaited jobs as what *may* run in
/// parallel; named [regions](scale::region) say which parts of the program make the work and the span. The repository's
/// book has a chapter.
///
/// ```
/// use filch::scale::{measure, region};
///
/// fn sum(v: &[u64]) -> u64 {
///     if v.len() < 1000 {
///         return region("leaves", || v.iter().sum());
///     }
///     let (left, right) = v.split_at(v.len() / 2);
///     let (a, b) = filch::join(|| sum(left), || sum(right));
///     a + b
/// }
/// let v: Vec<u64> = (0..100_000).collect();
/// println!("{}", measure(|| sum(&v)).scale); // More than … workers will not help: …
/// ```
#[cfg(feature = "scale")]
pub mod scale {
    pub use crate::tasks::record::{Measured, Recording, measure};
    pub use crate::worker::strands::{Grain, Graph, Region, Scale, region};
}
#[cfg(feature = "timeline")]
pub mod timeline;
#[cfg(not(feature = "timeline"))]
#[path = "timeline/off.rs"]
mod timeline;
mod unwind;
mod wait;
mod worker;

use inside::protocol;

pub use divide::divisible::Divisible;
/// Requires the feature `macros`.
#[cfg(feature = "macros")]
pub use filch_macros::inline_recursion;
pub use interrupts::{Interrupts, poll};
pub use iter::par;
pub use loops::stop::{Stop, Stopped};
pub use loops::{
    fold_blocks, fold_blocks_from, for_each, for_each_init, map_reduce, map_reduce_fixed, map_reduce_from,
    map_reduce_init, try_for_each, try_map_reduce,
};
pub use machine::topology::CoreKind;
pub use shared::policy::{Idle, Leaps, OnLoss, UnknownWait, Victims, Wait};
pub use spawn::broadcast::broadcast;
pub use spawn::low_priority::{spawn_whenever, submit_whenever};
pub use spawn::scope::{Scope, in_place_scope, scope, spawn};
pub use spawn::submit::{Submitted, block_on, submit};
pub use tasks::blocking::blocking;
pub use tasks::current::{current_index, yield_now};
pub use tasks::fork_all::fork_all;
pub use tasks::handle::Worker;
pub use tasks::join::join;
pub use tasks::join_context::join_context;
pub use tasks::levels;
/// Requires the feature `worklists`.
#[cfg(feature = "worklists")]
pub use teams::{jobs, worklist};
pub use threads::builder::Builder;
pub use threads::defaults::{
    DEFAULT_STACK_SIZE, DEFAULT_TASK_CAPACITY, MAX_TASK_CAPACITY, MAX_WORKERS, MIN_STACK_SIZE,
};
pub use threads::error::BuildError;
pub use threads::thread_pool::ThreadPool;
#[cfg(feature = "timeline")]
pub use timeline::Timeline;
pub use worker::per_worker::{PerWorker, PerWorkerGuard};
pub use worker::stats::{Stats, WorkerStats};

/// The examples of the README compile and run as doc tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
