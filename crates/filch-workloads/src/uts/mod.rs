//! Unbalanced tree search: counts the nodes of a tree that is defined by a cryptographic hash, so that nothing about a
//! subtree can be known before it is visited.
//!
//! A node is a SHA-1 state; child i hashes it with i. The task of a node hashes and forks each child. The tree named T3
//! and its larger relatives are where schedulers differ most: almost all subtrees are tiny, a few are huge and deep.

pub(crate) mod tree;

pub use tree::{Count, Definition, Kind, Node, Shape, Tree};

use std::sync::OnceLock;

use crate::ForkJoin;
use crate::answer::{Answer, expect};
use crate::params::{ParamError, ParamSpec, Settings};
use crate::spec::{self, Forks, Runs, Spec};

/// A tree with a name and its size.
struct Named {
    name: &'static str,
    definition: Definition,
    nodes: u64,
    leaves: Option<u64>,
    depth: Option<u32>,
}

/// The values that the original program starts from.
const BASE: Definition =
    Definition { kind: Kind::Geometric, shape: Shape::Linear, depth: 6, b: 4.0, q: 0.234375, m: 4, seed: 0 };

const fn fixed(depth: u32, seed: u32) -> Definition {
    Definition { shape: Shape::Fixed, depth, seed, ..BASE }
}

const fn cyclic(depth: u32, b: f64, seed: u32) -> Definition {
    Definition { shape: Shape::Cyclic, depth, b, seed, ..BASE }
}

const fn binomial(q: f64, m: u32, seed: u32) -> Definition {
    Definition { kind: Kind::Binomial, b: 2000.0, q, m, seed, ..BASE }
}

const T4: Definition = Definition { kind: Kind::Hybrid, depth: 16, b: 6.0, seed: 1, ..BASE };
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

const KINDS: &[(&str, Kind)] = &[
    ("binomial", Kind::Binomial),
    ("geometric", Kind::Geometric),
    ("hybrid", Kind::Hybrid),
    ("0", Kind::Binomial),
    ("1", Kind::Geometric),
    ("2", Kind::Hybrid),
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

/// The tree that is not in the list: its values start from those of the original program.
const CUSTOM: &str = "custom";

/// The tree.
#[derive(Clone, Copy, Debug)]
pub struct Params {
    definition: Definition,
}

impl Params {
    /// The list's entry with this definition. Parameters that the tree does not use are not compared.
    fn named(&self) -> Option<&'static Named> {
        NAMED.iter().find(|named| used(&named.definition) == used(&self.definition))
    }
}

