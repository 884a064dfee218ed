//! The shortest failing history: iterative deepening on the number of surprises.
//!
//! An execution without surprises runs each thread until it ends or has to wait, and drains a store only when nothing
//! else can run or the running thread waits for its own buffer. Every other decision is a surprise. The search tries
//! all executions with no surprise, then all with one, and so on; among the first that fail, it keeps the one with the
//! fewest steps. It uses no reduction, so it misses nothing shorter at the depths that it searched.

use std::time::{Duration, Instant};

use super::explore::{Bounds, Failure};
use super::machine::{Machine, Op};
use super::runner::{End, Phase, Quiet, Runner};
use crate::program::Program;
use crate::sites::Sites;

/// Returns the failing execution with the fewest surprises and, among those, the fewest steps; `None` if none was found
/// in time.
pub fn shortest(program: &dyn Fn() -> Program, bounds: &Bounds, time: Duration) -> Option<Failure> {
    let _quiet = Quiet::new();
    let mut runner = Runner::new(bounds.processor);
    runner.machine().sites = bounds.weakening.clone().map_or_else(Sites::default, Sites::weaken).slip(bounds.slip);
    let start = Instant::now();
    for surprises in 0..=MAX_SURPRISES {
        let mut best: Option<Failure> = None;
        let mut path: Vec<Decision> = Vec::new();
        loop {
            let mut left = surprises;
            let shorter_than = best.as_ref().map_or(bounds.steps, |best: &Failure| best.schedule.steps.len());
            let end = runner.run(program, &mut |machine, phase| {
                let step = machine.steps.len();
                if phase == Phase::Taken || step >= shorter_than {
                    return None;
                }
                if step == path.len() {
                    path.push(Decision { options: options(machine), at: 0 });
                }
                let decision = &path[step];
                left -= usize::from(decision.at > 0);
                Some(decision.options[decision.at] as usize)
            });
            let machine = runner.machine();
            if machine.barrier_seen && !machine.stores_are_steps {
                machine.stores_are_steps = true;
                machine.choices.clear();
                path.clear();
                continue;
            }
            let taken = machine.steps.len();
            if let End::Failed(wrong) = end {
                best = Some(Failure { wrong, schedule: runner.schedule() });
            }
            path.truncate(taken);
            // Find the next path: the last decision that has another option, with surprises left for it.
            let choices = &mut runner.machine().choices;
            let mut used = path.iter().filter(|decision| decision.at > 0).count();
            let mut more = false;
            while !more {
                let decided = path.len();
                match (choices.last_mut(), path.last_mut()) {
                    (Some(choice), _) if choice.step >= decided => {
                        if choice.value + 1 < choice.count {
                            choice.value += 1;
                            more = true;
                        } else {
                            choices.pop();
                        }
                    }
                    (_, Some(decision)) => {
                        used -= usize::from(decision.at > 0);
                        if used < surprises && decision.at + 1 < decision.options.len() {
                            decision.at += 1;
                            more = true;
                        } else {
                            path.pop();
                        }
                    }
                    (_, None) => break,
                }
            }
            if !more {
                break;
            }
            if start.elapsed() > time {
                return best;
            }
        }
        if best.is_some() {
            return best;
        }
    }
    None
}

/// More surprises than any bug needs that a reader could follow.
const MAX_SURPRISES: usize = 12;

#[derive(Debug)]
struct Decision {
    /// The processes that can take the step; the first one is no surprise.
    options: Vec<u8>,
    at: usize,
}

/// Returns the possible next steps, the expected one first.
fn options(machine: &Machine) -> Vec<u8> {
    let enabled: Vec<usize> = (0..machine.processes()).filter(|&process| machine.is_enabled(process)).collect();
    let threads = machine.threads.len();
    let last = machine.steps.last().map_or(0, |step| step.process);
    let (last_thread, _) = machine.role(last);
    let waits_for_buffer = |thread: usize| {
        matches!(
            machine.threads[thread].op,
            Op::Fence | Op::Store { .. } | Op::Update { .. } | Op::Wait { .. } | Op::Wake { .. }
        )
    };
    let expected = [last_thread]
        .into_iter()
        .chain([last_thread + threads, last_thread + 2 * threads].into_iter().filter(|_| waits_for_buffer(last_thread)))
        .find(|process| enabled.contains(process))
        .or_else(|| {
            let waiting = (0..threads).find(|&thread| waits_for_buffer(thread));
            let drains = waiting.map(|thread| [thread + threads, thread + 2 * threads]);
            enabled
                .iter()
                .copied()
                .find(|&process| process < threads)
                .or_else(|| drains.into_iter().flatten().find(|process| enabled.contains(process)))
        })
        .or_else(|| enabled.first().copied());
    let expected = expected.into_iter();
    let others = enabled.iter().copied().filter(|&process| Some(process) != expected.clone().next());
    expected.clone().chain(others).map(|process| process as u8).collect()
}
