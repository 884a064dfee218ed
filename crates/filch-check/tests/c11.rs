//! Checks loom's memory on small programs whose outcomes the C11 model fixes, and runs the queues on it.

use std::sync::Arc;

use filch_check::c11::{Bounds, Explored, Loom, Verdict, explore};
use filch_check::scenarios::queues::{Client, program};
use filch_check::{Make, Program, Setting};
use filch_memory::{Asymmetric, Atomic, AtomicInt, Cell, Memory, Ordering, Sleep};
use filch_queue::{ChaseLev, Lace};

type Word = <Loom as Memory>::AtomicU32;
type Plain = <Loom as Memory>::Cell<u32>;

fn word(value: u32) -> Word {
    Atomic::new(value)
}

type Body<S> = fn(&S);

/// Makes a program whose threads share one value, created anew for each execution.
fn program_of<S: 'static>(shared: fn() -> S, bodies: &[Body<S>], finally: Body<S>) -> Make {
    let bodies = bodies.to_vec();
    Arc::new(move |_| {
        let shared = Arc::new(shared());
        let threads = bodies.iter().enumerate().map(|(index, &body)| {
            let shared = Arc::clone(&shared);
            (format!("thread {index}"), Box::new(move || body(&shared)) as Box<dyn FnOnce()>)
        });
        let threads = threads.collect();
        Program { threads, finally: Box::new(move || finally(&shared)) }
    })
}

fn explored(make: &Make) -> Explored {
    explore(make, Setting::default(), &Bounds::default(), &mut |_| ())
}

#[track_caller]
fn passes(make: &Make) {
    assert_eq!(explored(make).verdict, Verdict::Passed);
}

#[track_caller]
fn fails(make: &Make, how: &str) {
    match explored(make).verdict {
        Verdict::Failed(message) if message.contains(how) => {}
        other => panic!("{other:?}, not a failure that mentions `{how}`"),
    }
}

struct Registers {
    x: Word,
    y: Word,
    seen: [Word; 2],
}

fn registers() -> Registers {
    Registers { x: word(0), y: word(0), seen: [word(7), word(7)] }
}

fn message_passing(order: Ordering) -> Make {
    let send: Body<Registers> = match order {
        Ordering::Release => |s| {
            s.x.store(1, Ordering::Relaxed);
            s.y.store(1, Ordering::Release);
        },
        _ => |s| {
            s.x.store(1, Ordering::Relaxed);
            s.y.store(1, Ordering::Relaxed);
        },
    };
    let receive: Body<Registers> = |s| {
        if s.y.load(Ordering::Acquire) == 1 {
            assert_eq!(s.x.load(Ordering::Relaxed), 1, "an old message");
        }
    };
    program_of(registers, &[send, receive], |_| ())
}

#[test]
fn a_message_needs_a_release() {
    passes(&message_passing(Ordering::Release));
    fails(&message_passing(Ordering::Relaxed), "an old message");
}

fn both_zero(s: &Registers) {
    let seen = s.seen.each_ref().map(|word| word.load(Ordering::Relaxed));
    assert_ne!(seen, [0, 0], "each has missed the other");
}

#[test]
fn store_buffering_needs_both_fences() {
    let fenced: &[Body<Registers>] = &[
        |s| {
            s.x.store(1, Ordering::Relaxed);
            Loom::fence(Ordering::SeqCst);
            s.seen[0].store(s.y.load(Ordering::Relaxed), Ordering::Relaxed);
        },
        |s| {
            s.y.store(1, Ordering::Relaxed);
            Loom::fence(Ordering::SeqCst);
            s.seen[1].store(s.x.load(Ordering::Relaxed), Ordering::Relaxed);
        },
    ];
    passes(&program_of(registers, fenced, both_zero));
    let half: &[Body<Registers>] = &[fenced[0], |s| {
        s.y.store(1, Ordering::Relaxed);
        s.seen[1].store(s.x.load(Ordering::Relaxed), Ordering::Relaxed);
    }];
    fails(&program_of(registers, half, both_zero), "each has missed the other");
    let barriers: &[Body<Registers>] = &[
        |s| {
            s.x.store(1, Ordering::Relaxed);
            Loom::light_barrier();
            s.seen[0].store(s.y.load(Ordering::Relaxed), Ordering::Relaxed);
        },
        |s| {
            s.y.store(1, Ordering::Relaxed);
            Loom::heavy_barrier();
            s.seen[1].store(s.x.load(Ordering::Relaxed), Ordering::Relaxed);
        },
    ];
    passes(&program_of(registers, barriers, both_zero));
}

