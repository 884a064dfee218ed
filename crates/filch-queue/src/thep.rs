//! THEP: THE without the owner's fence; the owner echoes, so that an unsure thief can wait until it is sure.
//!
//! **Paper.** Adam Morrison and Yehuda Afek, *Fence-Free Work Stealing on Bounded TSO Processors*, ASPLOS 2014,
//! <https://doi.org/10.1145/2541940.2541987>, section 5.
//!
//! **Idea.** As in [`FfThe`](crate::FfThe), a thief takes a task at once if the task is more than δ below the T that
//! the thief reads. Otherwise it waits. Every claim of a thief carries a number, s, in the same word as H, and every
//! pop copies the s that it finds there to P, the echo. Once P shows the thief's own s, the owner has seen the claim,
//! and its stores before the echo have arrived: the T that the thief reads from then on decides. If instead the owner
//! comes down to the claim, it meets the thief at the lock, and the thief sees T fall and steps back.
//!
//! The thieves' number may also lie in a variable of its own, as the paper says in passing: [`ThepApart`]. A pop then
//! loads two words.
//!
//! A poll echoes every claim until the owner's next push or pop: the owner is at rest. So a thief never waits for an
//! owner that polls before it waits, sleeps or leaves.
//!
//! **Fields.** Each on its own line.
//! * `head`: (H: low 32 bits, s: high 32 bits) and the lock. Thieves write the word under the lock and raise s with
//!   every change; all read it. With the numbers apart, s is in `number` beside it instead, and written after H.
//! * `tail`: T, written by the owner, read by thieves.
//! * `echo`: P, written by the owner, read by the thief that has the lock. It is also the pad.
//! * `ring`: the slots' address and number, never written. Its W slots are written by the owner and read by thieves.
//! * private to the owner: `tail` (a copy of T, which only the owner writes), `limit` (the index below which a push is
//!   known to have room), `empty_at` (a T at which the deque is known to be empty), `rests` (whether P echoes every
//!   claim).
//!
//! **Invariants.** H stands for the number nearest to T that has its 32 bits; the difference is never more than W + 2.
//! Let H₀ be H without a claim that its thief may take back.
//! * I1: H₀ ≤ H ≤ H₀ + 1, and H = H₀ while the lock is free. H₀ is never lowered.
//! * I2: H₀ ≤ T outside a pop; H ≤ T + 2 always.
//! * I3: T ≤ limit ≤ H₀ + W, so a push overwrites no slot that may still be taken. A limit computed from a claim, H₀ +
//!   1, is one too high; therefore a deque is full at W - 1.
//! * I4: if T = `empty_at`, then H₀ = T, or the owner is at rest. At rest T = `empty_at` = `limit`, which sends the
//!   next push or pop to its cold half.
//! * I5: an index is taken by the thief that raises H past it and then reads T more than δ above it, or reads its own s
//!   in P and then T above it; or by a pop that lowers T to it and then reads no greater H, or under the lock; never by
//!   two threads. For the first case see [`ff_the`](crate::ff_the). For the second: a pop that took the index without
//!   seeing the claim lowered T before any pop saw the claim; so this store of T reaches memory before the echo. The
//!   echo of an owner at rest stands for every s: its T has arrived, and by F' its next pop sees the claim.
//! * I6: no two claims have the same s, unless 2³² claims are between them. So an echo still in flight when its claim
//!   is taken back matches no later claim.
//! * B: between two stores that lower T there is a store to another line: the echo, or the lock's if owner and thief
//!   met.
//!
//! **Edges.**
//! * E1: every store of T in `push` and `pop` (release) → its load in `steal` (acquire): slots and task contents are
//!   written before T passes them. Stores that lower T release too: a relaxed store would not continue the release of
//!   an earlier push.
//! * E2: every store of H in `steal` (release) → its load in `make_room` (acquire): before the owner uses a slot again,
//!   every steal before the one that stored H has read its slot. The spare slot covers that last steal.
//! * E3: the echo in `pop` and `poll` (release) → its load in `await_echo` (acquire): the stores of T up to the echo
//!   come before the thief's next load of T, and the task at the claimed index was pushed before them: an owner that
//!   takes it after its echo comes to the lock.
//! * E4, only with the numbers apart: the store of s in `steal` (release) → its load in `pop` (acquire): the pops after
//!   a pop that echoes s see the claim with that s. (That pop itself need not see it: its store of T comes before the
//!   echo.)
//! * F': the fences in `steal` and `get_up` forbid this outcome: a thief reads `ANY_ECHO`, and the owner, which has
//!   withdrawn it, reads an H without the thief's claim.
//! * L of `spin_lock.rs`.
//! * Instead of F in [`the`](crate::the): the compiler keeps the store of T before the load of H in `pop`, the echo
//!   depends on that load, and B bounds how many such stores the load can overtake. The fence in `steal` stays.
//!
//! **Memory model.** TSO\[S\] with δ at least ⌈S / 2⌉, or TSO with any bound if δ is infinite: x86-64 only. If δ is too
//! small, or finite under Rust's model, a task is taken twice. With an infinite δ under Rust's model the checker finds
//! nothing wrong, but the argument above is about stores that arrive in order, so we do not claim it.
//!
//! **Progress.** Owner wait-free except where it meets a thief. Steals blocking. **Capacity.** As [`The`](crate::The).
//!
//! **Departures.** Those of [`the`](crate::the), and the owner's rest: in the paper only pops echo, so a thief waits
//! for ever for an owner that waits for that thief, sleeps, or has left with tasks in its queue. [`Thep`] is otherwise
//! as printed: a thief that is not sure holds the lock and waits for as long as the owner runs one task. A thief of
//! [`ImpatientThep`], which is ours, looks for the echo `PATIENCE` times, then takes its claim back, as if the owner
//! had come down to it, and is refused. Taking a claim back is right at any moment: no task was taken on its strength,
//! a pop that meets the claim goes to the lock and decides by the H that is there then, and by I6 the echo matches no
//! later claim. Tests: `queues/battery.rs`, `emitted/main.rs`.
//!
//! **Names.** H, s, T, P and W as in the paper, in code `head`, `s`, `tail`, `echo`, the ring's capacity; put and take
//! are `push` and `pop`; ⊥ is `NO_ECHO`. `ANY_ECHO` is ours.
//!
//! **Scenarios.** `thep`, `thep_apart`, `thep_impatient`, `unsure_thep`, `unsure_thep_apart` and
//! `unsure_thep_impatient` in the battery and the property tests; `thep`, `thep-apart` and `thep-impatient` in the
//! checker; its pop in `emitted/main.rs`.

