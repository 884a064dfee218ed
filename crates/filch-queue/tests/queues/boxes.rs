//! Tasks that are allocations and are freed when they end: a memory checker then sees when a queue returns a task
//! twice, or the slot's previous content.

use core::ptr::NonNull;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::thread;

use filch_queue::{Delivery, Full, Owner, Queue, Steal, Task, Thief};

use crate::times;
use crate::watchdog::Patience;

macro_rules! tests {
    ($queue:ty) => {
        #[test]
        fn boxes() {
            $crate::run::<$queue, filch_memory::Native>($crate::boxes::boxes::<$queue>);
        }
    };
}
pub(crate) use tests;

/// Ends a task; returns its number.
fn end(task: Task) -> usize {
    // SAFETY: the task is a box made below, and the queue returns it once.
    *unsafe { Box::from_raw(task.as_ptr::<usize>().as_ptr()) }
}

pub(crate) fn boxes<Q: Queue>() {
    const TASKS: usize = times(5000, 20);
    if Q::PROMISES.delivery != Delivery::ExactlyOnce {
        return;
    }
    let (mut owner, thieves) = Q::make(4, 2, &Q::Params::default());
    let (ended, sum) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let end = |task| {
        sum.fetch_add(end(task), SeqCst);
        ended.fetch_add(1, SeqCst);
    };
    let (all_ended, end) = (|| ended.load(SeqCst) == TASKS, &end);
    thread::scope(|s| {
        for mut thief in thieves {
            s.spawn(move || {
                let patience = Patience::new();
                while !all_ended() {
                    match thief.steal() {
                        Steal::Task(task) => end(task),
                        _ => patience.wait("the last task"),
                    }
                }
            });
        }
        for number in 0..TASKS {
            let task = Task::from_ptr(NonNull::from(Box::leak(Box::new(number))));
            owner.push(task).unwrap_or_else(|Full(task)| end(task));
            if number % 3 != 0 {
                owner.pop().into_iter().for_each(end);
            }
        }
        let patience = Patience::new();
        while !all_ended() {
            owner.pop().into_iter().for_each(end);
            owner.poll();
            patience.wait("the thieves");
        }
    });
    assert_eq!(sum.into_inner(), TASKS * (TASKS - 1) / 2);
}
