//! A guest in the seat of a sleeping worker: who has the seat when, and that no work is left undone.
//!
//! The worker's own thread is idle: it looks for jobs, and sleeps when there are none. A guest takes the seat if it
//! can, may wait there for an event, and leaves. Meanwhile one job is posted to the worker, or the event happens.
//! The own thread may begin asleep, or only when somebody gives it the seat.
//! [`search`], [`leave`] and the [`Dormitory`] are those that ship.
//!
//! Checks: two threads never use the seat without an order between them, and the job is run, or the own thread sees
//! that the event has happened; otherwise it sleeps for ever.

use std::sync::Arc;

use filch::inside::protocol::sleep::{ANY, ANY_MEANWHILE, Dormitory};
use filch::inside::protocol::waiting::{Backoff, Searcher, Sleeper, begin_asleep, leave, search, search_woken};
use filch_memory::{Atomic, AtomicInt, Cell, Memory, Ordering};

use crate::{Checker, Program};

struct Shared<M: Memory> {
    dormitory: Dormitory<M>,
    /// The number of jobs that have been run in the seat.
    seat: M::Cell<usize>,
    jobs: M::AtomicUsize,
    /// Whether the event that a guest waits for has happened.
    has_come: M::AtomicBool,
}

impl<M: Memory> Shared<M> {
    fn read(&self) -> usize {
        // SAFETY: a cell of the program; the checker reports any other access at the same time.
        self.seat.with(|read| unsafe { *read })
    }
}

/// A thread that may have the seat, and whether there are jobs.
struct Seated<M: Memory>(Arc<Shared<M>>, bool);

/// No patience at all.
struct Impatient;

impl Backoff for Impatient {
    fn wait(&mut self) -> bool {
        false
    }

    fn hold_on(&mut self) {}

    fn renew(&mut self) {}
}

impl<M: Checker> Sleeper for Seated<M> {
    type Memory = M;

    fn dormitory(&self) -> &Dormitory<M> {
        &self.0.dormitory
    }

    fn index(&self) -> usize {
        0
    }

    fn park(&self) {
        M::note(|| "sleeps".into());
    }
}

impl<M: Checker> Searcher for Seated<M> {
    type Find = ();
    type Backoff = Impatient;

    fn backoff(&self) -> Impatient {
        Impatient
    }

    fn find(&self) -> Option<()> {
        self.sees_any().then_some(())
    }

    fn leaves_more(&self, (): &()) -> bool {
        false
    }

    fn run(&self, (): ()) {
        M::note(|| "runs the job".into());
        // SAFETY: as in `Shared::read`.
        self.0.seat.with_mut(|read| unsafe { *read += 1 });
    }

    fn share(&self) {}

    fn ask(&self) {}

    fn sees_any(&self) -> bool {
        let read = self.0.read();
        self.1 && self.0.jobs.load(Ordering::Acquire) > read
    }
}

impl<M: Checker> Seated<M> {
    fn is_over(&self) -> bool {
        if self.1 { self.0.read() == 1 } else { self.0.has_come.load(Ordering::Acquire) }
    }

    fn visit(&self) {
        let shared = &*self.0;
        if shared.dormitory.take_seat(1).is_none() {
            return;
        }
        M::note(|| "takes the seat".into());
        // SAFETY: as in `Shared::read`.
        shared.seat.with_mut(|_| ());
        if !self.1 {
            search(self, ANY_MEANWHILE, &|| self.is_over());
            M::note(|| "has waited".into());
        }
        M::note(|| "leaves".into());
        leave(self, &|| self.is_over());
    }
}

/// How the own thread begins.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Own {
    /// It looks for jobs.
    Awake,
    /// It sleeps.
    Asleep,
    /// Whoever wakes the worker starts it.
    Late,
}

/// `guests` guests come in turn. One job is posted; or each guest `waits` in the seat for an event, which happens.
pub fn program<M: Checker>(guests: usize, waits: bool, begins: Own) -> Program {
    let shared = Arc::new(Shared::<M> {
        dormitory: Dormitory::new(1),
        seat: Cell::new(0),
        jobs: Atomic::new(0),
        has_come: Atomic::new(false),
    });
    if begins != Own::Awake {
        begin_asleep(&Seated(Arc::clone(&shared), !waits));
    }
    // Whether the own thread has been started.
    let has_begun = (begins == Own::Late).then(|| Arc::new(<M::AtomicU32 as Atomic<u32>>::new(0)));
    if let Some(has_begun) = has_begun.clone() {
        shared.dormitory.on_rouse(move |_| {
            M::note(|| "starts the own thread".into());
            has_begun.store(1, Ordering::Release);
            M::wake_one(&has_begun);
            true
        });
    }
    let (own, guest, poster) = (Seated(Arc::clone(&shared), !waits), Seated(Arc::clone(&shared), !waits), shared);
    let visit = move || {
        for _ in 0..guests {
            guest.visit();
        }
    };
    let post = move || {
        if waits {
            M::note(|| "brings what is waited for".into());
            poster.has_come.store(true, Ordering::Release);
        } else {
            M::note(|| "posts the job".into());
            poster.jobs.fetch_add(1, Ordering::Release);
        }
        poster.dormitory.notify(0);
    };
    let live = move || {
        if let Some(has_begun) = has_begun {
            while has_begun.load(Ordering::Acquire) == 0 {
                M::wait(&has_begun, 0);
            }
        }
        if begins == Own::Awake {
            search(&own, ANY, &|| own.is_over());
        } else {
            own.0.dormitory.place(0).rest();
            search_woken(&own, &|| own.is_over());
        }
    };
    Program {
        threads: vec![
            ("own thread".into(), Box::new(live)),
            ("guest".into(), Box::new(visit)),
            ("poster".into(), Box::new(post)),
        ],
        finally: Box::new(|| ()),
    }
}
