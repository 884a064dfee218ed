//! Unbalanced tree search: its parameters, and the published sizes.

use super::{ParamError, ParamSpec, Settings, Spec, spec};

/// A named tree with its size.
pub struct Named {
    pub name: &'static str,
    pub definition: Definition,
    pub nodes: u64,
    pub leaves: Option<u64>,
    pub depth: Option<u32>,
}

/// The defaults of the original program.
const BASE: Definition =
    Definition { kind: TreeKind::Geometric, shape: Shape::Linear, depth: 6, b: 4.0, q: 0.234375, m: 4, seed: 0 };

const fn fixed(depth: u32, seed: u32) -> Definition {
    Definition { shape: Shape::Fixed, depth, seed, ..BASE }
}

const fn cyclic(depth: u32, b: f64, seed: u32) -> Definition {
    Definition { shape: Shape::Cyclic, depth, b, seed, ..BASE }
}

const fn binomial(q: f64, m: u32, seed: u32) -> Definition {
    Definition { kind: TreeKind::Binomial, b: 2000.0, q, m, seed, ..BASE }
}

const T4: Definition = Definition { kind: TreeKind::Hybrid, depth: 16, b: 6.0, seed: 1, ..BASE };

const T5: Definition = Definition { depth: 20, seed: 34, ..BASE };

#[rustfmt::skip]
const NAMED: &[Named] = &[
    Named { name: "T1", definition: fixed(10, 19), nodes: 4_130_071, leaves: Some(3_305_118), depth: Some(10) },
    Named { name: "T2", definition: cyclic(16, 6.0, 502), nodes: 4_117_769, leaves: Some(2_342_762), depth: Some(81) },
    Named { name: "T3", definition: binomial(0.124875, 8, 42), nodes: 4_112_897, leaves: Some(3_599_034), depth: Some(1_572) },
    Named { name: "T4", definition: T4, nodes: 4_132_453, leaves: Some(3_108_986), depth: Some(134) },
    Named { name: "T5", definition: T5, nodes: 4_147_582, leaves: Some(2_181_318), depth: Some(20) },
    // A quarter of T1 and of T3; these two are not published.
    Named { name: "T1S", definition: fixed(9, 19), nodes: 1_031_269, leaves: Some(825_408), depth: Some(9) },
    Named { name: "T3S", definition: binomial(0.124875, 8, 23), nodes: 1_026_961, leaves: Some(898_840), depth: Some(684) },
    Named { name: "T1L", definition: fixed(13, 29), nodes: 102_181_082, leaves: Some(81_746_377), depth: Some(13) },
    Named { name: "T2L", definition: cyclic(23, 7.0, 220), nodes: 96_793_510, leaves: Some(53_791_152), depth: Some(67) },
    Named { name: "T3L", definition: binomial(0.200014, 5, 7), nodes: 111_345_631, leaves: Some(89_076_904), depth: Some(17_844) },
    Named { name: "T1XL", definition: fixed(15, 29), nodes: 1_635_119_272, leaves: Some(1_308_100_063), depth: Some(15) },
    Named { name: "T1XXL", definition: fixed(15, 19), nodes: 4_230_646_601, leaves: None, depth: Some(15) },
    Named { name: "T3XXL", definition: binomial(0.499995, 2, 316), nodes: 2_793_220_501, leaves: None, depth: None },
];

const KINDS: &[(&str, TreeKind)] = &[
    ("binomial", TreeKind::Binomial),
    ("geometric", TreeKind::Geometric),
    ("hybrid", TreeKind::Hybrid),
    ("balanced", TreeKind::Balanced),
    ("0", TreeKind::Binomial),
    ("1", TreeKind::Geometric),
    ("2", TreeKind::Hybrid),
    ("3", TreeKind::Balanced),
];

const SHAPES: &[(&str, Shape)] = &[
    ("linear", Shape::Linear),
    ("exponential", Shape::Exponential),
    ("cyclic", Shape::Cyclic),
    ("fixed", Shape::Fixed),
    ("0", Shape::Linear),
    ("1", Shape::Exponential),
    ("2", Shape::Cyclic),
    ("3", Shape::Fixed),
];

