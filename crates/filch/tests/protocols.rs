//! The answers of filch's protocols without concurrency, which a checker that looks for lost tasks does not examine.
#![allow(clippy::disallowed_types, reason = "tests count; what they test is the algorithm")]

mod common;
#[path = "common/fenced.rs"]
mod fenced;
#[path = "common/owner.rs"]
mod owner;

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::thread;

use common::{wait_for, watchdog};
use fenced::{AT_BARRIER, AT_FENCE, AT_WAIT, Fenced};
use filch::inside::protocol::beat::{Clock, Due};
use filch::inside::protocol::grain::{self, Grain, Time};
use filch::inside::protocol::latch::{Latch, Waiter};
use filch::inside::protocol::limits::Limits;
use filch::inside::protocol::seize::{Head, Turn};
use filch::inside::protocol::sharer::{Sharer, Wakes};
use filch::inside::protocol::sleep::{ANY, ANY_MEANWHILE, Dormitory, PERHAPS, Sleepers, Wanted};
use filch::inside::protocol::split::{self, Sharing};
use filch::inside::protocol::state::{JobState, Settled, Status, Taking, Theft};
use filch::inside::protocol::termination::TaskCounts;
use filch::inside::protocol::ticks::{Tick, Ticks};
use filch::inside::protocol::waiting::{Backoff, Joiner, Searcher, Sleeper, await_job, has_pushed, search, wake_next};
use filch::inside::protocol::wool;
use filch::inside::protocol::{private, public};
use filch_memory::{Asymmetric, Native};
use filch_queue::lace::index::{Moves, SharedIndex, StealIndex};
use filch_queue::{Amount, Padded};

type Owner = owner::Owner<Native>;

/// Counts its wake-ups.
#[derive(Clone, Default)]
struct Woken(Arc<AtomicUsize>);

impl Waiter for Woken {
    fn wake(&self) {
        self.0.fetch_add(1, SeqCst);
    }
}

#[test]
fn a_latch_wakes_its_waiter_at_the_last_end_only() {
    let woken = Woken::default();
    let latch = Latch::<Native, _>::new(1, woken.clone());
    latch.add(2);
    for ended in 0..3 {
        assert_eq!((latch.pending(), latch.is_over(), woken.0.load(SeqCst)), (3 - ended, false, 0));
        // SAFETY: the latch is alive, and this ends one of three.
        unsafe { Latch::end(&raw const latch) };
    }
    assert_eq!((latch.pending(), latch.is_over(), woken.0.load(SeqCst)), (0, true, 1));
}

#[test]
fn a_tick_raises_every_flag_and_returns_whether_one_was_lowered() {
    let flags: Vec<Arc<Due<Native>>> = (0..3).map(|_| Arc::new(Due::new(false))).collect();
    let clock = Clock::new(flags.iter().map(Arc::clone));
    clock.tick();
    assert!(!clock.tick(), "nobody has lowered a flag since");
    flags[0].lower();
    flags[2].lower();
    assert!(clock.tick());
    assert!(flags.iter().all(|flag| flag.is_raised()));
    assert!(!clock.tick());
}

#[test]
fn a_clock_ticks_whenever_a_flag_is_lowered_and_ends_when_closed() {
    let _watchdog = watchdog("a clock");
    let flag = Arc::new(Due::<Native>::new(true));
    let clock = Clock::new([Arc::clone(&flag)]);
    let ticks = AtomicUsize::new(0);
    thread::scope(|s| {
        s.spawn(|| clock.run(|| _ = ticks.fetch_add(1, SeqCst)));
        for _ in 0..3 {
            wait_for("a tick", || flag.is_raised());
            let before = ticks.load(SeqCst);
            flag.lower();
            clock.taken();
            wait_for("a tick", || ticks.load(SeqCst) > before);
        }
        clock.close();
    });
}

#[test]
fn limits_admit_the_heads_between_them_until_a_request() {
    let limits = Limits::<Native>::closed();
    let admits = |limits: &Limits<Native>| {
        ([4, 5, 9].map(|head| limits.admits_pop(head)), [4, 9, 10].map(|head| limits.admits_push(head)))
    };
    let (none, pops, pushes) = ([false; 3], [false, true, true], [true, true, false]);
    assert_eq!((admits(&limits), limits.is_wanted()), ((none, none), false));
    limits.open(10, 5);
    assert_eq!((admits(&limits), limits.is_wanted()), ((pops, pushes), false));
    assert!(limits.request(|| 7));
    assert_eq!((admits(&limits), limits.is_wanted()), ((none, none), true));
    assert!(!limits.request(|| 8), "a request is pending");
    assert_eq!(limits.asked_at(), Some(7));
    limits.close();
    assert_eq!((admits(&limits), limits.is_wanted(), limits.asked_at()), ((none, none), false, None));
    assert!(!limits.request(|| 8), "nothing is admitted anyway");
    assert!(!limits.is_wanted());
    // One of the two is overwritten, and the request is made again.
    limits.open(10, 5);
    limits.stop_next_push();
    assert_eq!((admits(&limits), limits.is_wanted()), ((pops, none), true));
    assert!(limits.request(|| 7));
    assert_eq!((admits(&limits), limits.is_wanted()), ((none, none), true));
    limits.stop_pops();
    assert_eq!((admits(&limits), limits.is_wanted()), ((none, none), true));
    assert!(limits.request(|| 7));
    assert!(!limits.request(|| 7));
    limits.open(10, 5);
    limits.stop_pops();
    assert_eq!((admits(&limits), limits.is_wanted()), ((none, pushes), false));
}

#[test]
fn reopened_limits_return_whether_anybody_sleeps() {
    let limits = Limits::<Native>::closed();
    let mut owner = Owner::with(2);
    assert!(!limits.reopen(&owner, 10, 5));
    assert!(limits.admits_push(9) && limits.admits_pop(5));
    owner.lays_down(1, ANY);
    assert!(limits.reopen(&owner, 10, 5));
    assert!(limits.admits_push(9) && limits.admits_pop(5));
    owner.has_aside = true;
    assert!(limits.reopen(&owner, 10, 5));
    assert!(limits.admits_push(9) && !limits.admits_pop(9), "each pop must see the forks that are aside");
}

#[test]
fn sleepers_wake_for_what_they_want_and_none_while_one_searches() {
    let owner = Owner::with(5);
    let (dormitory, sleepers) = (&owner.dormitory, owner.dormitory.sleepers());
    assert!(!sleepers.sleepers_after() && !sleepers.any() && !sleepers.is_searched());
    for (place, wanted) in [(0, 3), (1, PERHAPS), (2, ANY_MEANWHILE), (3, ANY), (4, ANY)] {
        owner.lays_down(place, wanted);
    }
    assert!(sleepers.sleepers_after() && sleepers.any() && !sleepers.is_searched());
    // Idle workers first, from the given number on. Each then searches.
    assert!(dormitory.wake_for_any(4) && sleepers.is_searched());
    assert_eq!(owner.asleep(), [0, 1, 2, 3]);
    assert!(!dormitory.wake_for_any(0), "a worker searches");
    sleepers.end_search();
    assert!(dormitory.wake_for_any(4) && sleepers.is_searched());
    assert_eq!(owner.asleep(), [0, 1, 2]);
    // Workers that want just this, and then those that perhaps can take it, do not wait for the searcher.
    assert!(!dormitory.wake_for_any(2));
    assert!(dormitory.wake_for_stack(3));
    assert_eq!(owner.asleep(), [1, 2]);
    sleepers.end_search();
    assert!(!sleepers.is_searched());
    assert!(dormitory.wake_for_stack(3) && !sleepers.is_searched());
    assert_eq!(owner.asleep(), [1]);
    assert!(!dormitory.wake_for_any(0));
    assert!(dormitory.wake_for_stack(3));
    assert!(!sleepers.sleepers_after() && !dormitory.wake_for_stack(3));
    // A number beyond all places counts as 0.
    owner.lays_down(0, ANY);
    owner.lays_down(1, ANY);
    assert!(dormitory.wake_for_any(9));
    assert_eq!(owner.asleep(), [1]);
}

#[test]
fn a_notification_wakes_its_worker_whatever_it_wants() {
    let owner = Owner::with(3);
    let (dormitory, sleepers) = (&owner.dormitory, owner.dormitory.sleepers());
    owner.lays_down(0, 2);
    owner.lays_down(1, ANY_MEANWHILE);
    owner.lays_down(2, ANY);
    dormitory.notify(1);
    assert_eq!((owner.asleep(), sleepers.is_searched()), (vec![0, 2], false));
    dormitory.notify_all();
    assert_eq!((owner.asleep(), sleepers.any(), sleepers.is_searched()), (vec![], false, true));
    sleepers.end_search();
    // A worker that cancels its sleep is not counted any more, and learns whether it has been woken meanwhile.
    owner.lays_down(0, 1);
    assert!(!dormitory.place(0).cancel(sleepers) && !sleepers.any() && !sleepers.is_searched());
    owner.lays_down(0, ANY);
    assert!(!dormitory.place(0).cancel(sleepers) && !sleepers.any() && sleepers.is_searched());
    sleepers.end_search();
    owner.lays_down(0, 1);
    dormitory.notify(0);
    assert!(dormitory.place(0).cancel(sleepers) && !sleepers.any());
    // A woken worker does not sleep.
    dormitory.place(0).sleep();
}

