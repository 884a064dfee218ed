//! Spanning tree: its parameters.

use super::graph::{CACHE, DEGREE, EDGES, GRAPH, Input, N, SEED};
use super::{ParamError, ParamSpec, Settings, Spec, spec};

/// The graph.
#[derive(Clone, Debug)]
pub struct Params {
    pub input: Input,
}

impl spec::Params for Params {
    const SPEC: Spec = Spec {
        name: "spanning-tree",
        summary: "a spanning tree, a task per vertex, which may run twice",
        source: "Idempotent work stealing (Michael, Vechev, Saraswat, 2009); Morrison, Afek (2014)",
        params: &[ParamSpec { default: "kgraph", ..GRAPH }, N, DEGREE, EDGES, SEED, CACHE],
        quick: &[("n", "100000")],
        compare: &[("n", "300000")],
        paper: &[("n", "10000000")],
    };

    fn parse(settings: &Settings<'_>) -> Result<Self, ParamError> {
        Ok(Self { input: Input::parse(Self::SPEC.name, settings)? })
    }

    fn values(&self) -> Vec<String> {
        self.input.values()
    }

    fn memory_bytes(&self) -> u64 {
        // For each vertex a parent, a mark of the reachable vertices, and one of the check.
        self.input.memory_bytes() + 6 * u64::from(self.input.vertices())
    }

    fn is_idempotent(&self) -> bool {
        true
    }
}
