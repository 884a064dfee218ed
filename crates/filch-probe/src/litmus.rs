//! `filch probe litmus`: how many pops of a fence-free owner the processor hides from a thief, as in section 7.3 of
//! Adam Morrison and Yehuda Afek, *Fence-Free Work Stealing on Bounded TSO Processors*, ASPLOS 2014.
//!
//! An owner and a thief empty FF-THE without its pad. The owner makes L stores after each pop, and the thief keeps δ
//! away. If at most S stores can be pending, no task is taken twice or lost with δ ≥ ⌈S / (L + 1)⌉; except with L = 0,
//! if stores to one address merge.

use std::io::Write;

use filch_memory::{Memory, Native, Ordering};
use filch_queue::Padded;
use filch_queue::ff_the::litmus::litmus;
use serde::Serialize;

use filch_catalogue::console::json::Lines;
use filch_catalogue::console::store_buffer::{Measured, Model};
use filch_catalogue::protocol::Machine;

use crate::error::{Result, usage};
use crate::flags::ProbeLitmus;
use crate::processors::{self, Company, bind, company};
use crate::progress::Progress;
use crate::store_buffer::stores::{LONGEST, Stores};
use crate::terminal::colour;
use crate::{commit, table};

/// The tasks of a run.
const TASKS: usize = 512;
/// The stores after each pop, if not every number is tried.
const BETWEEN: [usize; 7] = [0, 1, 3, 7, 15, 31, 63];
/// The queues that exist at a time.
const BATCH: usize = 64;
/// S where nothing is known: larger than any documented store buffer.
const GUESS: usize = 128;

/// A point of the map.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Point {
    between: usize,
    delta: usize,
}

impl Point {
    /// Whether δ suffices if at most `pending` stores can be pending.
    fn is_safe(self, pending: usize) -> bool {
        self.delta >= pending.div_ceil(self.between + 1)
    }

    /// The stores that were pending if a task was taken twice: those that lowered T by one more than δ, and those in
    /// between.
    fn pending(self) -> usize {
        self.delta * (self.between + 1) + 1
    }
}

/// Returns the points to try: shares of the δ that suffices, and its neighbours; without stores in between also much
/// larger ones.
///
/// If `all`, every L below S, as far as there are so many stores, and every δ up to half more than that, which no
/// processor is known to need.
fn points(pending: usize, all: bool) -> Vec<Point> {
    let of = |between: usize| {
        let enough = pending.div_ceil(between + 1);
        let shares = [enough / 4, enough / 2, enough * 5 / 8, enough * 3 / 4, enough * 7 / 8, enough * 3 / 2];
        let neighbours = [enough.saturating_sub(1), enough, enough + 1];
        let mut deltas = [&[1], &shares[..], &neighbours].concat();
        if all {
            deltas.extend(1..=enough * 3 / 2);
        }
        if between == 0 {
            deltas.extend([2 * enough, 4 * enough]);
        }
        deltas.retain(|&delta| 0 < delta && delta < TASKS);
        deltas.sort_unstable();
        deltas.dedup();
        deltas.into_iter().map(move |delta| Point { between, delta })
    };
    let between: Vec<usize> = if all { (0..pending.min(LONGEST)).collect() } else { BETWEEN.to_vec() };
    between.into_iter().flat_map(of).collect()
}

/// The processors of owner and thief, if they are bound, and their name.
type Placement = (String, Option<[usize; 2]>);

/// Returns the paper's placements, as far as this machine has them: free, on one core, and on two.
fn placements(owner: usize, Company { sibling, elsewhere }: Company) -> Vec<Placement> {
    let bound = |thief: usize, how: &str| (format!("{owner} and {thief}{how}"), Some([owner, thief]));
    let sibling = sibling.map(|thief| bound(thief, ", one core"));
    let elsewhere = elsewhere.map(|thief| bound(thief, ""));
    std::iter::once(("free".to_owned(), None)).chain(sibling).chain(elsewhere).collect()
}

