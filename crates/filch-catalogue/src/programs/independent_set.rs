//! Maximal independent set: its parameters.

use super::grain::grain_help;
use super::graph::{CACHE, DEGREE, EDGES, GRAPH, N, SEED};
use super::rounds::Choice;
use super::{ParamError, ParamSpec, Settings, Spec, spec};

/// The graph, and the phases of a round.
#[derive(Clone, Debug)]
pub struct Params {
    pub choice: Choice,
    pub phases: Phases,
}

/// How many loops a round has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phases {
    /// Two: the first decides, the second stores what is decided.
    Two,
    /// One that does both.
    One,
}

const PHASES: &[(&str, Phases)] = &[("2", Phases::Two), ("1", Phases::One)];

const PHASES_PARAM: ParamSpec = ParamSpec {
    name: "phases",
    help: "loops per round: 2, which decide and then store, as in PBBS, or 1, which does both",
    default: "2",
};

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
            ParamSpec { name: "grain", help: grain_help!("vertices"), default: "0" },
            PHASES_PARAM,
        ],
        quick: &[("n", "262144")],
        compare: &[("n", "1000000")],
        paper: &[("n", "40000000")],
    };

    fn parse(settings: &Settings<'_>) -> Result<Self, ParamError> {
        Ok(Self {
            choice: Choice::parse(Self::SPEC.name, settings)?,
            phases: settings.word(PHASES_PARAM.name, settings.text(PHASES_PARAM.name), PHASES)?,
        })
    }

    fn values(&self) -> Vec<String> {
        let phases = if self.phases == Phases::Two { "2" } else { "1" };
        self.choice.values().into_iter().chain([phases.to_owned()]).collect()
    }

    /// The graph, and for each vertex its place in the order, three states, and the sort's scratch space.
    fn memory_bytes(&self) -> u64 {
        self.choice.input.memory_bytes() + (4 + 3 + 16) * u64::from(self.choice.input.vertices())
    }
}
