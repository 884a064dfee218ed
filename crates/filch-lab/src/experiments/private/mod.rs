//! Private deques.

mod bound;
mod fig4;
mod fig5;
mod fig6;

use crate::experiment::{Contender, Experiment};

/// Returns all experiments of this document.
pub(super) fn all() -> Vec<Experiment> {
    vec![fig4::experiment(), fig5::time(), fig5::idle(), fig6::interrupts(), fig6::search(), bound::experiment()]
}

/// A pool as printed: its workers spin while they have no task, look at one random victim each time, and run any task
/// while they wait for one.
fn printed(name: &str) -> Contender {
    Contender::Pool { name: format!("{name}:idle=spin:victims=one"), wait: "random" }
}
