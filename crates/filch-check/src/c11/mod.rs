//! C11, as far as `loom` goes: the memory [`Loom`], and the exploration of programs that run on it.
//!
//! **Method.** The crate `loom` runs a program again and again, under every order of the threads' accesses that its
//! partial-order reduction cannot prove to be equivalent to an earlier one, and lets each load return every store that
//! the memory model permits. It does after Norris and Demsky, *CDSChecker: Checking Concurrent Data Structures Written
//! with C/C++ Atomics*, OOPSLA 2013.
//!
//! **A run.** The program is made, and its threads are run, inside of loom's model. The last thread to end then runs
//! the program's `finally`, alone: what is left there needs no exploring. All threads of a run share one thread of the
//! system, one per exploration, so that nothing is left behind when loom gives up with a panic.
//!
//! **Repairs.** Two steps that loom would not try in both orders are made to take turns, by an update that fails. Loads
//! of one variable: loom remembers only the last access to each, so that a store does not see another thread's load
//! behind its own thread's. Sequentially consistent fences: loom takes a fence for a part of the step before it. And a
//! plain store to a variable that has been updated is an update itself: loom would leave it unordered with updates, so
//! that a lock that is tried by a swap would never come free.
//!
//! What must always hold: while a panic unwinds, and in `finally`, no operation reaches loom, which might suspend the
//! caller or panic again; such operations work on a second copy of each variable, its newest value.
//!
//! # What loom cannot express
//!
//! It misses behaviours of C11, so that a pass proves less than it seems to:
//!
//! * *Load buffering*: a load never returns a store that runs after it. No execution has a cycle of reads-from and
//!   program order.
//! * *Fences*: a sequentially consistent fence happens after every such fence that ran before it. In C11 the order of
//!   the fences alone does not let a cell be used. What is published by two fences and nothing else is therefore not
//!   found to race.
//! * *Stores* to a variable that has been updated before come last in the order of modification, and continue the
//!   release sequences that they should end.
//! * *Preemptions*, where they are bounded.
//! * *Long waits*: once a thread has called `spin_loop` three times and written nothing in between, the rest of that
//!   execution is tried in one order only. Looks in vain have no effect, so that where the loop does nothing else an
//!   execution with fewer of them shows the same.
//! * *Old values*: an atomic variable keeps its seven newest stores; older ones cannot be read any more.
//! * *Failing for no reason*: a weak compare-and-swap does not, and nobody wakes up without being woken.
//! * `finally` sees the newest value of each variable in the order of execution. Where two threads' stores to one
//!   variable are unordered, the order of modification might be the other; that order is tried, but in another
//!   execution.
//!
//! And it has behaviours that C11 has not, so that an alarm may be false:
//!
//! * *Sequentially consistent accesses* are acquire and release ones; only fences are sequentially consistent.
//! * *Updates*: two plain stores that nothing orders may both be taken for the newest by updates.
//!
//! Two parts of [`Loom`] are not C11's at all:
//!
//! * *Sleeping*: loom has no futex. Here a thread joins the sleepers, then looks at the newest value of the word, then
//!   sleeps or leaves; a wake-up that reached it too early is passed on. Waits and wake-ups are relaxed updates of one
//!   variable, so fences order more than a futex promises, and a wake-up happens before the sleeper's return. The
//!   longest sleeper is woken first.
//! * *Barriers on all threads*: C11 has no term for them. Here both sides are sequentially consistent fences: less than
//!   the truth for the heavy side, more than it for the light one.
//!
//! There are at most four threads, and a program whose threads unwind on purpose through destructors that use atomic
//! variables is not for this memory.

mod context;
mod explore;
mod memory;
mod wait;

pub(crate) use explore::survey;
pub use explore::{Bounds, Explored, MAX_THREADS, Verdict, explore};
pub use memory::{Loom, Plain, Word};
