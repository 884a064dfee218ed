//! The content of tasks: a number in the queue's word, or 64 bytes that whoever takes the task copies.

use std::array;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicU64, Ordering};

use filch_queue::{Padded, Task};

/// Tasks by number, as the queue's words.
pub(super) trait Entries: Sync {
    /// Makes the task of this number. `place` belongs to the only thread that makes tasks.
    fn put(&self, place: &mut usize, number: u32) -> Task;

    /// Returns the number of a task that was taken; [`TORN`] if its content is not what was put.
    fn take(&self, task: Task) -> u32;
}

/// No task has this number.
pub(super) const TORN: u32 = u32::MAX;

fn task(index: usize) -> Task {
    Task::from_id(NonZeroUsize::new(index + 1).expect("one more than something"))
}

fn index(task: Task) -> usize {
    task.id().get() - 1
}

/// Tasks that are no more than their word.
pub(super) struct Words;

impl Entries for Words {
    #[inline]
    fn put(&self, _: &mut usize, number: u32) -> Task {
        task(number as usize)
    }

    #[inline]
    fn take(&self, task: Task) -> u32 {
        index(task) as u32
    }
}

/// Tasks of 64 bytes: the queue holds the index of a line.
///
/// Invariant: a line is in use from when the owner fills it until its taker has copied it, and its first word is
/// [`FREE`] at all other times. This needs a queue that returns each task once.
pub(super) struct Lines(Box<[Padded<[AtomicU64; 8]>]>);

const FREE: u64 = u64::MAX;

impl Lines {
    /// Makes room for twice as many tasks as are in use at a time, so that the owner seldom meets a line in use.
    pub(super) fn new(tasks: usize) -> Self {
        let line = || Padded(array::from_fn(|_| AtomicU64::new(FREE)));
        Self((0..(2 * tasks).next_power_of_two()).map(|_| line()).collect())
    }
}

/// The word at this place in the line of a task.
fn word(number: u32, place: usize) -> u64 {
    u64::from(number) + ((place as u64) << 32)
}

impl Entries for Lines {
    #[inline]
    fn put(&self, place: &mut usize, number: u32) -> Task {
        let line = loop {
            *place = (*place + 1) % self.0.len();
            // Acquire: pairs with the taker's release, so that its copy is made before the line is filled again.
            if self.0[*place][0].load(Ordering::Acquire) == FREE {
                break &self.0[*place];
            }
        };
        for (place, content) in line.iter().enumerate() {
            // Relaxed: a push makes what precedes it visible to whoever takes the task.
            content.store(word(number, place), Ordering::Relaxed);
        }
        task(*place)
    }

    #[inline]
    fn take(&self, task: Task) -> u32 {
        let line = &self.0[index(task)];
        // Relaxed: what precedes a push is visible to whoever takes the task.
        let copy: [u64; 8] = array::from_fn(|place| line[place].load(Ordering::Relaxed));
        // Release: pairs with the owner's acquire.
        line[0].store(FREE, Ordering::Release);
        let number = copy[0] as u32;
        let is_whole = copy.iter().enumerate().all(|(place, &content)| content == word(number, place));
        if is_whole { number } else { TORN }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_reused_once_it_is_copied() {
        let (lines, mut place) = (Lines::new(2), 0);
        let tasks = [7, 8, 9, 10].map(|number| lines.put(&mut place, number));
        assert_eq!(lines.take(tasks[2]), 9);
        // The only free line.
        assert_eq!(lines.put(&mut place, 11), tasks[2]);
        assert_eq!([0, 1, 2, 3].map(|nth| lines.take(tasks[nth])), [7, 8, 11, 10]);
    }

    #[test]
    fn a_line_that_changed_is_torn() {
        for place in 0..8 {
            let lines = Lines::new(1);
            let task = lines.put(&mut 0, 3);
            lines.0[index(task)][place].fetch_add(1 << 33, Ordering::Relaxed);
            assert_eq!(lines.take(task), TORN, "{place}");
        }
        let task = Lines::new(1).put(&mut 0, 3);
        assert_eq!(Lines::new(1).take(task), TORN, "nobody filled it");
    }
}
