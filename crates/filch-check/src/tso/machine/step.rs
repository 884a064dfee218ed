//! The effect of a step.
//!
//! Invariant: a step is taken only when it is enabled.

use super::thread::{Entry, Thread};
use super::word::name;
use super::{Bits, Machine, Op};
use crate::outcome::mix;
use crate::tso::clock::MAX_PROCESSES;
use crate::tso::record::Act;

impl Machine {
    /// Takes the process's next step, which is enabled. If a thread's operation is then `Run`, the caller resumes the
    /// thread.
    pub(crate) fn step(&mut self, process: usize) {
        let (thread, role) = self.role(process);
        match role {
            0 => self.step_thread(process, thread),
            1 if self.processor.coalesces => {
                let entry = self.threads[thread].buffer.pop_front().expect("an enabled buffer holds an entry");
                self.move_on(process, thread, entry);
            }
            _ => {
                let own = &mut self.threads[thread];
                let entry = if role == 1 { own.buffer.pop_front() } else { own.extra.take() };
                let entry = entry.expect("an enabled buffer holds an entry");
                self.drain(process, thread, &entry);
            }
        }
    }

    fn step_thread(&mut self, process: usize, thread: usize) {
        let op = std::mem::replace(&mut self.threads[thread].op, Op::Run);
        match op {
            Op::Load { location } => self.load(process, thread, location),
            Op::Store { location, bits } if self.processor.buffer == 0 => {
                self.begin_write(process, location);
                let own = &mut self.threads[thread];
                own.stores += 1;
                own.order[thread] += 1;
                let (order, store) = (own.order, own.stores);
                self.write(thread, location, bits, store, order);
                if self.recorder.is_some() {
                    let value = self.value(location);
                    self.record(thread, Act::Write { location, value });
                }
            }
            Op::Store { location, bits } => {
                let own = &mut self.threads[thread];
                if let Some(nth) = (own.stores as usize).checked_sub(self.processor.buffer) {
                    let clock = own.drains[nth];
                    own.clock.join(&clock);
                }
                self.take_step(process, &[]);
                let fits = self.try_buffer(thread, location, bits);
                debug_assert!(fits, "an enabled store has room");
            }
            Op::Update { location, expected, argument, apply } => {
                let old = self.value(location);
                let succeeds = expected.is_none_or(|expected| expected == old);
                self.pass_fence(thread);
                if succeeds {
                    self.begin_write(process, location);
                } else {
                    self.begin_read(process, location);
                }
                self.observe(thread, location);
                let new = apply(old, argument);
                if succeeds {
                    let own = &mut self.threads[thread];
                    own.looked_at = None;
                    own.stores += 1;
                    own.order[thread] += 1;
                    let (order, store) = (own.order, own.stores);
                    if self.stores_are_steps {
                        // The update counts as a store, and leaves no entry to wait for.
                        let clock = self.threads[thread].clock;
                        self.threads[thread].drains.push(clock);
                    }
                    self.write(thread, location, Bits::whole(new), store, order);
                }
                self.threads[thread].result = (old, succeeds);
                if self.recorder.is_some() {
                    self.record(thread, Act::Update { location, old, new: succeeds.then_some(new), expected });
                }
            }
            Op::Wait { location, expected } => {
                self.pass_fence(thread);
                self.begin_write(process, location);
                let sleeps = self.value(location) == expected;
                self.threads[thread].looked_at = None;
                if sleeps {
                    self.threads[thread].op = Op::Asleep { location };
                }
                if self.recorder.is_some() {
                    self.record(thread, Act::Wait { location, sleeps });
                }
            }
            Op::Wake { location, all } => {
                self.pass_fence(thread);
                self.begin_write(process, location);
                let asleep = |own: &Thread| matches!(own.op, Op::Asleep { location: other } if other == location);
                let sleepers: Vec<usize> = (0..self.threads.len()).filter(|&i| asleep(&self.threads[i])).collect();
                let woken = if all { &sleepers[..] } else { &sleepers[..sleepers.len().min(1)] };
                let clock = self.threads[thread].clock;
                for &woken in woken {
                    self.threads[woken].op = Op::Run;
                    self.threads[woken].clock.join(&clock);
                }
                if self.recorder.is_some() {
                    self.record(thread, Act::Wake { location, woken: woken.len() });
                }
            }
            Op::Barrier => self.barrier(process, thread),
            Op::Run | Op::Fence | Op::Spin | Op::Asleep { .. } | Op::Done => unreachable!("not enabled"),
        }
    }

