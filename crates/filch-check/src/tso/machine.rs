//! The abstract machine TSO\[S\]: memory, one store buffer per thread, and what each step does to them.
//!
//! **Paper.** Adam Morrison and Yehuda Afek, *Fence-Free Work Stealing on Bounded TSO Processors*, ASPLOS 2014,
//! section 2; for unbounded buffers, Owens, Sarkar and Sewell, *A Better x86 Memory Model: x86-TSO*, TPHOLs 2009.
//!
//! **Processes.** Three for each thread, all scheduled alike: the thread itself; its store buffer, whose step moves the
//! oldest entry to memory; with coalescing, the extra entry B between buffer and memory. The buffer's step then moves
//! its oldest entry into B, on top of an entry of the same location or if B is empty, and B's step writes memory.
//!
//! **Steps.** Only what others can tell apart is a step to be scheduled: reading memory, writing memory, and reading
//! the own buffer (which others cannot see, but which is ordered with that entry's leaving it). Filling the own
//! buffer and passing a fence happen at once, as soon as they can: to do them later would give no behaviour that doing
//! them at once and draining later does not give. The exception is a program with a barrier on all threads, which
//! empties the buffers of others: there a store is a step too.
//!
//! **Order.** Every step carries a vector clock of the steps that it depends on: those of its own process, the store
//! before its drain, the drains before a fence is passed, and for every location the write before each read, the
//! reads before the next write. Two steps that race, that is, depend on each other with nothing in between, are
//! reported to the explorer, which reverses them. A second clock has only the order that a program may rely on (from
//! a store to who reads it), and accesses to cells that it leaves unordered are errors.
//!
//! What must always hold: two steps that are not ordered by their clocks can be exchanged, if neighbours, without
//! changing what either reads or the state after both.

use std::collections::VecDeque;

use filch_memory::Ordering;

use super::clock::{Clock, MAX_THREADS};
use super::record::{Act, Recorder, Row};
use crate::outcome::{ALONE, Outcome, mix};
use crate::sites::{Kind, Site, Sites};

/// How the machine is built.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Processor {
    /// Entries of each thread's store buffer: 0 is sequential consistency, `usize::MAX` plain TSO.
    pub buffer: usize,
    /// Whether an entry beyond the buffer merges stores to one location after they have left the buffer.
    pub coalesces: bool,
}

/// What a thread is about to do.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Op {
    /// Nothing: it is running its private code, or has not begun.
    Run,
    Load {
        location: u32,
    },
    /// With no buffer, or one that is full, or where stores are steps.
    Store {
        location: u32,
        value: u64,
    },
    /// `expected`: of a compare-and-swap.
    Update {
        location: u32,
        expected: Option<u64>,
        argument: u64,
        apply: fn(u64, u64) -> u64,
    },
    /// Until the own buffer is empty.
    Fence,
    /// Until something changes that was read since the last one.
    Spin,
    /// A futex's wait.
    Wait {
        location: u32,
        expected: u64,
    },
    Asleep {
        location: u32,
    },
    Wake {
        location: u32,
        all: bool,
    },
    /// Empties everybody's buffer.
    Barrier,
    Done,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    location: u32,
    value: u64,
    /// The store that made it.
    store: u32,
    clock: Clock,
    order: Order,
}

/// What a program may rely on: per thread, how many of its stores came before.
type Order = [u16; MAX_THREADS];

fn join(order: &mut Order, other: &Order) {
    for (mine, theirs) in order.iter_mut().zip(other) {
        *mine = (*mine).max(*theirs);
    }
}

