//! A maximal matching of a graph: no two of its edges share an end, and no edge can be added.
//!
//! Edges have hashed priorities. The sequential program takes them in order of priority and adds an edge if both ends
//! are free. The parallel program works in rounds over a prefix of the remaining edges, in the same order. A round has
//! two loops. In the first, every edge whose ends are free reserves both: it writes its number where that is smaller
//! than the number there. In the second, an edge that holds both ends joins the matching; any other releases what it
//! holds and tries again in the next round. The prefix has max(200, m/50) edges.
//!
//! What it stresses: a sequence of several hundred parallel loops, each of some thousand iterations of some ten
//! nanoseconds, whose results are collected, with atomic operations on memory without locality. Each round looks at an
//! edge twice, the sequential program once: one worker takes more than twice as long. The span is Θ(log² n) rounds with
//! high probability, as long as prefixes are short.
//!
//! The matching equals that of the sequential program in any schedule. This is the method of deterministic
//! reservations.
//!
//! **Source.** Guy E. Blelloch, Jeremy T. Fineman, Phillip B. Gibbons and Julian Shun, *Internally Deterministic
//! Parallel Algorithms Can Be Fast*, PPoPP 2012, as measured in *Private deques*.

#![allow(clippy::disallowed_types, reason = "reservations, no protocol for the checker")]

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use filch_catalogue::ParamError;
use filch_catalogue::programs::matching::Params;

use crate::answer::{Answer, expect};
use crate::checks::sequence;
use crate::graph::Graph;
use crate::inputs::{filled, shuffled};
use crate::rounds::{append, rounds};
use crate::spec::{Forks, Prepare, Runs};
use crate::{ForkJoin, Grain};

impl Prepare for Params {
    type Instance = Instance;

    fn prepare(&self) -> Result<Instance, ParamError> {
        let name = self.0.input.name;
        let graph = Graph::of(&self.0.input)?;
        let drawn: Vec<(u32, u32)> = graph.edges().collect();
        let Some(count) = u32::try_from(drawn.len()).ok().filter(|&count| count < RESERVED) else {
            return Err(ParamError::BadValue {
                workload: name,
                param: "n",
                value: graph.vertices().to_string(),
                why: "gives too many edges: there are at most 2147483647".to_owned(),
            });
        };
        let edges = shuffled(11, count).into_iter().map(|edge| drawn[edge as usize]).collect();
        let ends = filled(name, graph.vertices() as usize, FREE)?.into_iter().map(AtomicU32::new).collect();
        Ok(Instance {
            edges,
            numbers: (0..count).collect(),
            ends,
            grain: Grain::from_param(self.0.grain, 512),
            right: OnceLock::new(),
        })
    }
}

/// Neither in the matching nor reserved. Larger than all other values, so that any edge can reserve it.
const FREE: u32 = u32::MAX;

/// Marks a reservation. Larger than all edges, so that no reservation replaces an edge in the matching.
const RESERVED: u32 = 1 << 31;

/// The program, its graph, and the matching.
#[derive(Debug)]
pub struct Instance {
    /// The edges in order of priority.
    edges: Vec<(u32, u32)>,
    /// The numbers of the edges: 0, 1, 2, ….
    numbers: Vec<u32>,
    /// For each vertex its edge in the matching, or [`RESERVED`] plus the edge that has reserved it, or [`FREE`]. All
    /// accesses are relaxed: the joins between the two loops order those of one after those of the other, and within a
    /// loop only the smallest edge counts, or that a value is not one's own.
    ends: Vec<AtomicU32>,
    grain: Grain,
    right: OnceLock<Vec<u32>>,
}

impl Instance {
    /// The edges in order of priority, and for each vertex the number of its edge in the matching, or `u32::MAX`.
    pub fn matching(&self) -> (&[(u32, u32)], Vec<u32>) {
        (&self.edges, self.ends().collect())
    }

    fn ends(&self) -> impl Iterator<Item = u32> {
        self.ends.iter().map(|end| end.load(Ordering::Relaxed))
    }

