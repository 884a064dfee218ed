//! Jobs posted to a worker that sleeps, or that waits for its task.
//!
//! Invariant: a worker does not sleep while there is a job for it.

use std::cell::Cell as Plain;
use std::sync::Arc;

use filch::inside::protocol::grain;
use filch::inside::protocol::sleep::{ANY_MEANWHILE, Dormitory, Wanted};
use filch::inside::protocol::state::{JobState, Settled, Theft};
use filch::inside::protocol::waiting::{Joiner, Sleeper, search};
use filch_memory::{Atomic, AtomicInt, Memory, Ordering};

use super::patience::Awake;
use super::worker::{Joining, Waiting, Worker, wait_as};
use crate::Program;
use crate::scenario::Checker;

/// A worker waits for `jobs` posted jobs and sleeps whenever it has none. If it sleeps through one, it sleeps for ever.
pub fn posted<M: Checker>(jobs: usize) -> Program {
    let worker = Worker::<M>::team(1, Waiting::Sleeps, &[], grain::Params::FINE).pop().expect("a worker");
    let team = Arc::clone(&worker.team);
    let post = move || {
        for _ in 0..jobs {
            M::note(|| "posts a job".into());
            team.desks[0].mail.fetch_add(1, Ordering::Release);
            team.dormitory.notify(0);
        }
    };
    let work = move || search(&worker, ANY_MEANWHILE, &|| worker.read.get() == jobs);
    Program {
        threads: vec![("worker".into(), Box::new(work)), ("poster".into(), Box::new(post))],
        finally: Box::new(|| ()),
    }
}

/// The thief of a task posts a job to the task's owner, and finishes the task only after the owner has run the job.
pub fn posted_to_a_joiner<M: Checker>() -> Program {
    const TREE: &[&[usize]] = &[&[1], &[]];
    let mut team = Worker::<M>::team(2, Waiting::Sleeps, TREE, grain::Params::FINE);
    let (thief, owner) = (team.pop().expect("two workers"), team.pop().expect("two workers"));
    let is_read: Arc<M::AtomicBool> = Arc::new(Atomic::new(false));
    owner.push(1, 0);
    let stolen = thief.steal(0).expect("the first fork is shared");
    let reads = Arc::clone(&is_read);
    let join = move || {
        struct Reads<'w, M: Memory>(Joining<'w, M>, Arc<M::AtomicBool>);
        impl<M: Checker> Sleeper for Reads<'_, M> {
            type Memory = M;
            fn dormitory(&self) -> &Dormitory<M> {
                self.0.dormitory()
            }
            fn index(&self) -> usize {
                self.0.index()
            }
            fn park(&self) {
                self.0.park();
            }
        }
        impl<M: Checker> Joiner for Reads<'_, M> {
            type Find = Option<(usize, usize)>;
            type Backoff = Awake<M>;
            fn backoff(&self) -> Awake<M> {
                self.0.backoff()
            }
            fn leap(&self, state: &JobState<M>, theft: Theft) -> Option<Self::Find> {
                self.0.leap(state, theft)
            }
            fn mail(&self) -> Option<Self::Find> {
                self.0.mail().inspect(|_| {
                    M::note(|| "runs the job".into());
                    self.1.store(true, Ordering::Release);
                })
            }
            fn wanted(&self, theft: Theft) -> Wanted {
                self.0.wanted(theft)
            }
            fn ask(&self, theft: Theft) {
                Joiner::ask(&self.0, theft);
            }
            fn sees_any(&self, theft: Theft) -> bool {
                Joiner::sees_any(&self.0, theft)
            }
        }
        let joining = Reads(Joining { worker: &owner, head: 1, leaps: Plain::new(0) }, reads);
        let settled = wait_as(&joining, &owner.desk().slots[0].state, |find| joining.0.run(find));
        assert_eq!(settled, Settled::Done);
    };
    let steal = move || {
        let slot = &thief.team.desks[0].slots[stolen.1];
        slot.state.claim(1, 0);
        M::note(|| "posts a job".into());
        thief.team.desks[0].mail.fetch_add(1, Ordering::Release);
        thief.dormitory().notify(0);
        while !is_read.load(Ordering::Acquire) {
            M::spin_loop();
        }
        if slot.state.finish(false) {
            thief.dormitory().place(0).wake(thief.dormitory().sleepers());
        }
    };
    Program {
        threads: vec![("owner".into(), Box::new(join)), ("thief".into(), Box::new(steal))],
        finally: Box::new(|| ()),
    }
}