#[derive(Debug)]
pub(crate) struct Thread {
    /// Of its coroutine.
    pub(crate) yielder: *const corosensei::Yielder<(), ()>,
    pub(crate) op: Op,
    pub(crate) site: Option<Site>,
    /// Of the last operation: the value read, and whether a compare-and-swap has written.
    pub(crate) result: (u64, bool),
    buffer: VecDeque<Entry>,
    extra: Option<Entry>,
    /// Loads that were served by the entry of this store: they are ordered with its way to memory.
    forwarded: Vec<(u32, u32)>,
    /// What the current round of a waiting loop has read; `None` once it has written.
    looked_at: Option<Vec<(u32, u32)>>,
    clock: Clock,
    buffer_clock: Clock,
    extra_clock: Clock,
    /// The extra entry's last way to memory, and of which location: a store to the same one might have joined it.
    extra_drained: Option<(u32, u32)>,
    /// The last store that joined another in the extra entry, which might have left before.
    extra_joined: Option<u32>,
    /// The drains so far, where stores are steps: the entry that a store needs was left free by one of them.
    drains: Vec<Clock>,
    order: Order,
    stores: u32,
    /// What it has read from whom.
    fingerprint: u64,
}

impl Thread {
    fn new() -> Self {
        Self {
            yielder: std::ptr::null(),
            op: Op::Run,
            site: None,
            result: (0, false),
            buffer: VecDeque::new(),
            extra: None,
            forwarded: Vec::new(),
            looked_at: Some(Vec::new()),
            clock: Clock::default(),
            buffer_clock: Clock::default(),
            extra_clock: Clock::default(),
            extra_drained: None,
            extra_joined: None,
            drains: Vec::new(),
            order: [0; MAX_THREADS],
            stores: 0,
            fingerprint: 0,
        }
    }

    fn reset(&mut self) {
        let (mut buffer, mut forwarded) = (std::mem::take(&mut self.buffer), std::mem::take(&mut self.forwarded));
        let mut looked_at = self.looked_at.take().unwrap_or_default();
        buffer.clear();
        forwarded.clear();
        looked_at.clear();
        *self = Self { buffer, forwarded, looked_at: Some(looked_at), ..Self::new() };
    }

    /// The newest store to `location` that has not reached memory.
    #[inline]
    fn pending(&self, location: u32) -> Option<&Entry> {
        self.buffer.iter().rev().chain(&self.extra).find(|entry| entry.location == location)
    }

    fn is_drained(&self) -> bool {
        self.buffer.is_empty() && self.extra.is_none()
    }
}

#[derive(Debug)]
struct Word {
    value: u64,
    /// Counts writes.
    version: u32,
    /// The store that wrote it, as (thread, its number); 0 at the start.
    writer: u32,
    last_write: Option<u32>,
    reads: Vec<u32>,
    order: Order,
    /// The writes, in their order.
    fingerprint: u64,
    is_address: bool,
    pub(crate) born: Site,
}

/// A cell of memory that is not atomic: who last used it, as numbers of stores.
#[derive(Debug)]
struct Plain {
    written: Option<(usize, u16)>,
    read: Order,
    born: Site,
}

/// A step that has been taken.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Step {
    pub(crate) process: usize,
    /// The how-manieth of its process, from 1.
    pub(crate) index: u16,
    pub(crate) clock: Clock,
}

/// What a process's next step touches, in the present state: enough to tell whether two of them depend on each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Footprint {
    /// Nothing that others touch.
    Private,
    Read(u32),
    /// `store`: of which thread's buffer it is a drain, and of which store.
    Write(u32, Option<(usize, u32)>),
    /// A load served by the own buffer.
    Forward(usize, u32),
    /// A move into the extra entry of a thread.
    Move(usize),
    All,
}

impl Footprint {
    /// Whether the order of the two matters. Both belong to different processes and are enabled.
    pub(crate) fn depends_on(self, other: Self) -> bool {
        use Footprint::{All, Forward, Move, Private, Read, Write};
        match (self, other) {
            (All, _) | (_, All) => true,
            (Private, _) | (_, Private) => false,
            (Read(a), Write(b, _)) | (Write(a, _), Read(b)) | (Write(a, _), Write(b, _)) => a == b,
            (Forward(thread, store), Write(_, drain)) | (Write(_, drain), Forward(thread, store)) => {
                drain == Some((thread, store))
            }
            (Move(thread), Write(_, drain)) | (Write(_, drain), Move(thread)) => {
                drain.is_some_and(|(drained, _)| drained == thread)
            }
            _ => false,
        }
    }
}