    fn ends_of(&self, edge: u32) -> [&AtomicU32; 2] {
        let (u, v) = self.edges[edge as usize];
        [&self.ends[u as usize], &self.ends[v as usize]]
    }

    /// The first loop: edges reserve their ends. Collects the edges whose ends were free.
    #[inline(never)]
    fn reserve(&self, mut alive: Vec<u32>, edges: &[u32]) -> Vec<u32> {
        for &edge in edges {
            let ends = self.ends_of(edge);
            let found = ends.map(|end| end.load(Ordering::Relaxed));
            if found.iter().all(|&found| found >= RESERVED) {
                for (end, found) in ends.into_iter().zip(found) {
                    // The value can only have become smaller since.
                    if RESERVED + edge < found {
                        end.fetch_min(RESERVED + edge, Ordering::Relaxed);
                    }
                }
                alive.push(edge);
            }
        }
        alive
    }

    /// The second loop: edges that hold both ends join the matching. Collects the edges that must try again.
    #[inline(never)]
    fn commit(&self, mut left: Vec<u32>, edges: &[u32]) -> Vec<u32> {
        for &edge in edges {
            let ends = self.ends_of(edge);
            let holds = ends.map(|end| end.load(Ordering::Relaxed) == RESERVED + edge);
            let taken = holds == [true; 2];
            for (end, _) in ends.into_iter().zip(holds).filter(|&(_, holds)| holds) {
                end.store(if taken { edge } else { FREE }, Ordering::Relaxed);
            }
            if !taken {
                left.push(edge);
            }
        }
        left
    }
}

/// The sequential program. `at` accesses the edge of a vertex.
fn serial<E>(edges: &[(u32, u32)], matched: &mut [E], at: impl Fn(&mut E) -> &mut u32) {
    for (&(u, v), edge) in edges.iter().zip(0..) {
        if *at(&mut matched[u as usize]) == FREE && *at(&mut matched[v as usize]) == FREE {
            *at(&mut matched[u as usize]) = edge;
            *at(&mut matched[v as usize]) = edge;
        }
    }
}

/// Returns the number of edges. Two vertices have each edge.
fn answer(matched: impl Iterator<Item = u32>) -> Answer {
    Answer::Number(matched.filter(|&edge| edge != FREE).count() as u64 / 2)
}

impl Runs for Instance {
    fn reset(&mut self) {
        self.ends.iter_mut().for_each(|end| *end.get_mut() = FREE);
    }

    fn serial(&mut self) -> Answer {
        serial(&self.edges, &mut self.ends, AtomicU32::get_mut);
        answer(self.ends())
    }

    fn check(&self, found: &Answer) -> Result<(), String> {
        let right = self.right.get_or_init(|| {
            let mut matched = vec![FREE; self.ends.len()];
            serial(&self.edges, &mut matched, |edge| edge);
            matched
        });
        expect(found, &answer(right.iter().copied()))?;
        match self.ends().zip(right).position(|(found, &right)| found != right) {
            None => Ok(()),
            Some(vertex) => Err(format!("vertex {vertex} is not matched by the edge of highest priority")),
        }
    }

    fn tasks(&self, _: &Answer) -> Option<u64> {
        None
    }

    fn digest(&self) -> u64 {
        sequence(self.ends().map(u64::from))
    }

    fn damage(&mut self, at: u64) -> bool {
        let at = at as usize % self.ends.len();
        *self.ends[at].get_mut() ^= 1;
        true
    }
}

impl Forks for Instance {
    fn fork_join<J: ForkJoin>(&mut self, mut j: J) -> Answer {
        let (this, grain) = (&*self, self.grain);
        rounds(&self.numbers, |edges| {
            let alive = j.fold_blocks(edges, grain, Vec::new(), |alive, block| this.reserve(alive, block), append);
            j.fold_blocks(&alive[..], grain, Vec::new(), |left, block| this.commit(left, block), append)
        });
        answer(self.ends())
    }
}
