//! The machine as a [`Memory`]: each operation of a thread asks the explorer for a step.
//!
//! Invariant: a thread of a program under exploration runs as a coroutine on the explorer's own thread, and no
//! reference to the machine exists while one runs.

use std::cell::{Cell, UnsafeCell};
use std::marker::PhantomData;
use std::panic::Location;

use corosensei::Yielder;
use filch_memory::{Asymmetric, Atomic, AtomicInt, Memory, Ordering, Sleep};

use super::machine::{Bits, Late, Machine, Mode, Op};
use super::record::Act;
use crate::harm::ensure;
use crate::sites::{How, Kind, Site};

thread_local! {
    /// The machine whose program runs on this thread.
    static MACHINE: Cell<*mut Machine> = const { Cell::new(std::ptr::null_mut()) };
}

/// The payload that unwinds a discarded thread.
pub(crate) struct ThrownAway;

/// Makes `machine` the current one on this thread while `work` runs.
///
/// # Safety
/// The machine outlives the call, and `work` holds no reference to it while the program's code runs.
pub(crate) unsafe fn with_machine<R>(machine: *mut Machine, work: impl FnOnce() -> R) -> R {
    struct Restore(*mut Machine);
    impl Drop for Restore {
        fn drop(&mut self) {
            MACHINE.set(self.0);
        }
    }
    let _restore = Restore(MACHINE.replace(machine));
    work()
}

#[inline]
fn machine<R>(work: impl FnOnce(&mut Machine) -> R) -> R {
    let machine = MACHINE.get();
    assert!(!machine.is_null(), "this memory exists only while a program is explored");
    // SAFETY: `with_machine` set the pointer, and its caller promises that the machine is alive and that no other
    // reference to it exists. `work` is code of this module, which neither keeps the reference nor runs a program's
    // code.
    work(unsafe { &mut *machine })
}

/// Suspends the running thread until the explorer has taken its step or lets it continue.
fn suspend(machine_of: *mut Machine, yielder: *const Yielder<(), ()>) {
    debug_assert_eq!(machine_of, MACHINE.get());
    // SAFETY: it is the yielder of the running coroutine, and lives as long as the coroutine's body.
    unsafe { &*yielder }.suspend(());
    if machine(|machine| machine.mode) == Mode::Alone {
        std::panic::resume_unwind(Box::new(ThrownAway));
    }
}

/// Requests the step `op` and waits for it.
fn ask(op: Op, site: Site) -> (u64, bool) {
    let yielder = machine(|machine| {
        let thread = &mut machine.threads[machine.running];
        thread.op = op;
        thread.site = Some(site);
        thread.yielder
    });
    suspend(MACHINE.get(), yielder);
    machine(|machine| machine.threads[machine.running].result)
}

/// Requests a step that reads a value, which may be an address.
fn read(op: Op, site: Site, is_address: bool) -> (u64, bool) {
    let (value, succeeds) = ask(op, site);
    machine(|machine| {
        let reader = machine.reader();
        let value = if is_address { machine.outcome.name(value) } else { value };
        machine.outcome.reads(reader, value, succeeds);
    });
    (value, succeeds)
}

/// The number of spins after which a thread that runs alone counts as waiting forever: more than any program needs.
pub(crate) const LOOKS_ALONE: usize = 10_000;

fn is_alone(machine: &Machine) -> bool {
    machine.mode == Mode::Alone || machine.panics == Some(machine.running)
}

/// Records that the running thread panics. While it unwinds, its operations are not steps: a thread cannot be discarded
/// then.
pub(crate) fn has_panicked() {
    let machine = MACHINE.get();
    if !machine.is_null() {
        // SAFETY: `with_machine` set the pointer. A program's code is running, so no other reference exists.
        let machine = unsafe { &mut *machine };
        machine.panics = Some(machine.running);
    }
}

/// Waits until the thread's own buffer is empty.
fn drain_own(site: Site) {
    let ready = machine(|machine| {
        let thread = machine.running;
        let ready = is_alone(machine) || machine.is_drained(thread);
        if ready && !is_alone(machine) {
            machine.pass_fence(thread);
        }
        ready
    });
    if !ready {
        ask(Op::Fence, site);
    }
}

