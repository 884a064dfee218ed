//! The proof room: filch's queues and protocols, as they ship, in every execution of small programs.
//!
//! Every algorithm of filch is written once, against [`filch_memory::Memory`]. Here are two more memories, on which the same
//! source runs under a checker: [`tso::Tso`], the machine TSO\[S\], whose threads have store buffers of S entries; and
//! [`c11::Loom`], Rust's own memory model as far as the crate `loom` goes. A [`Scenario`] is a small program — an owner, one or two
//! thieves, a few tasks — with a question at its end: is every task there, once? The explorers run it in every way that it
//! can run, up to the order of steps that does not matter.
//!
//! * [`tso`]: the machine, the explorer with its partial-order reduction, the shortest failing history, its repetition.
//! * [`c11`]: the same scenarios on loom, and what loom cannot express.
//! * [`scenarios`]: what is run: a battery for each queue, and filch's protocols for forking, joining, sleeping, ending.
//! * [`check`]: which scenario on which machine, and what is expected of it. The fence-free queues hold for a δ that is
//!   large enough and must break for one that is one smaller, and on C11.
//! * [`litmus`]: programs of a few instructions whose outcomes are published, to check the checker itself.
//! * [`twins`]: known mistakes, most of them made in the shipped source at a call site, to check that they are found.
//! * [`weaken`]: makes each ordering and each fence of the shipped source weaker, one at a time; a scenario must fail.
//! * [`sites`]: the call sites where that is done.
//! * [`kept`]: the orderings that are stronger than any scenario needs, with the reasons that stand beside them in the sources.
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
//! Nothing goes wrong in any execution of these programs, on machines with these bounds. They are small; but the mistakes that
//! the papers and our own tests know of show in programs of this size, which is what the known mistakes are for. Numbers of
//! executions are exact: a change that loses some shows in the tests.

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
