//! The convex hull of points in the plane, by quickhull.
//!
//! The leftmost and the rightmost point are on the hull. One pass over all points separates those above the line
//! between these two from those below it, and finds the farthest point on each side, which is on the hull too. A pass
//! over the points of a side finds those outside the triangle with its farthest point: two smaller sets, each with its
//! own farthest point. The program recurses on both sets in parallel. A pass is a parallel loop while there are more
//! points than the cut-off.
//!
//! Points are partitioned in place. A set is a list of segments, at first of 4096 points each. A pass cuts each segment
//! into one for either side and drops the points of neither. So the program copies nothing and allocates no memory for
//! points until a set is small enough to be gathered and finished sequentially.
//!
//! What it stresses: a few large loops that read memory, then an unbalanced tree of smaller loops. Sets shrink fast:
//! two passes drop most points, so the work is Θ(n) in practice. Uniform points in a disc have a hull of some n^⅓
//! points; those of a Plummer model, dense in the middle with a few far outside, a hull of some ten. The span is Θ(log²
//! n) plus a segment for each pass.
//!
//! Among points equally far from a line the first in the order of coordinates counts, so every run finds the same hull,
//! bit for bit.

use std::collections::HashSet;

use filch::iter::Zipped;
use filch_catalogue::ParamError;
use filch_catalogue::programs::hull::{Cloud, Params};

use crate::answer::{Answer, expect};
use crate::checks::sequence;
use crate::inputs::{filled, made, uniform};
use crate::spec::{Forks, Prepare, Runs};
use crate::{ForkJoin, Grain};

/// Returns point `index` of a cloud.
fn point(cloud: Cloud, seed: u64, index: u64) -> Point {
    let (mass, turn) = (uniform(seed, 2 * index), uniform(seed, 2 * index + 1));
    let radius = match cloud {
        Cloud::Uniform => mass.sqrt(),
        // This radius encloses the fraction `mass` of all stars.
        Cloud::Plummer => (mass.max(1e-9).powf(-2.0 / 3.0) - 1.0).sqrt().recip(),
    };
    let (sin, cos) = (2.0 * std::f64::consts::PI * turn).sin_cos();
    Point { x: radius * cos, y: radius * sin }
}

impl Prepare for Params {
    type Instance = Instance;

    fn prepare(&self) -> Result<Instance, ParamError> {
        let points = made("hull", self.n, |index| point(self.input, self.seed, index))?;
        let work = filled("hull", self.n, Point::default())?;
        let quickhull = Quickhull { cutoff: self.cutoff, grain: Grain::from_param(self.grain, 1) };
        Ok(Instance { quickhull, points, work, hull: Vec::new() })
    }
}

/// A point in the plane.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Point {
    /// The coordinate to the right.
    pub x: f64,
    /// The upward coordinate.
    pub y: f64,
}

impl Point {
    /// Orders points from left to right, then upwards.
    fn precedes(self, other: Self) -> bool {
        self.x < other.x || self.x == other.x && self.y < other.y
    }

    fn bits(self) -> [u64; 2] {
        [self.x.to_bits(), self.y.to_bits()]
    }
}

/// A line from one point to another.
#[derive(Clone, Copy, Debug)]
struct Line(Point, Point);

impl Line {
    /// Returns the distance of a point to the left of the line, times the line's length.
    #[inline(always)]
    fn left(self, point: Point) -> f64 {
        let Self(from, to) = self;
        (to.x - from.x) * (point.y - from.y) - (to.y - from.y) * (point.x - from.x)
    }
}

/// A line, and the farthest point seen to its left.
#[derive(Clone, Copy, Debug)]
struct Side {
    line: Line,
    /// The point farthest from the line, and its distance times the line's length.
    farthest: Point,
    distance: f64,
}

impl Side {
    fn new(from: Point, to: Point) -> Self {
        Self { line: Line(from, to), farthest: from, distance: 0.0 }
    }

    /// Returns the two lines through the farthest point. Only points to the left of one of them can be on the hull.
    fn split(&self) -> [Self; 2] {
        let Line(from, to) = self.line;
        [Self::new(from, self.farthest), Self::new(self.farthest, to)]
    }

    #[inline(always)]
    fn consider(&mut self, point: Point, distance: f64) {
        if distance > self.distance || distance == self.distance && point.precedes(self.farthest) {
            (self.distance, self.farthest) = (distance, point);
        }
    }

    /// Returns whether a point is to the left, and records it if so.
    #[inline(always)]
    fn has(&mut self, point: Point) -> bool {
        let distance = self.line.left(point);
        let left = distance > 0.0;
        if left {
            self.consider(point, distance);
        }
        left
    }

    /// Merges the farthest point of other points on the same side.
    fn merge(&mut self, other: &Self) {
        if other.distance > 0.0 {
            self.consider(other.farthest, other.distance);
        }
    }
}

