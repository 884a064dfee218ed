//! Stands for recorders without their feature: nobody records.

#[inline(always)]
pub(crate) fn is_on() -> bool {
    false
}

#[inline(always)]
pub(crate) fn spawned(_job: usize) {}

#[inline(always)]
pub(crate) fn ended(_result: usize) {}

#[inline(always)]
pub(crate) fn took(_result: usize) {}

#[inline(always)]
pub(crate) fn workers() -> usize {
    1
}

#[inline(always)]
pub(crate) fn queued(_job: usize) {}

#[inline(always)]
pub(crate) fn spawns(_pool: usize, _job: usize, _name: fn() -> &'static str) {}

#[inline(always)]
pub(crate) fn in_job<R>(_job: usize, run: impl FnOnce() -> R) -> R {
    run()
}

#[inline(always)]
pub(crate) fn is_stolen(_name: fn() -> &'static str) -> bool {
    true
}

#[inline(always)]
pub(crate) fn call(_pool: usize, _job: usize, _name: fn() -> &'static str) {}

#[inline(always)]
pub(crate) fn call_ends() {}

#[inline(always)]
pub(crate) fn call_returns(_pool: usize) {}