#[test]
fn a_worker_sleeps_until_it_is_woken() {
    let _watchdog = watchdog("a sleeper");
    let (owner, is_awake) = (Owner::with(1), AtomicUsize::new(0));
    let (dormitory, is_awake) = (&owner.dormitory, &is_awake);
    owner.lays_down(0, ANY);
    thread::scope(|s| {
        s.spawn(move || {
            dormitory.place(0).sleep();
            is_awake.store(1, SeqCst);
        });
        // Long enough for a thread that does not sleep to show that now and then.
        thread::sleep(std::time::Duration::from_millis(20));
        assert_eq!(is_awake.load(SeqCst), 0);
        dormitory.notify(0);
    });
}

#[test]
fn a_clock_at_rest_is_woken_for_a_tick() {
    let _watchdog = watchdog("a clock");
    let ticks = Ticks::<Native>::new(1);
    thread::scope(|s| {
        s.spawn(|| ticks.clock().run(|| ticks.make()));
        for _ in 0..20 {
            // The clock usually rests after this time.
            thread::sleep(std::time::Duration::from_millis(1));
            ticks.want();
            wait_for("a tick", || ticks.take(0) == Tick::Made);
        }
        ticks.clock().close();
    });
}

#[test]
fn all_is_done_when_every_worker_has_done_its_pieces() {
    let workers: [TaskCounts<Native>; 2] = Default::default();
    assert!(TaskCounts::all_done(&workers) && TaskCounts::all_home(&workers));
    workers[0].created(3);
    for left in (0..3).rev() {
        assert!(!TaskCounts::all_done(&workers));
        workers[left % 2].finished();
    }
    assert!(TaskCounts::all_done(&workers));
    workers[1].set_out();
    assert!(!TaskCounts::all_home(&workers));
    workers[1].come_home();
    assert!(TaskCounts::all_home(&workers));
}

#[test]
fn a_job_counts_its_steals_whatever_happens_to_its_offers() {
    let state = JobState::<Native>::default();
    for count in 1..=3 {
        state.offer();
        assert_eq!(state.take(), Taking::Taken);
        state.put_back();
        assert!(state.retract() && state.is_fresh());
        state.offer();
        assert_eq!(state.take(), Taking::Taken);
        state.claim(2, 7);
        assert_eq!(state.status(), Status::Stolen(Theft { thief: 2, base: 7, count }));
        assert!(!state.give_back());
        assert_eq!(state.status(), Status::Returned);
        state.reset();
    }
}

/// A split stack of slots of 10 bytes from address 100 on, with its sharer and the thieves' view.
struct Shared {
    index: SharedIndex<Native>,
    limits: Limits<Native>,
    owner: Owner,
}

impl Shared {
    fn stack(&self) -> split::Stack<'_, Native> {
        let Self { index, limits, .. } = self;
        split::Stack { shared: index, limits, bottom: 100, slot_size: 10, capacity: 4 }
    }

    /// Returns up to where the limits admit pushes, and from where on pops.
    fn open(&self) -> (usize, usize) {
        let heads = || (0..=6).map(|index| 100 + 10 * index);
        let pushes = heads().filter(|&head| self.limits.admits_push(head)).count();
        (pushes, 7 - heads().filter(|&head| self.limits.admits_pop(head)).count())
    }

    /// Pushes the task at `index` with a push that the owner must see; returns how far the limits are open afterwards.
    fn told(&self, stack: &mut split::Owner, index: usize) -> (usize, usize) {
        self.limits.stop_next_push();
        stack.pushed(&self.stack(), &self.owner, index);
        self.open()
    }

    fn steal(&self) -> Option<u32> {
        match self.index.steal() {
            StealIndex::Index(index) => Some(index),
            _ => None,
        }
    }
}

#[test]
fn a_split_stack_shares_half_of_its_private_part_on_request() {
    let (index, mut stack) = split::Owner::new::<Native>(Moves::default(), Sharing::default());
    let shared = Shared { index, limits: Limits::closed(), owner: Owner::with(2) };
    let grown = || (shared.owner.grown.get(), shared.owner.shrunk.get());
    // The first task is shared; then everything is private.
    stack.pushed(&shared.stack(), &shared.owner, 0);
    assert_eq!((shared.open(), grown(), shared.steal()), ((4, 1), (0, 0), Some(0)));
    // A request at a push shares two of three private tasks, then the only one; nothing above the end is shared.
    shared.limits.request(|| 7);
    stack.pushed(&shared.stack(), &shared.owner, 3);
    assert_eq!((shared.open(), grown()), ((4, 3), (1, 0)));
    stack.give(&shared.stack(), &shared.owner, 6, Amount::Half);
    assert_eq!((shared.open(), grown()), ((4, 4), (2, 0)));
    stack.give(&shared.stack(), &shared.owner, 6, Amount::Half);
    assert_eq!(grown(), (2, 0), "nothing is private");
    assert_eq!((shared.steal(), shared.steal()), (Some(1), Some(2)));
    // The owner takes back the last one; the others are stolen.
    assert!(stack.take_back(&shared.stack(), &shared.owner, 3));
    assert_eq!((shared.open(), grown(), shared.steal()), ((4, 3), (2, 1), None));
    assert!(!stack.take_back(&shared.stack(), &shared.owner, 2));
    assert!(shared.index.is_all_stolen() && shared.open() == (0, 7));
    assert!(!stack.take_back(&shared.stack(), &shared.owner, 1));
    stack.joined(&shared.stack());
    // A task beyond the end is not part of the stack.
    stack.pushed(&shared.stack(), &shared.owner, 4);
    assert!(shared.index.is_all_stolen() && shared.open() == (0, 7));
    // A request at a pop with only private tasks shares those below.
    stack.pushed(&shared.stack(), &shared.owner, 0);
    assert_eq!(shared.steal(), Some(0));
    shared.limits.request(|| 7);
    assert!(stack.take_back(&shared.stack(), &shared.owner, 3));
    assert_eq!((shared.open(), grown(), shared.steal()), ((4, 2), (3, 1), Some(1)));
    // Without a request nothing is shared.
    assert!(stack.take_back(&shared.stack(), &shared.owner, 2));
    assert_eq!((shared.open(), grown(), shared.steal()), ((4, 2), (3, 1), None));
    stack.joined(&shared.stack());
    assert!(shared.index.is_all_stolen() && shared.open() == (0, 7));
    // A request at a push above two private tasks shares one of them.
    stack.pushed(&shared.stack(), &shared.owner, 0);
    shared.limits.request(|| 7);
    stack.pushed(&shared.stack(), &shared.owner, 2);
    assert_eq!(shared.open(), (4, 2));
    // With nothing to give, the limits do not change.
    shared.limits.stop_pops();
    stack.give(&shared.stack(), &shared.owner, 2, Amount::Half);
    assert_eq!(shared.open(), (4, 7));
    // A pop without a request shares nothing; one with a request wakes a sleeper.
    stack.joined(&shared.stack());
    stack.pushed(&shared.stack(), &shared.owner, 0);
    assert!(stack.take_back(&shared.stack(), &shared.owner, 3));
    assert_eq!((shared.open(), shared.owner.woken.get()), ((4, 1), 0));
    shared.owner.lays_down(1, ANY);
    shared.limits.request(|| 7);
    assert!(stack.take_back(&shared.stack(), &shared.owner, 3));
    assert_eq!((shared.open(), shared.owner.woken.get()), ((4, 2), 1));
}

#[test]
fn tasks_are_coarse_until_enough_fast_joins_and_again_after_a_long_wait() {
    let (owner, limits) = (Owner::of_two(), Limits::<Native>::closed());
    let mut grain = Grain::new();
    let joins = |grain: &mut Grain, ticks: &[Time]| {
        let join = |&ticks: &Time| {
            owner.now.set(owner.now.get() + ticks);
            grain.is_fine_after(&owner)
        };
        ticks.iter().map(join).collect::<Vec<_>>()
    };
    assert!(!grain.is_coarse());
    grain.begin(&owner);
    assert!(grain.is_coarse());
    // The length of the first one is unknown.
    assert_eq!(joins(&mut grain, &[500, 10, 10, 11]), [false; 4]);
    assert_eq!(joins(&mut grain, &[10, 10, 10]), [false, false, true]);
    assert!(!grain.is_coarse());
    // A request is answered in time; then it is not.
    limits.open(10, 5);
    assert!(!grain.is_overdue(&limits, &owner), "there is no request");
    limits.request(|| owner.now.get());
    owner.now.set(owner.now.get() + 99);
    assert!(!grain.is_overdue(&limits, &owner) && !grain.is_coarse());
    owner.now.set(owner.now.get() + 1);
    assert!(grain.is_overdue(&limits, &owner) && grain.is_coarse());
    assert_eq!(joins(&mut grain, &[0, 0, 0, 0]), [false, false, false, true]);
    // There is no other worker to share with.
    let alone = Owner { dormitory: Dormitory::new(1), ..Owner::of_two() };
    grain.begin(&alone);
    assert!(!grain.is_coarse() && !grain.is_overdue(&limits, &alone));
}

