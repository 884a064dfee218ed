//! A graph whose vertices are marked when they are reached.

use std::sync::atomic::{AtomicU8, Ordering};

use filch_catalogue::ParamError;
use filch_catalogue::programs::graph::Input;

use super::lists::Graph;
use crate::answer::{Answer, expect};
use crate::checks::sequence;
use crate::inputs::filled;
use crate::spec::Runs;

/// The start of every search.
pub(crate) const ROOT: u32 = 0;

/// A graph and a mark for each vertex.
///
/// All accesses are relaxed: a mark publishes nothing but itself, the graph does not change, and the marking threads
/// are joined before the marks are checked.
#[derive(Debug)]
pub(crate) struct Marks {
    graph: Graph,
    marks: Vec<AtomicU8>,
    /// The vertices that breadth-first search reaches.
    right: Vec<bool>,
}

impl Marks {
    pub(crate) fn new(name: &'static str, input: &Input) -> Result<Self, ParamError> {
        let graph = Graph::of(input)?;
        let marks = filled(name, graph.vertices() as usize, 0_u8)?;
        let right = graph.reach(ROOT);
        Ok(Self { graph, marks: marks.into_iter().map(AtomicU8::new).collect(), right })
    }

    pub(crate) fn graph(&self) -> &Graph {
        &self.graph
    }

    /// Returns whether a vertex is marked.
    #[inline]
    pub(crate) fn has(&self, vertex: u32) -> bool {
        self.marks[vertex as usize].load(Ordering::Relaxed) != 0
    }

    /// Marks a vertex.
    #[inline]
    pub(crate) fn set(&self, vertex: u32) {
        self.marks[vertex as usize].store(1, Ordering::Relaxed);
    }

    /// Marks a vertex. Returns true to exactly one of the callers for each vertex.
    #[inline]
    pub(crate) fn claim(&self, vertex: u32) -> bool {
        // Without this load, every later visit would fetch the mark's cache line for writing.
        !self.has(vertex) && self.marks[vertex as usize].swap(1, Ordering::Relaxed) == 0
    }

    /// Searches depth first on one thread. A vertex may be on the stack several times; its first visit marks it.
    pub(crate) fn search_deep(&mut self) -> u32 {
        let Self { graph, marks, .. } = self;
        let (mut stack, mut count) = (vec![ROOT], 0);
        while let Some(u) = stack.pop() {
            if std::mem::replace(marks[u as usize].get_mut(), 1) == 0 {
                count += 1;
                stack.extend(graph.neighbours(u).iter().filter(|&&v| *marks[v as usize].get_mut() == 0));
            }
        }
        count
    }

    /// Searches on one thread. A vertex is marked when it is pushed, so it is on the stack at most once.
    pub(crate) fn search(&mut self) -> u32 {
        let Self { graph, marks, .. } = self;
        *marks[ROOT as usize].get_mut() = 1;
        let (mut stack, mut count) = (vec![ROOT], 1);
        while let Some(u) = stack.pop() {
            for &v in graph.neighbours(u) {
                if std::mem::replace(marks[v as usize].get_mut(), 1) == 0 {
                    count += 1;
                    stack.push(v);
                }
            }
        }
        count
    }

    pub(crate) fn clear(&mut self) {
        self.marks.iter_mut().for_each(|mark| *mark.get_mut() = 0);
    }

    /// Returns the number of marked vertices.
    pub(crate) fn count(&mut self) -> u32 {
        self.marks.iter_mut().map(|mark| u32::from(*mark.get_mut() != 0)).sum()
    }

    pub(crate) fn check(&self, answer: &Answer) -> Result<(), String> {
        expect(answer, &Answer::Reached(self.right.iter().map(|&reached| u32::from(reached)).sum()))?;
        match (0..).zip(&self.right).find(|&(vertex, &right)| self.has(vertex) != right) {
            None => Ok(()),
            Some((vertex, true)) => Err(format!("vertex {vertex} can be reached, but it is not marked")),
            Some((vertex, false)) => Err(format!("vertex {vertex} is marked, but it cannot be reached")),
        }
    }

    pub(crate) fn digest(&self) -> u64 {
        sequence((0..self.graph.vertices()).map(|vertex| self.has(vertex).into()))
    }

    pub(crate) fn damage(&mut self, at: u64) -> bool {
        let at = (at % self.marks.len() as u64) as usize;
        *self.marks[at].get_mut() ^= 1;
        true
    }
}

/// A program that marks the vertices it reaches.
pub(crate) trait Marking {
    fn marks(&self) -> &Marks;
    fn marks_mut(&mut self) -> &mut Marks;
    /// The sequential program: returns the number of vertices reached.
    fn search(&mut self) -> u32;
}

impl<T: Marking> Runs for T {
    fn reset(&mut self) {
        self.marks_mut().clear();
    }

    fn serial(&mut self) -> Answer {
        Answer::Reached(self.search())
    }

    fn check(&self, answer: &Answer) -> Result<(), String> {
        self.marks().check(answer)
    }

    fn tasks(&self, _: &Answer) -> Option<u64> {
        None
    }

    fn digest(&self) -> u64 {
        self.marks().digest()
    }

    fn damage(&mut self, at: u64) -> bool {
        self.marks_mut().damage(at)
    }
}
