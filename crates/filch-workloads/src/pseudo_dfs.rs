//! Which vertices can be reached, searched by all workers at once, each as deep as it can.
//!
//! Each worker has a bag of vertices that it uses as a stack. To visit a vertex it claims its mark; if it is the first, it puts
//! all neighbours that have no mark yet into the bag. So the order is nearly that of depth-first search, and a vertex
//! may be in several bags, of which one visit counts. Every other worker takes the neighbours from the far end, so that on a grid
//! workers go apart.
//!
//! A visit takes some ten nanoseconds, less than any queue takes for a task. Therefore a task is a whole bag, and its worker looks up
//! after so many visits (`items`, S in the source): it answers thieves, and gives the older half of its bag away if nobody
//! has anything else to steal. This is the coalescing of the source; with `task=node` every vertex is a task by itself instead,
//! which shows what coalescing is worth.
//!
//! **What it stresses.** Splitting, and the delay until a thief is answered. The grid has much work everywhere and locality;
//! the other graphs have neither order nor even degrees.
//!
//! **Source.** Umut A. Acar, Arthur Charguéraud and Mike Rainey, *Scheduling Parallel Programs by Work Stealing with Private
//! Deques*, PPoPP 2013, figure 6 b, on graphs of 40 million vertices. The span is the longest path that the search happens to take.

use filch::worklist::{Queue, Team};

use crate::answer::{Answer, Listed};
use crate::graph::{CACHE, DEGREE, GRAPH, Input, Marking, Marks, N, ROOT, SEED};
use crate::params::{ParamError, ParamSpec, Settings};
use crate::spec::{self, Lists, Spec};

/// What a task is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Task {
    Bag,
    Node,
}

const TASKS: &[(&str, Task)] = &[("bag", Task::Bag), ("node", Task::Node)];

/// The graph, and how it is searched.
#[derive(Clone, Debug)]
pub struct Params {
    input: Input,
    task: Task,
    items: usize,
}

impl spec::Params for Params {
    const SPEC: Spec = Spec {
        name: "pseudo-dfs",
        summary: "which vertices can be reached, each worker going deep; a task is a bag of vertices",
        source: "Private deques (Acar, Charguéraud, Rainey, 2013)",
        params: &[
            GRAPH,
            ParamSpec { default: "262144", ..N },
            DEGREE,
            SEED,
            CACHE,
            ParamSpec { name: "task", help: "bag, or node: each vertex by itself", default: "bag" },
            ParamSpec { name: "items", help: "visits until a worker looks up from its bag", default: "128" },
        ],
        quick: &[("n", "262144")],
        compare: &[("n", "1000000")],
        paper: &[("n", "40000000")],
    };
    type Instance = Instance;

    fn parse(settings: &Settings<'_>) -> Result<Self, ParamError> {
        Ok(Self {
            input: Input::parse(Self::SPEC.name, settings)?,
            task: settings.word("task", settings.text("task"), TASKS)?,
            items: settings.whole("items", 1, 1 << 40, "")? as usize,
        })
    }

    fn values(&self) -> Vec<String> {
        let task = TASKS.iter().find(|&&(_, task)| task == self.task).map_or("", |(name, _)| name);
        self.input.values().into_iter().chain([task.to_owned(), self.items.to_string()]).collect()
    }

    fn tasks(&self) -> Option<u64> {
        None
    }

    fn memory_bytes(&self) -> u64 {
        self.input.memory_bytes() + Marks::bytes(self.input.vertices())
    }

    fn is_idempotent(&self) -> bool {
        self.task == Task::Node
    }

    fn prepare(&self) -> Result<Instance, ParamError> {
        let marks = Marks::new(Self::SPEC.name, &self.input)?;
        Ok(Instance { marks, task: self.task, items: self.items })
    }
}

/// The program, its graph, and the marks.
#[derive(Debug)]
pub struct Instance {
    marks: Marks,
    task: Task,
    items: usize,
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
    /// Visits a vertex: its neighbours that are to be visited, if it is the first visit.
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
            |crew, count, vertex| self.visit(vertex, count).for_each(|next| crew.push(next)),
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
            self.items,
            |_| 0,
            |crew, count, bag: &mut Vec<u32>| {
                if let Some(vertex) = bag.pop() {
                    let next = this.visit(vertex, count);
                    // Two workers that set out side by side and went the same way would write each other's lines of marks all the time.
                    if crew.index().is_multiple_of(2) { bag.extend(next) } else { bag.extend(next.rev()) }
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
