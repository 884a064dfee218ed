//! The programs that filch is measured with.
//!
//! Each program is a module: its parameters, a plain sequential version (the `Ts` of every table), a fork–join version
//! written once against [`ForkJoin`], and a check of its answer. [`Workload`] makes any of them from names and values
//! as people type them; [`Instance`] holds its data and runs it.
//!
//! ```
//! use filch_workloads::{Executor, Serial, Workload};
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

mod filch_pool;
mod fork_join;
mod params;
mod workload;

pub mod cilksort;
pub mod fib;
pub mod matmul;
pub mod queens;
pub mod random_programs;
pub mod uts;

pub use filch_pool::FilchClosures;
pub use fork_join::{Executor, ForkJoin, Program, Serial};
pub use params::{ParamError, ParamSpec, suggest};
pub use workload::{Answer, Instance, Preset, Spec, Workload, specs};
