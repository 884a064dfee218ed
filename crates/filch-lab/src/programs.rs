//! Programs by name, as the command line and experiments write them.

use filch_catalogue::{Memory, Spec, Workload};

use crate::error::{Result, usage};
use crate::flags::Size;

/// Returns the name in `fib:n=40:cutoff=3`.
pub(crate) fn name_of(program: &str) -> &str {
    program.split(':').next().unwrap_or(program)
}

/// Parses a program such as `fib:n=40:cutoff=3`; the size sets the other parameters.
pub(crate) fn parse(text: &str, size: Size) -> Result<Workload> {
    let workload = unchecked(text, size)?;
    fits(&workload, 1)?;
    Ok(workload)
}

/// Parses a program, whether or not it fits into memory.
pub(crate) fn unchecked(text: &str, size: Size) -> Result<Workload> {
    let preset = |spec: &Spec| match size {
        Size::Quick => spec.quick,
        Size::Small => spec.compare,
        Size::Paper => spec.paper,
    };
    Workload::parse(text, preset).map_err(usage)
}

/// Fails unless this many copies of the workload fit into memory together.
pub(crate) fn fits(workload: &Workload, copies: usize) -> Result {
    let needed = workload.memory_bytes().saturating_mul(copies as u64);
    match filch_catalogue::protocol::memory_available() {
        Some(available) if needed > available => Err(usage(format!(
            "{} of this size needs {} of memory{}, but {} are available",
            workload.name(),
            Memory(needed),
            if copies > 1 { format!(" for {copies} copies side by side") } else { String::new() },
            Memory(available),
        ))),
        _ => Ok(()),
    }
}