/// The memory of the abstract machine TSO\[S\]. It exists only inside [`explore`](super::explore()) and
/// [`replay`](super::replay()).
///
/// Loads and stores of every ordering are plain, except that a fence follows a sequentially consistent store, as on
/// x86. A read–modify–write and a sequentially consistent fence need an empty buffer. Weaker fences do nothing.
#[derive(Clone, Copy, Debug)]
pub struct Tso;

// SAFETY: total store order is stronger than the Rust memory model. A checker that weakens an operation runs scenarios,
// whose tasks are numbers.
unsafe impl Memory for Tso {
    type AtomicU32 = Word<u32>;
    type AtomicU64 = Word<u64>;
    type AtomicI64 = Word<i64>;
    type AtomicUsize = Word<usize>;
    type AtomicBool = Word<bool>;
    type AtomicPtr<T> = Word<*mut T>;
    type Cell<T> = Plain<T>;

    /// Stores half of the word. The other half is what memory holds when the store drains, or when the thread reads it.
    #[track_caller]
    fn store_high(word: &Word<u64>, _: u32, high: u32, order: Ordering) {
        let (site, location) = (Location::caller(), word.location);
        let bits = Bits { value: u64::from(high) << 32, mask: u64::MAX << 32 };
        let alone = machine(|machine| {
            // On machines without half stores, this is an update.
            machine.order_at(site, Kind::Update, order);
            is_alone(machine).then(|| machine.set_value(location, bits.over(machine.value(location))))
        });
        if alone.is_some() {
            return;
        }
        if matches!(mistake_at(site, Kind::Update), Some(How::ByStore)) {
            let (old, _) = read(Op::Load { location }, site, false);
            store_value(location, bits.over(old), site);
        } else {
            store_bits(location, bits, site);
        }
    }

    #[track_caller]
    fn fence(order: Ordering) {
        let site = Location::caller();
        let is_left_out = matches!(mistake_at(site, Kind::Fence), Some(How::LeftOut));
        if is_left_out
            || machine(|machine| {
                is_alone(machine) || machine.order_at(site, Kind::Fence, order) != Some(Ordering::SeqCst)
            })
        {
            return;
        }
        drain_own(site);
        machine(|machine| {
            if machine.recorder.is_some() {
                machine.threads[machine.running].site = Some(site);
                machine.record(machine.running, Act::Fence);
            }
        });
        make_late_ones(site);
    }

    fn compiler_fence() {}

    #[track_caller]
    fn spin_loop() {
        let wait = machine(|machine| {
            if is_alone(machine) {
                machine.looks_alone += 1;
                ensure!(machine.looks_alone < LOOKS_ALONE, Hang, "the only thread waits for ever");
                return false;
            }
            !machine.may_look_again(machine.running)
        });
        if wait {
            ask(Op::Spin, Location::caller());
        }
    }
}

impl Sleep for Tso {
    #[track_caller]
    fn wait(word: &Word<u32>, expected: u32) {
        if machine(|machine| is_alone(machine)) {
            ensure!(word.load(Ordering::Relaxed) != expected, Hang, "the only thread goes to sleep for ever");
            return;
        }
        // The kernel's check of the word follows a full barrier.
        drain_own(Location::caller());
        ask(Op::Wait { location: word.location, expected: expected.into() }, Location::caller());
    }

    #[track_caller]
    fn wake_one(word: &Word<u32>) {
        wake(word, false, Location::caller());
    }

    #[track_caller]
    fn wake_all(word: &Word<u32>) {
        wake(word, true, Location::caller());
    }
}

fn wake(word: &Word<u32>, all: bool, site: Site) {
    if machine(|machine| is_alone(machine)) {
        return;
    }
    drain_own(site);
    ask(Op::Wake { location: word.location, all }, site);
}

// SAFETY: the heavy side drains all store buffers.
unsafe impl Asymmetric for Tso {
    fn light_barrier() {}