use alloc::sync::Arc;
use alloc::vec::Vec;

use filch_memory::{Atomic, Memory, Native, Ordering};

use crate::fence_free::Delta;
use crate::slots::Ring;
use crate::spin_lock::{SpinLock, Waiting};
use crate::{
    Capacity, Delivery, Full, MemoryModel, Order, Padded, Progress, Promises, Queue, Steal, StealOrder, Stealable, Task,
};

/// The THE deque with echoes: see the [module](self).
///
/// An unsure thief holds the lock and waits until the owner pops, polls, or comes down to the claim. The owner polls
/// before it waits for a thief, sleeps or leaves.
///
/// ```
/// use core::num::NonZeroUsize;
/// use filch_queue::{Delta, Owner, Queue, Steal, Task, Thep, Thief};
///
/// let (mut owner, mut thieves) = <Thep as Queue>::make(8, 1, &Delta::default());
/// let task = Task::from_id(NonZeroUsize::MIN);
/// owner.push(task).unwrap();
/// owner.poll(); // or the thief would wait for the next pop
/// assert_eq!(thieves[0].steal(), Steal::Task(task));
/// assert_eq!(owner.pop(), None);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Thep<const PATIENCE: u32 = FOREVER, const APART: bool = false>;

/// THEP whose unsure thieves check for the echo 256 times, and are then refused.
///
/// ```
/// use core::num::NonZeroUsize;
/// use filch_queue::{Delta, ImpatientThep, Owner, Queue, Steal, Task, Thief};
///
/// let (mut owner, mut thieves) = <ImpatientThep as Queue>::make(8, 1, &Delta::default());
/// let task = Task::from_id(NonZeroUsize::MIN);
/// owner.push(task).unwrap();
/// assert_eq!(thieves[0].steal(), Steal::Aborted); // the owner does not pop, so there is no echo
/// assert_eq!(owner.pop(), Some(task));
/// assert_eq!(thieves[0].steal(), Steal::Empty);
/// ```
pub type ImpatientThep = Thep<256>;

