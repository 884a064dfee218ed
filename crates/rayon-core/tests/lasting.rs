//! State that lasts as long as the process: the global pool, threads that nobody joins, and threads made workers. Miri
//! must be told that this leaks.
#![allow(clippy::disallowed_types, reason = "tests count; what they test is the algorithm")]

use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::mpsc::channel;
use std::thread;

use rayon_core::{
    ThreadPoolBuilder, broadcast, current_num_threads, current_thread_index, in_place_scope, join, join_context, scope,
    scope_fifo, spawn, spawn_broadcast, spawn_fifo, yield_now,
};

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
            let (a, b) = join(|| sum(left), || sum(right));
            Box::new(*a + *b)
        }
    }
}

/// Two threads, on any number of processors.
fn build_global() {
    // Fails if another test was faster.
    let _ = ThreadPoolBuilder::new().num_threads(2).build_global();
    assert_eq!(current_num_threads(), 2);
}

#[test]
fn everything_from_outside_goes_to_the_global_pool() {
    build_global();
    let numbers = boxes(7);
    thread::scope(|s| {
        for _ in 0..2 {
            s.spawn(|| {
                assert_eq!(*sum(&numbers), 21);
                assert_eq!(join_context(|a| a.migrated(), |b| (b.migrated(), [1; 20])), (true, (true, [1; 20])));
                let (mut one, mut two, mut three) = (0, 0, 0);
                scope(|s| s.spawn(|_| one = *sum(&numbers)));
                scope_fifo(|s| s.spawn_fifo(|_| two = *sum(&numbers)));
                in_place_scope(|s| s.spawn(|_| three = *sum(&numbers)));
                assert_eq!((one, two, three), (21, 21, 21));
                assert_eq!(broadcast(|context| numbers[context.index()].clone()), numbers[..2]);
            });
        }
    });
    let (sender, receiver) = channel();
    let [first, second] = [(); 2].map(|()| sender.clone());
    spawn(move || first.send(Box::new(1)).unwrap());
    spawn_fifo(move || second.send(Box::new(2)).unwrap());
    spawn_broadcast(move |context| sender.send(Box::new(context.num_threads())).unwrap());
    assert_eq!(receiver.iter().map(|n| *n).sum::<usize>(), 1 + 2 + 2 + 2);
}

/// The threads of a dropped pool leave on their own.
#[test]
fn a_pool_of_threads_that_nobody_joins() {
    let pool = ThreadPoolBuilder::new().num_threads(2).build().unwrap();
    let numbers = boxes(7);
    assert_eq!(*pool.install(|| sum(&numbers)), 21);
    let (sender, receiver) = channel();
    pool.spawn(move || sender.send(sum(&boxes(3))).unwrap());
    drop(pool);
    assert_eq!(receiver.recv(), Ok(Box::new(3)));
}

#[test]
fn a_thread_that_is_made_a_worker() {
    let program = || {
        let pool = ThreadPoolBuilder::new().num_threads(2).use_current_thread().build().unwrap();
        assert_eq!(current_thread_index(), Some(0));
        let (numbers, count) = (boxes(7), AtomicUsize::new(0));
        assert_eq!(*pool.install(|| sum(&numbers)), 21);
        assert_eq!(*join(|| sum(&numbers), || sum(&numbers)).1, 21);
        pool.scope(|s| s.spawn_broadcast(|_, _| _ = count.fetch_add(1, SeqCst)));
        assert_eq!(count.into_inner(), 2);
        assert!(ThreadPoolBuilder::new().num_threads(1).use_current_thread().build().is_err(), "one is enough");
        drop(pool);
        let (sender, receiver) = channel();
        spawn(move || sender.send(()).unwrap());
        while receiver.try_recv().is_err() {
            yield_now();
        }
        assert_eq!(*sum(&numbers), 21, "the thread stays a worker");
    };
    thread::spawn(program).join().unwrap();
}