#[test]
fn a_split_stack_of_coarse_tasks_shares_them_all() {
    let (index, mut stack) = split::Owner::new::<Native>(Moves::default(), Sharing::default());
    let shared = Shared { index, limits: Limits::closed(), owner: Owner::of_two() };
    const CLOSED: (usize, usize) = (0, 7);
    let left = || shared.index.has_shared();
    stack.begin(&shared.stack(), &shared.owner);
    for index in 0..3 {
        assert_eq!(shared.open(), CLOSED);
        stack.pushed(&shared.stack(), &shared.owner, index);
        assert!(left());
    }
    // Nothing beyond the end can be shared.
    stack.pushed(&shared.stack(), &shared.owner, 3);
    stack.pushed(&shared.stack(), &shared.owner, 4);
    assert!(stack.take_back(&shared.stack(), &shared.owner, 4));
    assert_eq!((shared.open(), shared.steal()), (CLOSED, Some(0)));
    // One task at a time is taken back, and the others stay shared.
    assert!(stack.take_back(&shared.stack(), &shared.owner, 3));
    assert_eq!((shared.open(), left()), (CLOSED, true));
    assert!(stack.take_back(&shared.stack(), &shared.owner, 2));
    assert_eq!((shared.open(), left()), (CLOSED, true));
    // The fourth join ends the window: forks are now private.
    stack.pushed(&shared.stack(), &shared.owner, 2);
    assert!(stack.take_back(&shared.stack(), &shared.owner, 2));
    assert_eq!((shared.open(), shared.steal(), shared.steal()), ((4, 2), Some(1), None));
    // For a sleeper the next push shares everything, and then each push shares its task.
    shared.owner.lays_down(1, ANY);
    shared.limits.stop_next_push();
    stack.pushed(&shared.stack(), &shared.owner, 3);
    assert_eq!((shared.open(), shared.owner.asleep()), (CLOSED, vec![]));
    assert_eq!((shared.steal(), shared.steal(), shared.steal()), (Some(2), Some(3), None));
    // Everything is stolen: the next task may be of any grain.
    assert!(!stack.take_back(&shared.stack(), &shared.owner, 3));
    stack.joined(&shared.stack());
    stack.pushed(&shared.stack(), &shared.owner, 3);
    assert_eq!((shared.open(), left()), (CLOSED, true));
}

#[test]
fn a_split_stack_is_coarse_from_its_first_task_on_and_fine_while_joins_are_private() {
    let (index, mut stack) = split::Owner::new::<Native>(Moves::default(), Sharing::default());
    let shared = Shared { index, limits: Limits::closed(), owner: Owner::of_two() };
    stack.pushed(&shared.stack(), &shared.owner, 0);
    assert_eq!(shared.open(), (0, 7));
    for _ in 0..4 {
        stack.pushed(&shared.stack(), &shared.owner, 1);
        assert!(stack.take_back(&shared.stack(), &shared.owner, 1));
    }
    assert_eq!(shared.open(), (4, 1));
    let grown = shared.owner.grown.get();
    // These are slow, but private.
    for _ in 0..9 {
        shared.owner.now.set(shared.owner.now.get() + 1000);
        shared.limits.request(|| shared.owner.now.get());
        assert!(stack.take_back(&shared.stack(), &shared.owner, 1));
        assert_eq!((shared.open(), shared.owner.grown.get()), ((4, 1), grown));
    }
}

/// Creates a stack whose owner keeps its forks above the task at `index` 0, which is shared.
fn fine(owner: Owner) -> (split::Owner, Shared) {
    let (index, mut stack) = split::Owner::new::<Native>(Moves::default(), Sharing::default());
    let shared = Shared { index, limits: Limits::closed(), owner };
    stack.pushed(&shared.stack(), &shared.owner, 0);
    for _ in 0..=shared.owner.grain.window {
        stack.pushed(&shared.stack(), &shared.owner, 1);
        assert!(stack.take_back(&shared.stack(), &shared.owner, 1));
    }
    (stack, shared)
}

#[test]
fn a_request_makes_a_split_stack_share_all_until_some_joins_are_fast() {
    let (mut stack, shared) = fine(Owner::of_two());
    assert_eq!((shared.open(), shared.steal()), ((4, 1), Some(0)));
    shared.limits.request(|| 7);
    stack.pushed(&shared.stack(), &shared.owner, 2);
    assert_eq!(shared.open(), (0, 7), "in doubt");
    stack.pushed(&shared.stack(), &shared.owner, 3);
    assert_eq!(std::iter::from_fn(|| shared.steal()).collect::<Vec<_>>(), [1, 2, 3], "all, and later forks");
    // After all tasks were stolen, the next ones are most likely of the same kind: two joins suffice instead of four.
    stack.joined(&shared.stack());
    stack.pushed(&shared.stack(), &shared.owner, 0);
    for open in [(0, 7), (4, 1)] {
        stack.pushed(&shared.stack(), &shared.owner, 1);
        assert!(stack.take_back(&shared.stack(), &shared.owner, 1));
        assert_eq!(shared.open(), open);
    }
    // While nobody takes the shared tasks, an owner does not doubt.
    shared.limits.request(|| 7);
    stack.pushed(&shared.stack(), &shared.owner, 2);
    assert_eq!(shared.open(), (4, 2), "one of two that were private");
}

#[test]
fn a_pop_without_a_private_task_takes_half_of_the_shared_ones_back() {
    for (shares, left) in [(4, 2), (3, 1), (2, 1), (1, 0)] {
        let (mut stack, shared) = fine(Owner { grain: Owner::of_two().grain, ..Owner::with(5) });
        stack.give(&shared.stack(), &shared.owner, shares, Amount::All);
        // However many look for some.
        for place in 1..=3 {
            shared.owner.lays_down(place, PERHAPS);
        }
        assert!(stack.take_back(&shared.stack(), &shared.owner, shares - 1));
        let kept = std::iter::from_fn(|| shared.steal()).count();
        assert_eq!(kept, left, "of {shares}");
    }
}

#[test]
fn sleepers_wait_for_the_next_push_if_nothing_is_shared() {
    let team = || Owner { grain: Owner::of_two().grain, ..Owner::with(5) };
    let three_sleep = |shared: &Shared| (1..4).for_each(|place| shared.owner.lays_down(place, ANY));
    // Nothing is shared.
    let (mut stack, shared) = fine(team());
    three_sleep(&shared);
    assert!(stack.take_back(&shared.stack(), &shared.owner, 0));
    assert_eq!((shared.open(), shared.owner.asleep()), ((0, 0), vec![1, 2, 3]));
    // The push shares its task and all later ones, and wakes one sleeper, which wakes the next.
    stack.pushed(&shared.stack(), &shared.owner, 0);
    assert_eq!((shared.open(), shared.owner.asleep()), ((0, 7), vec![2, 3]));
    // It is enough, even for more workers.
    for _ in 0..2 {
        stack.pushed(&shared.stack(), &shared.owner, 1);
        assert!(stack.take_back(&shared.stack(), &shared.owner, 1));
    }
    assert_eq!(shared.open(), (4, 1));
    assert_eq!(shared.told(&mut stack, 2), (4, 2), "no doubt");
    // Once it is stolen, it is not.
    assert_eq!((shared.steal(), shared.steal()), (Some(0), Some(1)));
    assert_eq!(shared.told(&mut stack, 3), (0, 7), "in doubt");
    // Nobody is woken for a task beyond the end.
    shared.owner.dormitory.sleepers().end_search();
    stack.pushed(&shared.stack(), &shared.owner, 4);
    assert_eq!(shared.owner.asleep(), [2, 3]);
    // An owner that never doubts wakes a worker for anything it shares.
    let (mut stack, shared) = fine(Owner::with(5));
    assert_eq!(shared.steal(), Some(0));
    three_sleep(&shared);
    stack.give(&shared.stack(), &shared.owner, 2, Amount::All);
    assert_eq!((shared.open(), shared.owner.asleep()), ((4, 2), vec![2, 3]));
}

#[test]
fn a_stack_that_begins_coarse_admits_nothing() {
    let (mut stack, shared) = fine(Owner::of_two());
    assert!(stack.take_back(&shared.stack(), &shared.owner, 0));
    assert_eq!(shared.open(), (4, 0));
    stack.begin(&shared.stack(), &shared.owner);
    assert_eq!(shared.open(), (0, 7));
}

