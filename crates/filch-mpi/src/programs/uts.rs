//! Unbalanced trees: a task is a node.

use filch_workloads::Answer;
use filch_workloads::uts::{Count, Node, Tree};

use super::{Around, Program};

pub(super) struct Uts(pub(super) Tree);

impl Program for Uts {
    type Task = ([u32; 5], u32);
    /// Nodes, leaves, depth.
    type State = [u64; 3];

    fn root(&self) -> Self::Task {
        let root = self.0.root();
        (root.state(), root.height())
    }

    #[inline]
    fn visit(
        &self,
        worker: &mut impl Around<Self::Task>,
        [nodes, leaves, depth]: &mut Self::State,
        (state, height): Self::Task,
    ) {
        let node = Node::new(state, height);
        let children = self.0.children(&node);
        *nodes += 1;
        *leaves += u64::from(children == 0);
        *depth = (*depth).max(u64::from(height));
        (0..children).map(|index| node.child(index)).for_each(|child| worker.push((child.state(), child.height())));
    }

    fn merge([nodes, leaves, depth]: Self::State, other: Self::State) -> Self::State {
        [nodes + other[0], leaves + other[1], depth.max(other[2])]
    }

    fn answer(&self, [nodes, leaves, depth]: Self::State) -> Answer {
        Answer::Tree(Count { nodes, leaves, depth: u32::try_from(depth).unwrap_or(u32::MAX) })
    }
}
