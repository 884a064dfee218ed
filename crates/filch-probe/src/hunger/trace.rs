//! The events of a run, and how long workers idled while unstarted tasks existed.
//!
//! Invariants: events are in the order of their times, and each forked task begins once.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::thread::{self, ThreadId};
use std::time::{Duration, Instant};

use filch_workloads::{ForkJoin, Grain};

use super::program::Node;

/// The style of a program: how it forks, and its scopes.
pub(super) trait Style: 'static {
    type Handle<'b>: for<'c> ForkJoin<Branch<'c> = Self::Handle<'c>>;
    /// The style of the bodies of loops, which have no handle.
    type Loops: Style;

    /// Returns the handle by which the body of a loop forks.
    fn in_loop() -> <Self::Loops as Style>::Handle<'static>;

    /// Calls `announces` and spawns `each` for every node, and waits for all.
    fn scope<F>(handle: Self::Handle<'_>, nodes: &[Node], announces: impl Fn() + Sync, each: F)
    where
        F: for<'b> Fn(&Node, Self::Handle<'b>) + Sync;
}

#[derive(Clone, Copy, Debug)]
enum What {
    Forked(usize),
    Begun,
    LeafBegins(ThreadId),
    LeafEnds(ThreadId),
}

/// The events since the trace was created.
#[derive(Debug)]
pub(super) struct Trace {
    start: Instant,
    events: Mutex<Vec<(Duration, What)>>,
}

/// The result of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Report {
    /// The time of the run.
    pub(super) time: Duration,
    /// The sum of all leaves' real sleeping times.
    pub(super) work: Duration,
    /// The longest leaf, since no two leaves are in sequence.
    pub(super) span: Duration,
    /// The time without a leaf while there was an unstarted task, summed over the workers.
    pub(super) idle: Duration,
    /// The longest such time of one worker.
    pub(super) longest: Duration,
}

impl Trace {
    pub(super) fn new() -> Self {
        Self { start: Instant::now(), events: Mutex::default() }
    }

    fn tell(&self, what: What) {
        let mut events = self.events.lock().unwrap_or_else(PoisonError::into_inner);
        events.push((self.start.elapsed(), what));
    }

    /// Runs the program.
    pub(super) fn run<S: Style>(&self, node: &Node, mut j: S::Handle<'_>) {
        match node {
            Node::Leaf(length) => {
                let worker = thread::current().id();
                self.tell(What::LeafBegins(worker));
                thread::sleep(*length);
                self.tell(What::LeafEnds(worker));
            }
            Node::Fine(n, rest) => {
                std::hint::black_box(fib(&mut j, *n));
                self.run::<S>(rest, j);
            }
            Node::Join(both) => {
                let [a, b] = &**both;
                self.tell(What::Forked(1));
                j.join(move |j| self.run::<S>(a, j), move |j| self.begin::<S>(b, j));
            }
            Node::Forks(nodes) => {
                self.tell(What::Forked(nodes.len()));
                j.fork_all(nodes, |j, node| self.begin::<S>(node, j), (), |(), ()| ());
            }
            Node::Loop(nodes) => {
                self.tell(What::Forked(nodes.len()));
                let block = |block: &[Node]| block.iter().for_each(|node| self.begin::<S::Loops>(node, S::in_loop()));
                j.for_blocks(&nodes[..], Grain::Advice(1), block);
            }
            Node::Scope(nodes) => {
                S::scope(j, nodes, || self.tell(What::Forked(1)), |node, j| self.begin::<S>(node, j));
            }
        }
    }

    fn begin<S: Style>(&self, node: &Node, j: S::Handle<'_>) {
        self.tell(What::Begun);
        self.run::<S>(node, j);
    }

    /// Returns the result; the program has just ended.
    pub(super) fn report(self, workers: usize) -> Report {
        let time = self.start.elapsed();
        let events = self.events.into_inner().unwrap_or_else(PoisonError::into_inner);
        Report { time, ..sum(&events, workers) }
    }
}

fn fib<J: ForkJoin>(j: &mut J, n: u64) -> u64 {
    if n < 2 {
        return n;
    }
    let (a, b) = j.join(move |mut j| fib(&mut j, n - 1), move |mut j| fib(&mut j, n - 2));
    a + b
}

/// The known state of a worker: the start of its idle time, if it is idle, and of its last leaf.
#[derive(Clone, Copy, Debug, Default)]
struct Worker {
    idle_since: Option<Duration>,
    leaf_began: Duration,
}

/// Computes everything but the time.
fn sum(events: &[(Duration, What)], workers: usize) -> Report {
    let mut report = Report::default();
    let mut seen: HashMap<ThreadId, Worker> = HashMap::new();
    let (mut forked, mut busy, mut last) = (0_usize, 0_usize, Duration::ZERO);
    // When the current period with unstarted tasks began.
    let mut hungry_since = None;
    for &(now, what) in events {
        if hungry_since.is_some() {
            let idle = u32::try_from(workers.saturating_sub(busy)).unwrap_or(u32::MAX);
            report.idle += (now - last) * idle;
        }
        last = now;
        match what {
            What::Forked(more) => {
                forked += more;
                if forked > 0 {
                    hungry_since.get_or_insert(now);
                }
            }
            What::Begun => {
                forked -= 1;
                if let (0, Some(since)) = (forked, hungry_since) {
                    hungry_since = None;
                    // A worker that has not appeared has been idle since the start.
                    let unseen = (seen.len() < workers).then_some(Duration::ZERO);
                    let idle = seen.values().filter_map(|worker| worker.idle_since).chain(unseen);
                    report.longest = idle.map(|idle| now - idle.max(since)).fold(report.longest, Duration::max);
                }
            }
            What::LeafBegins(worker) => {
                let worker = seen.entry(worker).or_default();
                let idle = worker.idle_since.take().unwrap_or_default();
                worker.leaf_began = now;
                busy += 1;
                if let Some(since) = hungry_since {
                    report.longest = report.longest.max(now - idle.max(since));
                }
            }
            What::LeafEnds(worker) => {
                let worker = seen.entry(worker).or_default();
                worker.idle_since = Some(now);
                busy -= 1;
                report.work += now - worker.leaf_began;
                report.span = report.span.max(now - worker.leaf_began);
            }
        }
    }
    report
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn workers_without_a_leaf_idle_while_tasks_are_unstarted() {
        let ms = Duration::from_millis;
        let [a, b] = [(); 2].map(|()| thread::spawn(|| thread::current().id()).join().unwrap());
        let events = [
            (ms(1), What::Forked(2)),
            (ms(2), What::LeafBegins(a)),
            (ms(5), What::Begun),
            (ms(5), What::LeafBegins(b)),
            (ms(6), What::LeafEnds(a)),
            (ms(8), What::Begun),
            (ms(9), What::LeafBegins(a)),
            (ms(10), What::LeafEnds(b)),
            (ms(10), What::LeafEnds(a)),
        ];
        let report = sum(&events, 2);
        // Both idle from 1 to 2, one until 5, and one again from 6 to 8; at 8 all tasks have begun.
        assert_eq!((report.idle, report.longest), (ms(2 + 3 + 2), ms(4)));
        assert_eq!((report.work, report.span), (ms(4 + 5 + 1), ms(5)));
        // A third worker that never appears.
        let report = sum(&events, 3);
        assert_eq!((report.idle, report.longest), (ms(7 + 7), ms(7)));
    }
}
