//! Reachability in a graph, with tasks that may run twice.
//!
//! A task visits a vertex: it marks each unmarked neighbour and makes a task of it. A load tests a mark and a store
//! sets it; there is no atomic read-modify-write. Two workers may both find a vertex unmarked and make a task of it,
//! and a queue may return a task twice. The second visit does nothing, or repeats what the first did. Tasks beyond one
//! per vertex count as duplicates.
//!
//! **What it stresses.** Almost only the queue: a visit takes some ten nanoseconds, so a fence in each pop shows. The
//! torus seldom offers many tasks at a time; the other graphs have short distances.
//!
//! **Source.** *Transitive closure* in Maged Michael, Martin Vechev and Vijay Saraswat, *Idempotent Work Stealing*,
//! PPoPP 2009, and in Adam Morrison and Yehuda Afek, *Fence-Free Work Stealing on Bounded TSO Processors*, ASPLOS 2014,
//! figure 11. The sizes are ours.

use filch::worklist::{Queue, Team};
use filch_catalogue::ParamError;
use filch_catalogue::programs::closure::Params;

use crate::answer::Listed;
use crate::graph::{Marking, Marks, ROOT};
use crate::spec::{Lists, Prepare};

impl Prepare for Params {
    type Instance = Instance;

    fn prepare(&self) -> Result<Instance, ParamError> {
        Ok(Instance { marks: Marks::new(self.input.name, &self.input)? })
    }
}

/// The program, its graph, and the marks.
#[derive(Debug)]
pub struct Instance {
    marks: Marks,
}

impl Marking for Instance {
    fn marks(&self) -> &Marks {
        &self.marks
    }

    fn marks_mut(&mut self) -> &mut Marks {
        &mut self.marks
    }

    fn search(&mut self) -> u32 {
        self.marks.search()
    }
}

impl Lists for Instance {
    fn exactly_once<Q: Queue>(&mut self, team: &mut Team<Q>) -> Listed {
        let marks = &self.marks;
        marks.set(ROOT);
        let run = team.run_idempotent(
            [ROOT],
            |_| (),
            |worker, (), vertex: u32| {
                for &next in marks.graph().neighbours(vertex) {
                    if !marks.has(next) {
                        marks.set(next);
                        worker.push(next);
                    }
                }
            },
        );
        Listed::reaching(self.marks.count(), run.tallies)
    }

    fn at_least_once<Q: Queue>(&mut self, team: &mut Team<Q>) -> Option<Listed> {
        Some(self.exactly_once(team))
    }
}
