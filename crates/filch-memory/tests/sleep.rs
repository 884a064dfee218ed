//! Sleeping on a word: sleepers are woken, and no thread falls asleep on a word that has changed.
#![cfg(feature = "std")]

use std::sync::Arc;
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use filch_memory::{Atomic, Memory, Native, Ordering, Sleep};

type Word = <Native as Memory>::AtomicU32;

/// Far more than a wake-up takes.
const PATIENCE: Duration = Duration::from_secs(60);

/// Fewer where each step takes a thousand times as long.
const ROUNDS: usize = if cfg!(miri) { 3 } else { 20 };

/// Makes `sleepers` threads sleep on a word until it changes, wakes them by `wake`, and fails if one stays asleep.
fn sleepers_wake(sleepers: usize, wake: impl Fn(&Word)) {
    let word: Arc<Word> = Arc::new(Atomic::new(0));
    let ready: Arc<Word> = Arc::new(Atomic::new(0));
    let (woken, awake) = channel();
    let threads: Vec<_> = (0..sleepers)
        .map(|_| {
            let (word, ready, woken) = (Arc::clone(&word), Arc::clone(&ready), woken.clone());
            thread::spawn(move || {
                ready.fetch_add(1, Ordering::Relaxed);
                while word.load(Ordering::Acquire) == 0 {
                    Native::wait(&word, 0);
                }
                woken.send(()).expect("the receiver is alive");
            })
        })
        .collect();
    while (ready.load(Ordering::Relaxed) as usize) < sleepers {
        thread::yield_now();
    }
    // Long enough for most to fall asleep; the others find that the word has changed.
    thread::sleep(Duration::from_millis(5));
    word.store(1, Ordering::Release);
    wake(&word);
    for _ in 0..sleepers {
        awake.recv_timeout(PATIENCE).expect("a sleeper was not woken");
    }
    threads.into_iter().for_each(|thread| thread.join().expect("no thread panics"));
}

#[test]
fn one_sleeper_is_woken() {
    for _ in 0..ROUNDS {
        sleepers_wake(1, Native::wake_one);
    }
}

#[test]
fn each_wake_up_wakes_one() {
    for _ in 0..ROUNDS {
        sleepers_wake(3, |word| (0..3).for_each(|_| Native::wake_one(word)));
    }
}

#[test]
fn all_sleepers_are_woken() {
    for _ in 0..ROUNDS {
        sleepers_wake(3, Native::wake_all);
    }
}

#[test]
fn no_thread_sleeps_on_a_word_that_has_changed() {
    let (woken, awake) = channel();
    let thread = thread::spawn(move || {
        let word: Word = Atomic::new(1);
        Native::wait(&word, 0);
        woken.send(()).expect("the receiver is alive");
    });
    awake.recv_timeout(PATIENCE).expect("it does not sleep");
    thread.join().expect("no thread panics");
}