/// The definition with everything that has no effect at its base value.
fn used(definition: &Definition) -> Definition {
    let mut used = *definition;
    if used.kind == Kind::Binomial {
        (used.shape, used.depth) = (BASE.shape, BASE.depth);
    }
    if used.kind == Kind::Geometric {
        (used.q, used.m) = (BASE.q, BASE.m);
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
    type Instance = Instance;

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
        // Published trees with a mean of 1 and more happen to be finite.
        if kind != Kind::Geometric && mean >= 1.0 && params.named().is_none() {
            let culprit = if settings.given("m").is_some() && settings.given("q").is_none() { "m" } else { "q" };
            return Err(ParamError::BadValue {
                workload: "uts",
                param: culprit,
                value: if culprit == "m" { m.to_string() } else { q.to_string() },
                why: format!("makes the tree infinite: q·m is {mean}, and must be below 1"),
            });
        }
        if kind != Kind::Binomial && shape == Shape::Exponential && definition.depth < 2 {
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
        self.named().map(|named| named.nodes - 1)
    }

    fn memory_bytes(&self) -> u64 {
        0
    }

    fn prepare(&self) -> Result<Instance, ParamError> {
        Ok(Instance { params: *self, tree: Tree::new(self.definition), counted: OnceLock::new() })
    }
}

const PARAMS: &[ParamSpec] = &[
    ParamSpec { name: "tree", help: "T1 to T5, T1S, T3S, T1L, T2L, T3L, T1XL, T1XXL, T3XXL or custom", default: "T1" },
    ParamSpec { name: "type", help: "binomial, geometric or hybrid, instead of the tree's own", default: "" },
    ParamSpec { name: "shape", help: "linear, exponential, cyclic or fixed (geometric, hybrid)", default: "" },
    ParamSpec { name: "depth", help: "depth limit (geometric, hybrid)", default: "" },
    ParamSpec { name: "b", help: "children of the root, or their mean", default: "" },
    ParamSpec { name: "q", help: "probability of having children (binomial, hybrid)", default: "" },
    ParamSpec { name: "m", help: "how many children those have (binomial, hybrid)", default: "" },
    ParamSpec { name: "seed", help: "seed of the root", default: "" },
];

/// The program; it needs no memory.
#[derive(Debug)]
pub struct Instance {
    params: Params,
    tree: Tree,
    /// The size of a tree that is not in the list, once it was counted sequentially.
    counted: OnceLock<Count>,
}

impl Instance {
    /// The tree that is searched.
    pub fn tree(&self) -> &Tree {
        &self.tree
    }

    /// How deep the search nests, as far as it is known.
    pub fn depth(&self) -> Option<u32> {
        self.params.named().and_then(|named| named.depth)
    }
}

impl Runs for Instance {
    fn serial(&mut self) -> Answer {
        Answer::Tree(serial(&self.tree, &self.tree.root()))
    }

    fn check(&self, answer: &Answer) -> Result<(), String> {
        let Some(named) = self.params.named() else {
            let right = self.counted.get_or_init(|| serial(&self.tree, &self.tree.root()));
            return expect(answer, &Answer::Tree(*right));
        };
        let &Answer::Tree(Count { leaves, depth, .. }) = answer else {
            return Err(format!("the answer is {answer}, but it should be the size of a tree"));
        };
        let right =
            Count { nodes: named.nodes, leaves: named.leaves.unwrap_or(leaves), depth: named.depth.unwrap_or(depth) };
        expect(answer, &Answer::Tree(right))
    }

    fn tasks(&self, answer: &Answer) -> Option<u64> {
        match answer {
            Answer::Tree(count) => Some(count.nodes - 1),
            _ => None,
        }
    }

    fn nesting(&self) -> u64 {
        // Of the trees without a published depth the largest has some ten times the depth of the largest known one.
        const UNKNOWN_BINOMIAL: u64 = 200_000;
        let Definition { kind, depth, .. } = self.params.definition;
        let known = self.params.named().and_then(|named| named.depth).map(u64::from);
        known.unwrap_or(if kind == Kind::Geometric { 6 * u64::from(depth) } else { UNKNOWN_BINOMIAL })
    }
}

impl Forks for Instance {
    fn fork_join<J: ForkJoin>(&mut self, j: J) -> Answer {
        Answer::Tree(search(j, &self.tree, &self.tree.root()))
    }
}

/// The fork–join program: the size of the tree below and with `node`.
///
/// ```
/// use filch_workloads::Serial;
/// use filch_workloads::uts::{Definition, Kind, Shape, Tree, search};
///
/// let definition =
///     Definition { kind: Kind::Geometric, shape: Shape::Fixed, depth: 2, b: 4.0, q: 0.0, m: 0, seed: 19 };
/// let tree = Tree::new(definition);
/// assert_eq!(search(Serial, &tree, &tree.root()).depth, 2);
/// ```
pub fn search<J: ForkJoin>(mut j: J, tree: &Tree, node: &Node) -> Count {
    let depth = node.height();
    let children = tree.children(node);
    if children == 0 {
        return Count { nodes: 1, leaves: 1, depth };
    }
    let one = Count { nodes: 1, leaves: 0, depth };
    j.fork_all(0..children, move |j, index| search(j, tree, &node.child(index)), one, Count::and)
}

/// The sequential program.
fn serial(tree: &Tree, node: &Node) -> Count {
    let depth = node.height();
    let children = tree.children(node);
    if children == 0 {
        return Count { nodes: 1, leaves: 1, depth };
    }
    let mut count = Count { nodes: 1, leaves: 0, depth };
    for index in 0..children {
        count = count.and(serial(tree, &node.child(index)));
    }
    count
}
