//! What workers run while they wait for a stolen task or a scope, and what they leave alone. The programs control where
//! each worker is.
#![allow(clippy::disallowed_types, reason = "tests count; what they test is the algorithm")]

mod common;

use std::cell::Cell;
use std::num::NonZeroU32;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex, OnceLock};
use std::thread::{self, ThreadId};
use std::time::{Duration, Instant};

use common::{pool, pool_of, wait_for, watchdog};
use filch::inside::host::Crew;
use filch::pool::{Heartbeat, Pool, PrivateStack, QueueSettings, Queued, Request, Split, Wool};
use filch::{Builder, Leaps, ThreadPool, Wait};
use filch_memory::Native;
use filch_queue::{ChaseLev, Owner, PdqS, Promises, Queue, Steal, Task, Thief, pdq::sender};

const LEAPFROGS: [Wait; 2] = [Wait::Leapfrog, Wait::Transitive];

/// Waits, and meanwhile answers thieves.
fn until(flag: &AtomicBool) {
    wait_for("a turn of another worker", || {
        filch::poll();
        flag.load(SeqCst)
    });
}

/// Long enough for another worker to do something wrong.
fn linger() {
    for _ in 0..300 {
        filch::poll();
        thread::yield_now();
    }
}

fn flags<const N: usize>() -> [AtomicBool; N] {
    [const { AtomicBool::new(false) }; N]
}

/// A worker that waits for another pool inside a stolen task runs any task. The owner of the stolen task takes part in
/// none of these.
#[test]
fn a_leapfrogger_does_not_join_a_detour() {
    fn takes_nothing<P: Pool>(wait: Wait) {
        let (pool, other) = (pool_of::<P>(2, wait), pool_of::<P>(1, wait));
        for _ in 0..5 {
            let flags = Arc::new(flags());
            let theirs = Arc::clone(&flags);
            let detour = move || {
                let [is_nested, is_alone, is_over] = &*theirs;
                let first = || {
                    is_nested.store(true, SeqCst);
                    linger();
                    thread::current().id()
                };
                let (first, second) = filch::join(first, || thread::current().id());
                is_alone.store(first == second, SeqCst);
                is_over.store(true, SeqCst);
            };
            let [is_nested, is_alone, is_over] = &*flags;
            let calls = || {
                filch::spawn(detour);
                other.install(|| until(is_over));
            };
            pool.install(|| filch::join(|| until(is_nested), calls));
            assert!(is_alone.load(SeqCst), "another worker has run it");
        }
    }
    let _watchdog = watchdog("a detour");
    for wait in LEAPFROGS {
        takes_nothing::<Split>(wait);
        takes_nothing::<Wool>(wait);
        takes_nothing::<PrivateStack>(wait);
    }
    takes_nothing::<Queued<ChaseLev>>(Wait::Leapfrog);
}

/// Where anybody may deal to a worker that waits for its thief, what another has dealt goes back.
#[test]
fn a_leapfrogger_does_not_run_what_another_has_dealt() {
    let _watchdog = watchdog("a deal of another");
    let whenever = sender::Params { gap: Duration::ZERO, ..sender::Params::default() };
    let pool = Builder::<Queued<PdqS>>::new().workers(3).wait(Wait::Leapfrog).settings(QueueSettings::of(whenever));
    let pool = pool.build().unwrap();
    let [is_other_there, has_forked, is_over] = &flags();
    let migrations = || pool.stats().total().migrations;
    let deals = || {
        is_other_there.store(true, SeqCst);
        until(has_forked);
        let before = migrations();
        let mut runs_it = thread::current().id();
        while migrations() == before {
            runs_it = filch::join(linger, || thread::current().id()).1;
        }
        is_over.store(true, SeqCst);
        assert_eq!(runs_it, thread::current().id(), "the leapfrogger has run it");
    };
    thread::scope(|s| {
        s.spawn(|| pool.install(deals));
        wait_for("another worker", || is_other_there.load(SeqCst));
        let keeps_a_task = || {
            has_forked.store(true, SeqCst);
            wait_for("a deal", || is_over.load(SeqCst));
        };
        pool.install(|| filch::join(|| until(has_forked), || filch::join(keeps_a_task, || ())));
    });
}

