//! Work stealing with private deques in simulated time, for machines of any size.
//!
//! The model is that of the analysis in Umut A. Acar, Arthur Charguéraud and Mike Rainey, *Scheduling Parallel Programs
//! by Work Stealing with Private Deques*, PPoPP 2013, section 3 and appendix A: a computation is a [`Dag`] of nodes of
//! one step each, and in each step every worker of a [`Simulation`] runs a node, tries to transfer one, or idles.
//! [`Bound`] is what the document proves of the expected number of steps. The [`check`] module holds each step against
//! the lemmas of the proof. [`lace`] has trees of tasks on Lace's stacks instead.
//!
//! ```
//! use filch_sim::{Bound, Machine, Protocol, Shape, Simulation};
//!
//! let dag = "fib:n=12".parse::<Shape>()?.dag();
//! let machine = Machine { workers: 30, delta: 10, protocol: Protocol::Sender };
//! let tokens = Simulation::new(&dag, machine, 1).checked()?;
//! assert_eq!(tokens.work + tokens.communication + tokens.idle, 30 * tokens.steps);
//! println!("{} steps; at most {:.0} are expected", tokens.steps, Bound::new(&dag, machine).steps());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! From the command line: `filch simulate`. `filch reproduce private-bound` compares the bound with what is simulated,
//! and `lace-simulated` the document's speed-ups on 48 workers with those of simulated ones.

mod bound;
mod chance;
pub mod check;
mod dag;
mod engine;
pub mod forecast;
pub mod lace;
#[cfg(test)]
mod lemmas;
mod potential;
mod shape;

pub use bound::Bound;
pub use dag::{Builder, Dag};
pub use engine::{Machine, Move, Protocol, Simulation, Tokens};
pub use potential::{Distance, Potential};
pub use shape::Shape;
