//! How much stack a level of a recursion needs: `depths` prints, for each construct, `BYTES NAME`. It measures the
//! rayon-core with which it is linked.
//!
//! `../tests/depths.rs` compares the figures with those of the published rayon-core. Each recursion notes the address
//! of a local variable at every level. The figure is the difference between two levels on one thread, divided by the
//! number of levels between them.

use std::hint::{black_box, spin_loop};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, ThreadId};

use rayon::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};

/// The levels of each recursion. The first ones are left out, since the outermost calls are different.
const LEVELS: usize = 40;
const FIRST: usize = 8;

/// A construct and a recursion through it.
type Row = (&'static str, fn(&Recursion));

const CONSTRUCTS: &[Row] = &[
    ("scope, spawn", |r| alone().install(|| scope(r, LEVELS))),
    ("in_place_scope, spawn", |r| alone().install(|| in_place(r, LEVELS))),
    ("join, first branch", |r| alone().install(|| first(r, LEVELS))),
    ("join, second branch", |r| alone().install(|| second(r, LEVELS))),
    ("join, stolen", |r| pool(2).install(|| stolen(r, LEVELS))),
    ("par_iter, first item", |r| alone().install(|| items(r, LEVELS, 0))),
    ("par_iter, last item", |r| alone().install(|| items(r, LEVELS, 3))),
    ("install in the same pool", |r| {
        let pool = alone();
        pool.install(|| same(r, &pool, LEVELS));
    }),
    ("install in another pool", |r| other(r, [&alone(), &alone()], LEVELS)),
];

fn pool(threads: usize) -> ThreadPool {
    ThreadPoolBuilder::new().num_threads(threads).stack_size(4 << 20).build().expect("a pool")
}

fn alone() -> ThreadPool {
    pool(1)
}

/// Where the levels of a recursion have been, from the outermost one on.
#[derive(Default)]
struct Recursion(Mutex<Vec<(ThreadId, usize)>>);

impl Recursion {
    #[inline(never)]
    fn notes(&self) {
        let local = 0_u8;
        let address = (&raw const *black_box(&local)).addr();
        self.0.lock().expect("nobody panics").push((thread::current().id(), address));
    }

    /// Bytes per level.
    fn bytes(self) -> usize {
        let levels = self.0.into_inner().expect("nobody panics");
        assert_eq!(levels.len(), LEVELS + 1, "each level has been noted");
        let (thread, top) = levels[FIRST];
        let (last, &(_, bottom)) =
            levels.iter().enumerate().rfind(|(_, level)| level.0 == thread).expect("at least one");
        assert!(last > LEVELS / 2, "the recursion stays on its threads");
        (top - bottom) / (last - FIRST)
    }
}

fn scope(r: &Recursion, levels: usize) {
    r.notes();
    if levels > 0 {
        rayon::scope(|s| s.spawn(move |_| scope(r, levels - 1)));
    }
}

fn in_place(r: &Recursion, levels: usize) {
    r.notes();
    if levels > 0 {
        rayon::in_place_scope(|s| s.spawn(move |_| in_place(r, levels - 1)));
    }
}

fn first(r: &Recursion, levels: usize) {
    r.notes();
    if levels > 0 {
        rayon::join(|| first(r, levels - 1), || ());
    }
}

fn second(r: &Recursion, levels: usize) {
    r.notes();
    if levels > 0 {
        rayon::join(|| (), || second(r, levels - 1));
    }
}

/// The second branch is stolen at each level: by turns each of two threads waits for the other.
fn stolen(r: &Recursion, levels: usize) {
    r.notes();
    if levels > 0 {
        let has_begun = AtomicBool::new(false);
        let begins = || {
            has_begun.store(true, Ordering::Relaxed);
            stolen(r, levels - 1);
        };
        rayon::join(
            || {
                while !has_begun.load(Ordering::Relaxed) {
                    spin_loop();
                }
            },
            begins,
        );
    }
}

fn items(r: &Recursion, levels: usize, item: u32) {
    r.notes();
    if levels > 0 {
        (0..4_u32).into_par_iter().with_max_len(1).filter(|&n| n == item).for_each(|_| items(r, levels - 1, item));
    }
}

fn same(r: &Recursion, pool: &ThreadPool, levels: usize) {
    r.notes();
    if levels > 0 {
        pool.install(|| same(r, pool, levels - 1));
    }
}

fn other(r: &Recursion, [here, there]: [&ThreadPool; 2], levels: usize) {
    there.install(|| {
        r.notes();
        if levels > 0 {
            other(r, [there, here], levels - 1);
        }
    });
}

fn main() {
    for (name, recursion) in CONSTRUCTS {
        let r = Recursion::default();
        recursion(&r);
        println!("{} {name}", r.bytes());
    }
}