/// If a worker that waits for a scope runs only the scope's tasks, they belong to whatever the scope belongs to.
#[test]
fn a_leapfrogger_takes_part_in_a_scope() {
    fn takes_part<P: Pool>(wait: Wait) {
        let pool = pool_of::<P>(2, wait);
        for _ in 0..5 {
            let [is_nested, is_there] = flags();
            let task = || {
                let first = || {
                    is_nested.store(true, SeqCst);
                    until(&is_there);
                };
                filch::join(first, || is_there.store(true, SeqCst));
            };
            pool.install(|| filch::join(|| until(&is_nested), || filch::scope(|s| s.spawn(|_| task()))));
        }
    }
    let _watchdog = watchdog("a scope in a stolen task");
    for wait in LEAPFROGS {
        takes_part::<Split>(wait);
        takes_part::<Wool>(wait);
        takes_part::<PrivateStack>(wait);
    }
    takes_part::<Queued<ChaseLev>>(Wait::Leapfrog);
}

/// Such a worker, while it waits for a scope, runs only tasks of the scope, from any spawner. It runs no other task,
/// not even one that it has spawned itself.
#[test]
fn a_leapfrogger_that_waits_for_a_scope_runs_only_its_tasks() {
    fn runs_nothing_else<P: Pool>(wait: Wait) {
        let pool = pool_of::<P>(2, wait);
        for _ in 0..5 {
            let [is_taken, has_run] = flags();
            let locked = Arc::new(Mutex::new(()));
            let theirs = Arc::clone(&locked);
            pool.install(|| {
                let _guard = locked.lock().unwrap();
                filch::scope(|s| {
                    s.spawn(|s| {
                        is_taken.store(true, SeqCst);
                        linger();
                        // For the scope's worker, since this one is blocked.
                        s.spawn(|_| has_run.store(true, SeqCst));
                        until(&has_run);
                    });
                    until(&is_taken);
                    filch::spawn(move || drop(theirs.lock()));
                });
            });
        }
    }
    let _watchdog = watchdog("a lock that is held across a scope");
    for wait in LEAPFROGS {
        runs_nothing_else::<Split>(wait);
        runs_nothing_else::<Queued<ChaseLev>>(Wait::Leapfrog);
    }
}

/// [`ChaseLev`], but a thief can be made [late](IS_LATE), so that much happens between its check for work and its
/// steal; or something happens [meanwhile](MEANWHILE).
#[derive(Clone, Copy, Debug)]
struct Late;

/// A number of steal attempts, and what happens after them.
type Happens = (u32, fn());

thread_local! {
    static IS_LATE: Cell<bool> = const { Cell::new(false) };
    static MEANWHILE: Cell<Option<Happens>> = const { Cell::new(None) };
}

/// The progress of the late steal.
static STEP: AtomicU32 = AtomicU32::new(0);

fn until_step(step: u32) {
    wait_for("the next step", || STEP.load(SeqCst) >= step);
}

struct LateThief(<ChaseLev as Queue>::Thief);

impl Thief<Task> for LateThief {
    fn steal(&mut self) -> Steal<Task> {
        match MEANWHILE.take() {
            Some((0, happens)) => happens(),
            Some((attempts, happens)) => MEANWHILE.set(Some((attempts - 1, happens))),
            None => {}
        }
        if !IS_LATE.take() {
            return self.0.steal();
        }
        STEP.store(2, SeqCst);
        until_step(3);
        let stolen = self.0.steal();
        assert!(stolen.is_task());
        STEP.store(4, SeqCst);
        stolen
    }

    fn has_work_hint(&self) -> bool {
        self.0.has_work_hint()
    }
}

// SAFETY: it keeps the promises of `ChaseLev`; its thieves are only slow.
unsafe impl Queue<Native> for Late {
    type Owner = <ChaseLev as Queue>::Owner;
    type Thief = LateThief;
    type Params = <ChaseLev as Queue>::Params;

