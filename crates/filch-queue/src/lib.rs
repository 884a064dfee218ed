//! Work-stealing queues, one file per published algorithm.
//!
//! A work-stealing queue has one **owner** and any number of **thieves**. The owner is one thread. It pushes and pops
//! tasks, mostly at the same end, at the least possible cost. A thief is any other thread. It takes tasks from the
//! other end when it has none of its own, and pays for the synchronisation. [`Queue::make`] returns both sides: one
//! [`Owner`], and one [`Thief`] for each thread that may steal.
//!
//! ```
//! use core::num::NonZeroUsize;
//! use filch_queue::{ChaseLev, Owner, Queue, Steal, Task, Thief};
//!
//! let task = |n| Task::from_id(NonZeroUsize::new(n).unwrap());
//! let (mut owner, mut thieves) = <ChaseLev as Queue>::make(64, 1, &());
//! for n in 1..=3 {
//!     owner.push(task(n)).unwrap();
//! }
//!
//! let mut thief = thieves.pop().unwrap();
//! let stolen = std::thread::spawn(move || {
//!     loop {
//!         match thief.steal() {
//!             Steal::Task(task) => break Some(task),
//!             Steal::Empty => break None,
//!             // Another thread was faster, or the owner has not answered.
//!             Steal::Retry | Steal::Aborted | Steal::Pending => std::thread::yield_now(),
//!         }
//!     }
//! })
//! .join()
//! .unwrap();
//!
//! assert_eq!(stolen, Some(task(1))); // the thief gets the oldest task,
//! assert_eq!(owner.pop(), Some(task(3))); // the owner gets the newest
//! assert_eq!(owner.pop(), Some(task(2)));
//! assert_eq!(owner.pop(), None);
//! ```
//!
//! # Choosing a queue
//!
//! Every queue states its promises in a constant, [`Queue::PROMISES`]: the order of tasks, whether the queue grows,
//! whether a steal can be refused or has to wait, and which memory model it needs. Tests, checkers and schedulers read
//! that constant; none of them knows a queue by name. [`for_each_queue`] lists all queues.
//!
//! | queue | owner's cost | what thieves can take |
//! |---|---|---|
//! | [`Locked`] | a lock | everything |
//! | [`The`] | one fence per pop, a lock when it meets a thief | everything |
//! | [`ChaseLev`] | one fence per pop | everything |
//! | [`ChaseLevFixed`] | one fence per pop | everything; it does not grow |
//! | [`ChaseLevAsym`] | nothing; thieves interrupt it, where the system allows | everything |
//! | [`Abp`] | one fence per pop | everything; a full array stays full until it is empty |
//! | `FfThe` | a store per pop, a lock when it meets a thief | all but the newest δ; a thief never knows it empty |
//! | `FfCl` | a store per pop | all but the newest δ |
//! | `Thep` | a store per pop, a lock when it meets a thief | everything; a thief may wait for the owner's next operation |
//! | `ThepApart` | as `Thep`, and a load | as `Thep` |
//! | `ImpatientThep` | a store per pop, a lock when it meets a thief | everything, if the owner pops while the thief looks |
//! | [`Unfenced`] | nothing | nothing: its owner is alone |
//! | [`Lace`] | nothing until tasks are shared or taken back | what the owner has shared; it shares when asked |
//! | [`Dsq`] | nothing until tasks are taken back, then a lock | what the owner has shared, several at once |
//! | [`HendlerShavit`] | nothing until the deque doubles or runs low | the older half, all of it at once |
//! | [`BwosL`] | a swap or a store per block | all but the owner's block |
//! | [`BwosF`], first in, first out | a store per push, two atomic updates per block | all but the block the owner reads |
//! | [`PadWs`] | as `BwosL`, and a check for requests | everything; from the owner's block when the owner answers |
//! | [`Adws`] | a check for requests | everything, when the owner answers |
//! | [`Wsq`] | one or two atomic updates per push, of one task or many; two per pop | everything, several at once |
//! | [`WsqPacked`] | one atomic update per push, two per pop | everything, several at once |
//! | [`OneExposed`] | nothing; a swap for the oldest task | the oldest; the next one at the owner's next operation |
//! | [`PdqR`], [`PdqR2`] | a check for requests | everything, when the owner answers; a thief waits for the answer |
//! | [`PdqRAsync`], [`PdqR2Async`] | a check for requests | everything, when the owner answers |
//! | [`PdqS`], [`PdqSAtOnce`] | a look at the clock | everything, when the owner deals |
//! | [`PdqSTold`], [`PdqSOneStep`] | a check for an idle thief, then the clock | everything, when the owner deals |
//! | [`IdempotentLifo`], [`IdempotentFifo`], [`IdempotentDeque`] | nothing | everything, perhaps more than once |
//!
//! `FfThe`, `FfCl`, `Thep`, `ThepApart` and `ImpatientThep` need the feature `fence-free` and x86-64. They omit the
//! fence because a processor's store buffer is bounded. They must be given δ, half that bound: see `Delta`.
//!
//! # What the owner pays
//!
//! The table gives the number of instructions that the owner executes on x86-64 without thieves, counted by stepping
//! through a release build. It names fences and other locked instructions (atomic read-modify-writes) separately,
//! because they cost tens of cycles each. A pair is a push and the pop after it, with 480 other tasks in the queue or
//! none. A run has 64 operations. The caller's own instructions are subtracted. The benchmark `instructions` prints the
//! tables for your compiler, with all features; the benchmark `owner` measures the time.
//!
//! | queue | pair, over other tasks | pair, the only task | push, in a run | pop, in a run |
//! |---|---|---|---|---|
//! | `chase-lev` | 34, 1 fence | 46, 1 fence, 1 locked | 18 | 24, 1 fence |
//! | `chase-lev-asym` | 37 | 49, 1 locked | 18 | 25 |
//! | `chase-lev-fixed` | 36, 1 fence | 49, 1 fence, 1 locked | 19 | 24, 1 fence |
//! | `abp` | 34, 1 fence | 44, 1 fence, 1 locked | 18 | 22, 1 fence |
//! | `the` | 34, 1 fence | 34, 1 fence | 18 | 23, 1 fence |
//! | `ff-the` | 35 | 35 | 18 | 24 |
//! | `ff-cl` | 35 | 45, 1 locked | 18 | 25 |
//! | `thep` | 35 | 35 | 18 | 24 |
//! | `thep-apart` | 35 | 35 | 18 | 24 |
//! | `thep-impatient` | 35 | 35 | 18 | 24 |
//! | `lace` | 38 | 38 | 23 | 22 |
//! | `dsq` | 39 | 94, 1 locked | 20 | 24 |
//! | `hendler-shavit` | 47 | 71, 1 locked | 29 | 26 |
//! | `wsq` | 87, 3 locked | 87, 3 locked | 56, 1 locked | 32, 2 locked |
//! | `wsq-packed` | 59, 3 locked | 59, 3 locked | 37, 1 locked | 27, 2 locked |
//! | `bwos-l` | 31 | 31 | 21 | 22, 0.02 locked |
//! | `bwos-f` | 75, 0.06 locked | 73, 0.06 locked | 48 | 34, 0.06 locked |
//! | `padws` | 48 | 48 | 30 | 30, 0.02 locked |
//! | `adws` | 43 | 43 | 26 | 24 |
//! | `one-exposed` | 42 | 23, 1 locked | 25 | 26 |
//! | `pdq-r` | 42 | 50 | 22 | 25 |
//! | `pdq-r2` | 42 | 50 | 23 | 25 |
//! | `pdq-r-async` | 42 | 50 | 23 | 25 |
//! | `pdq-r2-async` | 42 | 50 | 22 | 25 |
//! | `pdq-s` | 58 | 63 | 37 | 38 |
//! | `pdq-s-at-once` | 58 | 63 | 36 | 38 |
//! | `pdq-s-told` | 41 | 44 | 22 | 24 |
//! | `pdq-s-one-step` | 41 | 44 | 22 | 24 |
//! | `idem-lifo` | 42 | 42 | 28 | 19 |
//! | `idem-fifo` | 29 | 29 | 18 | 17 |
//! | `idem-de` | 53 | 53 | 35 | 25 |
//! | `locked` | 81, 4 locked | 81, 4 locked | 44, 2 locked | 44, 2 locked |
//! | `the-unfenced` | 34 | 34 | 19 | 23 |
//! | `chase-lev-unfenced` | 33 | 45, 1 locked | 18 | 25 |
//! | `lace:moves=half-stores` | 38 | 38 | 24 | 21 |
//! | `crossbeam-deque` | 50, 1 fence | 47, 1 fence, 1 locked | 21 | 39, 1 fence |
//!
//! The next table is for an owner with eight tasks that answers a thief or takes a task back. Owners that deal run
//! without their clock:
//!
//! | queue | poll that answers a thief | pop that takes shared or granted tasks back |
//! |---|---|---|
//! | `lace` | 41, 1 locked | 84, 1 locked |
//! | `lace:moves=half-stores` | 36 | 75, 1 fence |
//! | `pdq-r` | 96 |  |
//! | `pdq-r-async` | 94, 1 locked |  |
//! | `pdq-s-told` | 159, 1 locked |  |
//! | `pdq-s-one-step` | 125, 1 locked |  |
//! | `padws` | 115 | 153, 2 locked |
//! | `adws` | 105 | 101, 1 locked |
//!
//! In some queues a paper's form and ours execute different instructions:
//!
//! * `lace:moves=half-stores`, the paper's form, shares tasks by a store and takes them back by a store and a fence. It
//!   stores to half of a word that thieves swap as a whole. `lace` makes an atomic update each time. Ours keeps the
//!   updates because only x86-64 has such a store, Rust's memory model has none, and one update serves many tasks.
//!   Filch's task stack has both forms too; its forks and joins execute neither.
//! * `pdq-r`, the paper's form, answers by a load and a store: its thieves wait for the answer, so nobody takes a
//!   request back. `pdq-r-async` answers by a swap, so that thieves need not wait for an owner that does not run.
//!   `pdq-r2` is as `pdq-r`.
//! * `pdq-s-one-step`, the paper's form for one task, deals by a compare-and-swap. `pdq-s-told` claims a desk by a
//!   compare-and-swap, lays the task on it, and says so by a store. Ours keeps two steps, so that a thief can get
//!   several tasks. Without thieves both forms cost the same.
//! * `the-unfenced` and `chase-lev-unfenced` are right only without thieves. `ff-the`, `ff-cl` and `thep` omit the same
//!   fence, and pay for a store instead, the pad, which the papers' runtimes make anyway.
//! * Only the thieves differ between `thep-impatient` and `thep`, and between a delegating queue whose thieves poll and
//!   one whose thieves come back: the owners execute the same.
//! * `wsq`, its source's form, knows that the next slots are empty, and stores. A push that knows of none also
//!   exchanges its slot, once or more. `wsq-packed`, ours, loads from each slot before it stores.
//!
//! A test confirms these fences and updates in the machine code (`tests/emitted`).
//!
//! The table does not show the cost of contention. [`The`], `FfThe` and `Thep` take their lock only when a thief is at
//! the same task. [`Lace`], [`Dsq`] and [`HendlerShavit`] make an atomic update when they share tasks or take shared
//! ones back. The block queues make one or two updates when they take over a block. The owner also has to fetch from
//! another processor whatever thieves have written.
//!
//! # Tasks
//!
//! A queue holds [`Task`]s: one non-zero word each, a pointer or a number. Its meaning is up to the threads that push
//! and take it. A queue never looks at it, and dropping a queue drops no task.
//!
//! # Memory
//!
//! Every algorithm is written against [`filch_memory::Memory`] and runs unchanged on the machine
//! ([`filch_memory::Native`], the default) or inside a checker.
#![no_std]

