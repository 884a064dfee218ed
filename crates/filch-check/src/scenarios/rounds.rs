//! A caller and its threads: all threads do every round, none sleeps through one, and data passes both ways.

use std::sync::Arc;

use filch::inside::protocol::rounds::Rounds;
use filch_memory::{Cell, Memory};

use crate::{Checker, Program};

type Threads = Vec<(String, Box<dyn FnOnce()>)>;

/// The caller's data, lent to the threads in each round.
struct Lent<M: Memory> {
    rounds: Rounds<M, u32>,
    /// Written by the caller before each round.
    number: M::Cell<u32>,
    /// Per thread, its result: the thread writes it in each round, and the caller reads it afterwards.
    done: Vec<M::Cell<u32>>,
}

/// `threads` threads do `rounds` rounds; then the caller tells them to leave, or they know when to stop.
pub fn program<M: Checker>(threads: usize, rounds: u32, is_told: bool) -> Program {
    let lent = Arc::new(Lent::<M> {
        rounds: Rounds::default(),
        number: Cell::new(0),
        done: (0..threads).map(|_| Cell::new(0)).collect(),
    });
    let mut all: Threads = Vec::new();
    let caller = Arc::clone(&lent);
    let calls = move || {
        for round in 1..=rounds {
            M::note(|| format!("calls for round {round}"));
            // SAFETY: the cell is the caller's between rounds; the checker reports any other access at the same time.
            caller.number.with_mut(|number| unsafe { *number = round });
            // SAFETY: `threads` threads exist, none has been told to leave, and the only caller waits below.
            unsafe { caller.rounds.begin(threads as u32, Some(round)) };
            caller.rounds.wait(|| false);
            M::note(|| format!("round {round} is over"));
            // SAFETY: as above.
            let is_done = |done: &M::Cell<u32>| done.with(|done| unsafe { *done }) == round;
            assert!(caller.done.iter().all(is_done), "a round ended without a part");
        }
        if is_told {
            // SAFETY: as above.
            unsafe { caller.rounds.begin(threads as u32, None) };
        }
    };
    all.push(("caller".into(), Box::new(calls)));
    for thread in 0..threads {
        let lent = Arc::clone(&lent);
        let comes = move || {
            let (mut seen, mut last) = (0, 0);
            while (is_told || last < rounds)
                && let Some(job) = lent.rounds.next(&mut seen, || false)
            {
                assert_eq!(job, last + 1, "a thread missed a round, or came to one twice");
                last = job;
                M::note(|| format!("does its part of round {job}"));
                // SAFETY: the caller's cell, lent for the round.
                assert_eq!(lent.number.with(|number| unsafe { *number }), job);
                // SAFETY: this thread's cell in the round.
                lent.done[thread].with_mut(|done| unsafe { *done = job });
                lent.rounds.done();
            }
            assert_eq!(last, rounds, "a thread left too early");
        };
        all.push((format!("thread {}", thread + 1), Box::new(comes)));
    }
    Program { threads: all, finally: Box::new(|| ()) }
}
