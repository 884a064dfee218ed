//! A recorded computation: what one worker runs, in its order, and where others can help.
//!
//! Invariant: each place that an operation names is a place of the list, and only a body's last operation is `End`.

use std::collections::HashMap;
use std::str::FromStr;

/// What a worker does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Op {
    /// Computes for so long.
    Strand(u64),
    /// Forks: the first branch follows, the second begins at `second`, and what comes after both at `after`.
    Fork { second: u32, after: u32 },
    /// The first branch of the newest fork has ended.
    Second,
    /// The second branch has ended.
    Join,
    /// Spawns this job.
    Spawn(u32),
    /// Goes on there: the body of a job lies between.
    Skip(u32),
    /// Waits for the jobs of this scope.
    Scope(u32),
    /// Waits for this job.
    Await(u32),
    /// The strands that follow in the list are in this region.
    Region(u32),
    /// The program, or the job, has ended.
    End,
}

/// A job: where its body begins, and the scope that waits for it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Job {
    pub(super) body: u32,
    pub(super) scope: Option<u32>,
    pub(super) is_spawned: bool,
}

/// A recorded computation, as `filch::scale` writes it: see `filch::scale::Graph`.
///
/// ```
/// use filch_sim::forecast::Graph;
///
/// let graph: Graph = "5(20|30)s0 1{[0 40]}".parse()?;
/// assert_eq!((graph.work(), graph.span(), graph.forks()), (96, 5 + 30 + 40, 2));
/// # Ok::<(), String>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Graph {
    pub(super) ops: Vec<Op>,
    pub(super) jobs: Vec<Job>,
    /// The number of jobs of each scope.
    pub(super) scopes: Vec<u32>,
}

/// What has been opened and not closed: the place of the operation that opened it.
enum Open {
    First(usize),
    Second(usize),
    /// A job's body, and the operation that skips it.
    Job(usize),
    Scope(u32),
}

impl FromStr for Graph {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut graph = Self { ops: Vec::new(), jobs: Vec::new(), scopes: Vec::new() };
        let mut open = Vec::new();
        let mut names = HashMap::new();
        let bytes = text.as_bytes();
        let mut next = 0;
        while let Some(&byte) = bytes.get(next) {
            let at = next;
            let wrong = |why: &str| format!("the graph is damaged at byte {at}: {why}");
            next += 1;
            let mut number = |from: usize| {
                let digits = bytes[from..].iter().take_while(|byte| byte.is_ascii_digit()).count();
                next = from + digits;
                text[from..next].parse::<u64>().map_err(|_| wrong("no number"))
            };
            let place = graph.place().ok_or_else(|| wrong("it has 2³² operations"))?;
            match byte {
                b' ' | b'\n' => {}
                b'0'..=b'9' => {
                    let length = number(at)?;
                    if let Some(Op::Strand(before)) = graph.ops.last_mut() {
                        *before += length;
                    } else {
                        graph.ops.push(Op::Strand(length));
                    }
                }
                b'(' => {
                    open.push(Open::First(graph.ops.len()));
                    graph.ops.push(Op::Fork { second: 0, after: 0 });
                }
                b'|' => {
                    let Some(Open::First(fork)) = open.pop() else { return Err(wrong("no fork has begun")) };
                    graph.ops.push(Op::Second);
                    graph.ops[fork] = Op::Fork { second: place + 1, after: 0 };
                    open.push(Open::Second(fork));
                }
                b')' => {
                    let Some(Open::Second(fork)) = open.pop() else { return Err(wrong("no second branch has begun")) };
                    graph.ops.push(Op::Join);
                    if let Op::Fork { after, .. } = &mut graph.ops[fork] {
                        *after = place + 1;
                    }
                }
                b'r' => {
                    let region = number(at + 1)?;
                    graph.ops.push(Op::Region(region.try_into().map_err(|_| wrong("no region"))?));
                }
                b's' | b't' | b'[' => {
                    let name = number(at + 1)?;
                    let job = *names.entry(name).or_insert(graph.jobs.len() as u32);
                    if job as usize == graph.jobs.len() {
                        graph.jobs.push(Job::default());
                    }
                    match byte {
                        b's' => {
                            graph.jobs[job as usize].is_spawned = true;
                            graph.ops.push(Op::Spawn(job));
                        }
                        b't' => graph.ops.push(Op::Await(job)),
                        _ => {
                            let scope = match open.last() {
                                Some(&Open::Scope(scope)) => Some(scope),
                                _ => None,
                            };
                            scope.into_iter().for_each(|scope| graph.scopes[scope as usize] += 1);
                            open.push(Open::Job(graph.ops.len()));
                            graph.ops.push(Op::Skip(0));
                            let job = &mut graph.jobs[job as usize];
                            (job.body, job.scope) = (place + 1, scope);
                        }
                    }
                }
                b']' => {
                    let Some(Open::Job(skip)) = open.pop() else { return Err(wrong("no job has begun")) };
                    graph.ops.push(Op::End);
                    graph.ops[skip] = Op::Skip(place + 1);
                }
                b'{' => {
                    let scope = graph.scopes.len() as u32;
                    open.push(Open::Scope(scope));
                    graph.scopes.push(0);
                }
                b'}' => {
                    let Some(Open::Scope(scope)) = open.pop() else { return Err(wrong("no wait has begun")) };
                    graph.ops.push(Op::Scope(scope));
                }
                _ => return Err(wrong("no such mark")),
            }
        }
        if !open.is_empty() {
            return Err("the graph is damaged: its end is missing".to_owned());
        }
        if graph.jobs.iter().any(|job| job.body == 0) {
            return Err("the graph is damaged: a job that is spawned or awaited never begins".to_owned());
        }
        graph.ops.push(Op::End);
        Ok(graph)
    }
}

