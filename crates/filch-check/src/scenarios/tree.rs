//! Two neighbours of a graph in a spanning tree by load and store: see the program `spanning-tree`.
//!
//! Invariant: they are not each other's parents.

use std::sync::{Arc, Mutex};

use filch_memory::{Atomic, Ordering};
use filch_queue::{Owner, Queue};

use crate::Program;
use crate::scenario::Checker;
use crate::scenarios::queues::{lock, task};

/// Two workers, each with its own queue. Each sets the parent of a vertex, pushes that and visits it, where it becomes
/// the parent of the other vertex if that has none.
pub fn neighbours<M: Checker, Q: Queue<M, Params = ()>>() -> Program {
    const NONE: u32 = 0;
    const ROOT: u32 = 1;
    const NEIGHBOUR: u32 = 2;
    let parents: Arc<[M::AtomicU32; 2]> = Arc::new([(); 2].map(|()| Atomic::new(NONE)));
    let adopted: Arc<[Mutex<bool>; 2]> = Arc::default();
    let worker = |index: usize| {
        let (mut owner, thieves) = Q::make(2, 1, &());
        // So that the task above is not the last, for which there is an atomic update in any case.
        assert!(owner.push(task(2)).is_ok(), "there is room");
        let (parents, adopted) = (Arc::clone(&parents), Arc::clone(&adopted));
        let work = move || {
            let _thieves = thieves;
            // Relaxed, all, as in the program.
            parents[index].store(ROOT, Ordering::Relaxed);
            assert!(owner.push(task(1)).is_ok(), "there is room");
            assert_eq!(owner.pop(), Some(task(1)), "there is no thief");
            let other = &parents[1 - index];
            if other.load(Ordering::Relaxed) == NONE {
                M::note(|| "becomes the other vertex's parent".into());
                other.store(NEIGHBOUR, Ordering::Relaxed);
                *lock(&adopted[index]) = true;
            }
        };
        (format!("worker {index}"), Box::new(work) as Box<dyn FnOnce()>)
    };
    Program {
        threads: vec![worker(0), worker(1)],
        finally: Box::new(move || {
            let both = adopted.iter().all(|adopted| *lock(adopted));
            assert!(!both, "two vertices are each other's parents");
        }),
    }
}