/// THEP whose thieves' number lies in a variable of its own: a pop loads one more word. A user sees no difference.
///
/// ```
/// use core::num::NonZeroUsize;
/// use filch_queue::{Delta, Owner, Queue, Steal, Task, ThepApart, Thief};
///
/// let (mut owner, mut thieves) = <ThepApart as Queue>::make(8, 1, &Delta::default());
/// let task = Task::from_id(NonZeroUsize::MIN);
/// owner.push(task).unwrap();
/// owner.poll(); // or the thief would wait for the next pop
/// assert_eq!(thieves[0].steal(), Steal::Task(task));
/// assert_eq!(owner.pop(), None);
/// ```
pub type ThepApart = Thep<FOREVER, true>;

/// Unlimited patience.
pub const FOREVER: u32 = u32::MAX;

struct Shared<M: Memory> {
    head: Padded<Head<M>>,
    tail: Padded<M::AtomicI64>,
    echo: Padded<M::AtomicU64>,
    ring: Padded<Ring<M>>,
}

struct Head<M: Memory> {
    word: M::AtomicU64,
    /// s, if it is apart.
    number: M::AtomicU32,
    lock: SpinLock<M>,
}

/// The owner's side of a [`Thep`] deque.
pub struct Owner<const APART: bool, M: Memory = Native> {
    shared: Arc<Shared<M>>,
    tail: i64,
    limit: i64,
    empty_at: i64,
    rests: bool,
}

/// A thief's side of a [`Thep`] deque.
pub struct Thief<const PATIENCE: u32, const APART: bool, M: Memory = Native> {
    shared: Arc<Shared<M>>,
    delta: Delta,
}

/// The value of P when it echoes nothing: ⊥, which no s equals.
const NO_ECHO: u64 = 1 << 40;

/// The value of P while it echoes every s.
const ANY_ECHO: u64 = 1 << 41;

/// A value that T never has outside a pop: the deque is not known to be empty.
const NOWHERE: i64 = -1;

/// Differences of indices are signed 32-bit numbers.
const MAX_CAPACITY: usize = 1 << 30;

const fn pack(s: u32, head: u32) -> u64 {
    head as u64 | (s as u64) << 32
}

const fn unpack(word: u64) -> (u32, u32) {
    ((word >> 32) as u32, word as u32)
}

/// Returns the number of tasks between H and T; negative if H is above.
const fn count(head: u32, tail: i64) -> i64 {
    (tail as u32).wrapping_sub(head) as i32 as i64
}

// SAFETY: by the invariants and edges in the module documentation.
unsafe impl<const PATIENCE: u32, const APART: bool, M: Memory> Queue<M> for Thep<PATIENCE, APART> {
    type Owner = Owner<APART, M>;
    type Thief = Thief<PATIENCE, APART, M>;
    type Params = Delta;

    const PROMISES: Promises = Promises {
        name: if APART {
            "thep-apart"
        } else if PATIENCE == FOREVER {
            "thep"
        } else {
            "thep-impatient"
        },
        paper: "Morrison and Afek, Fence-Free Work Stealing on Bounded TSO Processors, ASPLOS 2014",
        follows: if APART { "figure 5, and section 5" } else { "figure 5" },
        departures: if APART {
            &[
                "Those of thep.",
                "The thieves' counter is a variable of its own, as section 5 says in passing, which take() loads too.",
            ]
        } else if PATIENCE == FOREVER {
            &[
                "Those of the.",
                "A poll echoes every claim until the owner's next operation; in the paper only pops echo, and a thief waits for ever \
                 for an owner that waits, sleeps or has left.",
            ]
        } else {
            &["Those of thep.", "A thief looks for the echo 256 times, then takes its claim back and is refused."]
        },
        order: Order::Lifo,
        steals: StealOrder::OldestFirst,
        delivery: Delivery::ExactlyOnce,
        capacity: Capacity::Ring,
        may_abort: PATIENCE != FOREVER,
        steal_progress: if PATIENCE == FOREVER { Progress::WaitsForOwner } else { Progress::Blocking },
        stealable: if PATIENCE == FOREVER { Stealable::All } else { Stealable::AllButNewest },
        memory_model: MemoryModel::BoundedTso,
        owner_must_poll: false,
        answers_by_clock: false,
    };