#[test]
fn the_only_worker_keeps_its_tasks_from_the_first_on() {
    for (sharing, open) in [(Sharing::ByGrain, (4, 0)), (Sharing::OnRequest(Amount::Half), (0, 7))] {
        let (index, mut stack) = split::Owner::new::<Native>(Moves::default(), sharing);
        let owner = Owner { dormitory: Dormitory::new(1), ..Owner::of_two() };
        let shared = Shared { index, limits: Limits::closed(), owner };
        stack.begin(&shared.stack(), &shared.owner);
        assert_eq!(shared.open(), open, "{sharing:?}: the paper's owner shares its first task");
        stack.begin(&shared.stack(), &shared.owner);
        assert_eq!(shared.open(), open, "{sharing:?}: again");
    }
    // It shares on request all the same.
    let (index, mut stack) = split::Owner::new::<Native>(Moves::default(), Sharing::ByGrain);
    let owner = Owner { dormitory: Dormitory::new(1), ..Owner::of_two() };
    let shared = Shared { index, limits: Limits::closed(), owner };
    stack.begin(&shared.stack(), &shared.owner);
    assert_eq!(shared.steal(), None);
    stack.give(&shared.stack(), &shared.owner, 2, Amount::All);
    assert_eq!(std::iter::from_fn(|| shared.steal()).collect::<Vec<_>>(), [0, 1]);
}

#[test]
fn an_overdue_request_makes_a_split_stack_share_all() {
    let (index, mut stack) = split::Owner::new::<Native>(Moves::default(), Sharing::default());
    let shared =
        Shared { index, limits: Limits::closed(), owner: Owner { grain: grain::Params::FINE, ..Owner::with(2) } };
    stack.pushed(&shared.stack(), &shared.owner, 0);
    assert_eq!(shared.steal(), Some(0));
    let shared = Shared { owner: Owner::of_two(), ..shared };
    shared.limits.request(|| shared.owner.now.get());
    shared.owner.now.set(shared.owner.now.get() + 200);
    stack.pushed(&shared.stack(), &shared.owner, 3);
    assert_eq!(shared.open(), (0, 7));
    assert_eq!(std::iter::from_fn(|| shared.steal()).count(), 3, "all, not half");
}

#[test]
fn a_thief_shares_all_tasks_below_an_owners_head() {
    let (mut stack, shared) = fine(Owner::of_two());
    let thief = Owner::of_two();
    assert_eq!(shared.steal(), Some(0));
    assert!(!shared.index.has_private(1) && shared.index.has_private(2));
    assert_eq!(stack.seized(&shared.stack(), &thief, 1), 0, "nothing is private below");
    assert_eq!(shared.open(), (4, 1));
    // Tasks beyond the end are aside.
    assert_eq!(stack.seized(&shared.stack(), &thief, 6), 3);
    assert_eq!(shared.open(), (0, 7));
    assert_eq!(std::iter::from_fn(|| shared.steal()).collect::<Vec<_>>(), [1, 2, 3]);
    // From now on its tasks count as coarse, even one being pushed meanwhile.
    let (mut stack, shared) = fine(Owner::of_two());
    assert_eq!(stack.seized(&shared.stack(), &thief, 2), 1);
    assert!(stack.take_back(&shared.stack(), &shared.owner, 2), "private, though all is to be shared");
    stack.pushed(&shared.stack(), &shared.owner, 2);
    assert_eq!((shared.open(), std::iter::from_fn(|| shared.steal()).count()), ((0, 7), 3));
    // Everything is stolen: there is nothing to share.
    assert!(!stack.take_back(&shared.stack(), &shared.owner, 2) && !shared.index.has_private(9));
    assert_eq!(stack.seized(&shared.stack(), &thief, 3), 0);
}

#[test]
fn an_owner_excludes_thieves_and_thieves_exclude_each_other() {
    let (turn, limits) = (Turn::<Native>::new(), Limits::<Native>::closed());
    if !Native::prepare_barriers() {
        return;
    }
    let seize = |thief| turn.seize(thief, &limits, || 7, || thief);
    limits.open(200, 100);
    let inside = turn.enter();
    assert_eq!((seize(0), limits.is_asked()), (None, false));
    drop(inside);
    assert_eq!((seize(0), limits.is_asked(), limits.asked_at()), (Some(0), true, Some(7)));
    let seized = turn.seize(1, &limits, || 7, || (seize(0), seize(1), seize(2)));
    assert_eq!((seized, seize(2)), (Some((None, None, None)), Some(2)));
    let claimed = || {
        assert_eq!(seize(1), None, "another thief has claimed it");
        7
    };
    limits.open(200, 100);
    assert_eq!(turn.seize(0, &limits, claimed, || ()), Some(()));
    // The owner enters between a thief's claim and its turn, and again before the turn ends: then it waits.
    let (has_come, is_over) = (AtomicBool::new(false), AtomicBool::new(false));
    limits.open(200, 100);
    let overtaken = turn.seize(
        2,
        &limits,
        || {
            drop(turn.enter());
            7
        },
        || unreachable!("the owner has been there"),
    );
    assert_eq!(overtaken, None);
    thread::scope(|s| {
        let seized = turn.seize(
            0,
            &limits,
            || 7,
            || {
                s.spawn(|| {
                    has_come.store(true, SeqCst);
                    let _turn = turn.enter();
                    assert!(is_over.load(SeqCst), "two have the turn");
                });
                wait_for("the owner", || has_come.load(SeqCst));
                thread::sleep(std::time::Duration::from_millis(5));
                is_over.store(true, SeqCst);
            },
        );
        assert_eq!(seized, Some(()));
    });
    assert_eq!(seize(0), Some(0));
}

#[test]
fn a_head_is_seen_at_every_place() {
    let mut slots = [0; 3];
    let bottom = slots.as_mut_ptr();
    let head = Head::<Native, _>::new(bottom);
    head.rise(bottom.wrapping_add(2));
    assert_eq!((head.get(), head.seen()), (bottom.wrapping_add(2), bottom.wrapping_add(2)));
    head.fall(bottom.wrapping_add(1));
    assert_eq!((head.get(), head.seen()), (bottom.wrapping_add(1), bottom.wrapping_add(1)));
}

/// Wool's stack with slots of 10 bytes from address 100 on, as its owner and its thieves see it.
struct Public {
    shared: wool::Shared<Native>,
    states: Vec<JobState<Native>>,
    limits: Limits<Native>,
    owner: Owner,
}

/// An owner whose tasks are stolen as soon as they are public.
struct Robbed<'s>(&'s Public);

impl Sharer for Robbed<'_> {
    type Memory = Native;

    fn sleepers(&self) -> &Sleepers<Native> {
        self.0.owner.sleepers()
    }

    fn workers(&self) -> usize {
        self.0.owner.workers()
    }

    fn wake_after(&self, wakes: Wakes) {
        self.0.owner.wake_after(wakes);
    }

    fn has_aside(&self) -> bool {
        self.0.owner.has_aside
    }

    fn note_growth(&self) {
        self.0.owner.note_growth();
        let states = |index: u32| &self.0.states[index as usize];
        while let StealIndex::Index(index) = self.0.shared.steal(states) {
            states(index).claim(1, 0);
        }
    }

    fn note_shrinking(&self) {
        self.0.owner.note_shrinking();
    }

    fn now(&self) -> Time {
        self.0.owner.now()
    }

    fn grain(&self) -> grain::Params {
        self.0.owner.grain()
    }
}

impl Public {
    fn new(params: wool::Params, owner: Owner) -> (Self, public::Owner) {
        let (shared, stack) = public::Owner::new::<Native>(params, 4);
        let states = (0..4).map(|_| JobState::default()).collect();
        (Self { shared, states, limits: Limits::closed(), owner }, stack)
    }

    fn stack<'s>(&'s self) -> public::Stack<'s, Native, impl Fn(u32) -> &'s JobState<Native>> {
        let state_at = |index| &self.states[index as usize];
        public::Stack { shared: &self.shared, limits: &self.limits, state_at, bottom: 100, slot_size: 10, capacity: 4 }
    }

    /// Returns up to where the limits admit pushes, and from where on pops.
    fn open(&self) -> (usize, usize) {
        let heads = || (0..=6).map(|index| 100 + 10 * index);
        let pushes = heads().filter(|&head| self.limits.admits_push(head)).count();
        (pushes, 7 - heads().filter(|&head| self.limits.admits_pop(head)).count())
    }

    fn offered(&self) -> Vec<usize> {
        (0..4).filter(|&index| self.states[index].status() == Status::Offered).collect()
    }
}

