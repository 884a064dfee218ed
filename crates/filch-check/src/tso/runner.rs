//! One execution of a program: its threads are coroutines, and a callback chooses each step.
//!
//! Invariant: no reference to the machine exists while a thread of the program runs. A discarded thread unwinds alone.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Once;

use corosensei::stack::DefaultStack;
use corosensei::{Coroutine, CoroutineResult};

use super::machine::{Machine, Mode, Op, Processor};
use super::memory::{ThrownAway, has_panicked, with_machine};
use super::schedule::{Actor, Schedule};
use crate::harm::Wrong;
use crate::program::Program;

/// Runs programs on one machine.
pub(crate) struct Runner {
    machine: *mut Machine,
    stacks: Vec<DefaultStack>,
}

type Thread = Coroutine<(), (), Option<Wrong>, DefaultStack>;

/// How one execution ended.
pub(crate) enum End {
    Complete,
    Failed(Wrong),
    /// A guess was wrong, or was never verified: see [`Slip::swapped`](crate::sites::Slip::swapped).
    Void,
}

impl Runner {
    pub(crate) fn new(processor: Processor) -> Self {
        Self { machine: Box::into_raw(Box::new(Machine::new(processor))), stacks: Vec::new() }
    }

    pub(crate) fn machine(&mut self) -> &mut Machine {
        // SAFETY: `new` allocates it and `drop` frees it; `&mut self`, so no program is running.
        unsafe { &mut *self.machine }
    }

    /// Runs a program once. `next` decides which of the enabled processes takes each step, and sees the step
    /// afterwards. `None` breaks the execution off.
    pub(crate) fn run(
        &mut self,
        program: &dyn Fn() -> Program,
        next: &mut dyn FnMut(&mut Machine, Phase) -> Option<usize>,
    ) -> End {
        let raw = self.machine;
        // SAFETY: the machine lives as long as `self`. Below, references to it exist only within single expressions
        // that run none of the program's code.
        unsafe { with_machine(raw, || self.run_on(raw, program, next)) }
    }

    fn run_on(
        &mut self,
        raw: *mut Machine,
        program: &dyn Fn() -> Program,
        next: &mut dyn FnMut(&mut Machine, Phase) -> Option<usize>,
    ) -> End {
        // SAFETY: see `run`.
        let machine = || unsafe { &mut *raw };
        machine().reset();
        let Program { threads, finally } = program();
        let count = threads.len();
        machine().set_threads(count);
        if let Some(recorder) = &mut machine().recorder {
            recorder.names = threads.iter().map(|(name, _)| name.clone()).collect();
        }
        let mut running: Vec<Thread> = Vec::with_capacity(count);
        for (index, (_, body)) in threads.into_iter().enumerate() {
            let stack = self.stacks.pop().unwrap_or_else(|| DefaultStack::new(1 << 18).expect("memory for a stack"));
            running.push(Coroutine::with_stack(stack, move |yielder, ()| {
                // SAFETY: as in `machine` above.
                unsafe { &mut *raw }.threads[index].yielder = yielder;
                catch_unwind(AssertUnwindSafe(body)).err().and_then(|payload| wrong(&*payload))
            }));
        }
        machine().mode = Mode::Threads;
        let resume = |running: &mut Vec<Thread>, index: usize| {
            machine().running = index;
            if let CoroutineResult::Return(panic) = running[index].resume(()) {
                machine().threads[index].op = Op::Done;
                // A deferred operation waits for another one, which this thread never made.
                machine().guessed_wrong |= machine().late.iter().any(|late| late.thread == index);
                if let Some(panic) = panic {
                    machine().violate(panic);
                }
            }
        };
        (0..count).for_each(|index| resume(&mut running, index));
        let mut end = None;
        while end.is_none() {
            // Run threads that can continue without a step.
            let mut settled = machine().violation.is_some();
            while !settled {
                settled = true;
                for index in 0..count {
                    if machine().unblock(index) {
                        resume(&mut running, index);
                        settled = machine().violation.is_some();
                    }
                }
            }
            if let Some(violation) = machine().violation.take() {
                end = Some(End::Failed(violation));
            } else if machine().first_enabled().is_some() {
                match next(machine(), Phase::Choose) {
                    Some(process) => {
                        machine().step(process);
                        next(machine(), Phase::Taken);
                    }
                    None => end = Some(End::Complete),
                }
            } else if machine().is_in_doubt() {
                // This run continued only for its races: without them, the right guess would not be tried.
                end = Some(End::Void);
            } else if machine().threads.iter().all(|thread| matches!(thread.op, Op::Done)) {
                machine().end();
                let verdict = catch_unwind(AssertUnwindSafe(finally)).err().and_then(|payload| wrong(&*payload));
                self.stacks.extend(running.into_iter().map(Coroutine::into_stack));
                return verdict.map_or(End::Complete, End::Failed);
            } else {
                end = Some(End::Failed(machine().stuck()));
            }
        }
        // Discard the threads: each one unwinds, alone.
        machine().mode = Mode::Alone;
        for (index, mut thread) in running.into_iter().enumerate() {
            machine().running = index;
            while !thread.done() {
                thread.resume(());
            }
            self.stacks.push(thread.into_stack());
        }
        drop(catch_unwind(AssertUnwindSafe(|| drop(finally))));
        end.expect("the loop ends with a value")
    }

    /// Returns the schedule of the last run.
    pub(crate) fn schedule(&mut self) -> Schedule {
        let machine = self.machine();
        let steps = machine.steps.iter().map(|step| {
            let (thread, role) = machine.role(step.process);
            Actor { role, thread }
        });
        let steps = steps.collect();
        let mut choices: Vec<usize> =
            machine.choices[..machine.choices_made].iter().map(|choice| choice.value).collect();
        while choices.last() == Some(&0) {
            choices.pop();
        }
        Schedule { steps, choices }
    }
}

impl Drop for Runner {
    fn drop(&mut self) {
        // SAFETY: `Box::into_raw` in `new` made it; no program is running.
        drop(unsafe { Box::from_raw(self.machine) });
    }
}

/// A question to the explorer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// Which process takes the next step?
    Choose,
    /// Inspect the step just taken.
    Taken,
}

fn wrong(payload: &(dyn std::any::Any + Send)) -> Option<Wrong> {
    if payload.is::<ThrownAway>() {
        return None;
    }
    Some(Wrong::told_by(payload))
}

thread_local! {
    static EXPLORING: std::cell::Cell<bool> = const { std::cell::Cell::new(false) };
}

/// Silences expected panics: a failing execution is a result, reported with its history, so its panic message on
/// standard error would be noise.
fn be_quiet_about_expected_panics() {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let usual = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if EXPLORING.get() {
                has_panicked();
            } else {
                usual(info);
            }
        }));
    });
}

/// Marks panics on this thread as results while it lives.
pub(crate) struct Quiet(bool);

impl Quiet {
    pub(crate) fn new() -> Self {
        be_quiet_about_expected_panics();
        Self(EXPLORING.replace(true))
    }
}

impl Drop for Quiet {
    fn drop(&mut self) {
        EXPLORING.set(self.0);
    }
}
