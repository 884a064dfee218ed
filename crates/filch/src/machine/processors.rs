//! The processors that the process may use, which are those of its first thread; and the processor of each pinned
//! worker, on which the worker's memory is made.
//!
//! A thread inherits the pinning of the thread that starts it, and sees no other processors. But a pool that serves the
//! whole program must not depend on which thread uses it first.

use std::io;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::thread;

use crate::machine::topology::{self, CoreKind};
use crate::machine::{cgroup_quota, monitor::Monitor, process};

/// Where the system's files are.
pub(crate) const ROOT: &str = "/";

/// The processors and the quota that a pool may use, as the system says now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Allowed {
    processors: usize,
    /// In processors, rounded up.
    quota: Option<usize>,
}

impl Allowed {
    /// Returns what the current thread, and the threads that it starts, may use.
    pub(crate) fn to_this_thread(root: &Path) -> Self {
        Self::of(count(false), root)
    }

    /// Returns what the process may use, even if the current thread is pinned.
    pub(crate) fn to_process(root: &Path) -> Self {
        Self::of(of_process(), root)
    }

    fn of(processors: usize, root: &Path) -> Self {
        Self { processors, quota: quota(root) }
    }

    /// The number of workers for which there is processor time, at least 1.
    pub(crate) fn at_once(self) -> usize {
        self.quota.map_or(self.processors, |quota| self.processors.min(quota)).max(1)
    }

    /// The number of workers of a pool that follows the processors: one for each processor, but with a quota no more
    /// than four times what it grants now, so that a small container on a large machine does not start hundreds of
    /// threads.
    pub(crate) fn with_room(self) -> usize {
        const ROOM: usize = 4;
        self.quota.map_or(self.processors, |quota| self.processors.min(quota.saturating_mul(ROOM))).max(1)
    }
}

/// Returns the number of processors that the process may use.
pub(crate) fn of_process() -> usize {
    count(true)
}

fn count(process: bool) -> usize {
    system::count(process).unwrap_or_else(|| thread::available_parallelism().map_or(1, Into::into))
}

/// Returns the number of processors for which the process has a quota. Miri has no files.
pub(crate) fn quota(root: &Path) -> Option<usize> {
    if cfg!(all(any(target_os = "linux", target_os = "android"), not(miri))) { cgroup_quota::quota(root) } else { None }
}

/// Returns the number of processors that at least one of these threads may use; `None` if the system does not tell.
pub(crate) fn of_threads(threads: impl Iterator<Item = i32>) -> Option<usize> {
    system::of_threads(threads)
}

/// Returns the system's number of the current thread, for [`of_threads`]; 0 on systems that do not need it.
pub(crate) fn this_thread() -> i32 {
    system::this_thread()
}

/// Lets the current thread use all processors that the process may use.
pub(crate) fn unpin() {
    system::unpin();
}

/// Returns the processor that runs the current thread; `None` if the system does not tell.
#[inline]
pub(crate) fn current() -> Option<usize> {
    system::current()
}

/// The processors that one thread may use, for another thread to adopt.
#[derive(Clone, PartialEq)]
pub(crate) struct Affinity(system::Set);

impl Affinity {
    /// Returns the processors of the thread with this [number](this_thread); 0 is the current thread. Returns `None` if
    /// there is no such thread, or the system does not tell.
    pub(crate) fn of(thread: i32) -> Option<Self> {
        system::affinity(thread).map(Self)
    }

    /// Binds the current thread to these processors.
    pub(crate) fn adopt(&self) {
        system::restore(&self.0);
    }

    /// Binds the thread with this number to these processors; returns whether the system does.
    pub(crate) fn give_to(&self, thread: i32) -> bool {
        system::set(thread, &self.0).is_ok()
    }

    /// Returns the others of these processors, if `processor` and others are among them.
    pub(crate) fn without(&self, processor: usize) -> Option<Self> {
        system::without(&self.0, processor).map(Self)
    }
}

/// A processor for each pinned worker, among those that the thread that deals them out may use; none by default. As far
/// as the system tells, workers share a core only if there are more workers than cores, and a processor only if there
/// are more workers than processors.
#[doc(hidden)]
#[derive(Clone, Debug, Default)]
pub struct Places(Vec<usize>);