#[test]
fn wools_stack_offers_all_coarse_tasks() {
    let params = wool::Params { chunk: 1, privatise_after: 100 };
    let (public, mut stack) = Public::new(params, Owner::of_two());
    stack.begin(&public.stack(), &public.owner);
    assert_eq!((stack.public(), public.open().0), (4, 0));
    for index in 0..5 {
        stack.pushed(&public.stack(), &public.owner, index);
        assert_eq!(public.open().0, 0, "each pushed task is public");
    }
    assert_eq!(public.offered(), [0, 1, 2, 3]);
    // The owner takes back the task beyond the end, and pushes stay closed.
    assert!(stack.take_back(&public.stack(), &public.owner, 4));
    for index in [3, 2, 1] {
        assert_eq!(public.open().0, 0);
        assert!(stack.take_back(&public.stack(), &public.owner, index));
    }
    assert_eq!((stack.public(), public.offered()), (4, vec![0]));
    // The fourth join of a public task ends the window: the boundary comes down.
    stack.pushed(&public.stack(), &public.owner, 1);
    assert!(stack.take_back(&public.stack(), &public.owner, 1));
    assert_eq!((stack.public(), public.offered()), (2, vec![0]));
    stack.pushed(&public.stack(), &public.owner, 1);
    assert_eq!((public.open(), public.offered()), ((4, 2), vec![0, 1]));
    // With two private tasks and a sleeper, the next push offers all.
    public.owner.lays_down(1, ANY);
    public.limits.stop_next_push();
    stack.pushed(&public.stack(), &public.owner, 3);
    assert_eq!((stack.public(), public.offered(), public.open()), (4, vec![0, 1, 2, 3], (0, 4)));
    assert!(public.owner.asleep().is_empty());
}

#[test]
fn an_overdue_request_makes_wools_owner_offer_all() {
    for waits in [99, 100] {
        let (public, mut stack) = Public::new(wool::Params { chunk: 1, privatise_after: 100 }, Owner::of_two());
        stack.pushed(&public.stack(), &public.owner, 0);
        assert_eq!(public.shared.steal(|index| &public.states[index as usize]), StealIndex::Index(0));
        public.states[0].claim(1, 0);
        public.limits.request(|| public.owner.now.get());
        public.owner.now.set(public.owner.now.get() + waits);
        stack.pushed(&public.stack(), &public.owner, 2);
        let (all, a_chunk) = (vec![1, 2], vec![1]);
        assert_eq!(public.offered(), if waits < 100 { a_chunk } else { all });
    }
}

/// Three forks, all private but the first, which is stolen: more only on request, and never all.
#[test]
fn wools_owner_by_chunks_offers_a_chunk_on_request() {
    let (public, stack) = Public::new(wool::Params { chunk: 1, privatise_after: 100 }, Owner::of_two());
    let mut stack = stack.by_chunks();
    stack.begin(&public.stack(), &public.owner);
    stack.pushed(&public.stack(), &public.owner, 0);
    assert_eq!(public.shared.steal(|index| &public.states[index as usize]), StealIndex::Index(0));
    public.states[0].claim(1, 0);
    stack.pushed(&public.stack(), &public.owner, 2);
    assert_eq!(public.offered(), [0_usize; 0], "nobody has asked");
    public.limits.request(|| public.owner.now.get());
    public.owner.now.set(public.owner.now.get() + 1000);
    stack.pushed(&public.stack(), &public.owner, 2);
    assert_eq!((stack.public(), public.offered()), (2, vec![1]));
}

#[test]
fn wools_stack_answers_at_pushes_pops_and_polls() {
    let (public, mut stack) = Public::new(wool::Params { chunk: 1, privatise_after: 100 }, Owner::with(2));
    let steal = |index: u32| {
        let stolen = public.shared.steal(|index| &public.states[index as usize]);
        assert_eq!(stolen, StealIndex::Index(index as _));
        public.states[index as usize].claim(1, 0);
        assert!(public.limits.request(|| public.owner.now.get()));
    };
    let now = || {
        (
            public.open(),
            public.offered(),
            public.limits.is_wanted(),
            public.owner.grown.get(),
            public.owner.shrunk.get(),
        )
    };
    stack.pushed(&public.stack(), &public.owner, 0);
    assert_eq!((stack.public(), now()), (1, ((4, 1), vec![0], false, 0, 0)));
    // With three private tasks, of which the newest is popped.
    steal(0);
    assert!(stack.take_back(&public.stack(), &public.owner, 3));
    assert_eq!((stack.public(), now()), (2, ((4, 2), vec![1], false, 1, 0)));
    steal(1);
    stack.poll(&public.stack(), &public.owner, 3);
    assert_eq!((stack.public(), now()), (3, ((4, 3), vec![2], false, 2, 0)));
    steal(2);
    stack.pushed(&public.stack(), &public.owner, 3);
    assert_eq!((stack.public(), now()), (4, ((4, 4), vec![3], false, 3, 0)));
}

/// A thief that has made a request comes as soon as the task is public, before its owner continues.
#[test]
fn wools_stack_offers_a_task_once() {
    let (public, mut stack) = Public::new(wool::Params { chunk: 1, privatise_after: 100 }, Owner::with(2));
    stack.pushed(&public.stack(), &Robbed(&public), 0);
    let states = |index: u32| &public.states[index as usize];
    assert_eq!(public.shared.steal(states), StealIndex::Index(0));
    states(0).claim(1, 0);
    assert!(public.limits.request(|| 7));
    // Private until the request is answered.
    stack.pushed(&public.stack(), &Robbed(&public), 1);
    assert_eq!((stack.public(), public.owner.grown.get(), public.offered()), (2, 1, vec![]));
    assert_eq!(states(1).status(), Status::Stolen(Theft { thief: 1, base: 0, count: 1 }));
}

#[test]
fn wools_stack_offers_and_announces_only_existing_tasks() {
    let (public, mut stack) = Public::new(wool::Params { chunk: 2, privatise_after: 100 }, Owner::with(2));
    let steal = |index: u32| {
        let stolen = public.shared.steal(|index| &public.states[index as usize]);
        assert_eq!(stolen, StealIndex::Index(index as _));
        public.states[index as usize].claim(1, 0);
    };
    stack.pushed(&public.stack(), &public.owner, 0);
    steal(0);
    // A public slot without a task is no reason to wake a worker.
    public.owner.lays_down(1, ANY);
    stack.poll(&public.stack(), &public.owner, 1);
    assert_eq!((public.owner.asleep(), public.limits.is_wanted()), (vec![1], true));
    public.owner.dormitory.notify(1);
    stack.pushed(&public.stack(), &public.owner, 1);
    steal(1);
    public.limits.request(|| 7);
    stack.poll(&public.stack(), &public.owner, 3);
    assert_eq!(public.offered(), [2]);
}

#[test]
fn wools_stack_gives_all_and_takes_back_unwanted_tasks() {
    let (public, mut stack) = Public::new(wool::Params { chunk: 1, privatise_after: 2 }, Owner::with(2));
    let now = || (public.open(), public.offered(), public.owner.grown.get(), public.owner.shrunk.get());
    stack.pushed(&public.stack(), &public.owner, 0);
    stack.give_all(&public.stack(), &public.owner, 3);
    assert_eq!((stack.public(), now()), (3, ((4, 3), vec![0, 1, 2], 1, 0)));
    // Pushes of public tasks take the cold path until the boundary comes down.
    assert!(stack.take_back(&public.stack(), &public.owner, 2));
    assert_eq!((stack.public(), now()), (3, ((0, 3), vec![0, 1], 1, 0)));
    assert!(stack.take_back(&public.stack(), &public.owner, 1));
    assert_eq!((stack.public(), now()), (2, ((0, 2), vec![0], 1, 1)));
    // A private task popped on the cold path, since there were tasks aside.
    stack.pushed(&public.stack(), &public.owner, 1);
    public.limits.stop_pops();
    assert!(stack.take_back(&public.stack(), &public.owner, 2));
    assert_eq!((stack.public(), now()), (2, ((4, 2), vec![0, 1], 1, 1)));
}

/// A private deque with four slots of 10 bytes from address 100 on, and two workers' desks; worker 1 is the thief.
struct Private {
    request: private::Request<Native>,
    limits: Limits<Native>,
    desks: [Padded<private::Desk<Native>>; 2],
    owner: Owner,
}

impl Private {
    fn new(owner: Owner) -> Self {
        Self { request: Default::default(), limits: Limits::closed(), desks: Default::default(), owner }
    }

