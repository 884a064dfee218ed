//! Bags: many small pieces of work as one divisible task.

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

    /// Moves about half of the items to another bag; returns `None` if that is not worthwhile.
    fn split(&mut self) -> Option<Self>;
}

/// Uses the vector as a stack, for instance of nodes that a search has found, and splits off the older half at its
/// bottom.
impl<T: Send> Bag for Vec<T> {
    fn is_empty(&self) -> bool {
        self.is_empty()
    }

    fn split(&mut self) -> Option<Self> {
        let half = self.len() / 2;
        (half > 0).then(|| self.drain(..half).collect())
    }
}
