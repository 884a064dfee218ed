//! A timeline: the tracks of a pool's workers.

use std::time::Duration;

use super::activity::{Act, Activity};

/// What the workers of a pool did, from the beginning to the end of a [recording](crate::ThreadPool::record).
///
/// ```
/// let pool = filch::ThreadPool::new(2)?;
/// let (sum, timeline) = pool.record(|| pool.install(|| filch::map_reduce(0..1000_u64, 0, |n| n, |a, b| a + b)));
/// assert_eq!(sum, 499_500);
/// println!("{timeline}");
/// for (index, worker) in timeline.workers.iter().enumerate() {
///     println!("worker {index} worked for {:?} of {:?}", worker.times().working, timeline.length);
/// }
/// # Ok::<(), filch::BuildError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Timeline {
    /// The time from the beginning to the end.
    pub length: Duration,
    /// One per worker, in the order of their numbers.
    pub workers: Vec<Track>,
}

/// What one worker did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Track {
    /// Its activities, in the order in which they begin; of those that begin together, the longest first. They are
    /// nested or disjoint.
    pub spans: Vec<Span>,
    /// Its acts, in the order of time.
    pub marks: Vec<Mark>,
    /// The number of notes for which there was no room. If there are any, nothing is known after the other notes.
    pub lost: u64,
}

/// An activity of a worker. If it had begun before the recording, its span begins with the recording; if it had not
/// ended, the span ends with the recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Span {
    /// What it did.
    pub activity: Activity,
    /// When it began, since the beginning of the recording.
    pub start: Duration,
    /// When it ended.
    pub end: Duration,
}

/// An act of a worker, at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Mark {
    /// The time since the beginning of the recording.
    pub at: Duration,
    /// What it did.
    pub act: Act,
}

/// How long a worker was in each kind of activity, in a recording. These times do not overlap.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Times {
    /// It ran calls, tasks and jobs.
    pub working: Duration,
    /// It waited for work that others ran, had nothing to run meanwhile, and had just begun to look for something.
    pub waiting: Duration,
    /// It looked for work, and found none.
    pub looking: Duration,
    /// It slept.
    pub asleep: Duration,
}

impl Span {
    /// How long it lasted.
    ///
    /// ```
    /// let pool = filch::ThreadPool::new(1)?;
    /// let ((), timeline) = pool.record(|| pool.install(|| ()));
    /// assert!(timeline.workers[0].spans.iter().all(|span| span.length() <= timeline.length));
    /// # Ok::<(), filch::BuildError>(())
    /// ```
    pub const fn length(&self) -> Duration {
        self.end.saturating_sub(self.start)
    }
}

impl Track {
    /// Returns how long the worker was in each kind of activity.
    ///
    /// ```
    /// let pool = filch::ThreadPool::new(1)?;
    /// let ((), timeline) = pool.record(|| pool.install(|| ()));
    /// let times = timeline.workers[0].times();
    /// assert!(times.working + times.waiting + times.looking + times.asleep <= timeline.length);
    /// # Ok::<(), filch::BuildError>(())
    /// ```
    pub fn times(&self) -> Times {
        let mut times = Times::default();
        self.each_innermost(|activity, from, to| {
            let part = match activity {
                Activity::Waiting => &mut times.waiting,
                Activity::Idle => &mut times.looking,
                Activity::Asleep => &mut times.asleep,
                Activity::Call | Activity::Task { .. } | Activity::Job => &mut times.working,
            };
            *part += to.saturating_sub(from);
        });
        times
    }

    /// Calls `take` for each interval of constant innermost activity, in the order of time.
    pub(super) fn each_innermost(&self, mut take: impl FnMut(Activity, Duration, Duration)) {
        let (mut open, mut now): (Vec<Span>, _) = (Vec::new(), Duration::ZERO);
        let mut advance = |open: &[Span], now: &mut Duration, to: Duration| {
            if let Some(innermost) = open.last().filter(|_| to > *now) {
                take(innermost.activity, *now, to);
            }
            *now = to.max(*now);
        };
        for span in &self.spans {
            while let Some(innermost) = open.last().filter(|open| open.end <= span.start) {
                advance(&open, &mut now, innermost.end);
                open.pop();
            }
            advance(&open, &mut now, span.start);
            open.push(*span);
        }
        while let Some(innermost) = open.last() {
            advance(&open, &mut now, innermost.end);
            open.pop();
        }
    }
}

impl Timeline {
    /// Returns each time at which the number of workers that run something changes, and the number from then on.
    ///
    /// ```
    /// let pool = filch::ThreadPool::new(2)?;
    /// let ((), timeline) = pool.record(|| pool.install(|| ()));
    /// assert!(timeline.working().all(|(_, workers)| workers <= 2));
    /// # Ok::<(), filch::BuildError>(())
    /// ```
    pub fn working(&self) -> impl Iterator<Item = (Duration, usize)> {
        let mut changes: Vec<(Duration, bool)> = Vec::new();
        for worker in &self.workers {
            worker.each_innermost(|activity, from, to| {
                if !activity.is_work() {
                    return;
                }
                match changes.last_mut() {
                    Some((end, true)) if *end == from => *end = to,
                    _ => changes.extend([(from, false), (to, true)]),
                }
            });
        }
        changes.sort_unstable();
        let mut workers = 0;
        changes.into_iter().map(move |(at, is_end)| {
            workers = if is_end { workers - 1 } else { workers + 1 };
            (at, workers)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(activity: Activity, start: u64, end: u64) -> Span {
        Span { activity, start: Duration::from_nanos(start), end: Duration::from_nanos(end) }
    }

    #[test]
    fn times_are_those_of_the_innermost_spans() {
        let spans = vec![
            span(Activity::Call, 10, 90),
            span(Activity::Waiting, 20, 70),
            span(Activity::Task { owner: 1 }, 30, 40),
            span(Activity::Idle, 50, 65),
            span(Activity::Asleep, 55, 60),
            span(Activity::Idle, 90, 100),
        ];
        let nanos = Duration::from_nanos;
        let track = Track { spans, ..Track::default() };
        let expected = Times { working: nanos(40), waiting: nanos(25), looking: nanos(20), asleep: nanos(5) };
        assert_eq!(track.times(), expected);
        let timeline = Timeline { length: nanos(100), workers: vec![track.clone(), track] };
        let working: Vec<_> = timeline.working().map(|(at, workers)| (at.as_nanos(), workers)).collect();
        let once = [(10, 0), (20, 1), (30, 0), (40, 1), (70, 0), (90, 1)];
        let steps = once.map(|(at, before)| if before == 0 { [(at, 1), (at, 2)] } else { [(at, 1), (at, 0)] });
        assert_eq!(working, steps.concat());
    }
}
