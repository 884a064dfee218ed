//! `filch stress`: queues without a scheduler around them, and random programs on the schedulers.

mod programs;
mod queues;

pub(crate) use programs::programs;
pub(crate) use queues::queues;

use crate::machine::now;

/// A seed from the clock.
fn any_seed() -> u64 {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "any number will do")]
    let seed = (now() * 1e3) as u64;
    seed
}

#[expect(clippy::cast_precision_loss, reason = "three digits are shown")]
fn as_float(count: u64) -> f64 {
    count as f64
}
