//! The plain sequential program, on the calling thread.

use std::collections::BTreeMap;

use core_affinity::CoreId;
use filch_workloads::{Answer, Instance, Spec};

use crate::{Contender, Job, Scheduler};

/// The plain sequential program: see [`Contender`].
#[derive(Clone, Copy, Debug, Default)]
pub struct Sequential;

impl Contender for Sequential {
    fn run(&self, instance: &mut Instance) -> Result<Answer, String> {
        Ok(instance.in_calls(Instance::serial))
    }

    fn counts_tasks(&self) -> bool {
        false
    }
}

impl Scheduler for Sequential {
    fn name(&self) -> &'static str {
        "serial"
    }

    fn version(&self) -> String {
        env!("CARGO_PKG_VERSION").to_owned()
    }

    fn runs(&self, _: &Spec) -> bool {
        true
    }

    fn settings(&self) -> BTreeMap<String, String> {
        [("pin".to_owned(), "bind the thread to a processor: true or false".to_owned())].into()
    }

    fn start(&self, job: &Job<'_>) -> Result<Box<dyn Contender>, String> {
        if job.workers != 1 {
            return Err("the sequential program has one worker".to_owned());
        }
        for (name, value) in job.settings {
            match (name.as_str(), value.as_str()) {
                ("pin", "true") => pin_this_thread()?,
                ("pin", "false") => {}
                _ => return Err(format!("the sequential program does not support `{name}={value}`")),
            }
        }
        Ok(Box::new(Self))
    }
}

/// Binds the current thread to the first processor that it may use.
pub(crate) fn pin_this_thread() -> Result<(), String> {
    pin_to(&core_affinity::get_core_ids().unwrap_or_default(), 0)
}

/// Binds the current thread to the processor of this worker.
pub(crate) fn pin_to(cores: &[CoreId], worker: usize) -> Result<(), String> {
    match cores.get(worker % cores.len().max(1)) {
        Some(&core) if core_affinity::set_for_current(core) => Ok(()),
        _ => Err("cannot pin this thread to a processor".to_owned()),
    }
}
