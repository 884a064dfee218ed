//! One-sided barriers order stores and loads as two fences would, from the first one on. This is the only test of its
//! process, whose threads find the barriers unregistered.

use std::hint::spin_loop;
use std::thread;

use filch_memory::Ordering::Relaxed;
use filch_memory::{Asymmetric, Memory, Native};

type Word = <Native as Memory>::AtomicU32;

const ROUNDS: usize = 20_000;

struct Round {
    light: Word,
    heavy: Word,
    /// How many sides have come to this round.
    present: Word,
}

impl Round {
    /// Waits until both sides are here.
    fn meet(&self) {
        self.present.fetch_add(1, Relaxed);
        let mut looks = 0;
        while self.present.load(Relaxed) < 2 {
            looks += 1;
            if looks % 128 == 0 { thread::yield_now() } else { spin_loop() }
        }
    }
}

#[test]
fn one_of_both_sides_sees_the_other_from_the_first_barrier_on() {
    if !Native::prepare_barriers() {
        eprintln!("skipped: this system has no barriers");
        return;
    }
    let new = |_| Round { light: Word::new(0), heavy: Word::new(0), present: Word::new(0) };
    let rounds: Vec<_> = (0..ROUNDS).map(new).collect();
    let light = |round: &Round| {
        round.meet();
        round.light.store(1, Relaxed);
        Native::light_barrier();
        round.heavy.load(Relaxed) == 1
    };
    let heavy = |round: &Round| {
        round.meet();
        round.heavy.store(1, Relaxed);
        Native::heavy_barrier();
        round.light.load(Relaxed) == 1
    };
    let (lights, heavies): (Vec<_>, Vec<_>) = thread::scope(|scope| {
        let heavies = scope.spawn(|| rounds.iter().map(heavy).collect());
        (rounds.iter().map(light).collect(), heavies.join().expect("nothing panics there"))
    });
    let blind = lights.iter().zip(&heavies).position(|sides| sides == (&false, &false));
    assert_eq!(blind, None, "a round in which neither saw the other");
}