/// Runs the program this often, with owner and thief on these processors, if any. Returns the number of runs in which
/// tasks were taken twice, and in which tasks were lost.
fn run(point: Point, placement: Option<[usize; 2]>, runs: usize) -> [usize; 2] {
    let (takers, stealers): (Vec<_>, Vec<_>) = (0..runs).map(|_| litmus(TASKS, point.delta)).unzip();
    let begun = [(); 2].map(|()| Padded(<Native as Memory>::AtomicUsize::new(0)));
    // Both begin a run together. Relaxed: the queues are there before the threads.
    let meet = |me: usize, run: usize| {
        begun[me].store(run + 1, Ordering::Relaxed);
        let mut tries = 0_u32;
        while begun[1 - me].load(Ordering::Relaxed) <= run {
            tries += 1;
            if tries.is_multiple_of(1 << 12) { std::thread::yield_now() } else { Native::spin_loop() }
        }
    };
    let place = |me: usize| placement.is_none_or(|processors| bind(processors[me]));
    let (taken, stolen) = std::thread::scope(|scope| {
        let thief = scope.spawn(|| {
            place(1);
            let steal = |(run, mut stealer): (usize, filch_queue::ff_the::litmus::Stealer)| {
                meet(1, run);
                stealer.steal_all()
            };
            stealers.into_iter().enumerate().map(steal).collect::<Vec<_>>()
        });
        let owner = scope.spawn(|| {
            place(0);
            let mut stores = Stores::new();
            stores.once(point.between);
            let take = |(run, mut taker): (usize, filch_queue::ff_the::litmus::Taker)| {
                meet(0, run);
                taker.take_all(|| stores.once(point.between))
            };
            takers.into_iter().enumerate().map(take).collect::<Vec<_>>()
        });
        (owner.join().expect("the owner does not panic"), thief.join().expect("the thief does not panic"))
    });
    let sums = || taken.iter().zip(&stolen).map(|(taken, stolen)| taken + stolen);
    [sums().filter(|&sum| sum > TASKS).count(), sums().filter(|&sum| sum < TASKS).count()]
}

#[derive(Serialize)]
struct Line<'a> {
    probe: &'static str,
    /// The stores that may be pending, if the store buffer is as large as is known.
    pending: usize,
    /// The entries of the store buffer, if its makers document them.
    documented: Option<usize>,
    placement: &'a str,
    stores_between: usize,
    delta: usize,
    runs: usize,
    taken_twice: usize,
    lost: usize,
    is_safe: bool,
    machine: Machine,
    commit: String,
}

/// Returns the documented entries of this processor's store buffer.
fn documented() -> Option<usize> {
    Model::here()?.documented().map(|(entries, _)| entries)
}

/// Returns S, and where it is from: what `bound=measured` is, unless it is given.
fn pending(flags: &ProbeLitmus) -> (usize, &'static str) {
    let known = || Measured::here().map(|known| (known.bound(), "what bound=measured is, or would be"));
    let given = flags.bound.map(|bound| (bound as usize, "given"));
    given.or_else(known).unwrap_or((GUESS, "assumed"))
}

pub(crate) fn litmus_map(flags: &ProbeLitmus) -> Result {
    let mut lines = flags.output.json.as_deref().map(Lines::create).transpose()?;
    let first = processors::all().first().copied();
    let placements = first.map_or_else(Vec::new, |first| placements(first, company(first)));
    if placements.len() < 2 {
        return Err(usage("not measurable here: owner and thief need a processor each"));
    }
    let (pending, origin) = pending(flags);
    let (points, runs) = (points(pending, flags.all), flags.runs as usize);
    let mut stores: Vec<usize> = points.iter().map(|point| point.between).collect();
    stores.dedup();
    let progress = Progress::new(!flags.output.quiet);
    let mut seen = vec![[0_usize; 2]; points.len() * placements.len()];
    // Round by round, so that the machine's other activity affects all points alike.
    let mut done = 0;
    while done < runs {
        let batch = BATCH.min(runs - done);
        progress.show(done, runs, f64::NAN, "runs".to_owned());
        let each = placements.iter().flat_map(|(_, placement)| points.iter().map(move |&point| (point, *placement)));
        for ((point, placement), seen) in each.zip(&mut seen) {
            let [twice, lost] = run(point, placement, batch);
            *seen = [seen[0] + twice, seen[1] + lost];
        }
        done += batch;
    }
    progress.end();
    let (mut rows, mut wrong, mut most, mut most_merged) = (Vec::new(), 0, 0, 0);
    for (seen, (name, _)) in seen.chunks(points.len()).zip(&placements) {
        for (&Point { between, delta }, &[taken_twice, lost]) in points.iter().zip(seen) {
            let is_safe = Point { between, delta }.is_safe(pending);
            let shown = if taken_twice > 0 { Point { between, delta }.pending() } else { 0 };
            if between == 0 {
                most_merged = most_merged.max(shown);
            } else {
                most = most.max(shown);
                wrong += if is_safe { taken_twice + lost } else { 0 };
            }
            if let Some(lines) = &mut lines {
                lines.write(&Line {
                    probe: "litmus",
                    pending,
                    documented: documented(),
                    placement: name,
                    stores_between: between,
                    delta,
                    runs,
                    taken_twice,
                    lost,
                    is_safe,
                    machine: Machine::here(),
                    commit: commit(),
                })?;
            }
        }
        rows.extend(
            stores.iter().map(|&between| row(name, between, pending, points.iter().copied().zip(seen.iter().copied()))),
        );
    }
    if flags.output.talks(lines.as_ref()) {
        let mut out = std::io::stdout().lock();
        writeln!(
            out,
            "S = {pending} ({origin}); {runs} runs of each pair; δ: runs with an error, from ⌈S / (L + 1)⌉ on behind the bar"
        )?;
        writeln!(out, "{}", table::list(&["placement", "L", "⌈S / (L + 1)⌉", "δ: errors"], &rows, colour()))?;
        writeln!(out, "errors where δ suffices and L ≥ 1: {wrong}; none proves nothing, one refutes S")?;
        writeln!(out, "most pending stores in a run with an error and L ≥ 1: {most}")?;
        let merge = if most_merged > most { "some merged" } else { "no merging was seen" };
        writeln!(out, "most pending stores of T with L = 0: {most_merged}: {merge}")?;
    }
    Ok(())
}

