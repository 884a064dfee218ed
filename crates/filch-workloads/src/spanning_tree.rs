//! A spanning tree of the reachable vertices, with tasks that may run twice.
//!
//! A task visits a vertex and becomes the parent of each neighbour without one; each of these becomes a task. A
//! repeated task finds only vertices with parents. The schedule decides which tree results. The check is that it is a
//! tree: every reachable vertex has a parent that is its neighbour, and every chain of parents ends at the root.
//!
//! **By load and store.** In the source a load tests a parent and a store sets it, like the marks of
//! [`closure`](crate::closure). Two workers may both set a parent, and both make the vertex a task; the last store
//! stays. Suppose that the parents then made a ring. Each vertex *v* of it became a parent in some visit, which was a
//! task, pushed after some store of *v*'s own parent. The visit found its child without any parent: its load was
//! executed before any store of the child's parent left a store buffer. If each task were visited only after the store
//! before its push had left the store buffer, then each load of the ring would come before the next one's visit and so
//! before itself.
//!
//! It has left if the task was stolen: buffers are drained in order, and the thief has seen the push. If the worker
//! popped it itself, it has left if there is a fence in between, and that is so if [every pop has
//! one](Queue::FENCES_POPS): on `the`, `chase-lev`, `chase-lev-fixed` and `abp`. Elsewhere two neighbours *x* and *y*,
//! pushed and popped at the same time by two workers, may become each other's parents, as each load comes before the
//! other's store has left. On one worker there is nothing to order. The argument is about processors with total store
//! order; on others the program does not rely on it.
//!
//! **By compare-and-swap**, the variant, a vertex gets one parent: once per vertex, not per edge, since a load comes
//! first. Each parent of a ring would be visited after its own swap and before its child's, so each swap would come
//! after itself.
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
use filch_catalogue::programs::spanning_tree::{Adoption, Params};

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
        Ok(Instance {
            graph,
            parents: parents.into_iter().map(AtomicU32::new).collect(),
            right,
            adoption: self.adoption,
        })
    }
}

/// The program, its graph, and the parents.
#[derive(Debug)]
pub struct Instance {
    graph: Graph,
    parents: Vec<AtomicU32>,
    /// The vertices that breadth-first search reaches.
    right: Vec<bool>,
    adoption: Adoption,
}

/// Whether parents may be set by load and store on these queues.
fn may_store<Q: Queue>(workers: usize) -> bool {
    workers == 1 || cfg!(target_arch = "x86_64") && Q::FENCES_POPS
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

    /// By compare-and-swap each vertex is adopted once.
    fn tasks(&self, answer: &Answer) -> Option<u64> {
        match answer {
            Answer::Reached(vertices) if self.adoption == Adoption::Swap => Some(u64::from(*vertices)),
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

impl Instance {
    /// Visits all vertices; `adopt` sets the parent in a place, if there was none, and returns whether it has.
    fn visit<Q: Queue>(&mut self, team: &mut Team<Q>, adopt: impl Fn(&AtomicU32, u32) -> bool + Sync) -> Listed {
        let Self { graph, parents, .. } = &*self;
        adopt(&parents[ROOT as usize], ROOT);
        let run = team.run_idempotent(
            [ROOT],
            |_| (),
            |worker, (), vertex: u32| {
                for &next in graph.neighbours(vertex) {
                    if adopt(&parents[next as usize], vertex) {
                        worker.push(next);
                    }
                }
            },
        );
        let reached = self.parents.iter_mut().map(|parent| u32::from(*parent.get_mut() != NONE)).sum();
        Listed::reaching(reached, run.tallies)
    }
}

impl Lists for Instance {
    fn refuses<Q: Queue>(&self, workers: usize) -> Option<String> {
        (self.adoption == Adoption::Store && !may_store::<Q>(workers)).then(|| {
            format!(
                "adopt=store needs a fence in every pop, on a processor with total store order; on {} two vertices may become each \
                 other's parents: use adopt=swap",
                Q::PROMISES.name
            )
        })
    }

    fn exactly_once<Q: Queue>(&mut self, team: &mut Team<Q>) -> Listed {
        let is_right = may_store::<Q>(team.workers());
        // Relaxed, all: until all threads are joined, a parent is only compared with `NONE`. That there is no ring
        // needs only what the head of this file says, or with a swap that the queue publishes the task.
        if is_right && self.adoption != Adoption::Swap {
            self.visit(team, |place, parent| {
                let is_free = place.load(Ordering::Relaxed) == NONE;
                if is_free {
                    place.store(parent, Ordering::Relaxed);
                }
                is_free
            })
        } else {
            self.visit(team, |place, parent| {
                place.load(Ordering::Relaxed) == NONE
                    && place.compare_exchange(NONE, parent, Ordering::Relaxed, Ordering::Relaxed).is_ok()
            })
        }
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
        let (parents, adoption) = (parents.map(AtomicU32::new).into(), Adoption::Auto);
        Instance { graph, parents, right, adoption }.check(&Answer::Reached(reached))
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