impl Places {
    /// Deals out the current thread's processors if workers are pinned; deals out none if they are not, or the system
    /// does not tell the processors. `root` is the directory that contains `sys`.
    pub(crate) fn if_pinned(pin: bool, root: &Path) -> Self {
        if pin { Self::of_this_thread(root).unwrap_or_default() } else { Self::default() }
    }

    /// Deals out the current thread's processors.
    ///
    /// # Errors
    /// The system's error, if it does not tell the processors.
    pub(crate) fn of_this_thread(root: &Path) -> io::Result<Self> {
        Ok(Self(system::processors()?).in_turns(root))
    }

    /// Orders the processors so that one of each core comes before a second of any core.
    fn in_turns(self, root: &Path) -> Self {
        let mut all: Vec<_> = topology::places_on_cores(root, &self.0).into_iter().zip(self.0).collect();
        all.sort_by_key(|(place, _)| *place);
        Self(all.into_iter().map(|(_, processor)| processor).collect())
    }

    /// Keeps only the processors of this kind, if there are any.
    pub(crate) fn only(self, kind: CoreKind, root: &Path) -> Self {
        let kinds = topology::kinds(root, &self.0);
        let kept: Vec<usize> = self.0.iter().zip(kinds).filter(|of| of.1 == kind).map(|of| *of.0).collect();
        if kept.is_empty() { self } else { Self(kept) }
    }

    /// The numbers of the processors.
    pub(crate) fn numbers(&self) -> &[usize] {
        &self.0
    }

    /// The number of processors.
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns the processor of a worker, if there are processors.
    pub(crate) fn to(&self, worker: usize) -> Option<usize> {
        self.0.get(worker % self.0.len().max(1)).copied()
    }

    /// Calls `make` for each worker, and returns the results. If there are processors, and the system grants threads,
    /// each call runs on a thread bound to the worker's processor, since a page lies on the node of the processor that
    /// first writes to it. These threads live at the same time, so that the allocator does not give them parts of one
    /// page.
    pub(crate) fn on_each<R: Send>(&self, workers: usize, make: impl Fn(usize) -> R + Sync) -> Vec<R> {
        if !self.0.is_empty() {
            let made: Vec<Mutex<Option<R>>> = (0..workers).map(|_| Mutex::default()).collect();
            let keep =
                |worker: usize| *made[worker].lock().unwrap_or_else(PoisonError::into_inner) = Some(make(worker));
            if self.on_threads(workers, &keep) {
                let take = |made: Mutex<Option<R>>| made.into_inner().unwrap_or_else(PoisonError::into_inner);
                return made.into_iter().map(|made| take(made).expect("each is made once")).collect();
            }
        }
        (0..workers).map(make).collect()
    }

    /// Calls `make` for each worker, on a thread bound to the worker's processor. Returns `false`, without a call, if
    /// the system refuses a thread, or in the child of a `fork()`, whose threads cannot borrow
    /// (`crate::machine::thread`).
    fn on_threads(&self, workers: usize, make: &(dyn Fn(usize) + Sync)) -> bool {
        if process::is_child() {
            return false;
        }
        let gate = Monitor::<Gate>::default();
        thread::scope(|s| {
            let mut are_all = true;
            for worker in 0..workers {
                let gate = &gate;
                let life = move || {
                    if gate.wait_while(|gate| gate.order == Order::Wait).order == Order::Make {
                        let _left = Leaves(gate, workers);
                        // If the system cannot bind the thread, there are no better places.
                        let _ = self.to(worker).map(bind);
                        make(worker);
                    }
                };
                are_all = are_all && thread::Builder::new().spawn_scoped(s, life).is_ok();
            }
            gate.change(|gate| gate.order = if are_all { Order::Make } else { Order::Leave });
            are_all
        })
    }
}

/// The orders for the threads of [`Places::on_threads`], and their progress.
#[derive(Default)]
struct Gate {
    order: Order,
    /// How many threads have made their parts, or panicked.
    made: usize,
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Order {
    #[default]
    Wait,
    Make,
    Leave,
}

/// When dropped by a thread that has made its part, or panicked, waits until all threads have.
struct Leaves<'g>(&'g Monitor<Gate>, usize);

impl Drop for Leaves<'_> {
    fn drop(&mut self) {
        let Self(gate, all) = self;
        gate.change(|gate| gate.made += 1);
        drop(gate.wait_while(|gate| gate.made < *all));
    }
}

