//! All fork–join computations of a few nodes.

use std::fmt;

use crate::dag::{Builder, Dag};

/// A part of a computation.
#[derive(Clone, Debug)]
enum Part {
    Node,
    /// A fork, its branches, and their join. The owner runs the first branch.
    Fork(Graph, Graph),
}

/// A computation: its parts, one after the other. It is written as its parts are, with a number for a chain of so many
/// nodes, and `(a|b)` for a fork of the branches a and b, with its join.
#[derive(Clone, Debug)]
pub(super) struct Graph(Vec<Part>);

impl Graph {
    /// All computations of a number of nodes.
    pub(super) fn all(nodes: usize) -> Vec<Self> {
        if nodes == 0 {
            return vec![Self(Vec::new())];
        }
        let then = |first: Part, rest: usize| {
            Self::all(rest).into_iter().map(move |rest| Self([vec![first.clone()], rest.0].concat()))
        };
        let mut all: Vec<Self> = then(Part::Node, nodes - 1).collect();
        for within in 2..nodes.saturating_sub(1) {
            for first in 1..within {
                for a in Self::all(first) {
                    for b in Self::all(within - first) {
                        all.extend(then(Part::Fork(a.clone(), b), nodes - 2 - within));
                    }
                }
            }
        }
        all
    }

    pub(super) fn nodes(&self) -> usize {
        let of = |part: &Part| match part {
            Part::Node => 1,
            Part::Fork(a, b) => 2 + a.nodes() + b.nodes(),
        };
        self.0.iter().map(of).sum()
    }

    pub(super) fn dag(&self) -> Dag {
        let mut builder = Builder::default();
        self.build(&mut builder);
        builder.dag()
    }

    /// Adds the nodes, and returns the first and the last one.
    fn build(&self, builder: &mut Builder) -> (u32, u32) {
        let mut ends: Option<(u32, u32)> = None;
        for part in &self.0 {
            let (first, last) = match part {
                Part::Node => builder.chain(1),
                Part::Fork(a, b) => {
                    let fork = builder.node();
                    let (a, b) = (a.build(builder), b.build(builder));
                    let join = builder.node();
                    builder.fork(fork, a.0, b.0);
                    builder.edge(a.1, join);
                    builder.edge(b.1, join);
                    (fork, join)
                }
            };
            if let Some((_, before)) = ends {
                builder.edge(before, first);
            }
            ends = Some((ends.map_or(first, |(first, _)| first), last));
        }
        ends.expect("a computation has a node")
    }
}

impl fmt::Display for Graph {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for parts in self.0.chunk_by(|a, b| matches!((a, b), (Part::Node, Part::Node))) {
            match &parts[0] {
                Part::Node => write!(f, "{}", parts.len())?,
                Part::Fork(a, b) => write!(f, "({a}|{b})")?,
            }
        }
        Ok(())
    }
}

#[test]
fn small_graphs_are_listed() {
    let written = |nodes| Graph::all(nodes).iter().map(Graph::to_string).collect::<Vec<_>>();
    assert_eq!(written(3), ["3"]);
    assert_eq!(written(5), ["5", "1(1|1)", "(1|1)1", "(1|2)", "(2|1)"]);
    for nodes in 1..9 {
        assert!(Graph::all(nodes).iter().all(|graph| graph.nodes() == nodes && graph.dag().work() == nodes as u64));
    }
}
