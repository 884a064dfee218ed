//! The order of steps: the clocks, and the races that the explorer reverses.
//!
//! Invariant: a step's clock includes every step that it depends on, directly or through others.

use super::{Clock, Machine, Step};

impl Machine {
    pub(super) fn begin_read(&mut self, process: usize, location: u32) {
        let candidates = self.words[location as usize].last_write;
        let step = self.take_step(process, candidates.as_slice());
        self.words[location as usize].reads.push(step);
    }

    pub(super) fn begin_write(&mut self, process: usize, location: u32) {
        let mut candidates = std::mem::take(&mut self.scratch);
        let word = &self.words[location as usize];
        candidates.clear();
        candidates.extend(word.reads.iter().rev());
        candidates.extend(word.last_write);
        let step = self.take_step(process, &candidates);
        self.scratch = candidates;
        self.wrote(location, step);
    }

    pub(super) fn process_clock(&mut self, process: usize) -> &mut Clock {
        let (thread, role) = self.role(process);
        let own = &mut self.threads[thread];
        match role {
            0 => &mut own.clock,
            1 => &mut own.buffer_clock,
            _ => &mut own.extra_clock,
        }
    }

    /// Records a step that depends on `candidates`, earlier steps, newest first: orders it after them, and reports as
    /// races those that nothing else orders before it.
    pub(super) fn take_step(&mut self, process: usize, candidates: &[u32]) -> u32 {
        let mut clock = *self.process_clock(process);
        self.races.clear();
        let mut barrier = self.last_barrier;
        let mut candidates = candidates.iter().copied().peekable();
        loop {
            let newer = barrier.is_some_and(|barrier| candidates.peek().is_none_or(|&next| next <= barrier));
            let Some(candidate) = (if newer { barrier.take() } else { candidates.next() }) else { break };
            let earlier = &self.steps[candidate as usize];
            if clock.get(earlier.process) < earlier.index {
                self.races.push(candidate);
                clock.join(&earlier.clock);
            }
        }
        let index = clock.get(process) + 1;
        clock.set(process, index);
        *self.process_clock(process) = clock;
        self.steps.push(Step { process, index, clock });
        (self.steps.len() - 1) as u32
    }
}
