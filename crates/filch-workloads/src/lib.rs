//! The programs that measure filch.
//!
//! Each program is a module: a plain sequential version (the `Ts` of every table), a fork–join version written once
//! against [`ForkJoin`], and a check of its answer. The module of the same name in [`filch_catalogue::programs`] has
//! its parameters. [`Workload`] chooses a program by names and values as people type them; [`Instance`] holds its data
//! and runs it.
//!
//! ```
//! use filch_workloads::{Executor, Prepare, Serial, Workload};
//!
//! let queens = Workload::new("queens", &[("n".into(), "8".into())])?;
//! let mut instance = queens.prepare()?;
//! instance.reset();
//! let answer = Serial.execute(&mut instance); // or a pool, or a peer
//! assert_eq!(answer.to_string(), "92");
//! assert_eq!(answer, instance.serial());
//! assert!(instance.check(&answer).is_ok());
//! # Ok::<(), filch_workloads::ParamError>(())
//! ```
//!
//! Searches of [graphs](graph) and walks over [trees] are worklist programs instead: see [`Kind`]. They run on a
//! [`Team`](filch::worklist::Team). Its queue returns each task once ([`Instance::list_exactly_once`]), or may be of
//! any kind for tasks that may run twice ([`Instance::list_at_least_once`]). [Queue programs](queue) measure one queue
//! by itself.

mod answer;
mod checks;
mod divided;
mod filch_pool;
mod fork_join;
mod inputs;
mod keys;
mod lines;
mod matrix;
mod mesh;
mod rounds;
mod spec;
mod workload;

pub mod cholesky;
pub mod cilksort;
pub mod closure;
pub mod each;
pub mod fft;
pub mod fib;
pub mod graph;
pub mod heat;
pub mod hull;
pub mod independent_set;
pub mod integrate;
pub mod jacobi;
pub mod knapsack;
pub mod loops;
pub mod lud;
pub mod matching;
pub mod matmul;
pub mod matmul8;
pub mod nqueens;
pub mod pseudo_dfs;
pub mod quarters;
pub mod queens;
pub mod queue;
pub mod quicksort;
pub mod random_programs;
pub mod samplesort;
pub mod skynet;
pub mod sleeps;
pub mod spanning_tree;
pub mod strassen;
pub mod trees;
pub mod uts;
pub mod wsq;

pub use answer::{Answer, Listed, Real};
#[doc(no_inline)]
pub use filch::Divisible;
pub use filch_catalogue::{Kind, Memory, ParamError, ParamSpec, Preset, Spec, Workload, specs};
pub use filch_pool::{FilchClosures, InLevels};
pub use fork_join::{Executor, ForkJoin, Grain, Program, SameBranches, Serial, fork_by_halves};
pub use spec::Prepare;
pub use workload::Instance;
