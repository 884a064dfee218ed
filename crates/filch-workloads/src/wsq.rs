//! Many small jobs, each a dependent chain of additions.
//!
//! A job computes `k` rounds on a 32-bit number and adds the result to its worker's total. The first worker makes all
//! of them, in batches of 256, and runs jobs like the others until none is left.
//!
//! **What it stresses.** The cost of a job: its slot, its closure, a push and a pop or steal, and the count of
//! unfinished jobs. The overhead is the time per job minus the sequential program's time for `k` rounds.
//!
//! **Source.** The synthetic workload of the job system injinj/WSQ, <https://github.com/injinj/WSQ>, whose table has
//! `k` from 100 to 400, and whose plot goes on to 7000. In its timed program, too, jobs have no parent.

use std::hint::black_box;
use std::sync::atomic::{AtomicI32, Ordering};

use filch::jobs::{JobWorker, Team};
use filch::worklist::Queue;
use filch_catalogue::ParamError;
use filch_catalogue::programs;
use filch_catalogue::programs::wsq::Params;

use crate::answer::{Answer, Listed, expect};
use crate::spec::{Makes, Prepare, Runs};

impl Prepare for Params {
    type Instance = Instance;

    fn prepare(&self) -> Result<Instance, ParamError> {
        Ok(Instance { params: *self })
    }
}

/// The program; it has no data.
#[derive(Debug)]
pub struct Instance {
    params: Params,
}

/// Does the work of a job. Each round depends on the one before.
pub(crate) fn work(rounds: u32) -> i32 {
    (1..=rounds as i32)
        .fold(0_i32, |result, round| result.wrapping_add(1 << (result & 3)).wrapping_sub(round.wrapping_mul(2)))
}

/// One worker's total, on its own cache line.
#[derive(Default)]
#[repr(align(128))]
struct Total(AtomicI32);

impl Total {
    fn add(&self, result: i32) {
        // Relaxed: only this worker writes it, and it is read after all jobs have ended.
        self.0.store(self.0.load(Ordering::Relaxed).wrapping_add(result), Ordering::Relaxed);
    }
}

/// Converts bit by bit, since the sum wraps.
fn answer(sum: i32) -> Answer {
    Answer::Number(sum.cast_unsigned().into())
}

impl Runs for Instance {
    fn serial(&mut self) -> Answer {
        let total = Total::default();
        for _ in 0..self.params.jobs {
            total.add(work(black_box(self.params.rounds)));
        }
        answer(total.0.into_inner())
    }

    fn check(&self, answer: &Answer) -> Result<(), String> {
        let Params { rounds, jobs } = self.params;
        expect(answer, &self::answer(work(rounds).wrapping_mul(jobs.cast_signed())))
    }

    fn tasks(&self, _: &Answer) -> Option<u64> {
        programs::Params::tasks(&self.params)
    }
}

impl Makes for Instance {
    fn jobs<Q: Queue>(&mut self, team: &mut Team<Q>) -> Listed {
        let Params { rounds, jobs: number } = self.params;
        let totals: Vec<Total> = (0..team.workers()).map(|_| Total::default()).collect();
        let totals = &totals[..];
        let outcome = team.run(|w| {
            let job = move |w: &mut JobWorker<'_, '_, Q>| totals[w.index()].add(work(black_box(rounds)));
            w.spawn_all((0..number).map(|_| job));
        });
        // Relaxed: all jobs have ended.
        let sum = totals.iter().fold(0, |sum: i32, total| sum.wrapping_add(total.0.load(Ordering::Relaxed)));
        Listed { answer: answer(sum), tallies: outcome.tallies, duplicates: None }
    }
}

#[cfg(test)]
mod tests {
    use filch::jobs::Jobs;
    use filch_queue::{BwosF, ChaseLev, Wsq};

    use super::*;
    use crate::Workload;

    #[test]
    fn the_sum_is_right_and_a_wrong_one_is_detected() {
        fn on<Q: Queue>(set: &[(String, String)], right: &Answer) {
            for workers in [1, 2, 8] {
                let mut instance = Workload::new("wsq", set).and_then(|wsq| wsq.prepare()).expect("it is small");
                let jobs = Jobs::new(workers).capacity(64).queue::<Q>(Q::Params::default());
                let run = instance.run_jobs(&mut jobs.start().expect("threads start"));
                assert_eq!(run.answer, *right);
                assert_eq!(instance.check(&run.answer), Ok(()));
                assert!(instance.check(&Answer::Number(0)).is_err());
                assert_eq!((run.tasks(), run.runs()), (1000, 1000));
                assert_eq!(instance.tasks(&run.answer), Some(1000));
            }
        }
        let set = [("k", "17"), ("jobs", "1000")].map(|(name, value)| (name.to_owned(), value.to_owned()));
        let right = Workload::new("wsq", &set).and_then(|wsq| wsq.prepare()).expect("it is small").serial();
        on::<Wsq>(&set, &right);
        on::<ChaseLev>(&set, &right);
        on::<BwosF>(&set, &right);
    }

    #[test]
    fn work_matches_the_source() {
        let mut result = 0_i32;
        for j in 1..=5 {
            result = result + (1 << (result & 3)) - 2 * j;
        }
        assert_eq!(work(5), result);
        assert_eq!(work(0), 0);
    }
}
