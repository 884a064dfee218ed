//! The job interface of `include/filch-jobs.hpp`: [`filch::jobs`], with jobs that are created first and kicked later.
//!
//! Invariant: each job is run or dropped once, by a call of its function.

use std::ffi::c_void;
use std::mem::{ManuallyDrop, MaybeUninit};
use std::num::NonZero;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::ptr::null_mut;
use std::thread::available_parallelism;

use filch::inside::host::{create_job, kick_jobs};
use filch::jobs::{Job, JobWorker, Jobs, Team};

use crate::layout::ABI;
use crate::pool::{give_or_fail, of_another_version};
use crate::thrown::Thrown;

/// A worker of a run, as functions in C++ get it. The run's lifetimes are for the header's users to keep.
pub type Worker = JobWorker<'static, 'static>;

/// A function in C++ with what it captures. Returns whether it has thrown, and what. Without a worker it only destroys
/// its captures.
pub type Function = unsafe extern "C-unwind" fn(*mut Worker, captures: *mut c_void, *mut Thrown) -> bool;

/// Words for the captures of a job. With the function they fill a job's place.
pub const CAPTURES: usize = 4;

/// Calls it on a worker, and panics with what it has thrown.
///
/// # Safety
/// The captures are the function's.
unsafe fn call(function: Function, worker: &mut JobWorker<'_, '_>, captures: *mut c_void) {
    let mut thrown = MaybeUninit::uninit();
    let worker: *mut JobWorker<'_, '_> = worker;
    // SAFETY: the caller's promise. If it has thrown, it has written what.
    unsafe {
        if function(worker.cast(), captures, thrown.as_mut_ptr()) {
            resume_unwind(Box::new(Carried(thrown.assume_init())));
        }
    }
}

/// An exception on its way from a job to whoever runs the team.
struct Carried(Thrown);

// SAFETY: exceptions of C++ may be thrown again on another thread.
unsafe impl Send for Carried {}

impl Drop for Carried {
    fn drop(&mut self) {
        // SAFETY: whoever resumes it forgets this.
        unsafe { self.0.discard() };
    }
}

/// A job.
struct Work {
    function: Function,
    captures: [u64; CAPTURES],
}

impl Work {
    fn run(self, worker: &mut JobWorker<'_, '_>) {
        let mut work = ManuallyDrop::new(self);
        // SAFETY: the captures are the function's, which has not been called.
        unsafe { call(work.function, worker, work.captures.as_mut_ptr().cast()) };
    }
}

impl Drop for Work {
    fn drop(&mut self) {
        // SAFETY: the captures are the function's, which has not been called.
        unsafe { (self.function)(null_mut(), self.captures.as_mut_ptr().cast(), null_mut()) };
    }
}

/// Starts a team, of a worker for each processor if there are to be none. Returns null if it cannot start: see
/// [`filch_error`](crate::pool::filch_error).
#[unsafe(no_mangle)]
pub extern "C" fn filch_team_start_(workers: usize, abi: u32) -> *mut Team {
    let workers = NonZero::new(workers).or_else(|| available_parallelism().ok()).map_or(1, NonZero::get);
    let team = if abi == ABI {
        Jobs::new(workers).start().map_err(|error| error.to_string())
    } else {
        Err(of_another_version(abi))
    };
    give_or_fail(team)
}

/// Joins the threads.
///
/// # Safety
/// The team was started, and nobody uses it any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn filch_team_stop_(team: *mut Team) {
    // SAFETY: `filch_team_start_` made the box.
    drop(unsafe { Box::from_raw(team) });
}

/// Runs `body` as the first worker, and all jobs on all workers; returns when all are over. Throws what the first job
/// that threw has thrown.
///
/// # Safety
/// The team was started; nobody else runs it; the context is the function's.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn filch_team_run_(team: *mut Team, body: Function, context: *mut c_void) {
    // SAFETY: the caller's promises.
    let run = || unsafe { (*team).run(|worker| call(body, worker, context)) };
    let Err(payload) = catch_unwind(AssertUnwindSafe(run)) else { return };
    match payload.downcast::<Carried>() {
        // SAFETY: it is resumed once, here.
        Ok(carried) => unsafe { ManuallyDrop::new(*carried).0.resume() },
        Err(panic) => resume_unwind(panic),
    }
}

/// Creates a job, a child of `parent` or, for null, of the current one.
///
/// # Safety
/// As for [`create_job`]; the worker is what the calling function got; the function may run on another thread, with
/// a copy of its captures.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn filch_job_create_(
    worker: *mut Worker,
    parent: *const Job<'static>,
    function: Function,
    captures: *const [u64; CAPTURES],
    job: *mut Job<'static>,
) {
    // SAFETY: the caller's promises.
    unsafe {
        let work = Work { function, captures: captures.read() };
        job.write(create_job(&mut *worker, parent.as_ref().copied(), |worker| work.run(worker)));
    }
}

/// Kicks jobs.
///
/// # Safety
/// As for [`kick_jobs`]; the worker is what the calling function got.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn filch_job_kick_(worker: *mut Worker, jobs: *const Job<'static>, count: usize) {
    // SAFETY: the caller's promises.
    unsafe { kick_jobs(&mut *worker, (0..count).map(|nth| *jobs.add(nth))) };
}

/// Waits for a job and all its descendants.
///
/// # Safety
/// The job is of this run; the worker is what the calling function got.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn filch_job_wait_(worker: *mut Worker, job: *const Job<'static>) {
    // SAFETY: the caller's promises.
    unsafe { (*worker).wait(*job) };
}
