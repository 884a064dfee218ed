//! Bags: many small pieces of work as one task, which can be split.

/// A task of many items, of which a part can be given away: see [`Worklist::run_bags`](super::Worklist::run_bags).
///
/// ```
/// use filch::worklist::Bag;
///
/// let mut nodes = vec![1, 2, 3, 4, 5];
/// assert_eq!(nodes.split(), Some(vec![1, 2]));
/// assert_eq!(nodes, [3, 4, 5]);
/// ```
pub trait Bag: Send + Sized {
    /// Whether there is nothing left in it.
    fn is_empty(&self) -> bool;

    /// Takes about half of it out, as another bag; `None` if it is not worth it.
    fn split(&mut self) -> Option<Self>;
}

/// Used as a stack, for instance of the nodes that a search has found: the half at its bottom, the older one, is given away.
impl<T: Send> Bag for Vec<T> {
    fn is_empty(&self) -> bool {
        self.is_empty()
    }

    fn split(&mut self) -> Option<Self> {
        let half = self.len() / 2;
        (half > 0).then(|| self.drain(..half).collect())
    }
}
