//! The abstract machine TSO\[S\]: memory, one store buffer per thread, and the effect of each step on them.
//!
//! **Paper.** Adam Morrison and Yehuda Afek, *Fence-Free Work Stealing on Bounded TSO Processors*, ASPLOS 2014,
//! section 2; for unbounded buffers, Owens, Sarkar and Sewell, *A Better x86 Memory Model: x86-TSO*, TPHOLs 2009.
//!
//! **Processes.** Each thread has three processes, all scheduled alike: the thread itself; its store buffer, whose step
//! moves the oldest entry to memory; and, with coalescing, the extra entry B between buffer and memory. The buffer's
//! step then moves its oldest entry into B, if B is empty or holds an entry of the same location and no more bits; B's
//! step writes memory.
//!
//! **Steps.** Only actions that other threads can distinguish are scheduled as steps: reading memory, writing memory,
//! and reading the own buffer (which other threads cannot see, but which is ordered with that entry's drain). Filling
//! the own buffer and passing a fence happen as soon as they can: delaying them gives no behaviour that doing them at
//! once and draining later does not give. The exception is a program with a barrier on all threads, which empties the
//! buffers of other threads: there a store is also a step.
//!
//! **Order.** Every step carries a vector clock of the steps that it depends on: the earlier steps of its process, the
//! store before its drain, the drains before a passed fence, and for every location the write before each read and the
//! reads before the next write. If two steps depend on each other and no step in between orders them, they race: the
//! machine reports them to the explorer, which reverses them. A second clock has only the order that a program may rely
//! on (from a store to a thread that reads it). Accesses to cells that it leaves unordered are errors.
//!
//! * `thread`: a thread, its store buffer, and the actions that it takes without a step.
//! * `word`: memory.
//! * `footprint`: what a step touches.
//! * `step`: the effect of a step.
//! * `order`: the clocks.
//!
//! Invariant: two adjacent steps that their clocks do not order can be exchanged without changing what either reads or
//! the state after both.

mod footprint;
mod order;
mod step;
mod thread;
mod word;

use filch_memory::Ordering;

use self::thread::Thread;
use self::word::{Plain, Word};
use super::clock::{Clock, MAX_THREADS};
use super::record::{Act, Recorder, Row};
use crate::harm::{Harm, Wrong};
use crate::outcome::{ALONE, Outcome, mix};
use crate::sites::{Kind, Site, Sites};

/// The parameters of the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Processor {
    /// The number of entries in each thread's store buffer: 0 is sequential consistency, `usize::MAX` plain TSO.
    pub buffer: usize,
    /// Whether an entry beyond the buffer merges stores to one location after they have left the buffer.
    pub coalesces: bool,
}

/// The bits of a word that a store writes: those in the mask. All other bits are 0.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bits {
    pub(crate) value: u64,
    pub(crate) mask: u64,
}

impl Bits {
    pub(crate) const fn whole(value: u64) -> Self {
        Self { value, mask: u64::MAX }
    }

    pub(crate) const fn is_whole(self) -> bool {
        self.mask == u64::MAX
    }

    /// Returns a word that held `below`, after this store.
    pub(crate) const fn over(self, below: u64) -> u64 {
        below & !self.mask | self.value
    }

    /// Merges this store with an older one.
    const fn after(self, older: Self) -> Self {
        Self { value: self.over(older.value), mask: self.mask | older.mask }
    }
}

/// The next operation of a thread.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Op {
    /// None: the thread runs private code, or has not begun.
    Run,
    Load {
        location: u32,
    },
    /// A store that cannot enter a buffer at once: there is no buffer, the buffer is full, or stores are steps.
    Store {
        location: u32,
        bits: Bits,
    },
    /// `expected`: for a compare-and-swap.
    Update {
        location: u32,
        expected: Option<u64>,
        argument: u64,
        apply: fn(u64, u64) -> u64,
    },
    /// Waits until the thread's own buffer is empty.
    Fence,
    /// Waits until a variable changes that the thread has read since the last spin.
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
    /// Empties all buffers.
    Barrier,
    Done,
}

/// An operation that a mistake defers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Late {
    pub(crate) thread: usize,
    pub(crate) site: Site,
    pub(crate) op: Op,
    /// The result that its thread has assumed.
    pub(crate) guess: Option<u64>,
}

/// A step that has been taken.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Step {
    pub(crate) process: usize,
    /// Its number among its process's steps, from 1.
    pub(crate) index: u16,
    pub(crate) clock: Clock,
}

/// How a thread's operations currently take effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// One thread, no buffers: before the start, after the end, and while a thread is being discarded.
    Alone,
    Threads,
}

