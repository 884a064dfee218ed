//! A spanning tree of the reachable vertices, with tasks that may run twice.
//!
//! A task visits a vertex and becomes the parent of each neighbour without one; each of these becomes a task. A
//! repeated task does nothing. The schedule decides which tree results. The check is that it is a tree: every reachable
//! vertex has a parent that is its neighbour, and every chain of parents ends at the root.
//!
//! **Why a compare-and-swap.** In the source a load tests a parent and a store sets it, like the marks of
//! [`closure`](crate::closure). Then two neighbours *x* and *y*, visited at the same time by two workers whose queues
//! have no fence, may become each other's parents: each worker's load from the other's vertex precedes the drain of the
//! other's store from its store buffer. So here a worker that finds no parent sets it by compare-and-swap: once per
//! vertex, not per edge. Suppose that a chain of parents were a ring. Each parent in it was visited after its own swap
//! and before its child's, so each swap would come after itself.
//!
//! **What it stresses.** The same as [`closure`](crate::closure), with more memory.
//!
//! **Source.** Maged Michael, Martin Vechev and Vijay Saraswat, *Idempotent Work Stealing*, PPoPP 2009, after David
//! Bader and Guojing Cong; Adam Morrison and Yehuda Afek, *Fence-Free Work Stealing on Bounded TSO Processors*, ASPLOS
//! 2014. The sizes are ours.

#![allow(clippy::disallowed_types, reason = "parents are the program's result, not an algorithm to check")]

use std::sync::atomic::{AtomicU32, Ordering};

use filch::worklist::{Queue, Team};
use filch_catalogue::ParamError;
use filch_catalogue::programs::spanning_tree::Params;

use crate::answer::{Answer, Listed, expect};
use crate::graph::{Graph, ROOT};
use crate::inputs::filled;
use crate::spec::{Lists, Prepare, Runs};

/// Not a vertex: the vertex has no parent yet.
const NONE: u32 = u32::MAX;

impl Prepare for Params {
    type Instance = Instance;

    fn prepare(&self) -> Result<Instance, ParamError> {
        let graph = Graph::of(&self.input)?;
        let parents = filled(self.input.name, graph.vertices() as usize, NONE)?;
        let right = graph.reach(ROOT);
        Ok(Instance { graph, parents: parents.into_iter().map(AtomicU32::new).collect(), right })
    }
}

/// The program, its graph, and the parents.
#[derive(Debug)]
pub struct Instance {
    graph: Graph,
    parents: Vec<AtomicU32>,
    /// The vertices that breadth-first search reaches.
    right: Vec<bool>,
}

/// The check's knowledge of a vertex.
#[derive(Clone, Copy, PartialEq)]
enum Chain {
    Unknown,
    /// It is on the chain being followed.
    Followed,
    EndsAtRoot,
}

impl Instance {
    fn parent(&self, vertex: u32) -> u32 {
        // Relaxed: the writers were joined before this read.
        self.parents[vertex as usize].load(Ordering::Relaxed)
    }

    /// Checks the parent of a vertex, apart from the parent's own parent.
    fn check_parent(&self, vertex: u32) -> Result<(), String> {
        match (self.parent(vertex), self.right[vertex as usize]) {
            (NONE, false) => Ok(()),
            (NONE, true) => Err(format!("vertex {vertex} can be reached, but it has no parent")),
            (_, false) => Err(format!("vertex {vertex} has a parent, but it cannot be reached")),
            (ROOT, true) if vertex == ROOT => Ok(()),
            (parent, true) if vertex != ROOT && self.graph.neighbours(vertex).binary_search(&parent).is_ok() => Ok(()),
            (parent, true) => Err(format!("vertex {vertex} has {parent} as its parent, but they are not linked")),
        }
    }

    /// Checks that each chain of parents ends at the root. All parents must be vertices.
    fn check_chains(&self) -> Result<(), String> {
        let mut chains = vec![Chain::Unknown; self.parents.len()];
        chains[ROOT as usize] = Chain::EndsAtRoot;
        let mut followed = Vec::new();
        for start in (0..self.graph.vertices()).filter(|&vertex| self.parent(vertex) != NONE) {
            let mut vertex = start;
            while chains[vertex as usize] == Chain::Unknown {
                chains[vertex as usize] = Chain::Followed;
                followed.push(vertex);
                vertex = self.parent(vertex);
            }
            if chains[vertex as usize] == Chain::Followed {
                return Err(format!("vertex {vertex} is among its own ancestors"));
            }
            followed.drain(..).for_each(|vertex| chains[vertex as usize] = Chain::EndsAtRoot);
        }
        Ok(())
    }
}

