//! Interrupts: a task that never forks again does not keep others from its worker's earlier forks.

#![allow(clippy::disallowed_types, reason = "tests count; what they test is the algorithm")]

mod common;

#[cfg(unix)]
use std::sync::Mutex;
#[cfg(unix)]
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use filch::pool::{Pool, PrivateStack, Queued, Split, Wool};
use filch::{Builder, Interrupts, ThreadPool, Worker};
#[cfg(unix)]
use filch_memory::Native;
#[cfg(unix)]
use filch_queue::Queue;
use filch_queue::{Adws, ChaseLev, PadWs, PdqR, PdqR2, PdqR2Async, PdqRAsync, PdqS, PdqSAtOnce, PdqSOneStep, PdqSTold};

/// Signals affect the whole process.
#[cfg(unix)]
static ALONE: Mutex<()> = Mutex::new(());

fn pool<P: Pool>(workers: usize, interrupts: Option<Interrupts>) -> ThreadPool<P> {
    let builder = Builder::<P>::new().workers(workers).stack_size(1 << 20);
    let builder = interrupts.into_iter().fold(builder, Builder::interrupts);
    builder.build().expect("the pool starts")
}

/// Ends only if thieves steal all second branches under first branches that wait for them and call `poll`.
fn waits_for_thieves<P: Pool>(pool: &ThreadPool<P>, poll: fn()) {
    let done = [const { AtomicBool::new(false) }; 3];
    let set = |n: usize| done[n].store(true, Ordering::Relaxed);
    let wait = || {
        while !done.iter().all(|done| done.load(Ordering::Relaxed)) {
            poll();
        }
    };
    pool.install(|| filch::join(|| filch::join(|| filch::join(wait, || set(0)), || set(1)), || set(2)));
}

