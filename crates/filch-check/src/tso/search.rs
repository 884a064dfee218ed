//! The search: which executions still have to run, and which need not.
//!
//! **Method.** The search is stateless: it runs a program repeatedly from the start, and keeps between runs only the
//! list of decisions up to the point where the next run differs. It uses dynamic partial-order reduction with source
//! sets and sleep sets after Abdulla, Aronis, Jonsson and Sagonas, *Optimal Dynamic Partial Order Reduction*, POPL
//! 2014, algorithm 1. It watches each run for races: two steps that depend on each other with nothing in between to
//! order them. For each race, it plans a run in which the second step comes first. A process whose next step has been
//! tried in a state sleeps until a step is taken that this step depends on. So of the executions that differ only in
//! the order of independent steps, exactly one runs to its end.
//!
//! Store buffers are processes of their own, so drains are reduced like all other steps.
//!
//! **Waiting.** A thread in a waiting loop is not runnable until a variable that it read has changed: another round
//! that reads the same values would end in the same state. If a race requires a step of a waiting thread, the search
//! tries all runnable processes instead.
//!
//! Invariant: `frames[i]` is the state before step `i`; `done` and the chosen process are in `backtrack`.

use super::clock::MAX_PROCESSES;
use super::machine::Machine;

/// The state before a step.
#[derive(Clone, Copy, Debug)]
struct Frame {
    chosen: u8,
    enabled: u16,
    /// Processes whose next step leads to no new execution.
    sleep: u16,
    /// Processes already tried.
    done: u16,
    /// Processes to be tried.
    backtrack: u16,
}

/// The search: the decisions that lead to the present execution, and the untried ones at each.
#[derive(Debug, Default)]
pub(super) struct Search {
    /// Whether to leave out executions that differ only in the order of independent steps.
    reduce: bool,
    frames: Vec<Frame>,
    /// The first step that has not been taken before after these decisions.
    fresh: usize,
    /// The processes that sleep after the last frame.
    sleep: u16,
    /// Whether the rest of this execution repeats an earlier one.
    pub(super) redundant: bool,
}

impl Search {
    pub(super) fn new(reduce: bool) -> Self {
        Self { reduce, ..Self::default() }
    }

    pub(super) fn choose(&mut self, machine: &mut Machine) -> usize {
        let step = machine.steps.len();
        if self.redundant {
            return machine.first_enabled().expect("the caller asked");
        }
        // Most steps repeat the decisions of the last execution.
        if step == self.frames.len() {
            let enabled = machine.enabled();
            let awake = enabled & !self.sleep;
            if awake == 0 {
                self.redundant = true;
                return enabled.trailing_zeros() as usize;
            }
            // Let the thread that ran last continue, if it can: fewer switches make a history easier to read.
            let last = machine.steps.last().map_or(0, |step| step.process);
            let chosen = if awake >> last & 1 == 1 { last } else { awake.trailing_zeros() as usize };
            self.frames.push(Frame {
                chosen: chosen as u8,
                enabled,
                sleep: self.sleep,
                done: 0,
                backtrack: if self.reduce { 1 << chosen } else { enabled },
            });
        }
        let frame = self.frames[step];
        let chosen = frame.chosen as usize;
        debug_assert!(machine.is_enabled(chosen), "a program must be deterministic but for its memory");
        if step + 1 == self.frames.len() {
            self.sleep = 0;
            let sleeping = (frame.sleep | frame.done) & !(1 << chosen);
            if sleeping != 0 && self.reduce {
                let step = machine.footprint(chosen);
                for process in (0..MAX_PROCESSES).filter(|&process| sleeping >> process & 1 == 1) {
                    if !machine.footprint(process).depends_on(step) {
                        self.sleep |= 1 << process;
                    }
                }
            }
        }
        chosen
    }

    /// Plans the reversal of the races of the step just taken.
    pub(super) fn taken(&mut self, machine: &mut Machine) {
        if self.redundant || !self.reduce || machine.steps.len() <= self.fresh {
            return;
        }
        for index in 0..machine.races.len() {
            self.reverse(machine, machine.races[index] as usize);
        }
    }

    /// Plans an execution in which the newest step comes before `earlier`, with which it races: it starts from the
    /// state before `earlier`, and first takes every step that does not depend on `earlier`.
    fn reverse(&mut self, machine: &Machine, earlier: usize) {
        let event = &machine.steps[earlier];
        let newest = machine.steps.len() - 1;
        let mut first = [0u16; MAX_PROCESSES];
        let mut initials = 0u16;
        for (index, step) in machine.steps.iter().enumerate().skip(earlier + 1) {
            if index != newest && step.clock.get(event.process) >= event.index {
                continue;
            }
            if first[step.process] == 0 {
                let starts = (0..MAX_PROCESSES).all(|other| first[other] == 0 || step.clock.get(other) < first[other]);
                if starts {
                    initials |= 1 << step.process;
                }
                first[step.process] = step.index;
            }
        }
        let frame = &mut self.frames[earlier];
        if initials & (frame.backtrack | frame.sleep) != 0 {
            return;
        }
        let able = initials & frame.enabled;
        let process = machine.steps[newest].process;
        frame.backtrack |= if able == 0 {
            frame.enabled
        } else if able >> process & 1 == 1 {
            1 << process
        } else {
            1 << able.trailing_zeros()
        };
    }

    /// Moves on to the next execution; returns `false` if there is none.
    pub(super) fn backtrack(&mut self, machine: &mut Machine) -> bool {
        let choices = &mut machine.choices;
        loop {
            let decided = self.frames.len();
            match (choices.last_mut(), self.frames.last_mut()) {
                (Some(choice), _) if choice.step >= decided => {
                    if choice.value + 1 < choice.count {
                        choice.value += 1;
                        self.fresh = decided;
                        return true;
                    }
                    choices.pop();
                }
                (_, Some(frame)) => {
                    frame.done |= 1 << frame.chosen;
                    let left = frame.backtrack & !frame.done & !frame.sleep;
                    if left != 0 {
                        frame.chosen = left.trailing_zeros() as u8;
                        self.fresh = decided - 1;
                        return true;
                    }
                    self.frames.pop();
                }
                (_, None) => return false,
            }
        }
    }
}