    fn make(capacity: usize, thieves: usize, &delta: &Delta) -> (Self::Owner, Vec<Self::Thief>) {
        assert!(capacity < MAX_CAPACITY, "the capacity is out of range");
        let shared = Arc::new(Shared {
            head: Padded(Head { word: Atomic::new(pack(0, 0)), number: Atomic::new(0), lock: SpinLock::new() }),
            tail: Padded(Atomic::new(0)),
            echo: Padded(Atomic::new(NO_ECHO)),
            // One more, for the spare slot.
            ring: Padded(Ring::new(capacity.max(1) + 1)),
        });
        let thieves = (0..thieves).map(|_| Thief { shared: Arc::clone(&shared), delta }).collect();
        // A limit of 0 makes the first push call `make_room`.
        (Owner { shared, tail: 0, limit: 0, empty_at: 0, rests: false }, thieves)
    }
}

impl<const APART: bool, M: Memory> Owner<APART, M> {
    /// Raises `limit` above T, if there is room.
    #[cold]
    fn make_room(&mut self) -> bool {
        if self.rests {
            self.get_up();
        }
        // E2: pairs with the stores in `steal`.
        // kept over Relaxed: load buffering would let thieves read the next tasks in their slots.
        let (_, head) = unpack(self.shared.head.word.load(Ordering::Acquire));
        let room = self.shared.ring.capacity() as i64 - 1 - count(head, self.tail);
        if room <= 0 {
            return false;
        }
        self.limit = self.tail + room;
        true
    }

    /// Ends the owner's rest, before T may fall again.
    #[cold]
    fn get_up(&mut self) {
        // Relaxed: F'.
        self.shared.echo.store(NO_ECHO, Ordering::Relaxed);
        // F': opposite the fence in `steal`. Without it the next pop's load of H may overtake the store above.
        M::fence(Ordering::SeqCst);
        self.rests = false;
        self.empty_at = NOWHERE;
    }

    /// A pop at `empty_at`.
    #[cold]
    #[inline(never)]
    fn pop_at_rest(&mut self) -> Option<Task> {
        if !self.rests {
            return None;
        }
        self.get_up();
        crate::Owner::pop(self)
    }

    /// Ends a pop that lowered T to `t` and found H above it.
    #[cold]
    #[inline(never)]
    fn pop_at_head(&mut self, t: i64) -> Option<Task> {
        let shared = &*self.shared;
        let _locked = shared.head.lock.lock();
        // Relaxed: read under the lock. No s returns (I6), so the earlier echo would do as well; the store is from the
        // paper.
        shared.echo.store(NO_ECHO, Ordering::Relaxed);
        // Relaxed: written only under the lock.
        let (_, head) = unpack(shared.head.word.load(Ordering::Relaxed));
        if count(head, t) < 0 {
            // Relaxed: thieves read T under the lock too, so L orders it where E1 would.
            shared.tail.store(t + 1, Ordering::Relaxed);
            self.empty_at = t + 1;
            return None;
        }
        self.tail = t;
        shared.ring.read(t as usize)
    }
}

impl<const APART: bool, M: Memory> crate::Owner<Task> for Owner<APART, M> {
    #[inline]
    fn push(&mut self, task: Task) -> Result<(), Full<Task>> {
        if self.tail == self.limit && !self.make_room() {
            return Err(Full(task));
        }
        self.shared.ring.write(self.tail as usize, task);
        self.tail += 1;
        // E1: pairs with the load in `steal`.
        self.shared.tail.store(self.tail, Ordering::Release);
        Ok(())
    }

    #[inline]
    fn pop(&mut self) -> Option<Task> {
        if self.tail == self.empty_at {
            return self.pop_at_rest();
        }
        let t = self.tail - 1;
        // E1: pairs with the load in `steal`.
        self.shared.tail.store(t, Ordering::Release);
        // I5: the processor may let the load below overtake at most δ of these stores; the compiler must let it
        // overtake none.
        M::compiler_fence();
        // E4: pairs with the store in `steal`.
        let number = if APART { self.shared.head.number.load(Ordering::Acquire) } else { 0 };
        // Relaxed: the owner relies on it for nothing that thieves wrote.
        let (s, head) = unpack(self.shared.head.word.load(Ordering::Relaxed));
        let s = if APART { number } else { s };
        if count(head, t) < 0 {
            // B: the lock is between this store of T and the next.
            return self.pop_at_head(t);
        }
        // E3: pairs with the load in `await_echo`. B.
        self.shared.echo.store(u64::from(s), Ordering::Release);
        // Prevents the compiler from merging this store with the next.
        M::compiler_fence();
        self.tail = t;
        self.shared.ring.read(t as usize)
    }