/// Partitions points in place: those on the first side come first, those on the second side last. Returns the end of
/// the first part and the start of the last. Out of line, so that all executors run the same instructions.
#[inline(never)]
fn separate(sides: &mut [Side; 2], points: &mut [Point]) -> (usize, usize) {
    let [first, second] = sides;
    let (mut low, mut at, mut high) = (0, 0, points.len());
    while at < high {
        let point = points[at];
        if first.has(point) {
            points.swap(low, at);
            low += 1;
            at += 1;
        } else if second.has(point) {
            high -= 1;
            points.swap(high, at);
        } else {
            at += 1;
        }
    }
    (low, high)
}

/// Returns the leftmost and the rightmost point among those given and `points`.
#[inline(never)]
fn extremes([mut least, mut most]: [Point; 2], points: &[Point]) -> [Point; 2] {
    for &point in points {
        if point.precedes(least) {
            least = point;
        }
        if most.precedes(point) {
            most = point;
        }
    }
    [least, most]
}

/// The initial number of points in a segment.
const SEGMENT: usize = 4096;

/// The points on a side.
struct Set<'p> {
    side: Side,
    segments: Vec<&'p mut [Point]>,
    points: usize,
}

impl<'p> Set<'p> {
    fn new(side: Side, segments: usize) -> Self {
        Self { side, segments: Vec::with_capacity(segments), points: 0 }
    }

    fn add(&mut self, side: &Side, segment: &'p mut [Point]) {
        if !segment.is_empty() {
            self.side.merge(side);
            self.points += segment.len();
            self.segments.push(segment);
        }
    }
}

/// The parameters shared by all parts of a run.
#[derive(Clone, Copy, Debug)]
struct Quickhull {
    cutoff: usize,
    grain: Grain,
}

impl Quickhull {
    /// The fork–join program: returns the points of the hull, clockwise from the leftmost.
    fn run<J: ForkJoin>(&self, mut j: J, points: &mut [Point]) -> Vec<Point> {
        let first = [points[0]; 2];
        let grain = match self.grain {
            Grain::Advice(segments) => Grain::Advice(segments * SEGMENT),
            Grain::Fixed(segments) => Grain::Fixed(segments.saturating_mul(SEGMENT)),
        };
        let [left, right] = j.fold_blocks(&*points, grain, first, extremes, |a, b| extremes(a, &b));
        let sides = [Side::new(left, right), Side::new(right, left)];
        let [above, below] = self.separate(&mut j, sides, points.chunks_mut(SEGMENT).collect());
        let (above, below) = j.join(move |j| self.side(j, above), move |j| self.side(j, below));
        [vec![left], above, vec![right], below].concat()
    }

    /// Partitions the points of one set into the sets of two sides.
    fn separate<'p, J: ForkJoin>(
        &self,
        j: &mut J,
        sides: [Side; 2],
        mut segments: Vec<&'p mut [Point]>,
    ) -> [Set<'p>; 2] {
        let mut cuts = vec![(sides, 0, 0); segments.len()];
        j.for_blocks(Zipped(&mut segments[..], &mut cuts[..]), self.grain, |block| {
            for (segment, (sides, low, high)) in block {
                (*low, *high) = separate(sides, segment);
            }
        });
        let mut sets = sides.map(|side| Set::new(side, segments.len()));
        for (segment, ([first, second], low, high)) in segments.into_iter().zip(&cuts) {
            let (rest, high) = segment.split_at_mut(*high);
            sets[0].add(first, &mut rest[..*low]);
            sets[1].add(second, high);
        }
        sets
    }

    /// Returns the hull's points on a side, from the start of its line to the end.
    fn side<J: ForkJoin>(&self, mut j: J, set: Set<'_>) -> Vec<Point> {
        if set.points <= self.cutoff {
            let mut points = Vec::with_capacity(set.points);
            set.segments.iter().for_each(|segment| points.extend_from_slice(segment));
            return serial_side(&set.side, &mut points);
        }
        let farthest = set.side.farthest;
        let [first, second] = self.separate(&mut j, set.side.split(), set.segments);
        let (first, second) = j.join(move |j| self.side(j, first), move |j| self.side(j, second));
        [first, vec![farthest], second].concat()
    }
}

/// The sequential program.
fn serial(points: &mut [Point]) -> Vec<Point> {
    let [left, right] = extremes([points[0]; 2], points);
    let mut sides = [Side::new(left, right), Side::new(right, left)];
    let (low, high) = separate(&mut sides, points);
    let (rest, below) = points.split_at_mut(high);
    [vec![left], serial_side(&sides[0], &mut rest[..low]), vec![right], serial_side(&sides[1], below)].concat()
}

fn serial_side(side: &Side, points: &mut [Point]) -> Vec<Point> {
    if points.is_empty() {
        return Vec::new();
    }
    let mut sides = side.split();
    let (low, high) = separate(&mut sides, points);
    let (rest, second) = points.split_at_mut(high);
    [serial_side(&sides[0], &mut rest[..low]), vec![side.farthest], serial_side(&sides[1], second)].concat()
}

