//! `filch stress`: stresses queues without a scheduler, and schedulers with random programs.

pub(crate) mod flags;
mod programs;
mod queues;

pub(crate) use programs::programs;
pub(crate) use queues::queues;

use std::time::{SystemTime, UNIX_EPOCH};

/// Returns a seed from the clock.
fn any_seed() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    #[expect(clippy::cast_possible_truncation, reason = "any number will do")]
    let seed = since.as_millis() as u64;
    seed
}

#[expect(clippy::cast_precision_loss, reason = "three digits are shown")]
fn as_float(count: u64) -> f64 {
    count as f64
}
