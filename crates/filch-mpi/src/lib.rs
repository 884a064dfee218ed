//! Worklists across processes: work stealing between the ranks of an MPI job.
//!
//! Within a rank, the workers of a [`Worklist`](filch::worklist::Worklist) share bags of tasks; between their tasks
//! they exchange messages with other ranks, by the [protocol]. Borrowed closures cannot travel, so tasks are
//! [values](Wire).

mod cluster;
mod link;
mod message;
#[cfg(feature = "mpi")]
mod mpi;
pub mod protocol;
mod transport;
mod wire;

pub use cluster::{Aborted, Cluster, Outcome, Traffic, Worker};
#[cfg(feature = "mpi")]
pub use mpi::Mpi;
pub use transport::{Threads, Transport};
#[cfg(feature = "serde")]
pub use wire::Serde;
pub use wire::Wire;
