//! C11, as far as `loom` implements it: the memory [`Loom`], and the exploration of programs that run on it.
//!
//! **Method.** The crate `loom` runs a program repeatedly, under every order of the threads' accesses that its
//! partial-order reduction cannot prove equivalent to an earlier one, and lets each load return every store that the
//! memory model permits. The method follows Norris and Demsky, *CDSChecker: Checking Concurrent Data Structures Written
//! with C/C++ Atomics*, OOPSLA 2013.
//!
//! **A run.** Loom's model makes the program and runs its threads. The last thread to end then runs the program's
//! `finally`, alone: that part needs no exploring. All threads of a run share one system thread, one per exploration,
//! so nothing is left behind when loom gives up with a panic.
//!
//! **Repairs.** Where loom would not try two steps in both orders, they take turns, by an update that fails. Loads of
//! one variable take turns: loom remembers only the last access to each variable, so the load of a store's own thread
//! hides another thread's load from that store. Sequentially consistent fences take turns: loom treats a fence as part
//! of the step before it. And a plain store to a variable that has been updated is itself an update: loom would leave
//! it unordered with updates, so a lock acquired by a swap would never become free.
//!
//! Invariant: while a panic unwinds, and in `finally`, no operation reaches loom, which might suspend the caller or
//! panic again. Such operations use a second copy of each variable, which holds its newest value.
//!
//! # What loom cannot express
//!
//! Loom misses behaviours of C11, so a pass proves less than it seems to:
//!
//! * *Load buffering*: a load never returns a store that runs after it. No execution has a cycle of reads-from and
//!   program order.
//! * *Fences*: a sequentially consistent fence happens after every such fence that ran before it. In C11 the order of
//!   the fences alone does not make it safe to use a cell. Loom therefore finds no race on data that only two fences
//!   publish.
//! * *Stores* to a variable that has been updated before come last in the modification order, and continue the release
//!   sequences that they should end.
//! * *Preemptions*, where they are bounded.
//! * *Long waits*: once a thread has called `spin_loop` three times and written nothing in between, the rest of that
//!   execution is tried in one order only. Failed checks have no effect, so where the loop does nothing else, an
//!   execution with fewer of them shows the same.
//! * *Old values*: an atomic variable keeps its seven newest stores; older ones can no longer be read.
//! * *Spurious failures*: a weak compare-and-swap never fails spuriously, and no thread wakes up spuriously.
//! * `finally` sees the newest value of each variable in the order of execution. If two threads' stores to one variable
//!   are unordered, the modification order might be the other one; that order is tried, but in another execution.
//!
//! Loom also has behaviours that C11 does not have, so an alarm may be false:
//!
//! * *Sequentially consistent accesses* are acquire and release accesses; only fences are sequentially consistent.
//! * *Updates*: updates may treat each of two unordered plain stores as the newest.
//!
//! Two parts of [`Loom`] are not part of C11:
//!
//! * *Sleeping*: loom has no futex. Here a thread joins the sleepers, checks the newest value of the word, then sleeps
//!   or leaves; a wake-up that reached it too early is passed on. Waits and wake-ups are relaxed updates of one
//!   variable, so fences order more than a futex promises, and a wake-up happens before the sleeper's return. The
//!   longest sleeper is woken first.
//! * *Barriers on all threads*: C11 has no term for them. Here both sides are sequentially consistent fences: weaker
//!   than the real heavy side, stronger than the real light side.
//!
//! A program has at most four threads. This memory does not support programs whose threads unwind on purpose through
//! destructors that use atomic variables.

mod context;
mod explore;
mod memory;
mod wait;

pub(crate) use explore::survey;
pub use explore::{Bounds, Explored, MAX_THREADS, Verdict, explore};
pub use memory::{Loom, Plain, Word};
