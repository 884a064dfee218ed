//! Maximal matching: its parameters.

use super::grain::grain_help;
use super::graph::{CACHE, DEGREE, EDGES, GRAPH, N, SEED};
use super::rounds::Choice;
use super::{ParamError, ParamSpec, Settings, Spec, spec};

/// The graph.
#[derive(Clone, Debug)]
pub struct Params(pub Choice);

impl spec::Params for Params {
    const SPEC: Spec = Spec {
        name: "matching",
        summary: "maximal matching of a graph by deterministic reservations",
        source: "Private deques (Acar, Charguéraud, Rainey, 2013); PBBS",
        params: &[
            GRAPH,
            ParamSpec { default: "3000000", ..N },
            DEGREE,
            EDGES,
            SEED,
            CACHE,
            ParamSpec { name: "grain", help: grain_help!("edges"), default: "0" },
        ],
        quick: &[("n", "1000000")],
        compare: &[("n", "3000000")],
        paper: &[("n", "40000000")],
    };

    fn parse(settings: &Settings<'_>) -> Result<Self, ParamError> {
        Choice::parse(Self::SPEC.name, settings).map(Self)
    }

    fn values(&self) -> Vec<String> {
        self.0.values()
    }

    /// The graph while it is built; then for each edge its ends twice, its number, and the sort's scratch space; for
    /// each vertex two numbers.
    fn memory_bytes(&self) -> u64 {
        let input = &self.0.input;
        input.memory_bytes() + (8 + 8 + 16 + 4) * input.edges() + 8 * u64::from(input.vertices())
    }
}
