//! Reachability in a graph, searched by all workers at once, each as deep as possible.
//!
//! Each worker has a bag of vertices, used as a stack. To visit a vertex the worker claims its mark; the first visitor
//! puts all unmarked neighbours into its bag. So the order is nearly depth first, and a vertex may be in several bags,
//! but only one visit counts. Every other worker takes the neighbours in reverse order, so that workers on a grid drift
//! apart.
//!
//! A visit takes some ten nanoseconds, less than any queue needs for a task. Therefore a task is a whole bag. After a
//! given number of visits (`items`, S in the source) its worker answers thieves: by the older half of its bag if it has
//! no other bag to give, as in the source; with `split=one` by one vertex; with `split=eager` it shares half before
//! anybody asks. The source calls this coalescing. With `task=node` every vertex is a task of its own, which shows the
//! benefit of coalescing.
//!
//! **What it stresses.** Splitting, and the delay until a thief gets an answer. The grid has much work everywhere, and
//! locality; the other graphs have neither order nor even degrees.
//!
//! **Source.** Umut A. Acar, Arthur Charguéraud and Mike Rainey, *Scheduling Parallel Programs by Work Stealing with
//! Private Deques*, PPoPP 2013, figure 6 b, on graphs of 40 million vertices. The span is the longest path that the
//! search happens to take.

use filch::worklist::{BagSplit, Bags, Queue, Team};
use filch_catalogue::ParamError;
use filch_catalogue::programs::pseudo_dfs::{self, Params, Task};

use crate::answer::{Answer, Listed};
use crate::graph::{Marking, Marks, ROOT};
use crate::spec::{Lists, Prepare};

impl Prepare for Params {
    type Instance = Instance;

    fn prepare(&self) -> Result<Instance, ParamError> {
        let marks = Marks::new(self.input.name, &self.input)?;
        let split = match self.split {
            pseudo_dfs::Split::Half => BagSplit::Half,
            pseudo_dfs::Split::One => BagSplit::One,
            pseudo_dfs::Split::Eager => BagSplit::Eager,
        };
        Ok(Instance { marks, task: self.task, bags: Bags { items: self.items, split } })
    }
}

/// The program, its graph, and the marks.
#[derive(Debug)]
pub struct Instance {
    marks: Marks,
    task: Task,
    bags: Bags,
}

impl Marking for Instance {
    fn marks(&self) -> &Marks {
        &self.marks
    }

    fn marks_mut(&mut self) -> &mut Marks {
        &mut self.marks
    }

    fn search(&mut self) -> u32 {
        self.marks.search_deep()
    }
}

impl Instance {
    /// Visits a vertex. Returns the neighbours to visit, if this is the first visit.
    fn visit(&self, vertex: u32, count: &mut u32) -> impl DoubleEndedIterator<Item = u32> + '_ {
        let neighbours = if self.marks.claim(vertex) {
            *count += 1;
            self.marks.graph().neighbours(vertex)
        } else {
            &[]
        };
        neighbours.iter().copied().filter(|&next| !self.marks.has(next))
    }

    fn nodes<Q: Queue>(&self, team: &mut Team<Q>) -> Listed {
        let run = team.run_idempotent(
            [ROOT],
            |_| 0,
            |worker, count, vertex| self.visit(vertex, count).for_each(|next| worker.push(next)),
        );
        Listed { answer: Answer::Reached(run.states.iter().sum()), tallies: run.tallies, duplicates: None }
    }
}

impl Lists for Instance {
    fn exactly_once<Q: Queue>(&mut self, team: &mut Team<Q>) -> Listed {
        if self.task == Task::Node {
            return self.nodes(team);
        }
        let this = &*self;
        let run = team.run_bags(
            [vec![ROOT]],
            self.bags,
            |_| 0,
            |worker, count, bag: &mut Vec<u32>| {
                if let Some(vertex) = bag.pop() {
                    let next = this.visit(vertex, count);
                    // Two workers that start side by side and go the same way would keep writing each other's cache
                    // lines of marks.
                    if worker.index().is_multiple_of(2) { bag.extend(next) } else { bag.extend(next.rev()) }
                }
            },
        );
        Listed { answer: Answer::Reached(run.states.iter().sum()), tallies: run.tallies, duplicates: None }
    }

    /// A second visit finds the mark of the first.
    fn at_least_once<Q: Queue>(&mut self, team: &mut Team<Q>) -> Option<Listed> {
        (self.task == Task::Node).then(|| self.nodes(team))
    }
}