/// Binds the current thread to one processor.
///
/// # Errors
/// The system's error.
pub(crate) fn bind(processor: usize) -> io::Result<()> {
    system::bind(processor)
}

/// Binds the current thread to one processor until dropped, and then restores its former processors.
#[cfg(feature = "worklists")]
#[derive(Debug)]
pub(crate) struct Bound {
    /// The former processors; `None` if the thread was bound to that processor already, or cannot be.
    before: Option<system::Set>,
    /// Not `Send`: it belongs to its thread.
    thread: std::marker::PhantomData<*mut ()>,
}

#[cfg(feature = "worklists")]
impl Bound {
    /// Cost: one system call if the thread is bound already; otherwise three, and perhaps a migration to the other
    /// processor and back.
    pub(crate) fn to(processor: usize) -> Self {
        let before = system::before_binding(processor).filter(|_| bind(processor).is_ok());
        Self { before, thread: std::marker::PhantomData }
    }
}

#[cfg(feature = "worklists")]
impl Drop for Bound {
    fn drop(&mut self) {
        if let Some(before) = self.before.take() {
            system::restore(&before);
        }
    }
}

#[cfg(all(any(target_os = "linux", target_os = "android"), not(miri)))]
mod system {
    use std::ffi::c_ulong;
    use std::{array, io, ptr};

    /// Processors: bit `number % BITS` of word `number / BITS`, as the kernel has it.
    pub(super) type Set = [c_ulong; size_of::<libc::cpu_set_t>() / size_of::<c_ulong>()];

    const BITS: usize = c_ulong::BITS as usize;

    /// Binds a thread to these processors; 0 is the current thread. If the system refuses, nothing changes.
    pub(super) fn set(thread: libc::pid_t, of: &Set) -> io::Result<()> {
        // SAFETY: the set has the given size, and the layout of the kernel's.
        let result = unsafe { libc::sched_setaffinity(thread, size_of::<Set>(), ptr::from_ref(of).cast()) };
        if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }

    /// Returns the processors that the current thread may use.
    pub(super) fn processors() -> io::Result<Vec<usize>> {
        let own = affinity(0).ok_or_else(io::Error::last_os_error)?;
        let all = (0..own.len() * BITS).filter(|number| own[number / BITS] >> (number % BITS) & 1 == 1);
        Ok(all.collect())
    }

    fn only(processor: usize) -> io::Result<Set> {
        let mut one = Set::default();
        let word = one.get_mut(processor / BITS).ok_or(io::ErrorKind::InvalidInput)?;
        *word = 1 << (processor % BITS);
        Ok(one)
    }

    pub(super) fn bind(processor: usize) -> io::Result<()> {
        set(0, &only(processor)?)
    }

    /// Returns the current thread's processors, unless it is bound to this one already.
    #[cfg(feature = "worklists")]
    pub(super) fn before_binding(processor: usize) -> Option<Set> {
        affinity(0).filter(|own| only(processor).is_ok_and(|only| *own != only))
    }

    pub(super) fn restore(before: &Set) {
        // The system refuses if the process may no longer use any of these processors.
        let _ = set(0, before);
    }

    /// Returns the processors that a thread may use; 0 is the current thread.
    pub(super) fn affinity(thread: libc::pid_t) -> Option<Set> {
        let mut set = Set::default();
        // SAFETY: the set has the given size, and the layout of the kernel's.
        let result = unsafe { libc::sched_getaffinity(thread, size_of::<Set>(), ptr::from_mut(&mut set).cast()) };
        (result == 0).then_some(set)
    }

    /// Returns the processors of the first thread, whose number is that of the process.
    fn of_process() -> Option<Set> {
        affinity(libc::pid_t::try_from(std::process::id()).ok()?)
    }

    /// Returns the number of the processors of the current thread, or of the process.
    pub(super) fn count(process: bool) -> Option<usize> {
        let set = if process { of_process() } else { affinity(0) };
        set.as_ref().map(size)
    }

    fn size(set: &Set) -> usize {
        set.iter().map(|word| word.count_ones() as usize).sum()
    }

    pub(super) fn of_threads(threads: impl Iterator<Item = i32>) -> Option<usize> {
        threads.filter_map(affinity).reduce(union).as_ref().map(size)
    }