    fn stack(&self) -> private::Stack<'_, Native> {
        let Self { request, limits, desks, .. } = self;
        private::Stack { request, limits, desks, bottom: 100, slot_size: 10, capacity: 4 }
    }

    /// Returns what the thief gets if the owner does `act` once the thief has asked, and whether it had to withdraw.
    fn steal(&self, mut act: impl FnMut()) -> (Option<usize>, bool) {
        let (mut acts, mut has_withdrawn) = (2, false);
        let waits = || {
            acts -= 1;
            match acts {
                1 => act(),
                _ => has_withdrawn = true,
            }
            acts > 0
        };
        (self.desks[1].steal(&self.request, 1, waits), has_withdrawn)
    }

    /// Returns up to where the limits admit pushes, and from where on pops; and whether thieves may ask.
    fn open(&self) -> (usize, usize, bool) {
        let heads = || (0..=6).map(|index| 100 + 10 * index);
        let pushes = heads().filter(|&head| self.limits.admits_push(head)).count();
        (pushes, 7 - heads().filter(|&head| self.limits.admits_pop(head)).count(), self.request.is_open())
    }
}

#[test]
fn a_private_deque_gives_its_oldest_task_at_a_push_a_pop_or_a_poll() {
    let (deque, mut stack) = (Private::new(Owner::with(2)), private::Owner::default());
    let poll = |stack: &mut private::Owner, head| stack.poll(&deque.stack(), &deque.owner, head);
    assert_eq!((deque.open(), deque.steal(|| panic!("nobody asks"))), ((0, 7, false), (None, false)));
    poll(&mut stack, 1);
    assert_eq!((deque.open(), deque.owner.woken.get()), ((4, 1, true), 0));
    assert_eq!((deque.steal(|| poll(&mut stack, 2)), deque.open()), ((Some(0), false), (4, 2, true)));
    assert_eq!((deque.steal(|| ()), deque.open()), ((None, true), (4, 2, true)));
    assert_eq!(deque.steal(|| assert!(stack.take_back(&deque.stack(), &deque.owner, 2))), (Some(1), false));
    assert_eq!((deque.open(), deque.owner.grown.get()), ((0, 7, false), 2));
    // The newest is given, and what is forked above it is again the oldest.
    assert!(!stack.take_back(&deque.stack(), &deque.owner, 1));
    poll(&mut stack, 3);
    assert_eq!(deque.steal(|| poll(&mut stack, 3)), (Some(2), false));
    for index in [2, 1, 0] {
        assert!(!stack.take_back(&deque.stack(), &deque.owner, index));
        stack.joined(index);
    }
    poll(&mut stack, 1);
    assert_eq!(deque.open(), (4, 1, true));
    // It keeps the task that it pops, and then has nothing to give.
    assert_eq!(deque.steal(|| assert!(stack.take_back(&deque.stack(), &deque.owner, 0))), (None, false));
    assert_eq!(deque.open(), (0, 7, false));
}

/// Requests come as long as there are private tasks, but not from the thief that has one.
#[test]
fn a_private_deque_answers_one_thief_after_the_other() {
    let (deque, mut stack) = (Private::new(Owner::with(2)), private::Owner::default());
    stack.poll(&deque.stack(), &deque.owner, 2);
    let both = deque.steal(|| {
        let other = deque.desks[0].steal(&deque.request, 0, || panic!("another thief asks"));
        assert_eq!(other, None);
        stack.poll(&deque.stack(), &deque.owner, 2);
        let other = deque.desks[0].steal(&deque.request, 0, || {
            stack.poll(&deque.stack(), &deque.owner, 2);
            true
        });
        assert_eq!(other, Some(1));
    });
    assert_eq!((both, deque.open()), ((Some(0), false), (0, 7, false)));
}

#[test]
fn a_private_deque_rests_and_takes_its_own_oldest() {
    let (deque, mut stack) = (Private::new(Owner::with(2)), private::Owner::default());
    stack.rest(&deque.stack());
    assert!(!deque.limits.is_wanted(), "there is nothing to open for");
    stack.poll(&deque.stack(), &deque.owner, 3);
    assert_eq!(deque.steal(|| stack.rest(&deque.stack())), (None, false));
    assert_eq!((deque.open(), deque.limits.is_wanted()), ((0, 7, false), true));
    assert_eq!(stack.take_oldest(&deque.stack(), &deque.owner, 3), Some(0));
    assert_eq!(deque.open(), (4, 2, true));
    assert_eq!([(); 3].map(|()| stack.take_oldest(&deque.stack(), &deque.owner, 3)), [Some(1), Some(2), None]);
    assert_eq!(deque.open(), (0, 7, false));
}

#[test]
fn a_private_deque_wakes_a_sleeper_for_its_first_task_and_gives_none_beyond_the_end() {
    let (deque, mut stack) = (Private::new(Owner { has_aside: true, ..Owner::with(2) }), private::Owner::default());
    deque.owner.lays_down(1, ANY);
    stack.poll(&deque.stack(), &deque.owner, 1);
    assert_eq!((deque.owner.asleep(), deque.owner.woken.get()), (vec![], 1));
    assert_eq!(deque.open(), (4, 7, true), "tasks aside are popped on the cold path");
    let all = [(); 5].map(|()| stack.take_oldest(&deque.stack(), &deque.owner, 6));
    assert_eq!(all, [Some(0), Some(1), Some(2), Some(3), None]);
    assert_eq!(deque.open(), (0, 7, false));
    assert!(stack.take_back(&deque.stack(), &deque.owner, 4));
}

#[test]
fn wools_stack_gives_public_tasks_and_moves_the_boundary() {
    assert_eq!(wool::Params::default(), wool::Params { chunk: 4, privatise_after: 500 });
    let states: Vec<JobState<Native>> = (0..16).map(|_| JobState::default()).collect();
    let at = |index: u32| &states[index as usize];
    let (shared, mut owner) = wool::Shared::<Native>::new(wool::Params { chunk: 2, privatise_after: 3 }, 16);
    let looks = || (shared.bot(), shared.has_public(at), shared.has_run_out());
    let offered = || (0..16).filter(|&index| at(index).status() == Status::Offered).collect::<Vec<_>>();
    // Two slots are public and empty.
    assert_eq!((owner.public(), looks(), shared.steal(at)), (2, (0, false, false), StealIndex::AllStolen));
    (0..6).for_each(|index| owner.push(at(index), index));
    assert_eq!((offered(), looks()), (vec![0, 1], (0, true, false)));
    assert!(!owner.publish(&shared, at, 6, 16), "there is still a public task");
    for index in [0, 1] {
        assert!(shared.has_unstolen_below(2));
        assert_eq!(shared.steal(at), StealIndex::Index(index));
        at(index).claim(1, 0);
    }
    assert_eq!((looks(), shared.steal(at)), ((2, false, true), StealIndex::NothingShared));
    assert!(!shared.has_unstolen_below(2) && shared.has_unstolen_below(3));
    // The next chunk, at most as many as there are slots, then everything.
    assert!(!owner.publish(&shared, at, 6, 2), "there are no more slots");
    assert!(owner.publish(&shared, at, 6, 16));
    assert_eq!((owner.public(), offered(), looks()), (4, vec![2, 3], (2, true, false)));
    assert!(!owner.publish_below(&shared, at, 6, 4) && owner.publish_below(&shared, at, 6, 6));
    assert_eq!((owner.public(), offered()), (6, vec![2, 3, 4, 5]));
    // The owner takes back tasks that nobody has stolen; after three of these the boundary comes half of the way down.
    for (index, comes_down) in [(5, false), (4, false), (3, true)] {
        assert!(owner.take_back(at(index), index));
        owner.joined(&shared, at(index), index);
        assert_eq!((shared.bot(), owner.privatise(&shared, index)), (2, comes_down));
    }
    assert_eq!((owner.public(), offered()), (4, vec![2]));
    assert!(owner.take_back(at(2), 2));
    // A stolen task that was joined can be stolen next.
    assert!(!owner.take_back(at(1), 1));
    assert!(!at(1).finish(false));
    owner.joined(&shared, at(1), 1);
    assert_eq!((shared.bot(), at(1).is_fresh()), (1, true));
    owner.push(at(1), 1);
    assert_eq!(shared.steal(at), StealIndex::Index(1));
    // Only up to the number of tasks, if a chunk is larger.
    at(1).claim(1, 0);
    (2..5).for_each(|index| owner.push(at(index), index));
    assert_eq!(
        (shared.steal(at), shared.steal(at), shared.has_run_out()),
        (StealIndex::Index(2), StealIndex::Index(3), true)
    );
    assert!(owner.publish(&shared, at, 5, 16));
    assert_eq!((owner.public(), offered()), (6, vec![4]));
}

/// A worker that notes each call, with `z` if it has announced its sleep and `?` if a worker searches; and what happens
/// after each note.
struct Scripted<'s> {
    owner: Owner,
    notes: RefCell<Vec<String>>,
    /// The results of finds, leaps and looks at the mail; false when there are no more.
    finds: RefCell<VecDeque<bool>>,
    /// The results of `insist`, which are noted while there are any.
    insists: RefCell<VecDeque<bool>>,
    sees_any: bool,
    leaves_more: bool,
    leaves_many: bool,
    /// Whether it gives its processor away for what may be long whenever it waits.
    gives_way: bool,
    then: &'s dyn Fn(&Self, &str),
}