#[test]
fn a_fence_after_two_stores_does_not_order_them() {
    let bodies: &[Body<Registers>] = &[
        |s| {
            s.x.store(1, Ordering::Relaxed);
            s.y.store(1, Ordering::Relaxed);
            Loom::fence(Ordering::SeqCst);
        },
        |s| {
            let y = s.y.load(Ordering::Relaxed);
            Loom::fence(Ordering::SeqCst);
            assert!(y == 0 || s.x.load(Ordering::Relaxed) == 1, "an old message");
        },
    ];
    fails(&program_of(registers, bodies, |_| ()), "an old message");
}

#[test]
fn a_store_after_its_own_threads_load_is_seen_by_others() {
    let bodies: &[Body<Registers>] = &[
        |s| s.seen[0].store(s.x.load(Ordering::Relaxed), Ordering::Relaxed),
        |s| {
            let x = s.x.load(Ordering::Relaxed);
            s.x.store(x + 1, Ordering::Relaxed);
        },
    ];
    let not_seen: Body<Registers> = |s| assert_eq!(s.seen[0].load(Ordering::Relaxed), 0, "seen");
    fails(&program_of(registers, bodies, not_seen), "seen");
}

#[test]
fn a_race_on_a_cell_is_found() {
    let racing: &[Body<(Plain, Word)>] = &[
        |(cell, flag)| {
            // SAFETY: the memory reports any accesses that might overlap.
            cell.with_mut(|value| unsafe { *value = 1 });
            flag.store(1, Ordering::Release);
        },
        |(cell, flag)| {
            flag.load(Ordering::Acquire);
            // SAFETY: as above.
            cell.with(|value| unsafe { *value });
        },
    ];
    fails(&program_of(|| (Cell::new(0), word(0)), racing, |_| ()), "Causality violation");
}

#[test]
fn arithmetic_loses_nothing() {
    let add: Body<Word> = |count| {
        count.fetch_add(1, Ordering::Relaxed);
        count.fetch_sub(3, Ordering::Relaxed);
    };
    let check: Body<Word> = |count| assert_eq!(count.load(Ordering::Relaxed), 1_u32.wrapping_sub(4));
    passes(&program_of(|| word(1), &[add, add], check));
}

#[test]
fn a_waiting_loop_ends() {
    let bodies: &[Body<Word>] = &[
        |flag| {
            while flag.load(Ordering::Acquire) == 0 {
                Loom::spin_loop();
            }
        },
        |flag| flag.store(1, Ordering::Release),
    ];
    passes(&program_of(|| word(0), bodies, |_| ()));
    fails(&program_of(|| word(0), &bodies[..1], |_| ()), "no end");
}

#[test]
fn a_lock_that_is_tried_by_swaps_comes_free() {
    type Locked = (Word, Plain);
    let body: Body<Locked> = |(lock, count)| {
        while lock.swap(1, Ordering::Acquire) == 1 {
            while lock.load(Ordering::Relaxed) == 1 {
                Loom::spin_loop();
            }
        }
        // SAFETY: the memory reports any accesses that might overlap.
        count.with_mut(|count| unsafe { *count += 1 });
        lock.store(0, Ordering::Release);
    };
    let make = program_of(
        || (word(0), Cell::new(0)),
        &[body, body],
        |(_, count)| {
            // SAFETY: as above.
            assert_eq!(count.with(|count| unsafe { *count }), 2);
        },
    );
    passes(&make);
}

