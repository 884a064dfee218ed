//! A knapsack by branch and bound, which stops at once when its goal is reached or its time is over.

mod with_filch;
#[cfg(test)]
mod with_rayon;

pub use with_filch::best;

/// Things to choose from, and how much may be carried.
#[derive(Clone, Debug)]
pub struct Sack {
    /// Weights and values, the best value per weight first.
    items: Vec<(u64, u64)>,
    room: u64,
}

/// A node of the search tree: what is decided about the first items.
#[derive(Clone, Copy, Debug)]
struct Node {
    next: usize,
    room: u64,
    value: u64,
}

impl Sack {
    /// Creates a problem from weights, which are positive, and values.
    pub fn new(mut items: Vec<(u64, u64)>, room: u64) -> Self {
        items.sort_by(|(w, v), (weight, value)| (value * w).cmp(&(v * weight)));
        Self { items, room }
    }

    /// Returns a problem with `items` items of similar weights and values.
    pub fn puzzle(items: u64) -> Self {
        let items: Vec<_> = (1..=items).map(|i| (100 + i * i % 37, 100 + i * i % 41)).collect();
        let room = items.iter().map(|item| item.0).sum::<u64>() / 2;
        Self::new(items, room)
    }

    fn root(&self) -> Node {
        Node { next: 0, room: self.room, value: 0 }
    }

    /// Returns a value that no choice below the node exceeds: with the next items, the last of them in part.
    fn bound(&self, node: Node) -> u64 {
        let (mut room, mut value) = (node.room, node.value);
        for (weight, worth) in &self.items[node.next..] {
            if *weight > room {
                return value + worth * room / weight;
            }
            (room, value) = (room - weight, value + worth);
        }
        value
    }

    /// Returns the nodes with and without the next item, which there must be.
    fn children(&self, node: Node) -> (Option<Node>, Node) {
        let (weight, value) = self.items[node.next];
        let without = Node { next: node.next + 1, ..node };
        let with = node.room.checked_sub(weight).map(|room| Node { room, value: node.value + value, ..without });
        (with, without)
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;

    /// The largest value, by a table over all weights.
    fn by_table(sack: &Sack) -> u64 {
        let room = usize::try_from(sack.room).unwrap();
        let mut best = vec![0; room + 1];
        for &(weight, value) in &sack.items {
            let weight = usize::try_from(weight).unwrap();
            for room in (weight..=room).rev() {
                best[room] = best[room].max(best[room - weight] + value);
            }
        }
        best[room]
    }

    fn far() -> Instant {
        Instant::now() + Duration::from_secs(1 << 20)
    }

    const VERSIONS: [fn(&Sack, u64, Instant) -> u64; 2] = [best, with_rayon::best];

    #[test]
    fn all_versions_find_the_best() {
        for items in [0, 1, 2, 5, 12, 18] {
            let sack = Sack::puzzle(items);
            let expected = by_table(&sack);
            for best in VERSIONS {
                assert_eq!(best(&sack, u64::MAX, far()), expected, "{items} items");
            }
        }
    }

    #[test]
    fn a_search_ends_at_its_goal_or_when_its_time_is_over() {
        // A whole search would take longer than anybody waits: the bounds say nothing, for the values are the weights
        // and no choice is as heavy as the room, which is odd.
        let sack = Sack::new((0..200).map(|i| (1000 + 2 * i, 1000 + 2 * i)).collect(), 99_999);
        for best in VERSIONS {
            assert!(best(&sack, 90_000, far()) >= 90_000);
            assert_eq!(best(&sack, u64::MAX, Instant::now()), 0);
        }
    }
}
