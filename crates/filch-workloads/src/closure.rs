//! Which vertices can be reached, with tasks that may be run twice.
//!
//! A task visits a vertex: it marks those of its neighbours that have no mark, and each of them becomes a task. A mark is tested by a load
//! and set by a store; there is no atomic update anywhere. Two workers that meet may both find a vertex without a mark and
//! both make a task of it, and a queue may return a task twice: the second visit does nothing, or what the first has done already.
//! Such tasks are counted as duplicates: those run beyond one for each vertex.
//!
//! **What it stresses.** The queue, and little else: a visit takes some ten nanoseconds, so a fence in each pop shows. The torus
//! seldom has many tasks at a time; in the other graphs everything is near everything.
//!
//! **Source.** *Transitive closure* in Maged Michael, Martin Vechev and Vijay Saraswat, *Idempotent Work Stealing*, PPoPP 2009, and
//! in Adam Morrison and Yehuda Afek, *Fence-Free Work Stealing on Bounded TSO Processors*, ASPLOS 2014, figure 11. The sizes are ours.

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
            |crew, (), vertex: u32| {
                for &next in marks.graph().neighbours(vertex) {
                    if !marks.has(next) {
                        marks.set(next);
                        crew.push(next);
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
