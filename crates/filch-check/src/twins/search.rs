//! Idle workers that search, sleep and wake each other, with mistakes to choose from.
//!
//! **Source.** `protocol/sleep` of filch: an idle worker is woken only if nobody searches. The components are those
//! that ship; what calls them restates `run_until` and `wake_for_stack`. (Go's scheduler has the same rule for its
//! spinning threads.)
//!
//! The program: pieces of work are published, all at once, and each of as many workers wants one. All but the last
//! worker sleep when it begins. The last one searches; it gives its processor away, for which it ends its search, and
//! looks again before it sleeps too.
//!
//! What must always hold: every worker gets its piece. One that sleeps while there is a piece for it sleeps for ever.

use std::sync::Arc;

use filch::inside::protocol::sleep::{ANY, Place, Sleepers};
use filch_memory::{Atomic, AtomicInt, Memory, Ordering};

use super::mutant::{Harm, Mutant, protocol};
use crate::tso::Tso;
use crate::{Checker, Program};

/// What can be wrong with it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mistake {
    /// Nothing.
    #[default]
    None,
    /// Who sees something in its last look takes it as if it had never searched.
    Forgets,
    /// Who finds something after it has given its processor away wakes nobody.
    KeepsToItself,
}

struct Shared<M: Memory> {
    pieces: M::AtomicUsize,
    sleepers: Sleepers<M>,
    places: Vec<Place<M>>,
    mistake: Mistake,
}

impl<M: Checker> Shared<M> {
    fn publish(&self) {
        M::note(|| "publishes the pieces".into());
        self.pieces.fetch_add(self.places.len(), Ordering::Release);
        if self.sleepers.sleepers_after() {
            self.wake();
        }
    }

    fn wake(&self) {
        if !self.sleepers.is_searched() {
            let _ = self.places.iter().any(|place| place.would_help(|_| true) && place.wake(&self.sleepers));
        }
    }

    fn sees_any(&self) -> bool {
        self.pieces.load(Ordering::Acquire) != 0
    }

    fn takes(&self) -> bool {
        let mut pieces = self.pieces.load(Ordering::Relaxed);
        while pieces != 0 {
            match self.pieces.compare_exchange(pieces, pieces - 1, Ordering::Acquire, Ordering::Relaxed) {
                Ok(_) => return true,
                Err(now) => pieces = now,
            }
        }
        false
    }

    /// Whether this worker sleeps when the program begins.
    fn is_asleep(&self, worker: usize) -> bool {
        worker + 1 < self.places.len()
    }

    fn work(&self, me: usize) {
        let (sleepers, place) = (&self.sleepers, &self.places[me]);
        if self.is_asleep(me) {
            place.sleep();
        }
        let mut searching = true;
        // What it finds first may be a part of what was left to it.
        let mut gave_way = !self.is_asleep(me);
        if gave_way {
            sleepers.end_search();
            searching = false;
            M::note(|| "gives way".into());
        }
        while !self.takes() {
            if searching {
                sleepers.end_search();
            }
            place.announce(sleepers, ANY);
            place.settle();
            let sees_any = self.sees_any();
            if sees_any {
                place.cancel(sleepers);
            } else {
                M::note(|| "sleeps".into());
                place.sleep();
            }
            // What it saw may be what somebody has left to it.
            searching = self.mistake != Mistake::Forgets || !sees_any;
            gave_way = false;
        }
        M::note(|| "has a piece".into());
        if searching {
            sleepers.end_search();
        }
        let passes_on = searching || gave_way && self.mistake != Mistake::KeepsToItself;
        if passes_on && sleepers.sleepers_after() && self.sees_any() {
            self.wake();
        }
    }
}

/// So many workers, and as many pieces.
pub fn program<M: Checker>(workers: usize, mistake: Mistake) -> Program {
    let shared = Arc::new(Shared::<M> {
        pieces: Atomic::new(0),
        sleepers: Sleepers::default(),
        places: (0..workers).map(|_| Place::default()).collect(),
        mistake,
    });
    for (worker, place) in shared.places.iter().enumerate() {
        if shared.is_asleep(worker) {
            place.announce(&shared.sleepers, ANY);
        } else {
            shared.sleepers.start_search();
        }
    }
    let publisher = Arc::clone(&shared);
    let publish: Box<dyn FnOnce()> = Box::new(move || publisher.publish());
    let mut threads = vec![("publisher".to_owned(), publish)];
    for me in 0..workers {
        let shared = Arc::clone(&shared);
        threads.push((format!("worker {me}"), Box::new(move || shared.work(me))));
    }
    Program { threads, finally: Box::new(|| ()) }
}

pub(super) fn mutants() -> Vec<Mutant> {
    let program = |mistake| program::<Tso>(2, mistake);
    let shows = "a piece that was published while somebody searched stays where it is when that one finds another in its last look, \
                 after it has ended its search";
    let alone = "a piece that was published while somebody searched stays where it is when that one finds another after it has given its processor away";
    let client = "two pieces, two workers";
    vec![
        protocol("search", ("forgets", Mistake::Forgets), client, Harm::Hang, shows, program),
        protocol("search", ("keeps-to-itself", Mistake::KeepsToItself), client, Harm::Hang, alone, program),
    ]
}