    /// Echoes every claim until the next push or pop.
    fn poll(&mut self) {
        // A thief that claims an index of a queue known to be empty finds out by itself.
        if self.tail != self.empty_at {
            // E3: pairs with the load in `await_echo`.
            self.shared.echo.store(ANY_ECHO, Ordering::Release);
            (self.rests, self.empty_at, self.limit) = (true, self.tail, self.tail);
        }
    }

    fn len_hint(&self) -> usize {
        // Relaxed: a hint.
        let (_, head) = unpack(self.shared.head.word.load(Ordering::Relaxed));
        usize::try_from(count(head, self.tail)).unwrap_or(0)
    }
}

impl<const PATIENCE: u32, const APART: bool, M: Memory> Thief<PATIENCE, APART, M> {
    /// Waits until the owner has shown that it knows of claim `s` on index `head`, or has come down to it.
    #[cold]
    fn await_echo(&self, s: u32, head: u32) -> Steal<()> {
        let shared = &*self.shared;
        // E1: pairs with the stores in `push` and `pop`: an owner at rest may have echoed before it pushed the task.
        let is_below_tail = || count(head, shared.tail.load(Ordering::Acquire)) > 0;
        let mut patience = PATIENCE;
        let mut waiting = Waiting::default();
        loop {
            // E3: pairs with the stores in `pop` and `poll`.
            if [u64::from(s), ANY_ECHO].contains(&shared.echo.load(Ordering::Acquire)) {
                return if is_below_tail() { Steal::Task(()) } else { Steal::Empty };
            }
            if !is_below_tail() {
                return Steal::Empty;
            }
            if PATIENCE == FOREVER {
                waiting.pause::<M>();
            } else if patience == 0 {
                return Steal::Aborted;
            } else {
                // Not the memory's pause: this loop also ends if nothing changes.
                patience -= 1;
                core::hint::spin_loop();
            }
        }
    }
}

impl<const PATIENCE: u32, const APART: bool, M: Memory> crate::Thief<Task> for Thief<PATIENCE, APART, M> {
    #[inline]
    fn steal(&mut self) -> Steal<Task> {
        let shared = &*self.shared;
        let _locked = shared.head.lock.lock();
        // Relaxed: written only under the lock.
        let (s, head) = unpack(shared.head.word.load(Ordering::Relaxed));
        // Relaxed: likewise.
        let s = if APART { shared.head.number.load(Ordering::Relaxed) } else { s }.wrapping_add(1);
        let beside = if APART { 0 } else { s };
        // E2: pairs with the load in `make_room`.
        // kept over Relaxed: load buffering would let reads of slots return the next tasks there.
        shared.head.word.store(pack(beside, head.wrapping_add(1)), Ordering::Release);
        if APART {
            // E4: pairs with the load in `pop`.
            shared.head.number.store(s, Ordering::Release);
        }
        // F: pairs with no fence, only with the bound (I5): the claim is in memory before the thief reads T. F': pairs
        // with the fence in `get_up`.
        M::fence(Ordering::SeqCst);
        // E1: pairs with the stores in `push` and `pop`.
        let is_sure = self.delta.is_beyond(count(head, shared.tail.load(Ordering::Acquire)));
        let answer = if is_sure { Steal::Task(()) } else { self.await_echo(s, head) };
        if answer.is_task() {
            // Under the lock: E2 covers the slots of the earlier steals.
            let task = shared.ring.read(head as usize);
            Steal::Task(task.expect("a slot in [H, T) holds a task"))
        } else {
            // E2: pairs with the load in `make_room`. I6: s stays raised.
            // kept over Relaxed: load buffering would let reads of slots return the next tasks there.
            shared.head.word.store(pack(beside, head), Ordering::Release);
            if answer.is_empty() { Steal::Empty } else { Steal::Aborted }
        }
    }

    #[inline]
    fn has_work_hint(&self) -> bool {
        let head = &self.shared.head;
        // Relaxed, both: whatever orders the push before this call makes both loads recent enough.
        let has_work = || {
            let (_, head) = unpack(head.word.load(Ordering::Relaxed));
            count(head, self.shared.tail.load(Ordering::Relaxed)) > 0
        };
        // A claim may hide a task and be given back. While the lock is free there is no claim; while it is taken, say
        // yes.
        has_work() || head.lock.try_lock().is_none_or(|_locked| has_work())
    }
}