impl Graph {
    /// The place of the next operation.
    fn place(&self) -> Option<u32> {
        u32::try_from(self.ops.len()).ok().filter(|&place| place < u32::MAX - 2)
    }

    /// The sum of all strands.
    pub fn work(&self) -> u64 {
        let strand = |op: &Op| if let Op::Strand(length) = op { *length } else { 0 };
        self.ops.iter().map(strand).sum()
    }

    /// The number of strands.
    pub fn strands(&self) -> usize {
        self.ops.iter().filter(|op| matches!(op, Op::Strand(_))).count()
    }

    /// The number of forks and spawned jobs.
    pub fn forks(&self) -> u64 {
        self.ops.iter().filter(|op| matches!(op, Op::Fork { .. } | Op::Spawn(_))).count() as u64
    }

    /// The length of the longest chain of strands that must follow one another.
    pub fn span(&self) -> u64 {
        self.critical_path().iter().map(|part| part.length).sum()
    }

    /// The longest chain of strands that must follow one another: its parts, in their order.
    ///
    /// ```
    /// use filch_sim::forecast::{Graph, Part};
    ///
    /// let graph: Graph = "5(r1 20|30)r0 7".parse()?;
    /// let parts = [(0, 0, 5), (1, 1, 30), (0, 0, 7)].map(|(region, depth, length)| Part { region, depth, length });
    /// assert_eq!(graph.critical_path(), parts);
    /// # Ok::<(), String>(())
    /// ```
    pub fn critical_path(&self) -> Vec<Part> {
        // A list in the order of a run knows the begin of a branch or job before its end, and its end before what waits
        // for it.
        let (mut at, mut latest) = (Point::default(), Point::default());
        let mut ways = vec![(Part::default(), NOWHERE)];
        let mut forks: Vec<Point> = Vec::new();
        let mut outside = Vec::new();
        let mut scopes = vec![Point::default(); self.scopes.len()];
        let (mut begins, mut ends) = (vec![Point::default(); self.jobs.len()], vec![Point::default(); self.jobs.len()]);
        let job_at: HashMap<u32, usize> = self.jobs.iter().enumerate().map(|(job, known)| (known.body, job)).collect();
        let mut region = 0;
        for (op, place) in self.ops.iter().zip(1..) {
            match *op {
                Op::Strand(length) => {
                    let depth = forks.len() as u32;
                    ways.push((Part { region, depth, length }, at.way));
                    at = Point { length: at.length + length, way: ways.len() - 1 };
                }
                Op::Region(next) => region = next,
                Op::Fork { .. } => forks.push(at),
                Op::Second => at = std::mem::replace(forks.last_mut().expect("a fork"), at),
                Op::Join => at = at.later(forks.pop().expect("a fork")),
                Op::Spawn(job) => begins[job as usize] = at,
                Op::Skip(_) => {
                    let job = job_at[&place];
                    outside.push((at, job));
                    at = begins[job];
                }
                Op::Scope(scope) => at = at.later(scopes[scope as usize]),
                Op::Await(job) => at = at.later(ends[job as usize]),
                Op::End => {
                    latest = latest.later(at);
                    let Some((before, job)) = outside.pop() else { continue };
                    ends[job] = at;
                    if let Some(scope) = self.jobs[job].scope {
                        scopes[scope as usize] = at.later(scopes[scope as usize]);
                    }
                    at = before;
                }
            }
        }
        let mut parts: Vec<Part> = Vec::new();
        let mut way = latest.way;
        while way != NOWHERE {
            let (part, before) = ways[way];
            match parts.last_mut() {
                Some(last) if (last.region, last.depth) == (part.region, part.depth) => last.length += part.length,
                _ if part.length > 0 => parts.push(part),
                _ => {}
            }
            way = before;
        }
        parts.reverse();
        parts
    }
}

/// A part of the critical path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Part {
    /// The number of its region; 0 if it is in none.
    pub region: u32,
    /// The forks that are open there.
    pub depth: u32,
    /// Its length.
    pub length: u64,
}

/// Before the beginning.
const NOWHERE: usize = usize::MAX;

/// A point of the graph, by the longest way to it.
#[derive(Clone, Copy, Debug, Default)]
struct Point {
    length: u64,
    /// The way's last part.
    way: usize,
}

impl Point {
    fn later(self, other: Self) -> Self {
        if other.length > self.length { other } else { self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_damaged_text_is_told() {
        let error = |text: &str| text.parse::<Graph>().unwrap_err();
        assert_eq!(error("1(2|3"), "the graph is damaged: its end is missing");
        assert_eq!(error("1|2"), "the graph is damaged at byte 1: no fork has begun");
        assert_eq!(error("(1)"), "the graph is damaged at byte 2: no second branch has begun");
        assert_eq!(error("s"), "the graph is damaged at byte 0: no number");
        assert_eq!(error("s4 5"), "the graph is damaged: a job that is spawned or awaited never begins");
        assert_eq!(error("5x"), "the graph is damaged at byte 1: no such mark");
        assert_eq!(error("(1|[0 5)]"), "the graph is damaged at byte 7: no second branch has begun");
    }
}
