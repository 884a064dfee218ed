//! Transitive closure of a vertex: its parameters.

use super::graph::{self, CACHE, DEGREE, EDGES, GRAPH, Input, N, SEED};
use super::{ParamError, ParamSpec, Settings, Spec, spec};

/// The graph.
#[derive(Clone, Debug)]
pub struct Params {
    pub input: Input,
}

impl spec::Params for Params {
    const SPEC: Spec = Spec {
        name: "closure",
        summary: "transitive closure of a vertex, a task per vertex, which may run twice",
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
        self.input.memory_bytes() + graph::marks_bytes(self.input.vertices())
    }

    fn is_idempotent(&self) -> bool {
        true
    }
}
