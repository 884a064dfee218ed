//! `filch-probe`, which `filch probe`, `filch scale` and `filch stress` start: it measures a single pool, or the
//! processor, or the work and span of programs; and it stresses queues and schedulers.

mod calls;
#[cfg(target_arch = "x86_64")]
mod fences;
mod flags;
mod hunger;
mod idle;
#[cfg(target_arch = "x86_64")]
mod litmus;
#[cfg(target_arch = "x86_64")]
mod plot;
#[cfg(target_arch = "x86_64")]
mod processors;
mod scale;
#[cfg(target_arch = "x86_64")]
mod store_buffer;
mod stress;

use std::process::ExitCode;

use clap::Parser;
use filch_catalogue::console::{error, interrupt, progress, table, terminal};

use crate::flags::{Flags, Probe, Verb};
use crate::stress::flags::{Stress, Stressed};

fn main() -> ExitCode {
    let done = match Flags::parse().verb {
        Verb::Probe(probe) => run(probe),
        Verb::Stress(Stress { what: Some(Stressed::Programs(flags)), .. }) => stress::programs(&flags),
        Verb::Scale(flags) => scale::scale(&flags),
        Verb::Stress(Stress { what: None, queues }) => stress::queues(&queues),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => error.report(),
    }
}

fn run(probe: Probe) -> error::Result {
    match probe {
        Probe::Idle(flags) => idle::idle(&flags),
        Probe::Wakeup(flags) => idle::wakeup(&flags),
        Probe::Calls(flags) => calls::calls(&flags),
        Probe::Hunger(flags) => hunger::hunger(&flags),
        #[cfg(target_arch = "x86_64")]
        Probe::StoreBuffer(flags) => store_buffer::store_buffer(&flags),
        #[cfg(target_arch = "x86_64")]
        Probe::Fences(flags) => fences::fences(&flags),
        #[cfg(target_arch = "x86_64")]
        Probe::Litmus(flags) => litmus::litmus_map(&flags),
        #[cfg(not(target_arch = "x86_64"))]
        Probe::StoreBuffer(_) | Probe::Fences(_) | Probe::Litmus(_) => {
            Err(error::usage("not measurable here: the probe is written for x86-64"))
        }
    }
}

/// Reads the time-stamp counter.
#[cfg(target_arch = "x86_64")]
fn ticks() -> u64 {
    // SAFETY: every x86-64 processor has this instruction.
    unsafe { std::arch::x86_64::_rdtsc() }
}

/// The commit of the program's source.
fn commit() -> String {
    env!("FILCH_COMMIT").to_owned()
}
