//! Spanning tree: its parameters.

use super::graph::{CACHE, DEGREE, EDGES, GRAPH, Input, N, SEED};
use super::{ParamError, ParamSpec, Settings, Spec, spec};

/// The graph, and how a vertex gets its parent.
#[derive(Clone, Debug)]
pub struct Params {
    pub input: Input,
    pub adoption: Adoption,
}

/// How a vertex gets its parent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Adoption {
    /// By a load and a store where that is right, elsewhere by compare-and-swap.
    Auto,
    /// By a load and a store, perhaps several times.
    Store,
    /// By compare-and-swap, once.
    Swap,
}

const ADOPTIONS: &[(&str, Adoption)] =
    &[("auto", Adoption::Auto), ("store", Adoption::Store), ("swap", Adoption::Swap)];

impl Adoption {
    fn name(self) -> &'static str {
        ADOPTIONS.iter().find(|(_, adoption)| *adoption == self).map_or("", |(name, _)| name)
    }
}

const ADOPT: ParamSpec = ParamSpec {
    name: "adopt",
    help: "how a vertex gets its parent: store (a load and a store), swap (compare-and-swap), or auto: store on queues whose pops have fences",
    default: "auto",
};

impl spec::Params for Params {
    const SPEC: Spec = Spec {
        name: "spanning-tree",
        summary: "a spanning tree, a task per vertex, which may run twice",
        source: "Idempotent work stealing (Michael, Vechev, Saraswat, 2009); Morrison, Afek (2014)",
        params: &[ParamSpec { default: "kgraph", ..GRAPH }, N, DEGREE, EDGES, SEED, CACHE, ADOPT],
        quick: &[("n", "100000")],
        compare: &[("n", "300000")],
        paper: &[("n", "10000000")],
    };

    fn parse(settings: &Settings<'_>) -> Result<Self, ParamError> {
        Ok(Self {
            input: Input::parse(Self::SPEC.name, settings)?,
            adoption: settings.word(ADOPT.name, settings.text(ADOPT.name), ADOPTIONS)?,
        })
    }

    fn values(&self) -> Vec<String> {
        self.input.values().into_iter().chain([self.adoption.name().to_owned()]).collect()
    }

    fn memory_bytes(&self) -> u64 {
        // For each vertex a parent, a mark of the reachable vertices, and one of the check.
        self.input.memory_bytes() + 6 * u64::from(self.input.vertices())
    }

    fn is_idempotent(&self) -> bool {
        true
    }
}
