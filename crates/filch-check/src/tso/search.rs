//! The search: which executions are left to run, and which need not be.
//!
//! **Method.** Stateless: a program is run again and again from the start, and what is kept between runs is only the
//! list of decisions on the way to where the next run differs. Dynamic partial-order reduction with source sets and
//! sleep sets after Abdulla, Aronis, Jonsson and Sagonas, *Optimal Dynamic Partial Order Reduction*, POPL 2014,
//! algorithm 1. A run is watched for races: two steps that depend on each other with nothing in between to order them. For each,
//! a run is planned in which the second comes first. A process whose next step has been tried in a state sleeps until a step
//! is taken that this step depends on. So of the executions that differ only in the order of independent steps, at least one
//! is run to its end, and at most one is.
//!
//! Store buffers are processes of their own, hence drains are reduced like all other steps.
//!
//! **Waiting.** A thread in a waiting loop is not runnable until something that it looked at has changed: another round that
//! reads the same would end in the same state. Where a race asks for a step of a thread that waits, all runnable processes are
//! tried instead.
//!
//! What must always hold: `frames[i]` is the state before step `i`; `done` and the chosen process are in `backtrack`.

use super::clock::MAX_PROCESSES;
use super::machine::Machine;

/// The state before a step.
#[derive(Clone, Copy, Debug)]
struct Frame {
    chosen: u8,
    enabled: u16,
    /// Processes whose next step leads to nothing new.
    sleep: u16,
    /// Processes tried.
    done: u16,
    /// Processes to be tried.
    backtrack: u16,
}

/// The search: the decisions on the way to the present execution, and what is left to try at each.
#[derive(Debug, Default)]
pub(super) struct Search {
    /// Whether to leave out executions that differ only in the order of independent steps.
    reduce: bool,
    frames: Vec<Frame>,
    /// Steps from here on have not been taken after these decisions before.
    fresh: usize,
    /// What sleeps after the last frame.
    sleep: u16,
    /// The rest of this execution is like one that was run before.
    pub(super) redundant: bool,
}

impl Search {
    pub(super) fn new(reduce: bool) -> Self {
        Self { reduce, ..Self::default() }
    }

    pub(super) fn choose(&mut self, machine: &mut Machine) -> usize {
        let step = machine.steps.len();
        let enabled = machine.enabled();
        if self.redundant {
            return enabled.trailing_zeros() as usize;
        }
        if step == self.frames.len() {
            let awake = enabled & !self.sleep;
            if awake == 0 {
                self.redundant = true;
                return enabled.trailing_zeros() as usize;
            }
            // The thread that ran last goes on, if it can: fewer switches make a history easier to read.
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

    /// Plans an execution in which the newest step comes before `earlier`, with which it races: from the state before
    /// `earlier`, first everything that does not depend on it.
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

    /// Turns to the next execution; `false` if there is none.
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