/// The same in handle style.
fn waits_for_thieves_by_handle<P: Pool>(pool: &ThreadPool<P>, poll: fn(&mut Worker<'_, P>)) {
    let done = [const { AtomicBool::new(false) }; 3];
    let done = &done;
    let set = |n: usize| done[n].store(true, Ordering::Relaxed);
    pool.run(|mut w| {
        w.join(
            |mut w| {
                w.join(
                    |mut w| {
                        w.join(
                            |mut w| {
                                while !done.iter().all(|done| done.load(Ordering::Relaxed)) {
                                    poll(&mut w);
                                }
                            },
                            |_| set(0),
                        )
                    },
                    |_| set(1),
                )
            },
            |_| set(2),
        )
    });
}

#[expect(clippy::redundant_closure_for_method_calls, reason = "the method itself is not general enough")]
fn answers<P: Pool>() {
    let often = Duration::from_micros(100);
    for workers in [2, 3] {
        for interrupts in [None, Some(Interrupts::flag().every(often))] {
            let pool = pool::<P>(workers, interrupts);
            waits_for_thieves(&pool, filch::poll);
            waits_for_thieves_by_handle(&pool, |w| w.poll());
        }
    }
}

#[cfg(unix)]
fn answers_signals<P: Pool>(by: Interrupts) {
    let often = Duration::from_micros(100);
    for workers in [2, 3] {
        let pool = pool::<P>(workers, Some(by.every(often)));
        waits_for_thieves(&pool, std::hint::spin_loop);
        waits_for_thieves_by_handle(&pool, |_| std::hint::spin_loop());
        assert!(pool.stats().total().interrupts > 0, "no interrupt has answered");
    }
}

#[test]
fn a_polling_task_shares_everything() {
    let _alive = common::watchdog("a polling task");
    answers::<Split>();
    answers::<Wool>();
    answers::<PrivateStack>();
    answers::<Queued<ChaseLev>>();
    answers::<Queued<PdqR>>();
    answers::<Queued<PdqR2>>();
    answers::<Queued<PdqRAsync>>();
    answers::<Queued<PdqR2Async>>();
    answers::<Queued<PdqS>>();
    answers::<Queued<PdqSAtOnce>>();
    answers::<Queued<PdqSTold>>();
    answers::<Queued<PdqSOneStep>>();
    answers::<Queued<Adws>>();
    answers::<Queued<PadWs>>();
}

#[cfg(unix)]
#[test]
fn a_signal_interrupts_a_task_that_does_not_poll() {
    let _alive = common::watchdog("a task that does not poll");
    let _alone = ALONE.lock();
    for by in [Interrupts::signal(), Interrupts::by_thieves()] {
        answers_signals::<Queued<PdqR>>(by);
        answers_signals::<Queued<PdqR2>>(by);
        answers_signals::<Queued<PdqRAsync>>(by);
        answers_signals::<Queued<PdqR2Async>>(by);
        answers_signals::<Queued<Adws>>(by);
        answers_signals::<Queued<PadWs>>(by);
    }
    answers_signals::<Queued<PdqS>>(Interrupts::signal());
    answers_signals::<Queued<PdqSAtOnce>>(Interrupts::signal());
    answers_signals::<Queued<PdqSTold>>(Interrupts::signal());
}

/// Without a clock, nobody interrupts a worker that no thief asks.
#[cfg(unix)]
#[test]
fn thieves_interrupt_only_those_whom_they_ask() {
    let _alive = common::watchdog("a thief's interrupts");
    let _alone = ALONE.lock();
    let pool = pool::<Queued<PdqR2Async>>(3, Some(Interrupts::by_thieves().every(Duration::from_micros(10))));
    let interrupts = || pool.stats().total().interrupts;
    // Nothing can be stolen, so thieves sleep.
    pool.install(|| std::thread::sleep(Duration::from_millis(5)));
    let before = interrupts();
    pool.install(|| {
        let begun = std::time::Instant::now();
        while begun.elapsed() < Duration::from_millis(20) {
            std::hint::spin_loop();
        }
    });
    assert_eq!(interrupts(), before);
    waits_for_thieves(&pool, std::hint::spin_loop);
    assert!(interrupts() > before);
}

#[cfg(unix)]
#[test]
fn thieves_that_ask_nobody_cannot_interrupt() {
    fn refuses<Q: Queue<Native>>() {
        let builder = Builder::<Queued<Q>>::new().workers(2).interrupts(Interrupts::by_thieves());
        let error = builder.build().expect_err("owners deal").to_string();
        assert!(error.contains("ask no worker in particular"), "{error}");
    }
    refuses::<PdqS>();
    refuses::<PdqSAtOnce>();
    refuses::<PdqSTold>();
    refuses::<PdqSOneStep>();
    // As with a clock's signals, there is nothing to do where anybody can steal at any time.
    drop(pool::<Split>(2, Some(Interrupts::by_thieves())));
    drop(pool::<Queued<ChaseLev>>(2, Some(Interrupts::by_thieves())));
}

#[cfg(unix)]
#[test]
fn nothing_ticks_while_no_thief_waits() {
    let _alive = common::watchdog("a task alone");
    let _alone = ALONE.lock();
    for interrupts in [Interrupts::signal(), Interrupts::flag()] {
        // A worker alone in its pool is a thief only before and after its task.
        let pool = pool::<Queued<PdqRAsync>>(1, Some(interrupts.every(Duration::from_micros(10))));
        let ticks = || pool.stats().total().interrupts;
        let during = pool.install(|| {
            let before = ticks();
            for _ in 0..300 {
                std::thread::sleep(Duration::from_micros(50));
                filch::poll();
            }
            ticks() - before
        });
        assert!(during <= 2, "{during} ticks; one may have been requested before and one may have been pending");
    }
}

#[cfg(unix)]
#[test]
fn programs_are_right_under_many_signals() {
    let _alive = common::watchdog("a program under many signals");
    fn fib<P: Pool>(mut w: Worker<'_, P>, n: u64) -> u64 {
        if n < 2 {
            return n;
        }
        let (a, b) = w.join(move |w| fib(w, n - 1), move |w| fib(w, n - 2));
        a + b
    }
    fn holds<P: Pool>(by: Interrupts) {
        for workers in [2, 3] {
            let pool = pool::<P>(workers, Some(by.every(Duration::from_micros(1))));
            for _ in 0..3 {
                assert_eq!(pool.run(|w| fib(w, 22)), 17_711);
                let (answer, timeline) = pool.record(|| pool.run(|w| fib(w, 22)));
                assert_eq!((answer, timeline.workers.len()), (17_711, workers));
                // System calls of the standard library are restarted.
                pool.install(|| std::thread::sleep(Duration::from_millis(1)));
            }
        }
    }
    let _alone = ALONE.lock();
    for by in [Interrupts::signal(), Interrupts::by_thieves()] {
        holds::<Split>(by);
        holds::<Queued<PdqR>>(by);
        holds::<Queued<PdqR2>>(by);
        holds::<Queued<PdqRAsync>>(by);
        holds::<Queued<PdqR2Async>>(by);
        holds::<Queued<Adws>>(by);
        holds::<Queued<PadWs>>(by);
    }
    holds::<Queued<PdqS>>(Interrupts::signal());
    holds::<Queued<PdqSTold>>(Interrupts::signal());
}

#[cfg(unix)]
#[test]
fn the_programs_own_handler_stays_in_use_and_is_restored() {
    static CALLS: AtomicUsize = AtomicUsize::new(0);
    extern "C" fn own(_: libc::c_int) {
        CALLS.fetch_add(1, Ordering::Relaxed);
    }
    fn handler() -> usize {
        // SAFETY: actions are plain data, and the query changes nothing.
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            assert_eq!(libc::sigaction(libc::SIGURG, std::ptr::null(), &raw mut action), 0);
            action.sa_sigaction
        }
    }
    let _alone = ALONE.lock();
    let own_address = own as extern "C" fn(libc::c_int) as *const () as usize;
    // SAFETY: the handler only counts.
    let former = unsafe { libc::signal(libc::SIGURG, own_address) };
    {
        // The first worker wants ticks until the second one has become a worker.
        let builder = Builder::<Queued<PdqRAsync>>::new().workers(2).interrupts(Interrupts::signal());
        let late = |worker| std::thread::sleep(Duration::from_millis(20 * worker as u64));
        let pool = builder.on_start(late).build().expect("the pool starts");
        pool.run(|mut w| w.join(|_| (), |_| ()));
        drop(pool);
        assert_eq!(CALLS.load(Ordering::Relaxed), 0, "a tick does not call the program's handler");
    }
    {
        let pools = [(); 2].map(|()| pool::<Queued<PdqRAsync>>(2, Some(Interrupts::signal())));
        assert_ne!(handler(), own_address);
        let before = CALLS.load(Ordering::Relaxed);
        // SAFETY: the signal has a handler.
        unsafe { libc::raise(libc::SIGURG) };
        assert_eq!(CALLS.load(Ordering::Relaxed), before + 1);
        let [first, second] = pools;
        drop(first);
        assert_ne!(handler(), own_address, "the other pool needs it");
        drop(second);
    }
    assert_eq!(handler(), own_address);
    // SAFETY: this restores the former handler.
    unsafe { libc::signal(libc::SIGURG, former) };
    drop(pool::<Split>(2, Some(Interrupts::signal())));
    assert_eq!(handler(), former, "this pool needs no handler");
}