/// The program, its points, and the hull.
#[derive(Debug)]
pub struct Instance {
    quickhull: Quickhull,
    points: Vec<Point>,
    /// A copy of the points, partitioned in place.
    work: Vec<Point>,
    hull: Vec<Point>,
}

impl Instance {
    /// The points, and the hull found by the last run, clockwise from the leftmost point.
    pub fn points(&self) -> (&[Point], &[Point]) {
        (&self.points, &self.hull)
    }

    fn answer(&self) -> Answer {
        Answer::Number(self.hull.len() as u64)
    }

    /// Checks that the corners of the hull are points of the input, that it turns right everywhere, and that it
    /// encloses all points.
    fn check_hull(&self) -> Result<(), String> {
        /// The points are some ten apart.
        const ROUNDING: f64 = 1e-12;
        let hull = &self.hull;
        let corners: HashSet<[u64; 2]> = hull.iter().map(|corner| corner.bits()).collect();
        let mut missing = corners.clone();
        for point in &self.points {
            missing.remove(&point.bits());
        }
        if hull.len() < 2 || corners.len() != hull.len() {
            return Err(format!("the hull has {} corners, {} of them distinct", hull.len(), corners.len()));
        }
        if !missing.is_empty() {
            return Err(format!("{} corners of the hull are not points of the input", missing.len()));
        }
        for (at, &corner) in hull.iter().enumerate() {
            let line = Line(corner, hull[(at + 1) % hull.len()]);
            if hull.len() > 2 && line.left(hull[(at + 2) % hull.len()]) >= 0.0 {
                return Err(format!("the hull is not convex after corner {at}"));
            }
        }
        let right = (0..hull.len()).fold(0, |best, at| if hull[best].precedes(hull[at]) { at } else { best });
        let upper = &hull[..=right];
        let lower: Vec<Point> = hull[right..].iter().chain(&hull[..1]).copied().collect();
        for (at, &point) in self.points.iter().enumerate() {
            // The edge above the point, and the one below it.
            let above = upper.partition_point(|corner| corner.x <= point.x).clamp(1, upper.len() - 1);
            let below = lower.partition_point(|corner| corner.x > point.x).clamp(1, lower.len() - 1);
            let edges = [Line(upper[above - 1], upper[above]), Line(lower[below - 1], lower[below])];
            if let Some(edge) = edges.iter().find(|edge| edge.left(point) > ROUNDING) {
                return Err(format!("point {at} is outside {edge:?}"));
            }
        }
        Ok(())
    }
}

impl Runs for Instance {
    fn reset(&mut self) {
        self.work.copy_from_slice(&self.points);
        self.hull = Vec::new();
    }

    fn serial(&mut self) -> Answer {
        self.hull = serial(&mut self.work);
        self.answer()
    }

    fn check(&self, answer: &Answer) -> Result<(), String> {
        expect(answer, &self.answer())?;
        self.check_hull()
    }

    fn tasks(&self, _: &Answer) -> Option<u64> {
        None
    }

    fn digest(&self) -> u64 {
        sequence(self.hull.iter().flat_map(|point| point.bits()))
    }

    fn damage(&mut self, at: u64) -> bool {
        let at = at as usize % self.hull.len();
        self.hull[at].y += 1e-6;
        true
    }
}

impl Forks for Instance {
    fn fork_join<J: ForkJoin>(&mut self, j: J) -> Answer {
        self.hull = self.quickhull.run(j, &mut self.work);
        self.answer()
    }
}

#[cfg(test)]
mod tests {
    use filch_catalogue::programs::grain::Grain;

    use super::*;

    /// Computes the size of the hull by another algorithm, the monotone chain.
    fn chain(points: &[Point]) -> usize {
        let mut points = points.to_vec();
        points.sort_by(|a, b| a.x.total_cmp(&b.x).then(a.y.total_cmp(&b.y)));
        let half = |points: &mut dyn Iterator<Item = Point>| {
            let mut chain: Vec<Point> = Vec::new();
            for point in points {
                while let [.., a, b] = chain[..] {
                    if Line(a, b).left(point) < 0.0 {
                        break;
                    }
                    chain.pop();
                }
                chain.push(point);
            }
            chain.len() - 1
        };
        half(&mut points.iter().copied()) + half(&mut points.iter().rev().copied())
    }

    #[test]
    fn sizes_agree_with_the_monotone_chain() {
        for (input, n) in
            [(Cloud::Uniform, 20_000), (Cloud::Plummer, 20_000), (Cloud::Uniform, 3), (Cloud::Plummer, 50)]
        {
            for seed in 1..5 {
                let params = Params { n, input, cutoff: 64, grain: Grain::OnDemand, seed };
                let mut instance = params.prepare().expect("there is memory");
                instance.reset();
                let answer = instance.serial();
                assert_eq!(instance.check(&answer), Ok(()));
                assert_eq!(answer, Answer::Number(chain(&instance.points) as u64), "{params:?}");
            }
        }
    }
}
