//! What threads execute is counted, per thread and role.
#![cfg(feature = "count")]

use std::panic::{AssertUnwindSafe, catch_unwind};

use filch_memory::count::{Counted, Operations, Thread, stealing};
use filch_memory::{Asymmetric, Atomic, AtomicInt, Memory, Native, Ordering};

/// Returns what the current thread executes in `f`.
fn executed(f: impl FnOnce()) -> Counted {
    let before = Thread::current().counted();
    f();
    let after = Thread::current().counted();
    let less = |after: Operations, before: Operations| Operations {
        fences: after.fences - before.fences,
        locked: after.locked - before.locked,
        barriers: after.barriers - before.barriers,
    };
    Counted { owner: less(after.owner, before.owner), thief: less(after.thief, before.thief) }
}

fn owner(fences: u64, locked: u64) -> Counted {
    Counted { owner: Operations { fences, locked, barriers: 0 }, thief: Operations::default() }
}

/// Written like the algorithms, for any memory. The standard library's own methods are not counted.
fn counts<M: Asymmetric>() {
    let word = M::AtomicU64::new(0);
    assert_eq!(
        executed(|| {
            word.store(1, Ordering::Release);
            assert_eq!(word.load(Ordering::SeqCst), 1);
            M::fence(Ordering::Acquire);
            M::fence(Ordering::AcqRel);
            M::compiler_fence();
            M::light_barrier();
        }),
        owner(0, 0)
    );
    assert_eq!(executed(|| M::fence(Ordering::SeqCst)), owner(1, 0));
    assert_eq!(executed(|| word.store(1, Ordering::SeqCst)), owner(0, 1));
    assert_eq!(executed(|| _ = word.swap(1, Ordering::Relaxed)), owner(0, 1));
    let exchange = |current| _ = word.compare_exchange(current, 2, Ordering::Relaxed, Ordering::Relaxed);
    assert_eq!(executed(|| exchange(1)), owner(0, 1));
    assert_eq!(executed(|| exchange(1)), owner(0, 1), "a failing one");
    assert_eq!(executed(|| _ = word.compare_exchange_weak(7, 2, Ordering::Relaxed, Ordering::Relaxed)), owner(0, 1));
    for update in [M::AtomicU64::fetch_add, M::AtomicU64::fetch_sub, M::AtomicU64::fetch_or, M::AtomicU64::fetch_and] {
        assert_eq!(executed(|| _ = update(&word, 1, Ordering::Relaxed)), owner(0, 1));
    }
    if M::prepare_barriers() {
        assert_eq!(executed(M::heavy_barrier).owner, Operations { fences: 0, locked: 0, barriers: 1 });
    }
}

#[test]
fn only_fences_and_locked_instructions_are_counted() {
    counts::<Native>();
}

#[test]
fn a_thiefs_operations_are_counted_separately() {
    let fence = || Native::fence(Ordering::SeqCst);
    let counted = executed(|| {
        fence();
        stealing(|| {
            fence();
            stealing(fence);
            fence();
        });
        let panics = || stealing(|| std::panic::resume_unwind(Box::new(())));
        assert!(catch_unwind(AssertUnwindSafe(panics)).is_err());
        fence();
    });
    assert_eq!((counted.owner.fences, counted.thief.fences), (2, 3));
}

#[test]
fn a_thread_counts_only_its_own_operations() {
    let (other, counted) = std::thread::scope(|s| {
        let other = s.spawn(|| {
            Native::fence(Ordering::SeqCst);
            Thread::current()
        });
        let counted = executed(|| (0..5).for_each(|_| Native::fence(Ordering::SeqCst)));
        (other.join().expect("it does not panic"), counted)
    });
    assert_eq!((counted, other.counted()), (owner(5, 0), owner(1, 0)));
}
