//! Timelines: what is recorded is what happened.

mod common;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread;
use std::time::Duration;

use common::{EveryPool, wait_for, watchdog};
use filch::pool::Pool;
use filch::timeline::{Act, Activity, Span, Timeline, Track};
use filch::{Builder, ThreadPool, Wait, Worker, WorkerStats};

/// Spins for a while, so that its forks can be stolen.
fn leaf() {
    (0..200).for_each(|_| std::hint::spin_loop());
}

fn tree<P: Pool>(mut w: Worker<'_, P>, depth: u32) -> u64 {
    if depth == 0 {
        leaf();
        return 1;
    }
    let (a, b) = w.join(move |w| tree(w, depth - 1), move |w| tree(w, depth - 1));
    a + b
}

/// Panics unless spans are nested in each other or apart, in order, and within the recording.
fn is_well_formed(timeline: &Timeline) {
    for Track { spans, marks, lost, .. } in &timeline.workers {
        assert_eq!(*lost, 0);
        assert!(marks.is_sorted_by_key(|mark| mark.at));
        assert!(marks.iter().all(|mark| mark.at <= timeline.length));
        let mut open: Vec<&Span> = Vec::new();
        for (index, span) in spans.iter().enumerate() {
            assert!(span.start <= span.end && span.end <= timeline.length, "{span:?}");
            assert!(index == 0 || spans[index - 1].start <= span.start, "{span:?} is too late in its track");
            open.retain(|open| open.end > span.start || open.end == span.end);
            assert!(open.iter().all(|open| span.end <= open.end), "{span:?} crosses one of {open:?}");
            open.push(span);
        }
    }
    assert!(timeline.working().all(|(_, workers)| workers <= timeline.workers.len()));
    assert_eq!(timeline.working().last().map_or(0, |(_, workers)| workers), 0);
}

fn spans(timeline: &Timeline) -> impl Iterator<Item = (usize, &Span)> {
    timeline.workers.iter().enumerate().flat_map(|(worker, track)| track.spans.iter().map(move |span| (worker, span)))
}

/// The number of forks that ran elsewhere than where they were forked.
fn strays(timeline: &Timeline) -> u64 {
    let is_stray = |worker, span: &Span| matches!(span.activity, Activity::Task { owner } if owner != worker);
    spans(timeline).filter(|(worker, span)| is_stray(*worker, span)).count() as u64
}

#[test]
fn every_theft_is_recorded_on_every_pool() {
    let _watchdog = watchdog("a recording");
    struct Record;
    impl EveryPool for Record {
        fn with<P: Pool>(&self) {
            for wait in [Wait::Leapfrog, Wait::LeapfrogRandom] {
                let pool = Builder::<P>::new().workers(4).wait(wait).build().unwrap();
                let before = pool.stats();
                let (leaves, timeline) = pool.record(|| pool.run(|w| tree(w, 10)));
                let WorkerStats { steals, leaps, .. } = pool.stats().since(&before).total();
                assert_eq!((leaves, timeline.workers.len()), (1 << 10, 4));
                is_well_formed(&timeline);
                let strays = strays(&timeline);
                assert!(strays <= steals + leaps, "{strays} tasks ran elsewhere, of {steals} steals and {leaps} leaps");
                // What an idle worker takes at once it may run itself, or another may.
                assert!(strays >= steals, "{strays} tasks ran elsewhere, of {steals} steals");
            }
        }
    }
    Record.every();
}

#[test]
fn tasks_that_sleep_take_the_time_that_they_take() {
    const LEAF: Duration = Duration::from_millis(4);
    let _watchdog = watchdog("tasks that sleep");
    // A busy system may let no other worker begin in time, or stop one between two spans.
    wait_for("that others help, and rest otherwise", || {
        let pool = ThreadPool::new(4).unwrap();
        let ((), timeline) = pool.record(|| pool.install(|| filch::for_each(0..16, |_| thread::sleep(LEAF))));
        is_well_formed(&timeline);
        let working: Duration = timeline.workers.iter().map(|worker| worker.times().working).sum();
        assert!(working >= 16 * LEAF, "{working:?}");
        assert!(working <= 4 * timeline.length);
        let are_known = timeline.workers.iter().all(|track| {
            // Idle workers that slept before are idle from the beginning.
            assert!(track.spans.first().is_some_and(|span| span.start == Duration::ZERO), "{timeline:?}");
            let times = track.times();
            let sum = times.working + times.waiting + times.looking + times.asleep;
            assert!(sum <= timeline.length, "{times:?} of {timeline:?}");
            sum >= timeline.length / 2
        });
        let most = timeline.working().map(|(_, workers)| workers).max();
        let mut acts = timeline.workers.iter().flat_map(|worker| &worker.marks).map(|mark| mark.act);
        // Nobody helps whom the caller does not wake.
        assert!(most < Some(2) || acts.any(|act| act == Act::Wakes), "the caller woke nobody");
        are_known && most >= Some(2)
    });
}

#[test]
fn calls_jobs_and_waits_are_told_apart() {
    let _watchdog = watchdog("a job");
    let pool = ThreadPool::builder().workers(2).build().unwrap();
    let run = || {
        filch::scope(|s| s.spawn(|_| leaf()));
        filch::join(leaf, leaf);
    };
    let ((), timeline) = pool.record(|| pool.install(run));
    is_well_formed(&timeline);
    let count = |wanted| spans(&timeline).filter(|(_, span)| span.activity == wanted).count();
    assert_eq!((count(Activity::Call), count(Activity::Job)), (1, 1));
    let pool = ThreadPool::builder().workers(2).caller_works(false).build().unwrap();
    let ((), timeline) = pool.record(|| pool.install(run));
    is_well_formed(&timeline);
    let count = |wanted| spans(&timeline).filter(|(_, span)| span.activity == wanted).count();
    assert_eq!((count(Activity::Call), count(Activity::Job)), (0, 2), "the call is a job, too");
}

#[test]
fn recordings_may_overlap_and_end_by_a_panic() {
    let _watchdog = watchdog("a recording among others");
    let pool = ThreadPool::new(3).unwrap();
    thread::scope(|s| {
        for _ in 0..4 {
            s.spawn(|| {
                for round in 0..50 {
                    let recorded = catch_unwind(AssertUnwindSafe(|| {
                        let (leaves, timeline) = pool.record(|| pool.run(|w| tree(w, 6)));
                        assert_eq!(leaves, 1 << 6);
                        is_well_formed(&timeline);
                        pool.record(|| {
                            if round % 8 == 7 {
                                std::panic::resume_unwind(Box::new(round))
                            }
                        });
                    }));
                    let payload = recorded.err().map(|payload| *payload.downcast::<i32>().unwrap());
                    assert_eq!(payload, (round % 8 == 7).then_some(round));
                }
            });
        }
    });
    let ((), inner) = pool.record(|| pool.run(|_| ()));
    // A call, or a job if no seat is free. Each worker may still be at the end of what it ran before.
    let works = spans(&inner).filter(|(_, span)| span.activity.is_work()).count();
    assert!((1..=4).contains(&works), "what was recorded before is not in it: {inner:?}");
}

#[test]
fn a_recording_from_within_a_task_begins_and_ends_within_it() {
    let _watchdog = watchdog("a recording by a worker");
    let pool = ThreadPool::new(2).unwrap();
    let (leaves, timeline) = pool.run(|mut w| pool.record(|| w.join(|w| tree(w, 8), |w| tree(w, 8))));
    assert_eq!(leaves, (1 << 8, 1 << 8));
    is_well_formed(&timeline);
}