#[test]
fn a_period_of_zero_is_refused() {
    let built =
        Builder::<Queued<PdqRAsync>>::new().workers(2).interrupts(Interrupts::flag().every(Duration::ZERO)).build();
    let error = built.expect_err("a period of zero is impossible").to_string();
    assert!(error.contains("zero"), "{error}");
}

#[cfg(unix)]
#[test]
fn a_task_may_drop_its_own_interrupted_pool() {
    let _alone = ALONE.lock();
    for by in [Interrupts::signal(), Interrupts::by_thieves()] {
        let pool = pool::<Queued<PdqRAsync>>(2, Some(by));
        let (sender, receiver) = std::sync::mpsc::channel();
        let handed = std::sync::Arc::new(Mutex::new(Some(pool)));
        let taken = std::sync::Arc::clone(&handed);
        let guard = handed.lock().expect("nobody panics");
        guard.as_ref().expect("not taken yet").spawn(move || {
            drop(taken.lock().expect("nobody panics").take());
            sender.send(()).expect("somebody waits");
        });
        drop(guard);
        receiver.recv().expect("the task ends");
    }
}

/// Our handler runs on the alternate stack if the thread has one, and blocks the signals that the program's own handler
/// blocks.
#[cfg(unix)]
#[test]
fn the_handler_respects_the_flags_and_mask_of_the_programs_own() {
    extern "C" fn own(_: libc::c_int) {}
    fn exchange(new: Option<&libc::sigaction>) -> libc::sigaction {
        // SAFETY: actions are plain data, and the pointers are to actions or null.
        unsafe {
            let mut former: libc::sigaction = std::mem::zeroed();
            let new = new.map_or(std::ptr::null(), std::ptr::from_ref);
            assert_eq!(libc::sigaction(libc::SIGURG, new, &raw mut former), 0);
            former
        }
    }
    let _alone = ALONE.lock();
    // SAFETY: as above; the set is initialized before a signal is added.
    let action = unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = own as extern "C" fn(libc::c_int) as *const () as usize;
        libc::sigemptyset(&raw mut action.sa_mask);
        libc::sigaddset(&raw mut action.sa_mask, libc::SIGUSR2);
        action
    };
    let former = exchange(Some(&action));
    {
        let _pool = pool::<Queued<PdqRAsync>>(1, Some(Interrupts::signal()));
        let installed = exchange(None);
        assert_ne!(installed.sa_sigaction, action.sa_sigaction);
        assert_ne!(installed.sa_flags & libc::SA_ONSTACK, 0);
        // SAFETY: the system has initialized the set.
        assert_eq!(unsafe { libc::sigismember(&raw const installed.sa_mask, libc::SIGUSR2) }, 1);
    }
    assert_eq!(exchange(Some(&former)).sa_sigaction, action.sa_sigaction, "the former action is restored");
}