/// Why an execution was cut short.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Violation(pub(crate) String);

/// What the operations of a thread mean at the moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// One thread, no buffers: before the start, after the end, and while a thread is thrown away.
    Alone,
    Threads,
}

#[derive(Debug)]
pub(crate) struct Machine {
    pub(crate) processor: Processor,
    pub(crate) mode: Mode,
    pub(crate) running: usize,
    pub(crate) threads: Vec<Thread>,
    words: Vec<Word>,
    words_used: usize,
    plain: Vec<Plain>,
    pub(crate) steps: Vec<Step>,
    /// Earlier steps that the newest one races with.
    pub(crate) races: Vec<u32>,
    last_barrier: Option<u32>,
    scratch: Vec<u32>,
    /// Whether stores are steps: once a program has been seen to use the barrier.
    pub(crate) stores_are_steps: bool,
    pub(crate) barrier_seen: bool,
    pub(crate) violation: Option<Violation>,
    pub(crate) sites: Sites,
    pub(crate) recorder: Option<Recorder>,
    /// Answers to `choose`, and how many of them this execution has used.
    pub(crate) choices: Vec<Choice>,
    pub(crate) choices_made: usize,
    /// Looks in waiting loops of a thread that is alone.
    pub(crate) looks_alone: usize,
    pub(crate) outcome: Outcome,
    /// Its number, once the threads have ended; and how many words there were then.
    pub(crate) came_to: u64,
    words_left: usize,
}

/// An answer to `choose`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Choice {
    /// Steps taken before it.
    pub(crate) step: usize,
    pub(crate) value: usize,
    /// How many answers there are.
    pub(crate) count: usize,
}

impl Machine {
    pub(crate) fn new(processor: Processor) -> Self {
        Self {
            processor,
            mode: Mode::Alone,
            running: 0,
            threads: Vec::new(),
            words: Vec::new(),
            words_used: 0,
            plain: Vec::new(),
            steps: Vec::new(),
            races: Vec::new(),
            last_barrier: None,
            scratch: Vec::new(),
            stores_are_steps: false,
            barrier_seen: false,
            violation: None,
            sites: Sites::default(),
            recorder: None,
            choices: Vec::new(),
            choices_made: 0,
            looks_alone: 0,
            outcome: Outcome::default(),
            came_to: 0,
            words_left: 0,
        }
    }

    /// Ready for the next execution.
    pub(crate) fn reset(&mut self) {
        self.mode = Mode::Alone;
        self.words_used = 0;
        self.plain.clear();
        self.steps.clear();
        self.races.clear();
        self.last_barrier = None;
        self.violation = None;
        self.choices_made = 0;
        self.looks_alone = 0;
        self.outcome.reset();
        self.threads.iter_mut().for_each(Thread::reset);
    }

    /// All threads have ended.
    pub(crate) fn end(&mut self) {
        self.mode = Mode::Alone;
        self.words_left = self.words_used;
        let left = |word: &Word| if word.is_address { self.outcome.name(word.value) } else { word.value };
        self.came_to = self.outcome.number(self.words[..self.words_used].iter().map(left));
    }

    pub(crate) fn set_threads(&mut self, count: usize) {
        assert!(count <= MAX_THREADS, "a program has at most {MAX_THREADS} threads");
        self.threads.resize_with(count, Thread::new);
    }

    pub(crate) fn processes(&self) -> usize {
        3 * self.threads.len()
    }

    /// A process's thread and role: 0 the thread, 1 its buffer, 2 the extra entry.
    pub(crate) fn role(&self, process: usize) -> (usize, usize) {
        (process % self.threads.len(), process / self.threads.len())
    }

