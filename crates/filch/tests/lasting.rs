//! State that lasts as long as the process: the global pool, and seats taken for life. Miri must be told that this
//! leaks.
#![allow(clippy::disallowed_types, reason = "tests count; what they test is the algorithm")]

mod common;

use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::mpsc::channel;
use std::thread;

use common::{EveryPool, throw, thrown_by, watchdog};
use filch::inside::host::{Countdown, Crew, Host, Lease, current_index, join, run_one};
use filch::pool::Pool;
use filch::{Builder, ThreadPool};

#[expect(clippy::vec_box, reason = "each needs its own allocation")]
fn boxes(number: usize) -> Vec<Box<usize>> {
    (0..number).map(Box::new).collect()
}

fn sum(numbers: &[Box<usize>]) -> Box<usize> {
    match numbers {
        [] => Box::new(0),
        [number] => number.clone(),
        _ => {
            let (left, right) = numbers.split_at(numbers.len() / 2);
            let (a, b) = filch::join(|| sum(left), || sum(right));
            Box::new(*a + *b)
        }
    }
}

#[test]
fn everything_from_outside_goes_to_the_global_pool() {
    let _watchdog = watchdog("the global pool");
    let numbers = boxes(7);
    thread::scope(|s| {
        for _ in 0..2 {
            s.spawn(|| {
                assert_eq!(*sum(&numbers), 21);
                let large = filch::join(|| [1_u64; 20], || [2_u64; 20]);
                assert_eq!(large, ([1; 20], [2; 20]));
                let mut squares = [0; 5];
                filch::scope(|s| {
                    squares.iter_mut().enumerate().for_each(|(n, square)| s.spawn(move |_| *square = n * n));
                });
                assert_eq!(squares, [0, 1, 4, 9, 16]);
                assert_eq!(filch::map_reduce(&numbers[..], 0, |n| **n, |a, b| a + b), 21);
                assert_eq!(thrown_by(|| filch::join(|| throw(1), || sum(&numbers))), 1);
            });
        }
    });
    let (sender, receiver) = channel();
    filch::spawn(move || sender.send(Box::new(1)).unwrap());
    assert_eq!(receiver.recv(), Ok(Box::new(1)));
    assert_eq!(ThreadPool::global().run(|mut w| w.join(|_| 1, |_| 2)), (1, 2));
}

/// The host of joins from outside, which do not occur here.
struct Nowhere;

impl Host for Nowhere {
    fn crew() -> &'static Crew {
        unreachable!("only workers join")
    }
}

fn fork<RA: Send, RB: Send>(a: impl FnOnce() -> RA + Send, b: impl FnOnce() -> RB + Send) -> (RA, RB) {
    join::<Nowhere, _, _, _, _>(|_| a(), |_| b())
}

#[test]
fn a_thread_that_has_taken_a_seat_for_life() {
    fn occupies<P: Pool>((crew, lease, mut seats): (Crew, Lease, Vec<filch::inside::host::Seat>)) {
        let other = seats.pop().unwrap();
        seats.pop().unwrap().occupy(2 << 20).unwrap();
        let thread = thread::spawn(move || other.run(2 << 20, || (), || ()));
        assert_eq!((crew.current_index(), current_index()), (Some(0), Some(0)));
        let numbers = boxes(7);
        assert_eq!(*fork(|| sum(&numbers), || sum(&numbers)).1, 21);
        let countdown = Countdown::new(2);
        for worker in 0..2 {
            let over = Over(&raw const countdown);
            let job = move || {
                let over = over;
                // SAFETY: counted once; the countdown outlives the wait below.
                unsafe { Countdown::end(over.0) };
            };
            // SAFETY: as above.
            unsafe { crew.post(worker, job) };
        }
        countdown.wait();
        // A thread can have only one seat.
        let (_, _, mut more) = Builder::<P>::new().workers(1).task_capacity(64).seats().unwrap();
        assert_eq!(more.pop().unwrap().occupy(2 << 20).unwrap_err().index(), 0);
        drop(lease);
        thread.join().unwrap();
        let ran = AtomicUsize::new(0);
        fork(|| while run_one(true) == Some(true) {}, || ran.fetch_add(1, SeqCst));
        assert_eq!((*sum(&numbers), ran.into_inner()), (21, 1), "alone");
    }
    struct Occupies;
    impl EveryPool for Occupies {
        fn with<P: Pool>(&self) {
            let made = Builder::<P>::new().workers(2).task_capacity(64).seats().unwrap();
            thread::spawn(|| occupies::<P>(made)).join().unwrap();
        }
    }
    let _watchdog = watchdog("occupying");
    Occupies.every();
}

/// A pointer, since a reference captured by a job would have to be valid until the job has returned.
struct Over(*const Countdown);

// SAFETY: any thread may end a countdown.
unsafe impl Send for Over {}