extern crate alloc;
#[cfg(feature = "std")]
extern crate std;

#[cfg(all(feature = "fence-free", not(target_arch = "x86_64")))]
compile_error!(
    "the feature `fence-free` of filch-queue is for x86-64 only: its queues need stores to reach memory in program \
     order, and a store buffer of bounded length. Turn it on under `[target.'cfg(target_arch = \"x86_64\")'.dependencies]`."
);

pub mod abp;
pub mod adws;
mod amount;
pub mod as_new;
mod block_size;
pub mod blocks;
pub mod bwos_f;
pub mod bwos_l;
pub mod chase_lev;
pub mod chase_lev_asym;
pub mod chase_lev_fixed;
#[cfg(feature = "std")]
pub mod clock;
mod counts;
pub mod delegation;
pub mod dsq;
#[cfg(feature = "fence-free")]
pub mod fence_free;
#[cfg(feature = "fence-free")]
pub mod ff_cl;
#[cfg(feature = "fence-free")]
pub mod ff_the;
mod growing;
pub mod hendler_shavit;
pub mod idempotent;
pub mod lace;
#[cfg(feature = "std")]
pub mod locked;
pub mod model;
pub mod one_exposed;
pub mod pad_ws;
mod padded;
pub mod pdq;
mod promises;
mod roles;
pub mod slots;
mod spin_lock;
mod table;
mod task;
pub mod the;
#[cfg(feature = "fence-free")]
pub mod thep;
pub mod unfenced;
pub mod wsq;