fn row(
    placement: &str,
    between: usize,
    pending: usize,
    seen: impl Iterator<Item = (Point, [usize; 2])>,
) -> Vec<String> {
    let (mut below, mut above) = (Vec::new(), Vec::new());
    for (point, [twice, lost]) in seen.filter(|(point, _)| point.between == between) {
        let cells = if point.is_safe(pending) { &mut above } else { &mut below };
        cells.push(format!("{}: {}", point.delta, twice + lost));
    }
    let enough = pending.div_ceil(between + 1).to_string();
    vec![placement.to_owned(), between.to_string(), enough, format!("{} | {}", below.join("  "), above.join("  "))]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_points_lie_on_both_sides_of_the_bound() {
        let points = points(65, false);
        for between in BETWEEN {
            let row: Vec<Point> = points.iter().copied().filter(|point| point.between == between).collect();
            let enough = 65_usize.div_ceil(between + 1);
            let has = |delta| row.contains(&Point { between, delta });
            assert!(has(enough) && has(enough + 1) && has(1) && (enough == 1 || has(enough - 1)), "{row:?}");
            assert!(row.iter().all(|point| point.is_safe(65) == (point.delta >= enough)));
        }
        assert!(points.contains(&Point { between: 0, delta: 260 }), "merging shows at any δ");
        assert_eq!(Point { between: 3, delta: 18 }.pending(), 73);
    }

    #[test]
    fn all_points_are_those_of_the_paper() {
        let all = points(33, true);
        for between in 0..33_usize {
            let enough = 33_usize.div_ceil(between + 1);
            let has = |delta| all.contains(&Point { between, delta });
            assert!((1..=enough + 1).all(has), "L = {between}");
        }
        let alphas = |points: &[Point]| -> std::collections::BTreeSet<usize> {
            points.iter().map(|point| 33_usize.div_ceil(point.between + 1)).collect()
        };
        // ⌈33/(L + 1)⌉ has no other values.
        assert_eq!(alphas(&all).into_iter().collect::<Vec<_>>(), [1, 2, 3, 4, 5, 6, 7, 9, 11, 17, 33]);
        assert!(alphas(&points(33, false)).len() < 11);
    }

    #[test]
    fn threads_run_free_on_one_core_and_on_two() {
        let names = |sibling, elsewhere| -> Vec<String> {
            placements(0, Company { sibling, elsewhere }).into_iter().map(|(name, _)| name).collect()
        };
        assert_eq!(names(Some(4), Some(1)), ["free", "0 and 4, one core", "0 and 1"]);
        assert_eq!(names(None, Some(1)), ["free", "0 and 1"]);
        assert_eq!(names(Some(1), None), ["free", "0 and 1, one core"]);
        assert_eq!(placements(0, Company { sibling: Some(4), elsewhere: Some(1) })[2].1, Some([0, 1]));
    }

    #[test]
    fn an_infinite_distance_loses_nothing() {
        for between in [0, 5] {
            assert_eq!(run(Point { between, delta: TASKS }, None, 20), [0, 0]);
        }
    }
}
