//! The model checkers: they run filch's queues and protocols, as they ship, in every execution of small programs.
//!
//! Every algorithm of filch is written once, against [`filch_memory::Memory`]. This crate adds two memories, on which
//! the same source runs under a checker: [`tso::Tso`], the machine TSO\[S\], whose threads have store buffers of S
//! entries; and [`c11::Loom`], Rust's own memory model as far as the crate `loom` implements it. A [`Scenario`] is a
//! small program — an owner, one or two thieves, a few tasks — that ends with a check: was every task taken exactly
//! once? The explorers run every execution of it, up to the order of independent steps.
//!
//! * [`tso`]: the machine, the explorer with its partial-order reduction, the shortest failing history, and its replay.
//! * [`c11`]: the same scenarios on loom, and what loom cannot express.
//! * [`scenarios`]: a battery for each queue, and filch's protocols for forking, joining, sleeping and termination.
//! * [`check`]: which scenario runs on which machine, and the expected verdict. The fence-free queues pass with a large
//!   enough δ, and must fail with a δ one smaller, and on C11.
//! * [`litmus`]: programs of a few instructions with published outcomes, to check the checker itself.
//! * [`twins`]: known mistakes, most of them made at a call site of the shipped source, to check that they are found.
//! * [`weaken`]: weakens each ordering and each fence of the shipped source, one at a time; a scenario must fail.
//! * [`sites`]: the call sites that it changes.
//! * [`kept`]: the orderings that are stronger than any scenario needs, with their reasons from the sources.
//!
//! ```
//! use filch_check::scenarios::queues::{Client, program};
//! use filch_check::tso::{Bounds, Tso, Verdict, explore};
//! use filch_queue::ChaseLev;
//!
//! // An owner that pushes two tasks and pops twice, and a thief that tries twice.
//! let client = Client::new(2, 0, "++--", &[2]);
//! let explored = explore(&|| program::<Tso, ChaseLev>(&client, &()), &Bounds::buffer(2), &mut |_| ());
//! assert!(matches!(explored.verdict, Verdict::Passed));
//! println!("{} executions", explored.executions);
//! ```
//!
//! From the command line: `filch check`.
//!
//! # What a pass means
//!
//! Every execution of these programs passes, on machines with these bounds. The programs are small, but the known
//! mistakes, from the papers and from our own tests, show in programs of this size: the mutants check that. The numbers
//! of executions are exact: a change that loses some fails the tests.

pub mod c11;
pub mod check;
mod harm;
pub mod kept;
pub mod litmus;
mod outcome;
mod program;
mod scenario;
pub mod scenarios;
pub mod sites;
mod sources;
pub mod tso;
pub mod twins;
pub mod weaken;

pub use harm::{Harm, Wrong};
pub use program::Program;
pub use scenario::{Checker, Dependence, Make, Scenario, Setting};