#[derive(Debug)]
pub(crate) struct Machine {
    pub(crate) processor: Processor,
    pub(crate) mode: Mode,
    /// The thread that unwinds after a panic.
    pub(crate) panics: Option<usize>,
    pub(crate) running: usize,
    pub(crate) threads: Vec<Thread>,
    words: Vec<Word>,
    words_used: usize,
    plain: Vec<Plain>,
    pub(crate) steps: Vec<Step>,
    /// Earlier steps with which the newest one races.
    pub(crate) races: Vec<u32>,
    last_barrier: Option<u32>,
    scratch: Vec<u32>,
    /// Deferred operations that still have to run.
    pub(crate) late: Vec<Late>,
    /// The values that each thread has read and that a mistake uses later.
    pub(crate) read_earlier: [Option<u64>; MAX_THREADS],
    /// Whether a guess was wrong: this is then not an execution of the program.
    pub(crate) guessed_wrong: bool,
    /// Whether stores are steps: true once a program has used the barrier.
    pub(crate) stores_are_steps: bool,
    pub(crate) barrier_seen: bool,
    /// The violation that ends the execution early.
    pub(crate) violation: Option<Wrong>,
    pub(crate) sites: Sites,
    pub(crate) recorder: Option<Recorder>,
    /// Answers to `choose`, and the number of them used by this execution.
    pub(crate) choices: Vec<Choice>,
    pub(crate) choices_made: usize,
    /// The number of spins of a thread that runs alone.
    pub(crate) looks_alone: usize,
    pub(crate) outcome: Outcome,
    /// The outcome's number once the threads have ended, and the number of words at that time.
    pub(crate) came_to: u64,
    words_left: usize,
}

/// An answer to `choose`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Choice {
    /// The number of steps before it.
    pub(crate) step: usize,
    pub(crate) value: usize,
    /// The number of possible answers.
    pub(crate) count: usize,
}

impl Machine {
    pub(crate) fn new(processor: Processor) -> Self {
        Self {
            processor,
            mode: Mode::Alone,
            panics: None,
            running: 0,
            threads: Vec::new(),
            words: Vec::new(),
            words_used: 0,
            plain: Vec::new(),
            steps: Vec::new(),
            races: Vec::new(),
            last_barrier: None,
            scratch: Vec::new(),
            late: Vec::new(),
            read_earlier: [None; MAX_THREADS],
            guessed_wrong: false,
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

    /// Prepares for the next execution.
    pub(crate) fn reset(&mut self) {
        self.mode = Mode::Alone;
        self.panics = None;
        self.words_used = 0;
        self.plain.clear();
        self.steps.clear();
        self.races.clear();
        self.late.clear();
        self.read_earlier = [None; MAX_THREADS];
        self.guessed_wrong = false;
        self.last_barrier = None;
        self.violation = None;
        self.choices_made = 0;
        self.looks_alone = 0;
        self.outcome.reset();
        self.threads.iter_mut().for_each(Thread::reset);
    }

    /// Records that all threads have ended.
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
        let buffers = usize::from(self.processor.buffer > 0) + usize::from(self.processor.coalesces);
        (1 + buffers) * self.threads.len()
    }

    /// Returns a process's thread and role: 0 the thread, 1 its buffer, 2 the extra entry.
    pub(crate) fn role(&self, process: usize) -> (usize, usize) {
        (process % self.threads.len(), process / self.threads.len())
    }

    /// Identifies the execution up to the order of indistinguishable steps: which write each read has seen, and the
    /// order of the writes to each location.
    pub(crate) fn fingerprint(&self) -> u64 {
        let threads = self.threads.iter().map(|thread| thread.fingerprint);
        threads.chain(self.words[..self.words_left].iter().map(|word| word.fingerprint)).fold(0, mix)
    }

    /// Returns the running thread's number in the outcome.
    pub(crate) fn reader(&self) -> usize {
        if self.mode == Mode::Alone { ALONE } else { self.running + 1 }
    }

    /// Adds a thread's last act to the history.
    #[cold]
    pub(crate) fn record(&mut self, thread: usize, act: Act) {
        let (site, buffer) = (self.threads[thread].site, self.buffered(thread).collect());
        if let Some(recorder) = &mut self.recorder {
            recorder.rows.push(Row { thread, act, site, buffer });
        }
    }

    pub(crate) fn violate(&mut self, wrong: Wrong) {
        if self.is_in_doubt() {
            self.guessed_wrong = true;
        } else {
            self.violation.get_or_insert(wrong);
        }
    }

    /// Returns whether a guess was wrong or is still open: this may not be an execution of the program.
    pub(crate) fn is_in_doubt(&self) -> bool {
        self.guessed_wrong || self.late.iter().any(|late| late.guess.is_some())
    }

    /// Returns the next preset answer, or the first answer to a new question.
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

    /// Sets the answers for a replay.
    pub(crate) fn preset_choices(&mut self, values: &[usize]) {
        self.choices = values.iter().map(|&value| Choice { step: 0, value, count: usize::MAX }).collect();
    }

    /// Explains why no thread can take a step although one has not finished.
    pub(crate) fn stuck(&self) -> Wrong {
        let waits = self.threads.iter().enumerate().filter_map(|(index, thread)| match thread.op {
            Op::Asleep { .. } => Some(format!("thread {index} sleeps")),
            Op::Spin => Some(format!("thread {index} waits for a change")),
            Op::Done => None,
            _ => Some(format!("thread {index} is stuck")),
        });
        let waits = waits.collect::<Vec<_>>().join(", ");
        Wrong::new(Harm::Hang, format!("nobody can take a step: {waits}"))
    }

    /// Returns the ordering that an operation uses: its own, unless it is weakened.
    #[inline]
    pub(crate) fn order_at(&mut self, site: Site, kind: Kind, order: Ordering) -> Option<Ordering> {
        if self.sites.is_idle() { Some(order) } else { self.sites.visit(site, kind, order) }
    }
}