    // Memory.

    pub(crate) fn allocate(&mut self, value: u64, is_address: bool, born: Site) -> u32 {
        let location = self.words_used;
        self.words_used += 1;
        if let Some(word) = self.words.get_mut(location) {
            word.reads.clear();
            let reads = std::mem::take(&mut word.reads);
            *word = Word { reads, ..Word::new(value, is_address, born) };
        } else {
            self.words.push(Word::new(value, is_address, born));
        }
        location as u32
    }

    pub(crate) fn allocate_plain(&mut self, born: Site) -> u32 {
        self.plain.push(Plain { written: None, read: [0; MAX_THREADS], born });
        (self.plain.len() - 1) as u32
    }

    /// Where a word was made, and the how-manieth it was to be made there.
    pub(crate) fn birth(&self, location: u32) -> (Site, usize, usize) {
        let born = self.words[location as usize].born;
        let same = |word: &&Word| std::ptr::eq(word.born, born) || word.born == born;
        let before = self.words[..location as usize].iter().filter(same).count();
        (born, before, self.words[..self.words_used].iter().filter(same).count())
    }

    pub(crate) fn value(&self, location: u32) -> u64 {
        self.words[location as usize].value
    }

    pub(crate) fn set_value(&mut self, location: u32, value: u64) {
        self.words[location as usize].value = value;
    }

    /// What a thread's buffer holds, oldest first, the extra entry before all.
    pub(crate) fn buffered(&self, thread: usize) -> impl Iterator<Item = (u32, u64)> {
        let thread = &self.threads[thread];
        thread.extra.iter().chain(&thread.buffer).map(|entry| (entry.location, entry.value))
    }

    /// Names the execution up to the order of steps that nobody can tell apart: who read from whom, and the order of
    /// the writes to each location.
    pub(crate) fn fingerprint(&self) -> u64 {
        let threads = self.threads.iter().map(|thread| thread.fingerprint);
        threads.chain(self.words[..self.words_left].iter().map(|word| word.fingerprint)).fold(0, mix)
    }

    /// Who runs, for the outcome.
    pub(crate) fn reader(&self) -> usize {
        if self.mode == Mode::Alone { ALONE } else { self.running + 1 }
    }

    /// Enters what a thread has just done into the history.
    #[cold]
    pub(crate) fn record(&mut self, thread: usize, act: Act) {
        let (site, buffer) = (self.threads[thread].site, self.buffered(thread).collect());
        if let Some(recorder) = &mut self.recorder {
            recorder.rows.push(Row { thread, act, site, buffer });
        }
    }

    // Private steps, taken by the running thread at once.

    /// Puts a store into the buffer, if it has room.
    #[inline]
    pub(crate) fn try_buffer(&mut self, thread: usize, location: u32, value: u64) -> bool {
        let limit = self.processor.buffer;
        let own = &mut self.threads[thread];
        if own.buffer.len() >= limit {
            return false;
        }
        own.looked_at = None;
        own.stores += 1;
        let store = own.stores;
        own.order[thread] += 1;
        own.buffer.push_back(Entry { location, value, store, clock: own.clock, order: own.order });
        if self.recorder.is_some() {
            self.record(thread, Act::Buffer { location, value });
        }
        true
    }

    #[inline]
    pub(crate) fn is_drained(&self, thread: usize) -> bool {
        self.threads[thread].is_drained()
    }

    /// A fence that found the buffer empty: what was drained came before it.
    #[inline]
    pub(crate) fn pass_fence(&mut self, thread: usize) {
        let own = &mut self.threads[thread];
        own.clock.join(&own.buffer_clock);
        own.clock.join(&own.extra_clock);
    }