    const PROMISES: Promises = <ChaseLev as Queue>::PROMISES;

    fn make(capacity: usize, thieves: usize, params: &Self::Params) -> (Self::Owner, Vec<LateThief>) {
        let (owner, thieves) = <ChaseLev as Queue>::make(capacity, thieves, params);
        assert_eq!(owner.len_hint(), 0);
        (owner, thieves.into_iter().map(LateThief).collect())
    }
}

/// The thief of a leapfrogger's task has ended that task and continued with an unrelated one, of which the leapfrogger
/// has just stolen a part: it puts that part back.
#[test]
fn a_leapfrogger_puts_back_a_task_stolen_too_late() {
    fn unrelated() {
        let first = || {
            STEP.store(3, SeqCst);
            until_step(4);
            linger();
            thread::current().id()
        };
        let (first, second) = filch::join(first, || thread::current().id());
        RAN_BY.lock().unwrap().push((first, second));
        STEP.store(5, SeqCst);
    }
    static RAN_BY: Mutex<Vec<(ThreadId, ThreadId)>> = Mutex::new(Vec::new());
    let _watchdog = watchdog("a late thief");
    let pool = pool_of::<Queued<Late>>(2, Wait::Leapfrog);
    for _ in 0..5 {
        STEP.store(0, SeqCst);
        pool.install(|| {
            let waits = || {
                until_step(1);
                filch::spawn(unrelated);
                IS_LATE.set(true);
            };
            filch::join(waits, || {
                STEP.store(1, SeqCst);
                until_step(2);
            });
        });
        until_step(5);
    }
    let ran_by = RAN_BY.lock().unwrap();
    assert!(ran_by.len() == 5 && ran_by.iter().all(|(first, second)| first == second), "{ran_by:?}");
}

/// A post may arrive at any time, even between a worker's last search and its sleep: here after each number of steal
/// attempts.
#[test]
fn a_post_reaches_a_worker_that_falls_asleep() {
    static CREW: OnceLock<Crew> = OnceLock::new();
    static POSTS: AtomicU32 = AtomicU32::new(0);
    static VISITS: AtomicU32 = AtomicU32::new(0);
    fn post(job: impl FnOnce() + Send) {
        let crew = CREW.get().expect("there is one");
        // SAFETY: everything that the job borrows is static.
        unsafe { crew.post(0, job) };
    }
    fn visits() {
        VISITS.fetch_add(1, SeqCst);
    }
    let _watchdog = watchdog("a post");
    let (crew, lease, seats) = Builder::<Queued<Late>>::new().workers(2).seats().unwrap();
    CREW.get_or_init(|| crew);
    thread::scope(|s| {
        for seat in seats {
            s.spawn(move || seat.run(2 << 20, || (), || ()));
        }
        for attempts in 0..30 {
            post(move || {
                let posts = || {
                    POSTS.fetch_add(1, SeqCst);
                    post(visits);
                };
                MEANWHILE.set(Some((attempts, posts)));
            });
            let start = Instant::now();
            wait_for("a post", || {
                // A worker that sleeps earlier makes no such attempt; another post wakes it.
                if POSTS.load(SeqCst) <= attempts && start.elapsed() > Duration::from_millis(5) {
                    post(|| ());
                }
                VISITS.load(SeqCst) > attempts
            });
        }
        drop(lease);
    });
}

/// Runs `f` with this much of the stack in use.
#[inline(never)]
fn deep<const BYTES: usize, R>(f: impl FnOnce() -> R) -> R {
    // By reference: passed by value, an unoptimized build would copy it several times.
    let used = [0_u8; BYTES];
    std::hint::black_box(&used);
    let result = f();
    std::hint::black_box(&used);
    result
}

