//! Unbalanced tree search: counts the nodes of a tree defined by a cryptographic hash, so that nothing about a subtree
//! is known before it is visited.
//!
//! A node is a SHA-1 state; child i is its hash with i. The task of a node hashes and forks each child. Schedulers
//! differ most on the tree named T3 and its larger relatives: almost all subtrees are tiny, a few are huge and deep.

pub(crate) mod tree;

pub use filch_catalogue::programs::uts::{Count, Definition, Shape, TreeKind};
pub use tree::{Node, Tree};

use std::sync::OnceLock;

use filch_catalogue::ParamError;
use filch_catalogue::programs::uts::Params;

use crate::ForkJoin;
use crate::answer::{Answer, expect};
use crate::spec::{Forks, Prepare, Runs};

impl Prepare for Params {
    type Instance = Instance;

    fn prepare(&self) -> Result<Instance, ParamError> {
        Ok(Instance { params: *self, tree: Tree::new(self.definition), counted: OnceLock::new() })
    }
}

/// The program; it needs no memory.
#[derive(Debug)]
pub struct Instance {
    params: Params,
    tree: Tree,
    /// The size of an unlisted tree, once it has been counted sequentially.
    counted: OnceLock<Count>,
}

impl Instance {
    /// The tree to search.
    pub fn tree(&self) -> &Tree {
        &self.tree
    }

    /// Returns how deep the search nests, if known.
    pub fn depth(&self) -> Option<u32> {
        self.params.size().and_then(|size| size.depth)
    }
}

impl Runs for Instance {
    fn serial(&mut self) -> Answer {
        Answer::Tree(serial(&self.tree, &self.tree.root()))
    }

    fn check(&self, answer: &Answer) -> Result<(), String> {
        let Some(size) = self.params.size() else {
            let right = self.counted.get_or_init(|| serial(&self.tree, &self.tree.root()));
            return expect(answer, &Answer::Tree(*right));
        };
        let &Answer::Tree(Count { leaves, depth, .. }) = answer else {
            return Err(format!("the answer is {answer}, but it should be the size of a tree"));
        };
        let right =
            Count { nodes: size.nodes, leaves: size.leaves.unwrap_or(leaves), depth: size.depth.unwrap_or(depth) };
        expect(answer, &Answer::Tree(right))
    }

    fn tasks(&self, answer: &Answer) -> Option<u64> {
        match answer {
            Answer::Tree(count) => Some(count.nodes - 1),
            _ => None,
        }
    }

    fn nesting(&self) -> u64 {
        // Among the trees without a published depth, the largest has some ten times the depth of the largest known one.
        const UNKNOWN_BINOMIAL: u64 = 200_000;
        let Definition { kind, depth, .. } = self.params.definition;
        let known = self.params.size().and_then(|size| size.depth).map(u64::from);
        known.unwrap_or(if kind == TreeKind::Geometric { 6 * u64::from(depth) } else { UNKNOWN_BINOMIAL })
    }
}

impl Forks for Instance {
    fn fork_join<J: ForkJoin>(&mut self, j: J) -> Answer {
        Answer::Tree(search(j, &self.tree, &self.tree.root()))
    }
}

/// The fork–join program: counts `node` and the tree below it.
///
/// ```
/// use filch_workloads::Serial;
/// use filch_workloads::uts::{Definition, TreeKind, Shape, Tree, search};
///
/// let definition =
///     Definition { kind: TreeKind::Geometric, shape: Shape::Fixed, depth: 2, b: 4.0, q: 0.0, m: 0, seed: 19 };
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
