//! Tasks that sleep: their parameters.

use std::fmt;

use super::{ParamError, ParamSpec, Settings, Spec, spec};

pub const MOST_LEAVES: u64 = 1_000_000;

/// A minute, in microseconds.
const LONGEST: u64 = 60_000_000;

/// How the leaves of `spread` are forked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// Halves, down to single leaves.
    Tree,
    /// A leaf beside all the others, which are forked first: all are forked before one runs.
    List,
    /// A leaf beside all the others: the first runs before the third is forked.
    Backwards,
    /// All forked at once.
    Forks,
    /// A loop.
    Loop,
}

const SHAPES: &[(&str, Shape)] = &[
    ("tree", Shape::Tree),
    ("list", Shape::List),
    ("backwards", Shape::Backwards),
    ("forks", Shape::Forks),
    ("loop", Shape::Loop),
];

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, _) = SHAPES.iter().find(|(_, shape)| shape == self).expect("every shape is listed");
        f.write_str(name)
    }
}

/// The leaves, and how they are forked.
#[derive(Clone, Copy, Debug)]
pub struct Spread {
    pub n: u64,
    pub micros: u64,
    pub shape: Shape,
}

impl spec::Params for Spread {
    const SPEC: Spec = Spec {
        name: "spread",
        summary: "leaves that sleep equally long, as a tree, a list or a loop",
        source: "filch",
        params: &[
            ParamSpec { name: "n", help: "number of leaves", default: "16" },
            ParamSpec { name: "micros", help: "sleep of each leaf, in microseconds", default: "5000" },
            ParamSpec { name: "shape", help: "tree, list, backwards, forks or loop", default: "tree" },
        ],
        quick: &[("n", "8"), ("micros", "2000")],
        compare: &[("n", "16"), ("micros", "5000")],
        paper: &[("n", "16"), ("micros", "50000")],
    };

    fn parse(settings: &Settings<'_>) -> Result<Self, ParamError> {
        Ok(Self {
            n: settings.whole("n", 1, MOST_LEAVES, "")?,
            micros: settings.whole("micros", 0, LONGEST, ", a minute")?,
            shape: settings.word("shape", settings.text("shape"), SHAPES)?,
        })
    }

    fn values(&self) -> Vec<String> {
        vec![self.n.to_string(), self.micros.to_string(), self.shape.to_string()]
    }

    fn memory_bytes(&self) -> u64 {
        0
    }
}

/// The leaves, the longest sleep, and the tree.
#[derive(Clone, Copy, Debug)]
pub struct Grain {
    pub n: u64,
    pub longest: u64,
    pub seed: u64,
}

/// The shortest sleep of a leaf, in microseconds.
pub const SHORTEST: u64 = 10;

impl spec::Params for Grain {
    const SPEC: Spec = Spec {
        name: "grain",
        summary: "leaves that sleep between 10 µs and `longest`, under random forks and loops",
        source: "filch",
        params: &[
            ParamSpec { name: "n", help: "number of leaves", default: "200" },
            ParamSpec { name: "longest", help: "longest sleep, in microseconds", default: "10000" },
            ParamSpec { name: "seed", help: "seed of the tree", default: "1" },
        ],
        quick: &[("n", "40"), ("longest", "2000")],
        compare: &[("n", "100"), ("longest", "4000")],
        paper: &[("n", "1000"), ("longest", "100000")],
    };

    fn parse(settings: &Settings<'_>) -> Result<Self, ParamError> {
        Ok(Self {
            n: settings.whole("n", 1, MOST_LEAVES, "")?,
            longest: settings.whole("longest", SHORTEST, LONGEST, ", a minute")?,
            seed: settings.whole("seed", 0, u64::MAX, "")?,
        })
    }

    fn values(&self) -> Vec<String> {
        vec![self.n.to_string(), self.longest.to_string(), self.seed.to_string()]
    }

    fn memory_bytes(&self) -> u64 {
        0
    }
}
