//! Bags: many small pieces of work as one divisible task.

/// How a [worklist](super::Worklist::run_bags) works on its bags.
///
/// ```
/// use filch::worklist::{Bags, BagSplit, Worklist};
/// use filch_queue::PdqR;
///
/// let one_by_one = Bags { items: 16, split: BagSplit::One };
/// let outcome = Worklist::new(2).queue::<PdqR>(Default::default()).run_bags(
///     [vec![1_u32]],
///     one_by_one,
///     |_| 0,
///     |_, count, nodes: &mut Vec<u32>| {
///         let node = nodes.pop().unwrap();
///         *count += 1;
///         if node < 1 << 10 {
///             nodes.extend([2 * node, 2 * node + 1]);
///         }
///     },
/// );
/// assert_eq!(outcome.states.iter().sum::<u32>(), (1 << 11) - 1);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bags {
    /// The number of calls after which a worker looks up from its bag.
    pub items: usize,
    /// When it splits the bag, and what it gives.
    pub split: BagSplit,
}

impl From<usize> for Bags {
    /// The default way to split.
    fn from(items: usize) -> Self {
        Self { items, split: BagSplit::default() }
    }
}

/// When a worker that looks up from its bag splits it, and what it gives away.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BagSplit {
    /// Half, when a thief's request is answered or a deal is due, as in the paper on private deques. On queues that do
    /// not know who asks, this is `Eager`. The default.
    #[default]
    Half,
    /// One item, whenever `Half` would give half.
    One,
    /// Half, whenever the worker has no other task to give.
    Eager,
}

/// A task of many items that can be split: see [`Worklist::run_bags`](super::Worklist::run_bags).
///
/// ```
/// use filch::worklist::Bag;
///
/// let mut nodes = vec![1, 2, 3, 4, 5];
/// assert_eq!(nodes.split(), Some(vec![1, 2]));
/// assert_eq!(nodes, [3, 4, 5]);
/// ```
pub trait Bag: Send + Sized {
    /// Whether the bag is empty.
    fn is_empty(&self) -> bool;

    /// Returns the number of items.
    fn len(&self) -> usize;

    /// Moves about half of the items to another bag; returns `None` if that is not worthwhile.
    fn split(&mut self) -> Option<Self>;

    /// Moves one item to another bag; returns `None` if that is not worthwhile.
    fn split_one(&mut self) -> Option<Self>;
}

/// Uses the vector as a stack, for instance of nodes that a search has found, and splits off the older half at its
/// bottom.
impl<T: Send> Bag for Vec<T> {
    fn is_empty(&self) -> bool {
        self.is_empty()
    }

    fn len(&self) -> usize {
        self.len()
    }

    fn split(&mut self) -> Option<Self> {
        let half = self.len() / 2;
        (half > 0).then(|| self.drain(..half).collect())
    }

    fn split_one(&mut self) -> Option<Self> {
        (self.len() > 1).then(|| self.drain(..1).collect())
    }
}
