//! Maximal independent set: its parameters.

use super::graph::{CACHE, DEGREE, EDGES, GRAPH, N, SEED};
use super::rounds::Choice;
use super::{ParamError, ParamSpec, Settings, Spec, spec};

/// The graph.
#[derive(Clone, Debug)]
pub struct Params(pub Choice);

impl spec::Params for Params {
    const SPEC: Spec = Spec {
        name: "mis",
        summary: "maximal independent set of a graph by deterministic reservations",
        source: "Private deques (Acar, Charguéraud, Rainey, 2013); PBBS",
        params: &[
            GRAPH,
            ParamSpec { default: "1000000", ..N },
            DEGREE,
            EDGES,
            SEED,
            CACHE,
            ParamSpec { name: "grain", help: "vertices per task; 0: split on demand", default: "0" },
        ],
        quick: &[("n", "262144")],
        compare: &[("n", "1000000")],
        paper: &[("n", "40000000")],
    };

    fn parse(settings: &Settings<'_>) -> Result<Self, ParamError> {
        Choice::parse(Self::SPEC.name, settings).map(Self)
    }

    fn values(&self) -> Vec<String> {
        self.0.values()
    }

    /// The graph, and for each vertex its place in the order, two states, and the sort's scratch space.
    fn memory_bytes(&self) -> u64 {
        self.0.input.memory_bytes() + (4 + 2 + 16) * u64::from(self.0.input.vertices())
    }
}