    fn load(&mut self, process: usize, thread: usize, location: u32) {
        let pending = self.threads[thread].pending(location).map(|entry| (entry.bits, entry.store));
        if let Some((Bits { value, mask: u64::MAX }, store)) = pending {
            let step = self.take_step(process, &[]);
            let own = &mut self.threads[thread];
            own.forwarded.push((store, step));
            own.result = (value, true);
            own.fingerprint = mix(own.fingerprint, name(thread, store).into());
            if self.recorder.is_some() {
                self.record(thread, Act::Load { location, value, forwarded: true });
            }
        } else {
            self.begin_read(process, location);
            self.observe(thread, location);
            let own = &mut self.threads[thread];
            if let Some((_, store)) = pending {
                // The value combines the buffer and memory. That read orders the load with the stores' drains.
                own.fingerprint = mix(own.fingerprint, name(thread, store).into());
            }
            let value = own.all_pending(location).over(self.words[location as usize].value);
            own.result = (value, true);
            if self.recorder.is_some() {
                self.record(thread, Act::Load { location, value, forwarded: false });
            }
        }
    }

    fn drain(&mut self, process: usize, thread: usize, entry: &Entry) {
        // The drain comes after the store, and before or after the loads that the store served.
        self.process_clock(process).join(&entry.clock);
        let mut candidates = std::mem::take(&mut self.scratch);
        candidates.clear();
        let own = &mut self.threads[thread];
        own.forwarded.retain(|&(store, step)| {
            if store == entry.store {
                candidates.push(step);
            }
            store != entry.store
        });
        candidates.extend(own.extra_joined.take());
        let word = &self.words[entry.location as usize];
        candidates.extend(&word.reads);
        candidates.extend(word.last_write);
        candidates.sort_unstable_by(|a, b| b.cmp(a));
        let step = self.take_step(process, &candidates);
        self.scratch = candidates;
        if self.processor.coalesces {
            self.threads[thread].extra_drained = Some((step, *entry));
        }
        self.wrote(entry.location, step);
        self.write(thread, entry.location, entry.bits, entry.store, entry.order);
        self.left(thread, step);
        if self.recorder.is_some() {
            let value = self.value(entry.location);
            self.record(thread, Act::Drain { location: entry.location, value });
        }
    }

    /// Moves an entry into the extra entry, which is empty or holds an older store to the same location.
    fn move_on(&mut self, process: usize, thread: usize, entry: Entry) {
        self.process_clock(process).join(&entry.clock);
        let (steps, own) = (&self.steps, &mut self.threads[thread]);
        // If the entry replaces the older store, that store's drain might have come second; otherwise it had to come
        // first.
        let raced = match own.extra_drained.take() {
            Some((step, older)) if entry.replaces(&older) => Some(step),
            Some((step, _)) => {
                own.buffer_clock.join(&steps[step as usize].clock);
                None
            }
            None => None,
        };
        let step = self.take_step(process, raced.as_slice());
        let clock = self.steps[step as usize].clock;
        let own = &mut self.threads[thread];
        if own.extra.is_some() {
            own.extra_joined = Some(step);
        } else {
            own.extra_clock.join(&clock);
        }
        own.extra = Some(entry);
        self.left(thread, step);
        if self.recorder.is_some() {
            self.record(thread, Act::Move { location: entry.location, value: entry.bits.value });
        }
    }

    /// Records that an entry of the buffer is free.
    fn left(&mut self, thread: usize, step: u32) {
        if self.stores_are_steps && self.role(self.steps[step as usize].process).1 == 1 {
            self.threads[thread].drains.push(self.steps[step as usize].clock);
        }
    }

    fn barrier(&mut self, process: usize, thread: usize) {
        let all: Vec<u32> = {
            let mut newest = [None; MAX_PROCESSES];
            for (index, step) in self.steps.iter().enumerate() {
                newest[step.process] = Some(index as u32);
            }
            let mut all: Vec<u32> = newest.into_iter().flatten().collect();
            all.sort_unstable_by(|a, b| b.cmp(a));
            all
        };
        let step = self.take_step(process, &all);
        self.last_barrier = Some(step);
        let clock = self.steps[step as usize].clock;
        for other in 0..self.threads.len() {
            let own = &mut self.threads[other];
            own.buffer_clock.join(&clock);
            own.extra_clock.join(&clock);
            own.forwarded.clear();
            let mut entries: Vec<Entry> = own.extra.take().into_iter().collect();
            own.drains.extend(own.buffer.iter().map(|_| clock));
            entries.extend(own.buffer.drain(..));
            for entry in entries {
                self.wrote(entry.location, step);
                self.write(other, entry.location, entry.bits, entry.store, entry.order);
            }
        }
        if self.recorder.is_some() {
            self.record(thread, Act::Barrier);
        }
    }
}
