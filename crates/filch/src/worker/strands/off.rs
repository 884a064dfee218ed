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

/// A call from outside into a pool.
pub(crate) struct Call;

#[inline(always)]
pub(crate) fn call(_pool: usize, _job: usize, _name: fn() -> &'static str) -> Call {
    Call
}

impl Call {
    #[inline(always)]
    pub(crate) fn none() -> Self {
        Self
    }

    #[inline(always)]
    #[expect(clippy::unused_self, reason = "it stands for one that is recorded")]
    pub(crate) fn ends(&mut self) {}

    #[inline(always)]
    pub(crate) fn returns(self) {}
}