pub use abp::Abp;
pub use adws::Adws;
pub use amount::Amount;
pub use block_size::BlockSize;
pub use bwos_f::BwosF;
pub use bwos_l::BwosL;
pub use chase_lev::ChaseLev;
pub use chase_lev_asym::ChaseLevAsym;
pub use chase_lev_fixed::ChaseLevFixed;
pub use counts::{Count, Counted, Counts};
pub use delegation::{Answers, CrossTaking, Delegation, Prefetch, Revocation};
pub use dsq::Dsq;
#[cfg(feature = "fence-free")]
pub use fence_free::Delta;
#[cfg(feature = "fence-free")]
pub use ff_cl::FfCl;
#[cfg(feature = "fence-free")]
pub use ff_the::FfThe;
pub use hendler_shavit::HendlerShavit;
pub use idempotent::{IdempotentDeque, IdempotentFifo, IdempotentLifo};
pub use lace::Lace;
#[cfg(feature = "std")]
pub use locked::Locked;
pub use one_exposed::OneExposed;
pub use pad_ws::PadWs;
pub use padded::Padded;
pub use pdq::{PdqR, PdqR2, PdqR2Async, PdqRAsync};
#[cfg(feature = "std")]
pub use pdq::{PdqS, PdqSAtOnce, PdqSOneStep, PdqSTold};
pub use promises::{Capacity, Delivery, MemoryModel, Order, Progress, Promises, StealOrder, Stealable};
pub use roles::{Full, Hand, Owner, Queue, Steal, StealMany, Thief, deal_out};
pub use task::Task;
pub use the::The;
#[cfg(feature = "fence-free")]
pub use thep::{ImpatientThep, Thep, ThepApart};
pub use unfenced::Unfenced;
pub use wsq::{Wsq, WsqPacked};

/// The example of the README compiles and runs as a doc test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