impl<'s> Scripted<'s> {
    /// Creates worker 0 beside worker 1, which sleeps and wants anything.
    fn with(finds: &[bool], then: &'s dyn Fn(&Self, &str)) -> Self {
        let owner = Owner::with(2);
        owner.lays_down(1, ANY);
        let finds = RefCell::new(finds.iter().copied().collect());
        let (notes, insists) = (RefCell::default(), RefCell::default());
        let (sees_any, leaves_more, leaves_many, gives_way) = (false, true, false, false);
        Self { owner, notes, finds, insists, sees_any, leaves_more, leaves_many, gives_way, then }
    }

    fn note(&self, what: &str) {
        let is_asleep = self.owner.dormitory.place(0).would_help(|_| true);
        let is_searched = self.owner.dormitory.sleepers().is_searched();
        let (asleep, searched) = (if is_asleep { "z" } else { "" }, if is_searched { "?" } else { "" });
        self.notes.borrow_mut().push(format!("{what}{asleep}{searched}"));
        (self.then)(self, what);
    }

    fn finds(&self, what: &str) -> bool {
        self.note(what);
        self.finds.borrow_mut().pop_front().unwrap_or(false)
    }

    fn insists(&self) -> bool {
        let insists = self.insists.borrow_mut().pop_front();
        insists.inspect(|_| self.note("insist")).unwrap_or(false)
    }

    /// Returns all notes, and how often worker 0 has woken another.
    fn story(&self) -> (String, u32) {
        (self.notes.borrow().join(" "), self.owner.woken.get())
    }
}

impl Sleeper for Scripted<'_> {
    type Memory = Native;

    fn dormitory(&self) -> &Dormitory<Native> {
        &self.owner.dormitory
    }

    fn index(&self) -> usize {
        0
    }

    fn settle(&self) {
        self.note("settles");
    }

    fn note_request(&self) {
        self.note("has-asked");
    }

    fn park(&self) {
        self.note("parks");
    }

    fn note_wake_up(&self) {
        self.owner.note_wake_up();
    }
}

/// Patience for one look, and whether the wait may be long.
struct Once(bool, bool);

impl Backoff for Once {
    fn wait(&mut self) -> bool {
        std::mem::replace(&mut self.0, false)
    }

    fn may_be_long(&self) -> bool {
        self.1
    }

    fn hold_on(&mut self) {}

    fn renew(&mut self) {
        self.0 = true;
    }
}

impl Searcher for Scripted<'_> {
    type Find = ();
    type Backoff = Once;

    fn backoff(&self) -> Once {
        Once(true, self.gives_way)
    }

    fn find(&self) -> Option<()> {
        self.finds("find").then_some(())
    }

    fn leaves_more(&self, (): &()) -> bool {
        self.leaves_more
    }

    fn leaves_many(&self, (): &()) -> bool {
        self.leaves_many
    }

    fn run(&self, (): ()) {
        self.note("run");
    }

    fn share(&self) {
        self.note("share");
    }

    fn ask(&self) {
        self.note("ask");
    }

    fn insist(&self) -> bool {
        self.insists()
    }

    fn sees_any(&self) -> bool {
        self.note("look");
        self.sees_any
    }
}

impl Joiner for Scripted<'_> {
    type Find = ();
    type Backoff = Once;

    fn backoff(&self) -> Once {
        Once(true, self.gives_way)
    }

    fn leap(&self, _: &JobState<Native>, _: Theft) -> Option<()> {
        self.finds("leap").then_some(())
    }

    fn mail(&self) -> Option<()> {
        self.finds("mail").then_some(())
    }

    fn wanted(&self, theft: Theft) -> Wanted {
        theft.thief as Wanted
    }

    fn ask(&self, _: Theft) {
        self.note("ask");
    }

    fn insist(&self, _: Theft) -> bool {
        self.insists()
    }

    fn sees_any(&self, _: Theft) -> bool {
        self.note("look");
        self.sees_any
    }
}

/// Waits for a job, and runs meanwhile what the script finds.
fn wait_as(worker: &Scripted<'_>, state: &JobState<Native>) -> Settled {
    loop {
        if let Ok(settled) = await_job(worker, state) {
            return settled;
        }
    }
}

/// Wakes the worker when it sleeps, and notes that it has run something.
fn wakes_and_notes(done: &Cell<bool>) -> impl Fn(&Scripted<'_>, &str) + '_ {
    move |worker, what| match what {
        "parks" => worker.owner.dormitory.notify(0),
        "run" => done.set(true),
        _ => (),
    }
}

#[test]
fn a_worker_ends_its_search_before_it_gives_way_unless_it_sees_work_and_gives_way_all_the_same() {
    let _watchdog = watchdog("a search");
    let done = Cell::new(false);
    let then = wakes_and_notes(&done);
    let worker = Scripted { gives_way: true, ..Scripted::with(&[false, false, false, true], &then) };
    search(&worker, ANY, &|| done.get());
    let story = "find find share askz settlesz has-askedz lookz parksz find? look find run";
    // What it finds later it passes on, as if its search had lasted.
    assert_eq!(worker.story(), (story.replace("run", "run?"), 1));
    // Somebody else has what it sees.
    done.set(false);
    let sixth = |worker: &Scripted<'_>, what: &str| {
        let looks = worker.notes.borrow().iter().filter(|note| note.starts_with("find")).count();
        done.set(done.get() || what == "find" && looks == 6);
    };
    let worker = Scripted { gives_way: true, sees_any: true, ..Scripted::with(&[], &sixth) };
    search(&worker, ANY, &|| done.get());
    let story = "find find share askz settlesz has-askedz lookz find? look find? find? look find? share? askz settlesz has-askedz";
    assert_eq!(worker.story().0, story);
}

#[test]
fn a_worker_that_has_shared_for_others_does_not_sleep() {
    let _watchdog = watchdog("a search and a wait");
    let done = Cell::new(false);
    let then = wakes_and_notes(&done);
    let insists = || RefCell::new(VecDeque::from([true, false]));
    let worker = Scripted { insists: insists(), ..Scripted::with(&[false, false, false, false, true], &then) };
    search(&worker, ANY, &|| done.get());
    let story = "find find? insist? find? find? insist? share? askz settlesz has-askedz lookz parksz find? run?";
    assert_eq!(worker.story(), (story.to_owned(), 1));
    let state = JobState::<Native>::default();
    state.claim(1, 0);
    let then = |worker: &Scripted<'_>, what: &str| {
        if what == "parks" {
            assert!(state.finish(false), "the owner has announced its sleep");
            worker.owner.dormitory.place(0).wake(worker.owner.dormitory.sleepers());
        }
    };
    let worker = Scripted { insists: insists(), ..Scripted::with(&[], &then) };
    assert_eq!(wait_as(&worker, &state), Settled::Done);
    let story = "mail leap mail leap insist mail leap mail leap insist askz settlesz has-askedz lookz parksz";
    assert_eq!(worker.story(), (story.to_owned(), 1));
}

#[test]
fn an_idle_worker_announces_asks_looks_and_sleeps_and_passes_wake_ups_on() {
    let _watchdog = watchdog("a search");
    let done = Cell::new(false);
    let then = wakes_and_notes(&done);
    for leaves_more in [true, false] {
        done.set(false);
        let worker = Scripted { leaves_more, ..Scripted::with(&[false, false, true], &then) };
        search(&worker, ANY, &|| done.get());
        let story = "find find? share? askz settlesz has-askedz lookz parksz find? run";
        // It was woken and finds something, so it wakes the next if there is more.
        let story = if leaves_more { format!("{story}?") } else { story.to_owned() };
        assert_eq!(worker.story(), (story, u32::from(leaves_more)));
    }
    // It finds something at once, so it has begun no search that it could end.
    done.set(false);
    let worker = Scripted::with(&[true], &then);
    search(&worker, ANY, &|| done.get());
    assert_eq!(worker.story(), ("find run".to_owned(), 0));
    worker.owner.dormitory.sleepers().start_search();
    assert!(worker.owner.dormitory.sleepers().is_searched());
    // What it saw is gone when it looks again. Then the end comes, without a wake-up.
    done.set(false);
    let then = |worker: &Scripted<'_>, what: &str| {
        let looks = worker.notes.borrow().iter().filter(|note| note.starts_with("find")).count();
        done.set(done.get() || what == "find" && looks == 4);
    };
    let worker = Scripted { sees_any: true, ..Scripted::with(&[], &then) };
    search(&worker, ANY, &|| done.get());
    let story = "find find? share? askz settlesz has-askedz lookz find? find?";
    assert_eq!(worker.story(), (format!("{story} share? askz settlesz has-askedz"), 1));
    assert!(worker.owner.asleep().is_empty() && worker.owner.dormitory.sleepers().is_searched());
}