/// Sleeps until the flag is set, if the flag was still clear when it looked.
fn sleeper(flag: &Word) {
    while flag.load(Ordering::Acquire) == 0 {
        Loom::wait(flag, 0);
    }
}

#[test]
fn a_wake_up_is_not_lost_if_the_word_changes_first() {
    let bodies: &[Body<Word>] = &[sleeper, |flag| {
        flag.store(1, Ordering::Release);
        Loom::wake_one(flag);
    }];
    passes(&program_of(|| word(0), bodies, |_| ()));
    let bodies: &[Body<Word>] = &[sleeper, sleeper, |flag| {
        flag.store(1, Ordering::Release);
        Loom::wake_all(flag);
    }];
    passes(&program_of(|| word(0), bodies, |_| ()));
}

#[test]
fn a_lost_wake_up_is_found() {
    let too_early: &[Body<Word>] = &[sleeper, |flag| {
        Loom::wake_one(flag);
        flag.store(1, Ordering::Release);
    }];
    fails(&program_of(|| word(0), too_early, |_| ()), "sleep");
    let never: &[Body<Word>] = &[sleeper, |flag| flag.store(1, Ordering::Release)];
    fails(&program_of(|| word(0), never, |_| ()), "sleep");
    let one_of_two: &[Body<Word>] = &[sleeper, sleeper, |flag| {
        flag.store(1, Ordering::Release);
        Loom::wake_one(flag);
    }];
    fails(&program_of(|| word(0), one_of_two, |_| ()), "sleep");
    // Whether it sleeps depends only on the order of the wait and the wake-up.
    let blind: &[Body<Word>] = &[|flag| Loom::wait(flag, 0), |flag| Loom::wake_one(flag)];
    fails(&program_of(|| word(0), blind, |_| ()), "sleep");
}

/// A value whose destructor uses an atomic variable.
struct Flag<'a>(&'a Word);

impl Drop for Flag<'_> {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::AcqRel);
        Loom::fence(Ordering::SeqCst);
    }
}

#[test]
fn a_failure_leaves_nothing_behind() {
    let broken: &[Body<Word>] = &[
        |flag| {
            let _flag = Flag(flag);
            sleeper(flag);
        },
        |flag| {
            let _flag = Flag(flag);
            assert_eq!(flag.load(Ordering::Relaxed), 0, "seen by the second");
            flag.store(0, Ordering::Relaxed);
        },
        |flag| {
            flag.fetch_add(1, Ordering::AcqRel);
            panic!("the third gives up");
        },
    ];
    let none: Make = Arc::new(|_| -> Program { panic!("at the start") });
    for _ in 0..200 {
        fails(&program_of(|| word(0), &broken[..1], |_| ()), "sleep");
        fails(&program_of(|| word(0), broken, |_| ()), "");
        fails(&program_of(|| word(0), &[], |_| panic!("at the end")), "at the end");
        fails(&none, "at the start");
        passes(&message_passing(Ordering::Release));
    }
}

#[test]
fn bounds_stop_an_exploration() {
    let client = Client::new(2, 0, "++--", &[2]);
    let make: Make = Arc::new(move |_| program::<Loom, ChaseLev>(&client, &()));
    let bounds = Bounds { executions: 3_000, ..Bounds::default() };
    let mut told = Vec::new();
    let result = explore(&make, Setting::default(), &bounds, &mut |count| told.push(count));
    assert_eq!(result.executions, 3_000);
    assert!(matches!(result.verdict, Verdict::Stopped(_)));
    assert_eq!(told, [1024, 2048]);
}

#[test]
fn small_clients_of_the_queues_pass() {
    for client in [Client::new(2, 0, "+-", &[1]), Client::new(2, 1, "+-", &[1])] {
        let (a, b) = (client.clone(), client);
        passes(&(Arc::new(move |_| program::<Loom, ChaseLev>(&a, &Default::default())) as Make));
        passes(&(Arc::new(move |_| program::<Loom, Lace>(&b, &Default::default())) as Make));
    }
}
