//! Pseudo-depth-first search: its parameters.

use super::graph::{self, CACHE, DEGREE, EDGES, GRAPH, Input, N, SEED};
use super::{ParamError, ParamSpec, Settings, Spec, spec};

/// The unit of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Task {
    Bag,
    Node,
}

const TASKS: &[(&str, Task)] = &[("bag", Task::Bag), ("node", Task::Node)];

/// When a worker splits its bag, and what it gives away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Split {
    Half,
    One,
    Eager,
}

const SPLITS: &[(&str, Split)] = &[("half", Split::Half), ("one", Split::One), ("eager", Split::Eager)];

/// The graph, and how it is searched.
#[derive(Clone, Debug)]
pub struct Params {
    pub input: Input,
    pub task: Task,
    pub items: usize,
    pub split: Split,
}

impl spec::Params for Params {
    const SPEC: Spec = Spec {
        name: "pseudo-dfs",
        summary: "reachable vertices, each worker searching depth first; a task is a bag of vertices",
        source: "Private deques (Acar, Charguéraud, Rainey, 2013)",
        params: &[
            GRAPH,
            ParamSpec { default: "262144", ..N },
            DEGREE,
            EDGES,
            SEED,
            CACHE,
            ParamSpec { name: "task", help: "bag, or node: a task per vertex", default: "bag" },
            ParamSpec {
                name: "items",
                help: "visits before a worker leaves its bag to answer thieves",
                default: "128",
            },
            ParamSpec {
                name: "split",
                help: "half or one: of a bag, when a thief's request is answered; or eager: half, before anybody asks",
                default: "half",
            },
        ],
        quick: &[("n", "262144")],
        compare: &[("n", "1000000")],
        paper: &[("n", "40000000")],
    };

    fn parse(settings: &Settings<'_>) -> Result<Self, ParamError> {
        Ok(Self {
            input: Input::parse(Self::SPEC.name, settings)?,
            task: settings.word("task", settings.text("task"), TASKS)?,
            items: settings.whole("items", 1, 1 << 40, "")? as usize,
            split: settings.word("split", settings.text("split"), SPLITS)?,
        })
    }

    fn values(&self) -> Vec<String> {
        let task = TASKS.iter().find(|&&(_, task)| task == self.task).map_or("", |(name, _)| name);
        let split = SPLITS.iter().find(|&&(_, split)| split == self.split).map_or("", |(name, _)| name);
        let own = [task.to_owned(), self.items.to_string(), split.to_owned()];
        self.input.values().into_iter().chain(own).collect()
    }

    fn memory_bytes(&self) -> u64 {
        self.input.memory_bytes() + graph::marks_bytes(self.input.vertices())
    }

    fn is_idempotent(&self) -> bool {
        self.task == Task::Node
    }
}