    fn union(a: Set, b: Set) -> Set {
        array::from_fn(|word| a[word] | b[word])
    }

    pub(super) fn current() -> Option<usize> {
        // SAFETY: the call has no preconditions.
        usize::try_from(unsafe { libc::sched_getcpu() }).ok()
    }

    pub(super) fn without(set: &Set, processor: usize) -> Option<Set> {
        let one = only(processor).ok()?;
        let rest = array::from_fn(|word| set[word] & !one[word]);
        (rest != *set && rest != Set::default()).then_some(rest)
    }

    pub(super) fn this_thread() -> i32 {
        // SAFETY: the call has no preconditions.
        unsafe { libc::gettid() }
    }

    pub(super) fn unpin() {
        if let (Some(own), Some(all)) = (affinity(0), of_process())
            && own != all
        {
            restore(&all);
        }
    }
}

#[cfg(not(all(any(target_os = "linux", target_os = "android"), not(miri))))]
mod system {
    use std::io;

    pub(super) type Set = ();

    #[cfg(not(any(target_os = "linux", target_os = "android")))]
    pub(super) fn processors() -> io::Result<Vec<usize>> {
        let all = core_affinity::get_core_ids().ok_or_else(io::Error::last_os_error)?;
        Ok(all.into_iter().map(|processor| processor.id).collect())
    }

    #[cfg(not(any(target_os = "linux", target_os = "android")))]
    pub(super) fn bind(processor: usize) -> io::Result<()> {
        let is_bound = core_affinity::set_for_current(core_affinity::CoreId { id: processor });
        if is_bound { Ok(()) } else { Err(io::Error::last_os_error()) }
    }

    /// Miri has no processors.
    #[cfg(any(target_os = "linux", target_os = "android"))]
    pub(super) fn processors() -> io::Result<Vec<usize>> {
        Err(io::ErrorKind::Unsupported.into())
    }

    #[cfg(any(target_os = "linux", target_os = "android"))]
    pub(super) fn bind(_: usize) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    #[cfg(feature = "worklists")]
    pub(super) fn before_binding(_: usize) -> Option<Set> {
        None
    }

    pub(super) fn affinity(_: i32) -> Option<Set> {
        None
    }

    pub(super) fn restore(&(): &Set) {}

    pub(super) fn set(_: i32, &(): &Set) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    pub(super) fn current() -> Option<usize> {
        None
    }

    pub(super) fn without(&(): &Set, _: usize) -> Option<Set> {
        None
    }

    pub(super) fn unpin() {}

    pub(super) fn count(_: bool) -> Option<usize> {
        None
    }

    pub(super) fn of_threads(_: impl Iterator<Item = i32>) -> Option<usize> {
        None
    }

    pub(super) fn this_thread() -> i32 {
        0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(all(target_os = "linux", not(miri)))]
    fn workers_share_a_core_only_if_there_are_more_of_them_than_cores() {
        let deal = |numbers: &[usize]| Places(numbers.to_vec());
        let machine = crate::machine::described::two_nodes_and_four_caches("turns");
        // The numbers of a core's two processors are adjacent on many machines, and half the machine apart on others.
        let paired = deal(&[0, 8, 1, 9, 2, 10, 3]).in_turns(machine.root());
        assert_eq!(paired.numbers(), [0, 1, 2, 3, 8, 9, 10]);
        assert_eq!(deal(&[0, 1, 2, 8, 9]).in_turns(machine.root()).numbers(), [0, 1, 2, 8, 9]);
    }

    #[test]
    #[cfg_attr(miri, ignore = "there are no processors")]
    fn the_parts_of_pinned_workers_are_made_on_their_processors() {
        let make = |worker: usize| (worker, thread::current().id(), system::processors().ok());
        let here = thread::current().id();
        assert!(Places::default().on_each(3, make).iter().all(|part| part.1 == here));
        let places = Places::of_this_thread(Path::new(ROOT)).expect("the system tells the processors");
        let parts = places.on_each(3, make);
        for (index, (worker, thread, processors)) in parts.iter().enumerate() {
            assert_eq!((*worker, processors), (index, &Some(vec![places.to(index).unwrap()])));
            assert!(*thread != here && parts[..index].iter().all(|other| other.1 != *thread), "{parts:?}");
        }
    }
}
