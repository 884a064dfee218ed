//! The owner: it pushes all tasks, in batches, and takes some of them.

use std::hint::{black_box, spin_loop};
use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration, Instant};

use filch_catalogue::programs::queue::{Params, Use};
use filch_queue::{Full, Owner, Task};

use super::Shared;
use super::entries::Entries;
use crate::wsq;

/// An owner waits for thieves that take nothing for so long, then takes the tasks itself.
const PATIENCE: Duration = Duration::from_millis(10);

/// Looks at the tasks left between two yields to a thief that may need this processor: some 100 µs, since whoever gets
/// the processor keeps it for milliseconds.
const LOOKS: u32 = 1 << 14;

/// An owner's end, and what it takes.
pub(super) struct Pushing<'p, O, E> {
    pub(super) owner: O,
    pub(super) params: &'p Params,
    pub(super) shared: &'p Shared,
    pub(super) entries: &'p E,
    /// The tasks that it took.
    pub(super) log: &'p mut Vec<u32>,
    /// How many tasks thieves may leave in the queue.
    pub(super) kept_back: u64,
    /// When it stops waiting for thieves; none if it has stopped.
    pub(super) end: Option<Instant>,
    pub(super) next: u32,
    pub(super) place: usize,
}

impl<O: Owner<Task>, E: Entries> Pushing<'_, O, E> {
    /// Pushes all tasks; thieves have nothing to do afterwards.
    pub(super) fn push_all(&mut self) {
        let &Params { what, n, batch, .. } = self.params;
        while self.next < n {
            let to = n.min(self.next.saturating_add(batch));
            match what {
                Use::Empties => {
                    self.push(to);
                    self.pop_all();
                }
                Use::Keeps => {
                    self.push(to);
                    let keep = u64::from(batch) + self.kept_back;
                    for _ in 0..self.left().saturating_sub(keep) {
                        let Some(task) = self.owner.pop() else { break };
                        self.take(task);
                    }
                }
                Use::Feeds => {
                    self.wait_for(u64::from(batch) + self.kept_back);
                    self.push(to);
                }
            }
        }
        if what == Use::Feeds {
            self.wait_for(self.kept_back);
        }
        self.pop_all();
    }

    /// Pushes the tasks up to this number.
    fn push(&mut self, to: u32) {
        while self.next < to {
            let task = self.entries.put(&mut self.place, self.next);
            self.next += 1;
            if let Err(Full(task)) = self.owner.push(task) {
                self.make_room(task);
            }
            if self.params.work > 0 {
                black_box(wsq::work(black_box(self.params.work)));
            }
        }
        // Relaxed: thieves only estimate from it how much is their share.
        self.shared.pushed.store(self.next.into(), Ordering::Relaxed);
    }

    /// Pushes a task that a full queue has refused. Some arrays must be found empty first.
    #[cold]
    fn make_room(&mut self, task: Task) {
        if self.params.what == Use::Feeds {
            // The refused task is not in the queue.
            self.wait_for(self.kept_back + 1);
        }
        self.pop_all();
        if let Err(Full(task)) = self.owner.push(task) {
            self.take(task);
        }
    }

    pub(super) fn pop_all(&mut self) {
        while let Some(task) = self.owner.pop() {
            self.take(task);
        }
    }

    #[inline]
    fn take(&mut self, task: Task) {
        self.log.push(self.entries.take(task));
    }

    /// The number of tasks that nobody has taken yet.
    fn left(&self) -> u64 {
        u64::from(self.next).saturating_sub(self.log.len() as u64 + self.shared.stolen())
    }

    /// Waits until no more tasks than this are left; takes them all if nobody else does, or if the time is up.
    fn wait_for(&mut self, most: u64) {
        let Some(end) = self.end else { return self.pop_all() };
        let (mut looks, mut last, mut since) = (0_u32, self.left(), Instant::now());
        while last > most {
            self.owner.poll();
            spin_loop();
            let left = self.left();
            looks += 1;
            if looks % LOOKS == 0 {
                if left != last {
                    (last, since) = (left, Instant::now());
                }
                self.end = Some(end).filter(|&end| Instant::now() < end);
                if since.elapsed() >= PATIENCE || self.end.is_none() {
                    return self.pop_all();
                }
                thread::yield_now();
            }
            if left <= most {
                return;
            }
        }
    }
}

/// An array of tasks that belongs to one thread: the sequential program's queue.
#[derive(Default)]
pub(super) struct Plain(pub(super) Vec<Task>);

impl Owner<Task> for Plain {
    #[inline]
    fn push(&mut self, task: Task) -> Result<(), Full<Task>> {
        self.0.push(task);
        Ok(())
    }

    #[inline]
    fn pop(&mut self) -> Option<Task> {
        self.0.pop()
    }

    fn len_hint(&self) -> usize {
        self.0.len()
    }
}