    #[track_caller]
    fn heavy_barrier() {
        let site = Location::caller();
        let order = Ordering::SeqCst;
        let is_left_out = matches!(mistake_at(site, Kind::Barrier), Some(How::LeftOut));
        if is_left_out || machine(|machine| is_alone(machine) || machine.order_at(site, Kind::Barrier, order).is_none())
        {
            return;
        }
        machine(|machine| machine.barrier_seen = true);
        ask(Op::Barrier, site);
        make_late_ones(site);
    }
}

/// A value of an atomic variable: anything that fits in 64 bits.
pub trait Words: Copy {
    #[doc(hidden)]
    const IS_ADDRESS: bool = false;
    #[doc(hidden)]
    fn to_bits(self) -> u64;
    #[doc(hidden)]
    fn from_bits(bits: u64) -> Self;
}

macro_rules! words {
    ($($value:ty),*) => {
        $(impl Words for $value {
            #[inline]
            fn to_bits(self) -> u64 {
                self as u64
            }
            #[inline]
            fn from_bits(bits: u64) -> Self {
                bits as Self
            }
        })*
    };
}
words!(u32, u64, i64, usize);

impl Words for bool {
    #[inline]
    fn to_bits(self) -> u64 {
        self.into()
    }
    #[inline]
    fn from_bits(bits: u64) -> Self {
        bits != 0
    }
}

impl<T> Words for *mut T {
    const IS_ADDRESS: bool = true;

    #[inline]
    fn to_bits(self) -> u64 {
        self.expose_provenance() as u64
    }
    #[inline]
    fn from_bits(bits: u64) -> Self {
        std::ptr::with_exposed_provenance_mut(bits as usize)
    }
}

/// An atomic variable of the machine: a location's number.
#[derive(Debug)]
pub struct Word<T> {
    location: u32,
    value: PhantomData<fn() -> T>,
}

impl<T: Words> Word<T> {
    fn update(&self, site: Site, order: Ordering, expected: Option<u64>, argument: u64, apply: Apply) -> (T, bool) {
        let location = self.location;
        let mistake = mistake_at(site, Kind::Update);
        let argument = altered(mistake, argument);
        Self::writes(argument);
        let op = Op::Update { location, expected, argument, apply };
        let old = || expected.unwrap_or_else(|| read(Op::Load { location }, site, T::IS_ADDRESS).0);
        let (old, succeeds) = match mistake {
            Some(How::LeftOut) => (old(), true),
            Some(How::ByStore) => {
                let old = old();
                store_value(location, apply(old, argument), site);
                (old, true)
            }
            Some(How::After(_)) => (make_late(op, site, expected), true),
            Some(How::Altered(_) | How::Stale(_) | How::Unchecked) | None => {
                let alone = machine(|machine| {
                    machine.order_at(site, Kind::Update, order);
                    is_alone(machine).then(|| {
                        let old = machine.value(location);
                        let succeeds = expected.is_none_or(|expected| expected == old);
                        if succeeds {
                            machine.set_value(location, apply(old, argument));
                        }
                        (old, succeeds)
                    })
                });
                alone.unwrap_or_else(|| read(op, site, T::IS_ADDRESS))
            }
        };
        let old = if matches!(mistake, Some(How::Stale(_))) { read_earlier(old) } else { old };
        let succeeds = succeeds || matches!(mistake, Some(How::Unchecked));
        has_read(site, old);
        (T::from_bits(old), succeeds)
    }

    /// Records that the running thread is about to write this value.
    #[inline]
    fn writes(value: u64) {
        if T::IS_ADDRESS {
            machine(|machine| machine.outcome.writes_address(machine.reader(), value));
        }
    }
}

/// Returns the mistake that the running thread makes here.
#[inline]
fn mistake_at(site: Site, kind: Kind) -> Option<How> {
    machine(|machine| machine.sites.wrong_at(site, kind, machine.running).filter(|_| !is_alone(machine)))
}