/// The name of a tree outside the list: its values start from the defaults of the original program.
const CUSTOM: &str = "custom";

/// The tree.
#[derive(Clone, Copy, Debug)]
pub struct Params {
    pub definition: Definition,
}

impl Params {
    /// Returns the listed tree with this definition. Parameters that the tree does not use are not compared.
    pub fn named(&self) -> Option<&'static Named> {
        NAMED.iter().find(|named| used(&named.definition) == used(&self.definition))
    }

    /// Returns what is known of the size: that of a listed tree, or of a balanced one, which can be computed.
    pub fn size(&self) -> Option<Size> {
        let listed = self.named().map(|named| Size { nodes: named.nodes, leaves: named.leaves, depth: named.depth });
        listed.or_else(|| balanced(&self.definition))
    }
}

/// What is known of a tree's size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    pub nodes: u64,
    pub leaves: Option<u64>,
    pub depth: Option<u32>,
}

/// Returns the size of a balanced tree, unless it has more nodes than can be counted.
fn balanced(definition: &Definition) -> Option<Size> {
    let &Definition { kind: TreeKind::Balanced, b, depth, .. } = definition else { return None };
    let children = b as u64;
    if children == 0 {
        return Some(Size { nodes: 1, leaves: Some(1), depth: Some(0) });
    }
    let (mut nodes, mut leaves) = (1_u64, 1_u64);
    for _ in 0..depth {
        leaves = leaves.checked_mul(children)?;
        nodes = nodes.checked_add(leaves)?;
    }
    Some(Size { nodes, leaves: Some(leaves), depth: Some(depth) })
}

/// Sets everything without effect to its base value.
fn used(definition: &Definition) -> Definition {
    let mut used = *definition;
    if used.kind == TreeKind::Binomial {
        (used.shape, used.depth) = (BASE.shape, BASE.depth);
    }
    if matches!(used.kind, TreeKind::Geometric | TreeKind::Balanced) {
        (used.q, used.m) = (BASE.q, BASE.m);
    }
    if used.kind == TreeKind::Balanced {
        (used.shape, used.seed) = (BASE.shape, BASE.seed);
    }
    used
}

impl spec::Params for Params {
    const SPEC: Spec = Spec {
        name: "uts",
        summary: "unbalanced tree search, a fork per node",
        source: "UTS (Olivier et al., 2006); Lace (van Dijk, van de Pol, 2014)",
        params: PARAMS,
        quick: &[("tree", "T1"), ("depth", "8")],
        compare: &[("tree", "T3S")],
        paper: &[("tree", "T3L")],
    };

    fn parse(settings: &Settings<'_>) -> Result<Self, ParamError> {
        let trees: Vec<_> = NAMED.iter().map(|named| (named.name, named.definition)).chain([(CUSTOM, BASE)]).collect();
        let base = settings.word("tree", settings.text("tree"), &trees)?;
        let kind = settings.given("type").map_or(Ok(base.kind), |text| settings.word("type", text, KINDS))?;
        let shape = settings.given("shape").map_or(Ok(base.shape), |text| settings.word("shape", text, SHAPES))?;
        let depth = settings.whole_or("depth", base.depth.into(), (1, 1_000_000), "")?;
        let m = settings.whole_or("m", base.m.into(), (0, 1_000_000), "")?;
        let seed = settings.whole_or("seed", base.seed.into(), (0, i32::MAX as u64), "")?;
        let b = settings.real_or("b", base.b, (0.0, 1e6))?;
        let q = settings.real_or("q", base.q, (0.0, 1.0))?;
        let definition = Definition { kind, shape, depth: depth as u32, b, q, m: m as u32, seed: seed as u32 };
        let params = Self { definition };
        let mean = q * f64::from(definition.m);
        // Published trees with a mean of at least 1 happen to be finite.
        if kind == TreeKind::Balanced && balanced(&definition).is_none() {
            return Err(settings.bad("depth", "gives a balanced tree more nodes than 64 bits can count"));
        }
        if matches!(kind, TreeKind::Binomial | TreeKind::Hybrid) && mean >= 1.0 && params.named().is_none() {
            let culprit = if settings.given("m").is_some() && settings.given("q").is_none() { "m" } else { "q" };
            return Err(ParamError::BadValue {
                workload: "uts",
                param: culprit,
                value: if culprit == "m" { m.to_string() } else { q.to_string() },
                why: format!("makes the tree infinite: q·m is {mean}, but must be below 1"),
            });
        }
        if matches!(kind, TreeKind::Geometric | TreeKind::Hybrid) && shape == Shape::Exponential && definition.depth < 2
        {
            return Err(settings.bad("depth", "is too small for an exponential shape: at least 2"));
        }
        Ok(params)
    }