#[test]
fn a_worker_that_finds_many_wakes_two() {
    let _watchdog = watchdog("a search");
    let done = Cell::new(false);
    let then = |_: &Scripted<'_>, what: &str| done.set(done.get() || what == "run");
    for leaves_many in [false, true] {
        done.set(false);
        let owner = Owner::with(4);
        (1..4).for_each(|place| owner.lays_down(place, ANY));
        // It has found nothing before, so others may rely on it.
        let worker = Scripted { owner, leaves_many, ..Scripted::with(&[false, true], &then) };
        search(&worker, ANY, &|| done.get());
        let left = if leaves_many { vec![3] } else { vec![2, 3] };
        assert_eq!((worker.owner.woken.get(), worker.owner.asleep()), (1 + u32::from(leaves_many), left));
    }
}

#[test]
fn a_worker_that_waits_for_a_scope_sees_its_end_before_sleeping() {
    let _watchdog = watchdog("a search");
    for (is_woken, others_woken) in [(false, 0), (true, 1)] {
        let done = Cell::new(false);
        let then = |worker: &Scripted<'_>, what: &str| {
            if what == "has-asked" {
                done.set(true);
                // Another worker has work for it meanwhile.
                let _ = is_woken && worker.owner.dormitory.place(0).wake(worker.owner.dormitory.sleepers());
            }
        };
        let worker = Scripted::with(&[true], &then);
        search(&worker, ANY_MEANWHILE, &|| done.get());
        let story = "find run find find share askz settlesz has-askedz";
        assert_eq!(worker.story(), (story.to_owned(), others_woken));
        assert!(!worker.owner.asleep().contains(&0));
        // It has begun no search, so it has ended none.
        worker.owner.dormitory.sleepers().start_search();
        assert!(worker.owner.dormitory.sleepers().is_searched());
    }
}

#[test]
fn a_worker_that_waits_for_its_job_checks_its_mail_leaps_and_sleeps() {
    let _watchdog = watchdog("a wait");
    let stolen = || {
        let state = JobState::<Native>::default();
        state.claim(1, 0);
        state
    };
    // The thief finishes the job while its owner sleeps. The wake-up may have been for work, so the owner passes it on.
    let state = stolen();
    let then = |worker: &Scripted<'_>, what: &str| {
        if what == "parks" {
            assert!(state.finish(false), "the owner has announced its sleep");
            worker.owner.dormitory.place(0).wake(worker.owner.dormitory.sleepers());
        }
    };
    let worker = Scripted::with(&[], &then);
    assert_eq!(wait_as(&worker, &state), Settled::Done);
    let story = "mail leap mail leap askz settlesz has-askedz lookz parksz";
    assert_eq!(worker.story(), (story.to_owned(), 1));
    // It was woken for work, and got some.
    let state = stolen();
    let then = |worker: &Scripted<'_>, what: &str| {
        if what == "parks" {
            worker.owner.dormitory.place(0).wake(worker.owner.dormitory.sleepers());
        } else if worker.notes.borrow().len() == 11 {
            assert!(state.finish(true), "the owner had announced its sleep");
        }
    };
    let worker = Scripted::with(&[false, false, false, false, false, true], &then);
    assert_eq!(wait_as(&worker, &state), Settled::Panicked);
    let story = "mail leap mail leap askz settlesz has-askedz lookz parksz mail leap";
    assert_eq!(worker.story(), (story.to_owned(), 0));
    // It was woken perhaps for work, and got only mail: it passes the wake-up on before it runs that.
    let state = stolen();
    let then = |worker: &Scripted<'_>, what: &str| {
        if what == "parks" {
            worker.owner.dormitory.place(0).wake(worker.owner.dormitory.sleepers());
        } else if worker.notes.borrow().len() == 11 {
            assert!(state.finish(false), "the owner had announced its sleep");
        }
    };
    let worker = Scripted::with(&[false, false, false, false, true], &then);
    assert_eq!(wait_as(&worker, &state), Settled::Done);
    let story = "mail leap mail leap askz settlesz has-askedz lookz parksz mail mail? leap?";
    assert_eq!(worker.story(), (story.to_owned(), 1));
    // It sees something and is not woken.
    let state = stolen();
    let then = |worker: &Scripted<'_>, _: &str| {
        if worker.notes.borrow().len() == 9 {
            state.give_back();
        }
    };
    let worker = Scripted { sees_any: true, ..Scripted::with(&[], &then) };
    assert_eq!(wait_as(&worker, &state), Settled::Unrun);
    assert_eq!(worker.story(), ("mail leap mail leap askz settlesz has-askedz lookz mail leap".to_owned(), 0));
}

#[test]
fn a_push_wakes_a_sleeper() {
    for was_empty in [true, false] {
        let owner = Owner::with(2);
        has_pushed(&owner, was_empty);
        assert_eq!(owner.woken.get(), 0);
        owner.lays_down(1, ANY);
        has_pushed(&owner, was_empty);
        assert_eq!((owner.woken.get(), owner.asleep()), (1, vec![]));
    }
}

/// Worker 0 of a dormitory.
struct Publisher(Arc<Dormitory<Fenced>>);

impl Sleeper for Publisher {
    type Memory = Fenced;

    fn dormitory(&self) -> &Dormitory<Fenced> {
        &self.0
    }

    fn index(&self) -> usize {
        0
    }
}

/// Two workers announce their sleep after work has come, which they may not have seen, and before the fence that
/// follows it. The worker that brought it must see them.
#[test]
fn a_sleep_announced_before_the_fence_is_seen_after_it() {
    type Look = fn(&Publisher);
    let look_after: [(Look, &[usize]); 6] = [
        (|publisher| assert!(publisher.0.sleepers().sleepers_after()), &[1, 2]),
        (|publisher| publisher.0.notify(1), &[2]),
        (|publisher| publisher.0.notify(2), &[1]),
        (|publisher| publisher.0.notify_all(), &[]),
        (|publisher| wake_next(publisher), &[2]),
        (|publisher| has_pushed(publisher, true), &[2]),
    ];
    for (look, left) in look_after {
        let publisher = Publisher(Arc::new(Dormitory::new(3)));
        let dormitory = Arc::clone(&publisher.0);
        AT_FENCE.set(Some(Box::new(move || {
            for place in [1, 2] {
                dormitory.place(place).announce(dormitory.sleepers(), ANY);
                dormitory.place(place).settle();
            }
        })));
        look(&publisher);
        assert!(AT_FENCE.take().is_none(), "there must be a fence");
        let asleep = [1, 2].into_iter().filter(|&place| publisher.0.place(place).would_help(|_| true));
        assert_eq!(asleep.collect::<Vec<_>>(), left);
    }
}

#[test]
fn a_sleep_announced_during_a_push_is_seen_by_it() {
    let publisher = Publisher(Arc::new(Dormitory::new(2)));
    let dormitory = Arc::clone(&publisher.0);
    AT_BARRIER.set(Some(Box::new(move || dormitory.place(1).announce(dormitory.sleepers(), ANY))));
    has_pushed(&publisher, false);
    assert!(AT_BARRIER.take().is_none() && !publisher.0.place(1).would_help(|_| true));
}

/// A worker without work, which sleeps at once.
struct Jobless {
    publisher: Publisher,
    has_slept: Arc<AtomicBool>,
    finds: Cell<u32>,
}

impl Sleeper for Jobless {
    type Memory = Fenced;

    fn dormitory(&self) -> &Dormitory<Fenced> {
        self.publisher.dormitory()
    }

    fn index(&self) -> usize {
        0
    }
}

impl Searcher for Jobless {
    type Find = ();
    type Backoff = Once;

    fn backoff(&self) -> Once {
        Once(false, false)
    }

    fn find(&self) -> Option<()> {
        self.finds.set(self.finds.get() + 1);
        assert!(self.finds.get() == 1 || self.has_slept.load(SeqCst), "it looks again without having slept");
        None
    }

    fn leaves_more(&self, (): &()) -> bool {
        false
    }

    fn run(&self, (): ()) {}

    fn share(&self) {}

    fn ask(&self) {}

    fn sees_any(&self) -> bool {
        false
    }
}

#[test]
fn a_worker_that_finds_nothing_sleeps_until_it_is_woken() {
    let _watchdog = watchdog("a sleep");
    for wanted in [ANY, ANY_MEANWHILE] {
        let (dormitory, has_slept) = (Arc::new(Dormitory::new(1)), Arc::new(AtomicBool::new(false)));
        let (publisher, finds) = (Publisher(Arc::clone(&dormitory)), Cell::new(0));
        let worker = Jobless { publisher, has_slept: Arc::clone(&has_slept), finds };
        let sleeps = Arc::clone(&has_slept);
        AT_WAIT.set(Some(Box::new(move || {
            sleeps.store(true, SeqCst);
            dormitory.notify(0);
        })));
        search(&worker, wanted, &|| has_slept.load(SeqCst));
        assert!(AT_WAIT.take().is_none() && worker.finds.get() == 1);
    }
}
