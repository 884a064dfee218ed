//! Fork–join by work stealing: the fastest there is, on any task pool.
//!
//! A program forks wherever two things could be done at the same time, and leaves it to the workers of a pool whether they
//! are. A fork costs a few nanoseconds if nobody takes it, so there is nothing to tune: no grain, no threshold.
//!
//! # Fork and join
//!
//! [`join`] runs two closures, perhaps at the same time, and returns both results:
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
//! The second closure becomes a task. Usually nobody steals it, and it runs right after the first, on the same thread. If an idle
//! worker has stolen it, this one helps with parts of it, and waits.
//!
//! Loops are [`for_each`], [`map_reduce`] and, with the same floating-point result in every run, [`map_reduce_fixed`]. They split
//! when somebody wants work and not before:
//!
//! ```
//! let v: Vec<u64> = (1..=1000).collect();
//! assert_eq!(filch::map_reduce(&v[..], 0, |x| x * x, |a, b| a + b), 333_833_500);
//! ```
//!
//! Tasks that may outlive their spawner need a [`scope`]; those that nobody waits for are [`spawn`]ed.
//!
//! # Handles: the fastest way
//!
//! These functions find their worker in thread-local storage. The hottest code takes it as an argument instead: a [`Worker`], two
//! words, passed by value, so that everything about a fork happens in registers:
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
//! Write `move` where you can: what a branch captures by reference has to live in memory.
//!
//! [`Worker::fork_all`] forks any number of tasks at once; [`Worker::for_each`] and its siblings are the loops.
//! [`#[inline_recursion(3)]`](macro@inline_recursion) on a recursive function has the compiler unroll it through its forks, so that only
//! every third level is a real call; a function that is generic in its handle's [level](levels) is inlined without an attribute.
//! Both styles may be nested in each other at will; closure style inside handle style works, but its forks take a slower way.
//!
//! # Pools
//!
//! Outside of all pools the free functions use [`ThreadPool::global`], which starts at first use. [`ThreadPool::builder`] makes others:
//! how many workers, pinned or not, how large their stacks, what they do while they wait. [`ThreadPool::run`] enters a pool in handle
//! style, [`ThreadPool::install`] in closure style. The caller takes part: it sits in for a worker that sleeps, so that a short call costs
//! little. Dropping a pool joins its threads.
//!
//! Idle workers sleep and use no processor time. [`ThreadPool::stats`] has counters, which cost nothing as long as nothing is stolen.
//!
//! *Waiting.* A worker whose task was stolen does something useful meanwhile; [`Wait`] says what. With [`Wait::Leapfrog`] it only
//! ever runs parts of what it waits for, so locks may be held across a join, and no stack gets deeper than in a sequential
//! run.
//!
//! *Task pools.* Where a worker keeps its tasks is a type parameter: see [`pool`]. The default is [`pool::Split`], the direct task
//! stack of Lace; [`pool::Wool`] is that of Wool. [`pool::Queued`] makes a pool of most queues of the crate `filch_queue`, and
//! [`pool::Heartbeat`] one that uses it seldom.
//!
//! *Long tasks.* A task that neither forks nor joins for milliseconds keeps what its worker has forked before from thieves that have to
//! ask for it; [`poll`] and [`Worker::poll`] answer them, and [`Interrupts`] has workers answer by themselves.
//!
//! # Worklists
//!
//! Searches of graphs are not fork–join: a task makes others, and nobody waits for one of them. [`worklist`] runs such tasks until
//! there is none left, on a queue of almost any kind. A [team](worklist::Team) keeps threads and queues for the next list.
//!
//! # Jobs
//!
//! [`jobs`] are spawned and forgotten, or waited for with all that they spawn in their turn, wherever that is.
//!
//! # Hosts
//!
//! A library that gives filch another face, as the drop-in for `rayon-core` does, starts the threads itself and needs more ways to hand
//! in jobs: [`host`] has them.
//!
//! # Forked processes
//!
//! The child of a `fork()` has none of the parent's workers. There [`ThreadPool::global`], and with it the free functions, begin anew at
//! first use. A pool that the parent had made panics when the child hands it work; dropping it waits for nobody, and frees little. This
//! is for a thread that is no worker, and waits for none, when it forks; a task may fork a process only to run another program in it.
//! And it is where the system lets a child of a program with several threads do more than that: where it allocates memory, for one.
//!
//! # Panics
//!
//! A panic in a task travels to its join, and from there on as in a sequential program. The tasks that it leaves behind are dropped
//! unrun, or awaited if somebody runs them: nothing runs twice, nothing leaks, and the pool goes on.
//!
//! # Safety
//!
//! No use of this crate from safe code is undefined behaviour. All atomics are accessed with the orderings of the Rust memory model,
//! and none of the shared memory without.

#[cfg(not(target_pointer_width = "64"))]
compile_error!(
    "filch packs indices into 64-bit words next to pointers of the same size; it supports 64-bit targets only"
);

mod aside;
mod build_error;
mod builder;
mod core;
mod deal;
mod divisible;
mod enter;
mod fork;
mod fork_all;
mod front;
mod guest;
mod here;
mod home;
pub mod host;
mod interrupts;
mod job;
pub mod jobs;
mod join;
mod kept;
mod latch;
pub mod levels;
mod limits;
mod loops;
mod own;
mod patience;
mod policy;
pub mod pool;
mod process;
mod processors;
pub mod protocol;
mod registry;
mod saving;
mod scope;
mod slot;
mod spawn;
mod stack;
mod stats;
mod table;
mod team;
mod thread_pool;
mod thread_stack;
mod ticker;
mod unwind;
mod wait;
mod worker;
mod worker_queue;
pub mod worklist;

pub use builder::{BuildError, Builder};
pub use divisible::Divisible;
pub use filch_macros::inline_recursion;
pub use interrupts::{Interrupts, poll};
pub use join::join;
pub use limits::{DEFAULT_DEQUE_CAPACITY, DEFAULT_STACK_SIZE, MIN_STACK_SIZE};
pub use loops::{fold_blocks, for_each, map_reduce, map_reduce_fixed};
pub use policy::{Idle, UnknownWait, Victims, Wait};
pub use scope::{Scope, scope, spawn};
pub use stats::{Stats, WorkerStats};
pub use thread_pool::ThreadPool;

pub use worker::Worker;

/// The examples of the README compile and run as doc tests.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
