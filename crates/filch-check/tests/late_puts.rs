//! Puts that thieves miss: a steal may find nothing although a push has ended before it, on deques whose pushes end
//! without a fence. Thieves of the fence-free ones then cannot tell that there is nothing, and are refused.
//!
//! *Fence-Free Work Stealing on Bounded TSO Processors* says so of THE and of Chase and Lev's deque (§3.3), of its own
//! deques (§3.3), and of THEP (§5).

use std::cell::Cell;
use std::num::NonZeroUsize;
use std::rc::Rc;
use std::sync::Arc;

use filch_check::Program;
use filch_check::tso::{Bounds, Tso, Verdict, explore};
use filch_memory::{Atomic, Memory, Ordering};
use filch_queue::{ChaseLev, Delta, FfCl, FfThe, Owner, Queue, Task, The, Thep, Thief};

/// An owner pushes `tasks` tasks, with a fence at the end if it is `fenced`; a thief, for whom there is one as soon as
/// it sees them, tries once. That it gets none is wrong if the pushes had ended before.
///
/// The owner then looks whether the thief has begun, by a load, which need not wait for the push's stores. The thief
/// announces its begin by a swap, which waits for nothing of the owner's, and is in memory before the thief goes on.
fn late_put<Q: Queue<Tso>>(params: &Q::Params, tasks: usize, fenced: bool) -> Program {
    let (mut owner, mut thieves) = Q::make(4, 1, params);
    let mut thief = thieves.remove(0);
    let has_begun = Arc::new(<Tso as Memory>::AtomicBool::new(false));
    let begins = Arc::clone(&has_begun);
    // The threads of a program take turns.
    let [ended_first, found_nothing] = [(); 2].map(|()| Rc::new(Cell::new(false)));
    let (ended, nothing) = (Rc::clone(&ended_first), Rc::clone(&found_nothing));
    let push = move || {
        for _ in 0..tasks {
            assert!(owner.push(Task::from_id(NonZeroUsize::MIN)).is_ok(), "there is room");
        }
        if fenced {
            Tso::fence(Ordering::SeqCst);
        }
        ended.set(!has_begun.load(Ordering::Relaxed));
        // The queue lives until the thief has ended.
        std::mem::forget(owner);
    };
    let steal = move || {
        begins.swap(true, Ordering::SeqCst);
        nothing.set(!thief.steal().is_task());
        std::mem::forget(thief);
    };
    Program {
        threads: vec![("owner".to_owned(), Box::new(push)), ("thief".to_owned(), Box::new(steal))],
        finally: Box::new(move || {
            assert!(!(ended_first.get() && found_nothing.get()), "a steal has missed a push that had ended");
        }),
    }
}

/// Whether a thief can miss the push, on buffers of this many stores.
fn misses<Q: Queue<Tso>>(params: &Q::Params, tasks: usize, buffer: usize, fenced: bool) -> bool {
    match explore(&|| late_put::<Q>(params, tasks, fenced), &Bounds::buffer(buffer), &mut |_| ()).verdict {
        Verdict::Passed => false,
        Verdict::Failed(failure) => {
            assert!(failure.wrong.to_string().contains("missed a push"), "{}", failure.wrong);
            true
        }
        Verdict::Stopped => panic!("nothing stops it"),
    }
}

/// A push that has ended is missed if its stores can wait in a buffer, and only then; a fence at its end mends that.
fn may_be_late<Q: Queue<Tso>>(params: &Q::Params, tasks: usize) {
    assert!(!misses::<Q>(params, tasks, 0, false), "without a buffer");
    for buffer in [2, 4] {
        assert!(misses::<Q>(params, tasks, buffer, false), "with a buffer of {buffer}");
        assert!(!misses::<Q>(params, tasks, buffer, true), "with a fence and a buffer of {buffer}");
    }
}

#[test]
fn pushes_on_the_and_chase_lev_may_be_late() {
    may_be_late::<The>(&(), 1);
    may_be_late::<ChaseLev>(&(), 1);
}

#[test]
fn pushes_on_fence_free_deques_may_be_late() {
    // SAFETY: the processor is an abstract machine, and the owner takes nothing.
    let delta = unsafe { Delta::new(1) };
    may_be_late::<FfThe>(&delta, 2);
    may_be_late::<FfCl>(&delta, 2);
}

#[test]
fn pushes_on_thep_may_be_late() {
    // SAFETY: as above.
    may_be_late::<Thep<1>>(&unsafe { Delta::new(1) }, 2);
}