/// A third worker has a task unrelated to what the leapfrogger waits for.
#[test]
fn a_leapfrogger_sleeps_though_others_have_unrelated_work() {
    fn sleeps<const BYTES: usize, P: Pool>(wait: Wait) {
        let pool = Builder::<P>::new().workers(3).wait(wait).stack_size(1 << 20).build().unwrap();
        for _ in 0..3 {
            let [is_taken, is_there, is_over, ran] = flags();
            let (waiter, parks) = (AtomicUsize::new(usize::MAX), AtomicU64::new(0));
            let parks_of = |worker: usize| pool.stats().workers[worker].parks;
            let gives = || {
                until(&is_taken);
                let first = || {
                    is_there.store(true, SeqCst);
                    until(&is_over);
                };
                filch::join(first, || ran.store(true, SeqCst));
            };
            let until_it_sleeps = || {
                is_taken.store(true, SeqCst);
                wait_for("a sleep", || {
                    let waiter = waiter.load(SeqCst);
                    waiter != usize::MAX && parks_of(waiter) > parks.load(SeqCst)
                });
                assert!(!ran.load(SeqCst), "a worker ran a task that was not for it");
            };
            let waits = |index: usize| {
                until(&is_there);
                parks.store(parks_of(index), SeqCst);
                waiter.store(index, SeqCst);
            };
            thread::scope(|s| {
                s.spawn(|| pool.install(gives));
                pool.run(|mut w| {
                    deep::<BYTES, _>(|| w.join(|w| waits(w.index()), |_| until_it_sleeps()));
                    is_over.store(true, SeqCst);
                });
            });
            assert!(ran.load(SeqCst));
        }
    }
    let _watchdog = watchdog("work for others");
    for wait in LEAPFROGS {
        sleeps::<1, Split>(wait);
        sleeps::<{ 600 << 10 }, Split>(wait);
        sleeps::<1, Wool>(wait);
    }
    sleeps::<1, Queued<ChaseLev>>(Wait::Leapfrog);
    sleeps::<{ 600 << 10 }, Queued<ChaseLev>>(Wait::Leapfrog);
}

/// The thief of a task has no tasks, since its own was stolen further, and waits for that.
#[test]
fn a_transitive_leapfrogger_follows_steals_to_the_next_thief() {
    fn follows<P: Pool>(leaps: Leaps) {
        let pool = Builder::<P>::new().workers(3).wait(Wait::Transitive).leaps(leaps).build().unwrap();
        for round in 0..20 {
            let [is_far, ran] = flags();
            let far = || {
                is_far.store(true, SeqCst);
                // The leapfrogger may be about to sleep.
                thread::sleep(Duration::from_micros(20 * round));
                filch::join(|| until(&ran), || ran.store(true, SeqCst));
            };
            pool.install(|| filch::join(|| until(&is_far), || filch::join(|| until(&ran), far)));
        }
    }
    let _watchdog = watchdog("a steal further on");
    for leaps in [Leaps::default(), Leaps::After(NonZeroU32::new(5).unwrap()), Leaps::Adaptive] {
        follows::<Split>(leaps);
        follows::<Wool>(leaps);
        follows::<Wool<1, 1>>(leaps);
        follows::<PrivateStack>(leaps);
    }
}

/// Each job waits for another pool for a moment, and meanwhile its worker runs the next one on top of it, but not
/// without limit.
#[test]
fn a_worker_low_on_stack_leaves_others_jobs_alone() {
    const JOBS: usize = 200;
    fn leaves<const BYTES: usize, P: Pool>() {
        let pool = Arc::new(Builder::<P>::new().workers(2).stack_size(1 << 20).build().unwrap());
        let elsewhere = Arc::new(pool_of::<Split>(2, Wait::default()));
        let [is_waiting, is_full] = flags();
        let ended = Arc::new(AtomicUsize::new(0));
        let until_all_ended = || wait_for("all jobs", || ended.load(SeqCst) == JOBS);
        let spawns = || {
            until(&is_waiting);
            for _ in 0..JOBS {
                let (elsewhere, ended) = (Arc::clone(&elsewhere), Arc::clone(&ended));
                filch::spawn(move || {
                    deep::<8192, _>(|| elsewhere.install(|| ()));
                    ended.fetch_add(1, SeqCst);
                });
            }
            is_full.store(true, SeqCst);
            until_all_ended();
        };
        thread::scope(|s| {
            s.spawn(|| pool.install(spawns));
            pool.install(|| {
                is_waiting.store(true, SeqCst);
                until(&is_full);
                deep::<BYTES, _>(|| elsewhere.install(until_all_ended));
            });
        });
    }
    let _watchdog = watchdog("jobs on a low stack");
    leaves::<1, Split>();
    leaves::<{ 600 << 10 }, Split>();
    leaves::<1, Queued<ChaseLev>>();
    leaves::<{ 600 << 10 }, Queued<ChaseLev>>();
}

