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
//! that constant; none of them knows a queue by name.
//!
//! | queue | owner's price | what thieves can take |
//! |---|---|---|
//! | [`Locked`] | a lock | everything |
//! | [`The`] | one fence per pop, a lock where it meets a thief | everything |
//! | [`ChaseLev`] | one fence per pop | everything |
//! | `FfThe` | a store per pop, a lock where it meets a thief | all but the newest δ; never sure that it is empty |
//! | `FfCl` | a store per pop | all but the newest δ |
//! | `Thep` | a store per pop, a lock where it meets a thief | everything, if the owner pops while the thief waits |
//! | [`Lace`] | nothing until tasks are shared or taken back | what the owner has shared; it shares when asked |
//!
//! `FfThe`, `FfCl` and `Thep` are behind the feature `fence-free` and for x86-64 only. They do without the fence
//! because a processor's store buffer is bounded; δ, half that bound, is theirs to be told: see `Delta`.
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

pub mod chase_lev;
#[cfg(feature = "fence-free")]
pub mod fence_free;
#[cfg(feature = "fence-free")]
pub mod ff_cl;
#[cfg(feature = "fence-free")]
pub mod ff_the;
mod growing;
pub mod lace;
#[cfg(feature = "std")]
pub mod locked;
pub mod model;
mod padded;
mod promises;
mod roles;
pub mod slots;
mod spin_lock;
mod task;
pub mod the;
#[cfg(feature = "fence-free")]
pub mod thep;

pub use chase_lev::ChaseLev;
#[cfg(feature = "fence-free")]
pub use fence_free::Delta;
#[cfg(feature = "fence-free")]
pub use ff_cl::FfCl;
#[cfg(feature = "fence-free")]
pub use ff_the::FfThe;
pub use lace::Lace;
#[cfg(feature = "std")]
pub use locked::Locked;
pub use padded::Padded;
pub use promises::{Capacity, Delivery, MemoryModel, Order, Progress, Promises, StealOrder, Stealable};
pub use roles::{Full, Owner, Queue, Steal, StealMany, Thief};
pub use task::Task;
pub use the::The;
#[cfg(feature = "fence-free")]
pub use thep::{PatientThep, Thep};
