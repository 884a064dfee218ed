//! A thief keeps a job for any thief while the job's owner waits for it, as in pools whose thieves take several tasks
//! at once.
//!
//! [`JobState`] and the owner's wait are those that ship. The queue in which the thief keeps the job is one word; a
//! swap on it decides who wins the job.
//!
//! Checks: the job runs once, the thread that runs it learns the owner's identity, its result reaches the owner, and
//! the owner does not sleep for ever, whenever it went to sleep.

use std::sync::Arc;

use filch::inside::protocol::sleep::{Dormitory, Wanted};
use filch::inside::protocol::state::{JobState, Settled, Theft};
use filch::inside::protocol::waiting::{Backoff, Joiner, Sleeper, await_job};
use filch_memory::{Atomic, Cell, Memory, Ordering};

use crate::Program;
use crate::scenario::Checker;

/// Mistakes that a check must find.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mistake {
    /// None.
    #[default]
    None,
    /// The thief that takes the job over wakes the keeper instead of the owner.
    WakesTheKeeper,
}

struct Shared<M: Memory> {
    state: JobState<M>,
    result: M::Cell<usize>,
    /// Whether the job is in the keeper's queue.
    word: M::AtomicUsize,
    dormitory: Dormitory<M>,
}

const OWNER: usize = 0;
const KEEPER: usize = 1;

impl<M: Checker> Shared<M> {
    /// Takes the job out of the keeper's queue, if it is still there, and runs it.
    fn win(&self, thief: usize, mistake: Mistake) {
        // The queue's own edge.
        if self.word.swap(0, Ordering::Acquire) == 0 {
            return;
        }
        M::note(|| "runs the job".into());
        assert_eq!(self.state.claim_again(thief), Some(OWNER), "whose job it is");
        // SAFETY: a cell of the program; the checker reports any other access at the same time.
        self.result.with_mut(|result| unsafe { *result += 1 });
        if self.state.finish(false) {
            let woken = if mistake == Mistake::WakesTheKeeper { KEEPER } else { OWNER };
            self.dormitory.place(woken).wake(self.dormitory.sleepers());
        }
    }
}

/// The owner, which finds nothing else to run.
struct Waits<M: Memory>(Arc<Shared<M>>);

/// The patience of an owner that has none left.
struct Impatience<M>(std::marker::PhantomData<M>);

impl<M: Memory> Backoff for Impatience<M> {
    fn wait(&mut self) -> bool {
        false
    }

    fn hold_on(&mut self) {
        M::spin_loop();
    }

    fn renew(&mut self) {}
}

impl<M: Checker> Sleeper for Waits<M> {
    type Memory = M;

    fn dormitory(&self) -> &Dormitory<M> {
        &self.0.dormitory
    }

    fn index(&self) -> usize {
        OWNER
    }

    fn park(&self) {
        M::note(|| "sleeps".into());
    }
}

impl<M: Checker> Joiner for Waits<M> {
    type Find = std::convert::Infallible;
    type Backoff = Impatience<M>;

    fn backoff(&self) -> Impatience<M> {
        Impatience(std::marker::PhantomData)
    }

    fn leap(&self, _: &JobState<M>, _: Theft) -> Option<Self::Find> {
        None
    }

    fn mail(&self) -> Option<Self::Find> {
        None
    }

    fn wanted(&self, _: Theft) -> Wanted {
        OWNER as Wanted
    }

    fn ask(&self, _: Theft) {}

    fn sees_any(&self, _: Theft) -> bool {
        false
    }
}

/// A thief keeps the job; it and `others` more thieves each try to win it; the owner waits.
pub fn kept<M: Checker>(others: usize, mistake: Mistake) -> Program {
    let shared = Arc::new(Shared::<M> {
        state: JobState::default(),
        result: Cell::new(0),
        word: Atomic::new(0),
        dormitory: Dormitory::new(2 + others),
    });
    let (owner, keeper) = (Waits(Arc::clone(&shared)), Arc::clone(&shared));
    let join = move || {
        assert_eq!(await_job(&owner, &owner.0.state), Ok(Settled::Done));
        // SAFETY: as in `win`.
        owner.0.result.with(|result| assert_eq!(unsafe { *result }, 1, "the job runs once"));
    };
    let keep = move || {
        keeper.state.keep(KEEPER, OWNER);
        keeper.word.store(1, Ordering::Release);
        keeper.win(KEEPER, mistake);
    };
    type Thread = (String, Box<dyn FnOnce()>);
    let mut threads: Vec<Thread> = vec![("owner".into(), Box::new(join)), ("keeper".into(), Box::new(keep))];
    for other in 0..others {
        let (shared, thief) = (Arc::clone(&shared), KEEPER + 1 + other);
        threads.push((format!("thief {}", other + 1), Box::new(move || shared.win(thief, mistake))));
    }
    Program { threads, finally: Box::new(|| ()) }
}