/// As above, with jobs that the worker itself has spawned: nobody else can run them.
#[test]
fn a_worker_low_on_stack_runs_its_own_jobs_one_after_the_other() {
    const JOBS: usize = 200;
    fn runs<P: Pool>() {
        let pool = Builder::<P>::new().workers(1).stack_size(1 << 20).build().unwrap();
        let elsewhere = Arc::new(pool_of::<Split>(2, Wait::default()));
        let ended = Arc::new(AtomicUsize::new(0));
        pool.install(|| {
            for _ in 0..JOBS {
                let (elsewhere, ended) = (Arc::clone(&elsewhere), Arc::clone(&ended));
                filch::spawn(move || {
                    deep::<8192, _>(|| elsewhere.install(|| ()));
                    ended.fetch_add(1, SeqCst);
                });
            }
            let until_all_ended = || wait_for("all jobs", || ended.load(SeqCst) == JOBS);
            deep::<{ 600 << 10 }, _>(|| elsewhere.install(until_all_ended));
        });
    }
    let _watchdog = watchdog("own jobs on a low stack");
    runs::<Split>();
    runs::<Queued<ChaseLev>>();
}

/// Nobody else can run them.
#[test]
fn a_worker_low_on_stack_runs_mail_and_injected_jobs() {
    const STACK: usize = 1 << 20;
    let _watchdog = watchdog("mail on a low stack");
    let elsewhere = pool_of::<Split>(1, Wait::default());
    let (crew, lease, seats) = Builder::<Split>::new().workers(1).seats().unwrap();
    let [is_waiting, has_mail, has_come] = [const { AtomicBool::new(false) }; 3];
    thread::scope(|s| {
        for seat in seats {
            let worker = thread::Builder::new().stack_size(STACK);
            worker.spawn_scoped(s, move || seat.run(STACK, || (), || ())).unwrap();
        }
        s.spawn(|| {
            crew.enter(|| {
                deep::<{ 600 << 10 }, _>(|| {
                    elsewhere.install(|| {
                        is_waiting.store(true, SeqCst);
                        wait_for("both", || has_mail.load(SeqCst) && has_come.load(SeqCst));
                    });
                });
            });
        });
        wait_for("a wait", || is_waiting.load(SeqCst));
        // SAFETY: everything borrowed outlives the crew's threads, and both jobs are waited for.
        unsafe {
            crew.push(|| has_come.store(true, SeqCst));
            crew.post(0, || has_mail.store(true, SeqCst));
        }
        wait_for("both", || has_mail.load(SeqCst) && has_come.load(SeqCst));
        drop(lease);
    });
}

/// The tasks of a scope are not other workers' work: its worker runs them without delay, however deep its stack is.
#[test]
fn a_worker_low_on_stack_runs_its_scopes_tasks_at_once() {
    fn nested(depth: usize) {
        let visits = AtomicUsize::new(0);
        filch::scope(|s| {
            s.spawn(|_| {
                visits.fetch_add(1, SeqCst);
                if depth > 0 {
                    nested(depth - 1);
                }
            });
        });
        assert_eq!(visits.into_inner(), 1);
    }
    fn runs<P: Pool>() {
        let pool = Builder::<P>::new().workers(1).stack_size(1 << 20).build().unwrap();
        // If each level searched for a tenth of a millisecond, ten times as long for the first and twice as long for
        // each one after it, this would take an hour.
        pool.install(|| deep::<{ 600 << 10 }, _>(|| nested(20)));
    }
    let _watchdog = watchdog("scopes on a low stack");
    runs::<Split>();
    runs::<Queued<ChaseLev>>();
}