/// A handler that the program has put before ours is later the one to which ours passes signals on.
#[cfg(unix)]
#[test]
fn handlers_that_pass_signals_to_each_other_do_so_once() {
    static CALLS: AtomicUsize = AtomicUsize::new(0);
    static OURS: AtomicUsize = AtomicUsize::new(0);
    static RAISER: AtomicUsize = AtomicUsize::new(0);
    fn me() -> usize {
        // SAFETY: it has no preconditions.
        unsafe { libc::pthread_self() as usize }
    }
    extern "C" fn before(signal: libc::c_int, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
        // A late tick may interrupt a worker meanwhile.
        let is_raised = me() == RAISER.load(Ordering::Relaxed);
        assert!(!is_raised || CALLS.fetch_add(1, Ordering::Relaxed) < 9, "they pass it on for ever");
        type Handler = extern "C" fn(libc::c_int, *mut libc::siginfo_t, *mut libc::c_void);
        // SAFETY: the address is that of the handler which was installed with `SA_SIGINFO`.
        unsafe { std::mem::transmute::<usize, Handler>(OURS.load(Ordering::Relaxed))(signal, info, context) };
    }
    let _alone = ALONE.lock();
    let pools = || pool::<Queued<PdqRAsync>>(1, Some(Interrupts::signal()));
    let first = pools();
    // SAFETY: actions are plain data, the pointers are to actions in this frame, and the handler has the type that the
    // flag requires.
    let former = unsafe {
        let (mut action, mut former): (libc::sigaction, libc::sigaction) = (std::mem::zeroed(), std::mem::zeroed());
        assert_eq!(libc::sigaction(libc::SIGURG, std::ptr::null(), &raw mut former), 0);
        OURS.store(former.sa_sigaction, Ordering::Relaxed);
        action.sa_sigaction = before as *const () as usize;
        action.sa_flags = libc::SA_SIGINFO;
        assert_eq!(libc::sigaction(libc::SIGURG, &raw const action, &raw mut former), 0);
        former
    };
    drop(first);
    let second = pools();
    RAISER.store(me(), Ordering::Relaxed);
    // SAFETY: the signal has a handler.
    unsafe { libc::raise(libc::SIGURG) };
    assert_eq!(CALLS.load(Ordering::Relaxed), 1);
    drop(second);
    // SAFETY: as above; ours stays, which passes signals on to nobody else's.
    assert_eq!(unsafe { libc::sigaction(libc::SIGURG, &raw const former, std::ptr::null_mut()) }, 0);
}

/// A steady clock also ticks for a worker that no thief can ask.
#[test]
fn a_steady_clock_needs_no_thief() {
    let _watchdog = common::watchdog("a steady clock");
    let pool = pool::<Queued<PdqR>>(1, Some(Interrupts::flag().every(Duration::from_micros(100)).steady()));
    pool.install(|| {
        let ticks = || pool.stats().total().interrupts;
        let before = ticks();
        while ticks() < before + 10 {
            filch::poll();
        }
    });
}