fn altered(mistake: Option<How>, value: u64) -> u64 {
    if let Some(How::Altered(wrong)) = mistake { wrong(value) } else { value }
}

/// Returns the value that the running thread has read earlier, or `now` if it has read none.
fn read_earlier(now: u64) -> u64 {
    machine(|machine| machine.read_earlier[machine.running].unwrap_or(now))
}

/// The bound of guesses: indices and tasks of small programs are below it.
const GUESSES: usize = 8;

fn guess() -> u64 {
    choose(GUESSES) as u64
}

/// Defers an operation of the running thread, which uses the guess as its result.
fn make_late(op: Op, site: Site, guess: Option<u64>) -> u64 {
    machine(|machine| machine.late.push(Late { thread: machine.running, site, op, guess }));
    guess.unwrap_or_default()
}

/// Runs the deferred operations that wait for the one at this site.
#[inline]
fn make_late_ones(site: Site) {
    if machine(|machine| !machine.late.is_empty() && machine.sites.is_awaited(site)) {
        let late: Vec<Late> = machine(|machine| {
            let me = machine.running;
            machine.late.extract_if(.., |late| late.thread == me).collect()
        });
        late.into_iter().for_each(make_now);
    }
}

#[cold]
fn make_now(Late { op, site, guess, .. }: Late) {
    if let Op::Store { location, bits } = op {
        return store_bits(location, bits, site);
    }
    let (answer, succeeds) = read(op, site, false);
    if guess.is_some_and(|guess| guess != answer || !succeeds) {
        machine(|machine| machine.guessed_wrong = true);
        ask(Op::Done, site);
    }
}

/// Records the value that the running thread has read at this site.
#[inline]
fn has_read(site: Site, value: u64) {
    let is_awaited = machine(|machine| {
        let is_awaited = machine.sites.is_awaited(site) && !is_alone(machine);
        if is_awaited {
            machine.read_earlier[machine.running] = Some(value);
        }
        is_awaited
    });
    if is_awaited {
        make_late_ones(site);
    }
}

type Apply = fn(u64, u64) -> u64;

/// Stores a value for the running thread.
fn store_value(location: u32, value: u64, site: Site) {
    store_bits(location, Bits::whole(value), site);
}

fn store_bits(location: u32, bits: Bits, site: Site) {
    let stored = machine(|machine| {
        let thread = machine.running;
        if machine.recorder.is_some() {
            machine.threads[thread].site = Some(site);
        }
        !machine.stores_are_steps && machine.try_buffer(thread, location, bits)
    });
    if !stored {
        ask(Op::Store { location, bits }, site);
    }
}

fn replace(_: u64, new: u64) -> u64 {
    new
}

impl<T: Words> Atomic<T> for Word<T> {
    #[track_caller]
    fn new(value: T) -> Self {
        let (born, value) = (Location::caller(), value.to_bits());
        Self::writes(value);
        let location = machine(|machine| machine.allocate(value, T::IS_ADDRESS, born));
        Self { location, value: PhantomData }
    }

    #[track_caller]
    fn load(&self, order: Ordering) -> T {
        let (site, location) = (Location::caller(), self.location);
        let mistake = mistake_at(site, Kind::Load);
        let value = match mistake {
            Some(How::After(_)) => make_late(Op::Load { location }, site, Some(guess())),
            Some(How::Stale(_)) => read_earlier(0),
            _ => {
                let alone = machine(|machine| {
                    machine.order_at(site, Kind::Load, order);
                    is_alone(machine).then(|| machine.value(location))
                });
                altered(mistake, alone.unwrap_or_else(|| read(Op::Load { location }, site, T::IS_ADDRESS).0))
            }
        };
        has_read(site, value);
        T::from_bits(value)
    }

