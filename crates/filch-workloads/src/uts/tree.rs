//! The trees: their nodes and numbers of children.

use filch_catalogue::programs::uts::{Definition, Shape, TreeKind};
use sha1::block_api::compress;

/// The largest number of children of a node in a geometric tree, and of a node other than the root in a binomial tree.
const MOST_CHILDREN: u32 = 100;

/// A node: the hash that determines everything below it.
#[derive(Clone, Copy, Debug)]
pub struct Node {
    state: [u32; 5],
    height: u32,
}

const INITIAL_STATE: [u32; 5] = [0x6745_2301, 0xefcd_ab89, 0x98ba_dcfe, 0x1032_5476, 0xc3d2_e1f0];

impl Node {
    /// The root of the tree with this seed: the hash of 16 zero bytes and the seed.
    pub fn root(seed: u32) -> Self {
        Self { state: hash([0, 0, 0, 0, seed], None), height: 0 }
    }

    /// The hash of the parent's state and the child's index. Out of line, so that its block is in no other frame.
    #[inline(never)]
    pub fn child(&self, index: u32) -> Self {
        Self { state: hash(self.state, Some(index)), height: self.height + 1 }
    }

    /// Creates the node with this state, for programs in other languages.
    pub fn new(state: [u32; 5], height: u32) -> Self {
        Self { state, height }
    }

    /// The hash that determines everything below the node.
    pub fn state(&self) -> [u32; 5] {
        self.state
    }

    /// The distance from the root.
    #[inline]
    pub fn height(&self) -> u32 {
        self.height
    }

    /// The node's 31-bit random number.
    #[inline]
    fn random(&self) -> u32 {
        self.state[4] & 0x7fff_ffff
    }
}

/// SHA-1 of five or six big-endian words: always a single block with a known padding.
#[inline(always)]
fn hash(words: [u32; 5], last: Option<u32>) -> [u32; 5] {
    let mut block = [0; 64];
    let message = words.into_iter().chain(last);
    let mut length = 0;
    for word in message {
        block[length..length + 4].copy_from_slice(&word.to_be_bytes());
        length += 4;
    }
    block[length] = 0x80;
    block[60..].copy_from_slice(&(8 * length as u32).to_be_bytes());
    let mut state = INITIAL_STATE;
    compress(&mut state, &[block]);
    state
}

/// A tree, ready to be traversed.
#[derive(Clone, Debug)]
pub struct Tree {
    definition: Definition,
    /// ln(1 - p) for the geometric distribution at each height of the table. Beyond the table an exponential shape
    /// computes it, and any other has no children.
    scale: Vec<f64>,
    /// Nodes from this height on are binomial, or leaves of a balanced tree.
    binomial_from: u32,
    /// A binomial node has children if its random number is below this.
    threshold: u32,
}

impl Tree {
    /// The tree of this definition.
    pub fn new(definition: Definition) -> Self {
        let Definition { kind, shape, depth, q, .. } = definition;
        let binomial_from = match kind {
            TreeKind::Binomial => 0,
            TreeKind::Geometric => u32::MAX,
            // height < 0.5 · depth
            TreeKind::Hybrid => depth.div_ceil(2),
            TreeKind::Balanced => depth,
        };
        let heights = match (kind, shape) {
            (TreeKind::Binomial | TreeKind::Balanced, _) => 0,
            (_, Shape::Cyclic) => 5 * depth + 1,
            (_, Shape::Linear | Shape::Fixed) => depth,
            (_, Shape::Exponential) => EXPONENTIAL_TABLE,
        };
        let scale = (0..=heights).map(|height| (1.0 - 1.0 / (1.0 + mean(&definition, height))).ln()).collect();
        // random / 2³¹ < q; below the depth limit of a balanced tree there is nothing.
        let threshold = if kind == TreeKind::Balanced { 0 } else { (q * 2_f64.powi(31)).ceil() as u32 };
        Self { definition, scale, binomial_from, threshold }
    }

    /// The definition of the tree.
    pub fn definition(&self) -> &Definition {
        &self.definition
    }

    /// The root of the tree.
    pub fn root(&self) -> Node {
        Node::root(self.definition.seed)
    }

    /// Returns how many children a node has.
    #[inline]
    pub fn children(&self, node: &Node) -> u32 {
        if node.height < self.binomial_from {
            self.geometric(node)
        } else if node.height > 0 || self.definition.kind != TreeKind::Binomial {
            if node.random() < self.threshold { self.definition.m } else { 0 }
        } else {
            self.definition.b as u32
        }
    }

    #[inline(never)]
    fn geometric(&self, node: &Node) -> u32 {
        if self.definition.kind == TreeKind::Balanced {
            return self.definition.b as u32;
        }
        let scale = match self.scale.get(node.height as usize) {
            Some(&scale) => scale,
            None if self.definition.shape == Shape::Exponential => {
                (1.0 - 1.0 / (1.0 + mean(&self.definition, node.height))).ln()
            }
            None => return 0,
        };
        let u = f64::from(node.random()) / 2_f64.powi(31);
        let children = ((1.0 - u).ln() / scale).floor();
        // This also covers the quotient of a zero: the conversion gives 0.
        (children as u32).min(MOST_CHILDREN)
    }
}

/// The number of precomputed means of an exponential shape, which has no last height.
const EXPONENTIAL_TABLE: u32 = 1 << 12;

/// Returns the mean number of children at a height, by the shape.
fn mean(definition: &Definition, height: u32) -> f64 {
    let &Definition { shape, depth: limit, b, .. } = definition;
    if height == 0 {
        return b;
    }
    let (d, l) = (f64::from(height), f64::from(limit));
    match shape {
        Shape::Linear if height >= limit => 0.0,
        Shape::Linear => b * (1.0 - d / l),
        Shape::Exponential => b * d.powf(-b.ln() / l.ln()),
        Shape::Cyclic if height > 5 * limit => 0.0,
        Shape::Cyclic => b.powf((2.0 * std::f64::consts::PI * d / l).sin()),
        Shape::Fixed if height < limit => b,
        Shape::Fixed => 0.0,
    }
}