    /// Whether something has changed since this round of a waiting loop began. If the round has written, there is
    /// nothing to wait for.
    pub(crate) fn may_look_again(&mut self, thread: usize) -> bool {
        let words = &self.words;
        match &mut self.threads[thread].looked_at {
            Some(seen) => {
                let changed = seen.iter().any(|&(location, version)| words[location as usize].version != version);
                let again = changed || seen.is_empty();
                if again {
                    seen.clear();
                }
                again
            }
            none => {
                *none = Some(Vec::new());
                true
            }
        }
    }

    /// An access to a cell: an error unless ordered with all earlier ones of other threads.
    pub(crate) fn access_plain(&mut self, cell: u32, write: bool) {
        if self.mode == Mode::Alone {
            return;
        }
        let me = self.running;
        let order = self.threads[me].order;
        let plain = &mut self.plain[cell as usize];
        let unordered = |thread: usize, stores: u16| thread != me && order[thread] < stores;
        let mut clash = plain.written.filter(|&(thread, stores)| unordered(thread, stores)).map(|(thread, _)| thread);
        if write {
            clash = clash.or((0..MAX_THREADS).find(|&thread| unordered(thread, plain.read[thread])));
        }
        // Who wants to be ordered after this has to read a later store of this thread.
        let next = order[me] + 1;
        if write {
            plain.written = Some((me, next));
        }
        plain.read[me] = next;
        if let Some(other) = clash {
            let (born, names) = (plain.born, (me, other));
            self.violate(format!(
                "a data race: threads {} and {} use the cell made at {born} with nothing between them that orders it",
                names.0, names.1
            ));
        }
    }

    pub(crate) fn violate(&mut self, why: String) {
        self.violation.get_or_insert(Violation(why));
    }

    /// The next answer, or the first of a new question.
    pub(crate) fn choose(&mut self, count: usize) -> usize {
        assert!(count > 0, "there is nothing to choose from");
        if self.choices_made == self.choices.len() {
            self.choices.push(Choice { step: self.steps.len(), value: 0, count });
        }
        let choice = &mut self.choices[self.choices_made];
        choice.count = count;
        self.choices_made += 1;
        let value = choice.value.min(count - 1);
        let reader = self.reader();
        self.outcome.reads(reader, value as u64, true);
        value
    }

    /// Sets the answers, for a repetition.
    pub(crate) fn preset_choices(&mut self, values: &[usize]) {
        self.choices = values.iter().map(|&value| Choice { step: 0, value, count: usize::MAX }).collect();
    }

    /// Why nobody can take a step though somebody has not finished.
    pub(crate) fn stuck(&self) -> String {
        let waits = self.threads.iter().enumerate().filter_map(|(index, thread)| match thread.op {
            Op::Asleep { .. } => Some(format!("thread {index} sleeps")),
            Op::Spin => Some(format!("thread {index} waits for a change")),
            Op::Done => None,
            _ => Some(format!("thread {index} is stuck")),
        });
        format!("nobody can take a step: {}", waits.collect::<Vec<_>>().join(", "))
    }

    // Steps to be scheduled.

    /// Whether the process can take a step now.
    #[inline]
    pub(crate) fn is_enabled(&self, process: usize) -> bool {
        let (thread, role) = self.role(process);
        let own = &self.threads[thread];
        match role {
            0 => match own.op {
                Op::Load { .. } | Op::Barrier => true,
                Op::Store { .. } => self.processor.buffer == 0 || own.buffer.len() < self.processor.buffer,
                Op::Update { .. } | Op::Wait { .. } | Op::Wake { .. } => own.is_drained(),
                Op::Run | Op::Fence | Op::Spin | Op::Asleep { .. } | Op::Done => false,
            },
            1 => match (own.buffer.front(), &own.extra) {
                (None, _) => false,
                (Some(entry), Some(extra)) => entry.location == extra.location,
                (Some(_), None) => true,
            },
            _ => own.extra.is_some(),
        }
    }

    pub(crate) fn enabled(&self) -> u16 {
        (0..self.processes()).filter(|&process| self.is_enabled(process)).fold(0, |set, process| set | 1 << process)
    }