    fn values(&self) -> Vec<String> {
        let Definition { kind, shape, depth, b, q, m, seed } = self.definition;
        let name = self.named().map_or(CUSTOM, |named| named.name);
        let kind = KINDS.iter().find(|&&(_, other)| other == kind).map_or("", |&(word, _)| word);
        let shape = SHAPES.iter().find(|&&(_, other)| other == shape).map_or("", |&(word, _)| word);
        vec![
            name.to_owned(),
            kind.to_owned(),
            shape.to_owned(),
            depth.to_string(),
            b.to_string(),
            q.to_string(),
            m.to_string(),
            seed.to_string(),
        ]
    }

    fn tasks(&self) -> Option<u64> {
        self.size().map(|size| size.nodes - 1)
    }

    fn memory_bytes(&self) -> u64 {
        0
    }
}

const PARAMS: &[ParamSpec] = &[
    ParamSpec { name: "tree", help: "T1 to T5, T1S, T3S, T1L, T2L, T3L, T1XL, T1XXL, T3XXL or custom", default: "T1" },
    ParamSpec { name: "type", help: "binomial, geometric, hybrid or balanced, instead of the tree's own", default: "" },
    ParamSpec { name: "shape", help: "linear, exponential, cyclic or fixed (geometric, hybrid)", default: "" },
    ParamSpec { name: "depth", help: "depth limit (geometric, hybrid, balanced)", default: "" },
    ParamSpec { name: "b", help: "children of the root, or their mean; of each node (balanced)", default: "" },
    ParamSpec { name: "q", help: "probability of having children (binomial, hybrid)", default: "" },
    ParamSpec { name: "m", help: "children of a node that has any (binomial, hybrid)", default: "" },
    ParamSpec { name: "seed", help: "seed of the root", default: "" },
];

/// How the number of children is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TreeKind {
    /// A node has m children or none, with the same probability at every depth; the root has ⌊b⌋.
    Binomial,
    /// Geometrically distributed, with a mean that depends on the depth.
    Geometric,
    /// Geometric in the upper half of the depth limit, binomial below.
    Hybrid,
    /// Every node above the depth limit has ⌊b⌋ children.
    Balanced,
}

/// How the mean number of children of a geometric tree changes with the depth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// It falls linearly to 0 at the depth limit.
    Linear,
    /// It falls exponentially.
    Exponential,
    /// It oscillates between b and 1/b, and ends at five times the depth limit.
    Cyclic,
    /// It is constant down to the depth limit.
    Fixed,
}

/// The definition of a tree.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Definition {
    /// How the number of children is drawn.
    pub kind: TreeKind,
    /// How the mean changes with the depth (geometric and hybrid trees).
    pub shape: Shape,
    /// The depth limit (of all but binomial trees).
    pub depth: u32,
    /// The children of the root: their number (binomial) or their mean; or of every inner node (balanced).
    pub b: f64,
    /// The probability of having children (binomial and hybrid trees).
    pub q: f64,
    /// The children of a node that has any (binomial and hybrid trees).
    pub m: u32,
    /// The seed of the root's state.
    pub seed: u32,
}

/// The size of a tree or subtree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Count {
    /// All nodes.
    pub nodes: u64,
    /// Nodes without children.
    pub leaves: u64,
    /// The height of the deepest node; the root has height 0.
    pub depth: u32,
}

impl Count {
    #[inline]
    pub fn and(self, other: Self) -> Self {
        Self { nodes: self.nodes + other.nodes, leaves: self.leaves + other.leaves, depth: self.depth.max(other.depth) }
    }
}