    #[track_caller]
    fn store(&self, value: T, order: Ordering) {
        let (site, location) = (Location::caller(), self.location);
        let mistake = mistake_at(site, Kind::Store);
        let value = altered(mistake, value.to_bits());
        Self::writes(value);
        match mistake {
            Some(How::LeftOut) => return,
            Some(How::After(_)) => {
                make_late(Op::Store { location, bits: Bits::whole(value) }, site, None);
                return;
            }
            _ => {}
        }
        let order = machine(|machine| {
            let order = machine.order_at(site, Kind::Store, order);
            if !is_alone(machine) {
                return Some(order);
            }
            machine.set_value(location, value);
            None
        });
        let Some(order) = order else { return };
        store_value(location, value, site);
        if order == Some(Ordering::SeqCst) {
            drain_own(site);
        }
        make_late_ones(site);
    }

    #[track_caller]
    fn swap(&self, value: T, order: Ordering) -> T {
        self.update(Location::caller(), order, None, value.to_bits(), replace).0
    }

    #[track_caller]
    fn compare_exchange(&self, current: T, new: T, success: Ordering, failure: Ordering) -> Result<T, T> {
        let site = Location::caller();
        machine(|machine| machine.order_at(site, Kind::Failure, failure));
        let (old, succeeds) = self.update(site, success, Some(current.to_bits()), new.to_bits(), replace);
        if succeeds {
            return Ok(old);
        }
        Err(T::from_bits(altered(mistake_at(site, Kind::Failure), old.to_bits())))
    }

    #[track_caller]
    fn compare_exchange_weak(&self, current: T, new: T, success: Ordering, failure: Ordering) -> Result<T, T> {
        self.compare_exchange(current, new, success, failure)
    }
}

macro_rules! arithmetic {
    ($($value:ty),*) => {
        $(impl AtomicInt<$value> for Word<$value> {
            #[track_caller]
            fn fetch_add(&self, value: $value, order: Ordering) -> $value {
                let add: Apply = |old, more| (old as $value).wrapping_add(more as $value).to_bits();
                self.update(Location::caller(), order, None, value.to_bits(), add).0
            }
            #[track_caller]
            fn fetch_sub(&self, value: $value, order: Ordering) -> $value {
                let subtract: Apply = |old, less| (old as $value).wrapping_sub(less as $value).to_bits();
                self.update(Location::caller(), order, None, value.to_bits(), subtract).0
            }
            #[track_caller]
            fn fetch_or(&self, value: $value, order: Ordering) -> $value {
                self.update(Location::caller(), order, None, value.to_bits(), |old, bits| old | bits).0
            }
            #[track_caller]
            fn fetch_and(&self, value: $value, order: Ordering) -> $value {
                self.update(Location::caller(), order, None, value.to_bits(), |old, bits| old & bits).0
            }
        })*
    };
}
arithmetic!(u32, u64, i64, usize);

/// A cell that is not atomic. The machine reports accesses that the program leaves unordered.
#[derive(Debug)]
pub struct Plain<T> {
    cell: u32,
    value: UnsafeCell<T>,
}

impl<T> filch_memory::Cell<T> for Plain<T> {
    #[track_caller]
    fn new(value: T) -> Self {
        let born = Location::caller();
        Self { cell: machine(|machine| machine.allocate_plain(born)), value: UnsafeCell::new(value) }
    }

    #[track_caller]
    fn with<R>(&self, f: impl FnOnce(*const T) -> R) -> R {
        machine(|machine| machine.access_plain(self.cell, false));
        f(self.value.get())
    }

    #[track_caller]
    fn with_mut<R>(&self, f: impl FnOnce(*mut T) -> R) -> R {
        machine(|machine| machine.access_plain(self.cell, true));
        f(self.value.get())
    }
}

/// Returns a number below `count`; the explorer tries all of them.
pub fn choose(count: usize) -> usize {
    machine(|machine| machine.choose(count))
}

/// Notes in the history, if one is recorded, what the running thread does.
pub fn note(text: impl FnOnce() -> String) {
    machine(|machine| {
        if machine.recorder.is_some() && !is_alone(machine) {
            machine.record(machine.running, Act::Note(text()));
        }
    });
}

/// Returns the outcome of the program's threads, which have ended.
pub(crate) fn outcome() -> u64 {
    machine(|machine| machine.came_to)
}
