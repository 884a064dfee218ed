//! Work-stealing queues, one file per published algorithm.
//!
//! A work-stealing queue has one **owner** and any number of **thieves**. The owner is one thread; it pushes tasks
//! and pops them again, mostly at the same end, and pays as little as possible for it. A thief is any other thread; it
//! takes tasks from the other end when it has none of its own, and pays for the synchronisation. [`Queue::make`]
//! hands out both sides at once: an [`Owner`] to keep, and one [`Thief`] for each thread that may steal.
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
//!             // Somebody else was faster, or cannot answer yet.
//!             Steal::Retry | Steal::Aborted | Steal::Pending => std::thread::yield_now(),
//!         }
//!     }
//! })
//! .join()
//! .unwrap();
//!
//! assert_eq!(stolen, Some(task(1))); // the thief has the oldest task,
//! assert_eq!(owner.pop(), Some(task(3))); // the owner its newest
//! assert_eq!(owner.pop(), Some(task(2)));
//! assert_eq!(owner.pop(), None);
//! ```
//!
//! # Choosing a queue
//!
//! Every queue states what it promises in a constant, [`Queue::PROMISES`]: who gets which task, whether it grows,
//! whether a thief can be refused or has to wait, which memory model it needs. Tests, checkers and schedulers read
//! that constant; none of them knows a queue by name. [`for_each_queue`] goes through them all.
//!
//! | queue | owner's price | what thieves can take |
//! |---|---|---|
//! | [`Locked`] | a lock | everything |
//! | [`The`] | one fence per pop, a lock where it meets a thief | everything |
//! | [`ChaseLev`] | one fence per pop | everything |
//! | [`ChaseLevFixed`] | one fence per pop | everything; it does not grow |
//! | [`ChaseLevAsym`] | nothing; a thief interrupts it, where the system allows | everything |
//! | [`Abp`] | one fence per pop | everything; the array is full at its end until it has been emptied |
//! | `FfThe` | a store per pop, a lock where it meets a thief | all but the newest δ; never sure that it is empty |
//! | `FfCl` | a store per pop | all but the newest δ |
//! | `Thep` | a store per pop, a lock where it meets a thief | everything, if the owner pops while the thief waits |
//! | [`Lace`] | nothing until tasks are shared or taken back | what the owner has shared; it shares when asked |
//! | [`Dsq`] | nothing until tasks are taken back, then a lock | what the owner has shared, several at once |
//! | [`HendlerShavit`] | nothing until the deque doubles or runs low | the older half, all of it at once |
//! | [`BwosL`] | a swap or a store per block | all but what is in the owner's block |
//! | [`BwosF`], first in, first out | a store per push, two atomic updates per block | all but what is in the block that it reads |
//! | [`PadWs`] | as `BwosL`, and a look for requests | everything; from the owner's block when it answers |
//! | [`Adws`] | a look for requests | everything, when the owner answers |
//! | [`Wsq`] | one atomic update per push, two per pop | everything, several at once |
//! | [`OneExposed`] | nothing; a swap for the oldest task | the oldest; the next one at the owner's next operation |
//! | [`PdqR`], [`PdqR2`] | a look for requests | everything, when the owner answers |
//! | [`PdqS`] | a look whether a thief is idle, then at the clock | everything, when the owner deals |
//! | [`IdempotentLifo`], [`IdempotentFifo`], [`IdempotentDeque`] | nothing | everything, perhaps more than once |
//!
//! `FfThe`, `FfCl` and `Thep` are behind the feature `fence-free` and for x86-64 only. They do without the fence
//! because a processor's store buffer is bounded; δ, half that bound, is theirs to be told: see `Delta`.
//!
//! # What the owner pays
//!
//! Instructions that the owner executes on x86-64 while no thief is there, counted by stepping through a release
//! build; and among them the fences, and the other locked instructions: atomic read-modify-writes. Those are the dear
//! ones, tens of cycles each. A pair is a push and the pop after it, with 480 other tasks in the queue or none; a run
//! is of 64. The caller's own instructions are subtracted. The benchmark `instructions` prints the table for your
//! compiler, with all features; the benchmark `owner` measures the time.
//!
//! | queue | pair, over other tasks | pair, the only task | push, in a run | pop, in a run |
//! |---|---|---|---|---|
//! | `chase-lev` | 34, 1 fence | 46, 1 fence, 1 locked | 18 | 24, 1 fence |
//! | `chase-lev-asym` | 37 | 49, 1 locked | 17 | 26 |
//! | `chase-lev-fixed` | 37, 1 fence | 49, 1 fence, 1 locked | 19 | 24, 1 fence |
//! | `abp` | 34, 1 fence | 45, 1 fence, 1 locked | 18 | 22, 1 fence |
//! | `the` | 34, 1 fence | 34, 1 fence | 17 | 23, 1 fence |
//! | `ff-the` | 38 | 38 | 17 | 25 |
//! | `ff-cl` | 35 | 45, 1 locked | 17 | 25 |
//! | `thep` | 39 | 39 | 17 | 25 |
//! | `lace` | 38 | 38 | 23 | 23 |
//! | `dsq` | 38 | 93, 1 locked | 21 | 24 |
//! | `hendler-shavit` | 47 | 67, 1 locked | 29 | 27 |
//! | `wsq` | 63, 3 locked | 63, 3 locked | 42, 1 locked | 28, 2 locked |
//! | `bwos-l` | 31 | 31 | 20 | 21, 0.02 locked |
//! | `bwos-f` | 75, 0.06 locked | 73, 0.06 locked | 48 | 35, 0.06 locked |
//! | `padws` | 58 | 58 | 35 | 36, 0.02 locked |
//! | `adws` | 52 | 52 | 31 | 29 |
//! | `one-exposed` | 43 | 23, 1 locked | 25 | 24 |
//! | `pdq-r` | 42 | 49 | 22 | 25 |
//! | `pdq-r2` | 42 | 50 | 23 | 25 |
//! | `pdq-s` | 42 | 45 | 23 | 25 |
//! | `idem-lifo` | 42 | 42 | 30 | 20 |
//! | `idem-fifo` | 29 | 29 | 18 | 17 |
//! | `idem-de` | 53 | 53 | 34 | 25 |
//! | `locked` | 83, 4 locked | 83, 4 locked | 44, 2 locked | 43, 2 locked |
//! | `crossbeam-deque` | 53, 1 fence | 50, 1 fence, 1 locked | 20 | 40, 1 fence |
//!
//! What the table does not show is the price of company. [`The`], `FfThe` and `Thep` take their lock only when a thief
//! is at the same task. [`Lace`], [`Dsq`] and [`HendlerShavit`] pay an atomic update when they share tasks or take
//! shared ones back, the block queues one or two when they take a block over. And whatever thieves write and the owner
//! reads has to be fetched from another processor.
//!
//! # Tasks
//!
//! A queue holds [`Task`]s: one non-zero word each, a pointer or a number. What it means is between whoever pushes
//! and whoever takes. A queue never looks at it, and dropping a queue drops no task.
//!
//! # Memory
//!
//! Every algorithm is written against [`filch_memory::Memory`] and runs as it stands on the machine
//! ([`filch_memory::Native`], the default everywhere) or inside a checker.
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
pub mod blocks;
pub mod bwos_f;
pub mod bwos_l;
pub mod chase_lev;
pub mod chase_lev_asym;
pub mod chase_lev_fixed;
#[cfg(feature = "std")]
pub mod clock;
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
pub mod wsq;

pub use abp::Abp;
pub use adws::Adws;
pub use amount::Amount;
pub use blocks::BlockSize;
pub use bwos_f::BwosF;
pub use bwos_l::BwosL;
pub use chase_lev::ChaseLev;
pub use chase_lev_asym::ChaseLevAsym;
pub use chase_lev_fixed::ChaseLevFixed;
pub use delegation::{CrossTaking, Delegation, Prefetch, Revocation};
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
#[cfg(feature = "std")]
pub use pdq::PdqS;
pub use pdq::{PdqR, PdqR2};
pub use promises::{Capacity, Delivery, MemoryModel, Order, Progress, Promises, StealOrder, Stealable};
pub use roles::{Full, Owner, Queue, Steal, StealMany, Thief};
pub use task::Task;
pub use the::The;
#[cfg(feature = "fence-free")]
pub use thep::{PatientThep, Thep};
pub use wsq::Wsq;