impl Runs for Instance {
    fn reset(&mut self) {
        self.parents.iter_mut().for_each(|parent| *parent.get_mut() = NONE);
    }

    fn serial(&mut self) -> Answer {
        let Self { graph, parents, .. } = self;
        *parents[ROOT as usize].get_mut() = ROOT;
        let (mut stack, mut count) = (vec![ROOT], 1);
        while let Some(u) = stack.pop() {
            for &v in graph.neighbours(u) {
                let parent = parents[v as usize].get_mut();
                if *parent == NONE {
                    *parent = u;
                    count += 1;
                    stack.push(v);
                }
            }
        }
        Answer::Reached(count)
    }

    fn check(&self, answer: &Answer) -> Result<(), String> {
        expect(answer, &Answer::Reached(self.right.iter().map(|&reached| u32::from(reached)).sum()))?;
        (0..self.graph.vertices()).try_for_each(|vertex| self.check_parent(vertex))?;
        self.check_chains()
    }

    /// Each vertex is adopted once.
    fn tasks(&self, answer: &Answer) -> Option<u64> {
        match answer {
            Answer::Reached(vertices) => Some(u64::from(*vertices)),
            _ => None,
        }
    }

    fn damage(&mut self, at: u64) -> bool {
        let at = (at % self.parents.len() as u64) as usize;
        let parent = self.parents[at].get_mut();
        *parent = !*parent;
        true
    }
}

impl Lists for Instance {
    fn exactly_once<Q: Queue>(&mut self, team: &mut Team<Q>) -> Listed {
        let Self { graph, parents, .. } = &*self;
        let adopt = |parent: u32, child: u32| {
            let place = &parents[child as usize];
            // Relaxed: until all threads are joined, a parent is only compared with `NONE`. That there is no ring needs
            // no more: a vertex is visited after the swap that made it a task, and the queue publishes the task.
            place.load(Ordering::Relaxed) == NONE
                && place.compare_exchange(NONE, parent, Ordering::Relaxed, Ordering::Relaxed).is_ok()
        };
        adopt(ROOT, ROOT);
        let run = team.run_idempotent(
            [ROOT],
            |_| (),
            |crew, (), vertex: u32| {
                for &next in graph.neighbours(vertex) {
                    if adopt(vertex, next) {
                        crew.push(next);
                    }
                }
            },
        );
        let reached = self.parents.iter_mut().map(|parent| u32::from(*parent.get_mut() != NONE)).sum();
        Listed::reaching(reached, run.tallies)
    }

    fn at_least_once<Q: Queue>(&mut self, team: &mut Team<Q>) -> Option<Listed> {
        Some(self.exactly_once(team))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks these parents on the square 0–1–2–3 plus an isolated vertex.
    fn check(parents: [u32; 5]) -> Result<(), String> {
        let graph = Graph::of_edges(5, &[(0, 1), (1, 2), (2, 3), (3, 0)]);
        let right = graph.reach(ROOT);
        let reached = parents.iter().filter(|&&parent| parent != NONE).count() as u32;
        Instance { graph, parents: parents.map(AtomicU32::new).into(), right }.check(&Answer::Reached(reached))
    }

    #[test]
    fn non_trees_are_detected() {
        assert_eq!(check([0, 0, 1, 2, NONE]), Ok(()));
        assert_eq!(check([0, 0, 1, 0, NONE]), Ok(()));
        let said = |parents, words: &str| {
            let said = check(parents).expect_err("it is not a spanning tree");
            assert!(said.contains(words), "{said}");
        };
        said([0, 0, 1, NONE, NONE], "should be 4");
        said([0, 0, NONE, 0, 0], "vertex 2 can be reached, but it has no parent");
        said([0, 0, 0, 0, NONE], "vertex 2 has 0 as its parent, but they are not linked");
        said([1, 0, 1, 0, NONE], "vertex 0 has 1 as its parent");
        said([0, 0, 3, 2, NONE], "is among its own ancestors");
        said([0, 1, 1, 0, NONE], "vertex 1 has 1 as its parent");
        said([0, 0, 1, 7, NONE], "vertex 3 has 7 as its parent");
    }
}