/// A request may have been answered with nothing just before the worker that made it fell asleep.
#[test]
fn a_worker_asleep_at_a_join_gets_the_next_fork() {
    fn is_told<P: Pool>(wait: Wait) {
        let pool: ThreadPool<P> = pool_of(2, wait);
        for _ in 0..30 {
            let [is_taken, ran] = flags();
            let (waiter, parks) = (AtomicUsize::new(usize::MAX), AtomicU64::new(0));
            let parks_of = |worker: usize| pool.stats().workers[worker].parks;
            let waits = |index: usize| {
                until(&is_taken);
                parks.store(parks_of(index), SeqCst);
                waiter.store(index, SeqCst);
            };
            let forks = || {
                is_taken.store(true, SeqCst);
                let [first_ran] = flags();
                let then = || {
                    until(&first_ran);
                    wait_for("a sleep", || {
                        filch::poll();
                        let waiter = waiter.load(SeqCst);
                        waiter != usize::MAX && parks_of(waiter) > parks.load(SeqCst)
                    });
                    filch::join(|| until(&ran), || ran.store(true, SeqCst));
                };
                filch::join(then, || first_ran.store(true, SeqCst));
            };
            pool.run(|mut w| w.join(|w| waits(w.index()), |_| forks()));
            assert!(ran.load(SeqCst));
        }
    }
    let _watchdog = watchdog("a fork after a sleep");
    for wait in [Wait::Leapfrog, Wait::LeapfrogRandom, Wait::Random] {
        is_told::<Split>(wait);
        is_told::<Wool>(wait);
        is_told::<Wool<1, 1>>(wait);
        is_told::<Queued<ChaseLev>>(wait);
        is_told::<Heartbeat<ChaseLev>>(wait);
        is_told::<Heartbeat<ChaseLev, Request>>(wait);
    }
}

/// A closing pool runs all remaining jobs before its workers call their exit handlers.
#[test]
fn a_closing_pool_runs_all_jobs_before_its_workers_leave() {
    let _watchdog = watchdog("a pool that closes");
    let told = Arc::new(Mutex::new(Vec::new()));
    let tells = |what: &'static str| {
        let told = Arc::clone(&told);
        move || told.lock().unwrap().push(what)
    };
    let exit = tells("exit");
    let pool = Arc::new(ThreadPool::builder().workers(1).on_exit(move |_| exit()).build().unwrap());
    let (last, jobs) = (Arc::clone(&pool), [tells("job"), tells("job")]);
    let [is_free] = flags();
    let is_free = Arc::new(is_free);
    wait_for("a worker", || pool.stats().total().parks > 0);
    let until_free = Arc::clone(&is_free);
    pool.spawn(move || {
        wait_for("the last handle but one", || until_free.load(SeqCst));
        jobs.into_iter().for_each(filch::spawn);
        // Dropping the last handle closes the pool.
        drop(last);
    });
    drop(pool);
    is_free.store(true, SeqCst);
    wait_for("the end", || told.lock().unwrap().contains(&"exit"));
    assert_eq!(*told.lock().unwrap(), ["job", "job", "exit"]);
}

/// Two jobs from outside for two sleeping workers: the worker woken for the first sees the second, and wakes the other.
#[test]
fn a_wake_up_that_is_passed_on_is_counted() {
    let _watchdog = watchdog("a wake-up passed on");
    let pool = pool(2, Wait::default());
    // Nobody forks or spawns here, and wake-ups by other threads do not count as a worker's.
    wait_for("a wake-up", || {
        let met = Arc::new(AtomicUsize::new(0));
        for _ in 0..2 {
            let met = Arc::clone(&met);
            pool.spawn(move || {
                met.fetch_add(1, SeqCst);
                wait_for("the other job", || met.load(SeqCst) == 2);
            });
        }
        wait_for("both jobs", || met.load(SeqCst) == 2);
        // Time to fall asleep.
        thread::sleep(std::time::Duration::from_micros(200));
        pool.stats().total().wakeups > 0
    });
}