    /// What the process's next step touches. Precondition: it is enabled.
    pub(crate) fn footprint(&self, process: usize) -> Footprint {
        let (thread, role) = self.role(process);
        let own = &self.threads[thread];
        match role {
            0 => match own.op {
                Op::Load { location } => match own.pending(location) {
                    Some(entry) => Footprint::Forward(thread, entry.store),
                    None => Footprint::Read(location),
                },
                Op::Store { location, .. } if self.processor.buffer == 0 => Footprint::Write(location, None),
                Op::Update { location, expected: Some(expected), .. } if self.value(location) != expected => {
                    Footprint::Read(location)
                }
                Op::Update { location, .. } | Op::Wait { location, .. } | Op::Wake { location, .. } => {
                    Footprint::Write(location, None)
                }
                Op::Barrier => Footprint::All,
                _ => Footprint::Private,
            },
            1 if self.processor.coalesces => Footprint::Move(thread),
            1 => drain(thread, own.buffer.front()),
            _ => drain(thread, own.extra.as_ref()),
        }
    }

    /// Takes the process's next step, which is enabled. A thread is then to be resumed if its operation is `Run`.
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
            Op::Store { location, value } if self.processor.buffer == 0 => {
                self.begin_write(process, location);
                let own = &mut self.threads[thread];
                own.stores += 1;
                own.order[thread] += 1;
                let (order, store) = (own.order, own.stores);
                self.write(thread, location, value, store, order);
                if self.recorder.is_some() {
                    self.record(thread, Act::Write { location, value });
                }
            }
            Op::Store { location, value } => {
                let own = &mut self.threads[thread];
                if let Some(nth) = (own.stores as usize).checked_sub(self.processor.buffer) {
                    let clock = own.drains[nth];
                    own.clock.join(&clock);
                }
                self.take_step(process, &[]);
                let fits = self.try_buffer(thread, location, value);
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
                        // It is counted as a store, and leaves no entry to wait for.
                        let clock = self.threads[thread].clock;
                        self.threads[thread].drains.push(clock);
                    }
                    self.write(thread, location, new, store, order);
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
        if let Some(&Entry { value, store, .. }) = self.threads[thread].pending(location) {
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
            let value = self.value(location);
            self.threads[thread].result = (value, true);
            if self.recorder.is_some() {
                self.record(thread, Act::Load { location, value, forwarded: false });
            }
        }
    }

    fn drain(&mut self, process: usize, thread: usize, entry: &Entry) {
        // After the store; after and before the loads that it served.
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
            self.threads[thread].extra_drained = Some((step, entry.location));
        }
        self.wrote(entry.location, step);
        self.write(thread, entry.location, entry.value, entry.store, entry.order);
        self.left(thread, step);
        if self.recorder.is_some() {
            self.record(thread, Act::Drain { location: entry.location, value: entry.value });
        }
    }

    /// A move into the extra entry: once that is empty, or on top of an older store to the same place.
    fn move_on(&mut self, process: usize, thread: usize, entry: Entry) {
        self.process_clock(process).join(&entry.clock);
        let (steps, own) = (&self.steps, &mut self.threads[thread]);
        // To the same place, the older store's leaving might have come second; to another, it had to come first.
        let raced = match own.extra_drained.take() {
            Some((step, location)) if location == entry.location => Some(step),
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
            self.record(thread, Act::Move { location: entry.location, value: entry.value });
        }
    }

    /// An entry of the buffer is free.
    fn left(&mut self, thread: usize, step: u32) {
        if self.stores_are_steps && self.role(self.steps[step as usize].process).1 == 1 {
            self.threads[thread].drains.push(self.steps[step as usize].clock);
        }
    }

    fn barrier(&mut self, process: usize, thread: usize) {
        let all: Vec<u32> = {
            let mut newest = [None; super::clock::MAX_PROCESSES];
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
                self.write(other, entry.location, entry.value, entry.store, entry.order);
            }
        }
        if self.recorder.is_some() {
            self.record(thread, Act::Barrier);
        }
    }

    fn begin_read(&mut self, process: usize, location: u32) {
        let candidates = self.words[location as usize].last_write;
        let step = self.take_step(process, candidates.as_slice());
        self.words[location as usize].reads.push(step);
    }

    fn begin_write(&mut self, process: usize, location: u32) {
        let mut candidates = std::mem::take(&mut self.scratch);
        let word = &self.words[location as usize];
        candidates.clear();
        candidates.extend(word.reads.iter().rev());
        candidates.extend(word.last_write);
        let step = self.take_step(process, &candidates);
        self.scratch = candidates;
        self.wrote(location, step);
    }

    fn wrote(&mut self, location: u32, step: u32) {
        let word = &mut self.words[location as usize];
        word.reads.clear();
        word.last_write = Some(step);
    }

    /// The thread has read the location's present value from memory.
    fn observe(&mut self, thread: usize, location: u32) {
        let word = &self.words[location as usize];
        let own = &mut self.threads[thread];
        join(&mut own.order, &word.order);
        own.fingerprint = mix(own.fingerprint, word.writer.into());
        if let Some(seen) = &mut own.looked_at {
            seen.push((location, word.version));
        }
    }

    fn write(&mut self, thread: usize, location: u32, value: u64, store: u32, order: Order) {
        let word = &mut self.words[location as usize];
        word.value = value;
        word.version += 1;
        word.writer = name(thread, store);
        word.order = order;
        word.fingerprint = mix(word.fingerprint, word.writer.into());
    }

    fn process_clock(&mut self, process: usize) -> &mut Clock {
        let (thread, role) = self.role(process);
        let own = &mut self.threads[thread];
        match role {
            0 => &mut own.clock,
            1 => &mut own.buffer_clock,
            _ => &mut own.extra_clock,
        }
    }

    /// Enters a step that depends on `candidates`, earlier steps, newest first: orders it after them, and notes as races
    /// those that nothing else orders before it.
    fn take_step(&mut self, process: usize, candidates: &[u32]) -> u32 {
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

    // What a thread may do without a step once something else has happened.

    /// Lets a thread that waits for its buffer, or for a change, go on if it can; it is then to be resumed.
    pub(crate) fn unblock(&mut self, thread: usize) -> bool {
        let op = self.threads[thread].op;
        match op {
            Op::Fence if self.is_drained(thread) => self.pass_fence(thread),
            Op::Store { location, value } if self.processor.buffer != 0 && !self.stores_are_steps => {
                if !self.try_buffer(thread, location, value) {
                    return false;
                }
                // Room was made by a drain.
                let own = &mut self.threads[thread];
                own.clock.join(&own.buffer_clock);
            }
            Op::Spin if self.may_look_again(thread) => {}
            // Woken, by somebody else's step.
            Op::Run => return true,
            _ => return false,
        }
        self.threads[thread].op = Op::Run;
        true
    }

    /// The ordering that an operation is to use: its own, but for surveys and weakenings.
    #[inline]
    pub(crate) fn order_at(&mut self, site: Site, kind: Kind, order: Ordering) -> Option<Ordering> {
        if self.sites.is_idle() { Some(order) } else { self.sites.visit(site, kind, order) }
    }
}

impl Word {
    fn new(value: u64, is_address: bool, born: Site) -> Self {
        Self {
            value,
            is_address,
            version: 0,
            writer: 0,
            last_write: None,
            reads: Vec::new(),
            order: [0; MAX_THREADS],
            fingerprint: 0,
            born,
        }
    }
}

fn name(thread: usize, store: u32) -> u32 {
    (thread as u32 + 1) << 24 | store
}

fn drain(thread: usize, entry: Option<&Entry>) -> Footprint {
    entry.map_or(Footprint::Private, |entry| Footprint::Write(entry.location, Some((thread, entry.store))))
}
