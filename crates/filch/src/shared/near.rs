//! The order of victims of [`Victims::Near`](crate::Victims::Near): near workers first.
//!
//! Invariant: the order of each worker contains each worker once.

use std::ops::Range;
use std::path::Path;

use crate::machine::processors::Places;
use crate::machine::topology::{self, Place};

/// For each worker, which workers share its last-level cache, and which share its memory node.
#[derive(Debug)]
pub(crate) struct Near {
    /// The workers, sorted by place, so that neighbours are adjacent.
    sorted: Box<[usize]>,
    /// The rings of each worker.
    rings: Box<[Rings]>,
}

/// Ranges of the sorted workers; the first is a part of the second.
#[derive(Clone, Debug)]
struct Rings {
    cache: Range<usize>,
    node: Range<usize>,
}

impl Near {
    /// Returns `None` if, as far as is known, no worker is nearer to another than the rest are, or if workers have no
    /// processors of their own.
    pub(crate) fn of(workers: usize, deal: &Places, root: &Path) -> Option<Self> {
        let processors = (0..workers).map_while(|worker| deal.to(worker));
        Self::at(&topology::places(root, processors))
    }

    fn at(places: &[Place]) -> Option<Self> {
        if places.iter().all(|place| Some(place) == places.first()) {
            return None;
        }
        let mut sorted: Box<[usize]> = (0..places.len()).collect();
        sorted.sort_by_key(|worker| places[*worker]);
        let range = |is_before: &dyn Fn(&Place) -> bool, is_not_after: &dyn Fn(&Place) -> bool| {
            let end_of = |is: &dyn Fn(&Place) -> bool| sorted.partition_point(|worker| is(&places[*worker]));
            end_of(is_before)..end_of(is_not_after)
        };
        let rings = places.iter().map(|own| Rings {
            cache: range(&|place| place < own, &|place| place <= own),
            node: range(&|place| place.node < own.node, &|place| place.node <= own.node),
        });
        let rings = rings.collect();
        Some(Self { sorted, rings })
    }

    /// Returns all workers, including `index`, in the order in which worker `index` looks for work. `random` is any
    /// number.
    pub(crate) fn order(&self, index: usize, random: usize) -> impl Iterator<Item = usize> {
        let Rings { cache, node } = self.rings[index].clone();
        let all = 0..self.sorted.len();
        let near = ring(cache.clone(), cache.start..cache.start, random);
        near.chain(ring(node.clone(), cache, random)).chain(ring(all, node, random)).map(|at| self.sorted[at])
    }
}

/// Returns the elements of `outer` that are not in `inner`, a part of it, from a random one on.
fn ring(outer: Range<usize>, inner: Range<usize>, random: usize) -> impl Iterator<Item = usize> {
    let size = outer.len() - inner.len();
    let start = random % size.max(1);
    let skip = move |at: usize| if at < inner.start { at } else { at + inner.len() };
    (start..size).chain(0..start).map(move |step| skip(outer.start + step))
}

#[cfg(all(test, target_os = "linux", not(miri)))]
mod tests {
    use std::collections::HashMap;
    use std::num::NonZeroUsize;
    use std::sync::Arc;

    use filch_queue::{ChaseLev, Task};

    use super::*;
    use crate::machine::described::{Described, two_nodes_and_four_caches};
    use crate::pool::Split;
    use crate::shared::{handles::deal_any, policy::Habits};
    use crate::teams::worker_queue::WorkerQueue;
    use crate::worker::home::current_home;
    use crate::{Builder, Victims};

    #[test]
    fn thieves_try_their_cache_then_their_node_then_all_others() {
        let machine = two_nodes_and_four_caches("near");
        let near = Near::at(&topology::places(machine.root(), 0..16)).unwrap();
        for worker in 0..16 {
            let (cache, node) = (|other: usize| other % 8 / 2, |other: usize| other % 8 / 4);
            let mut firsts = [(); 3].map(|()| HashMap::new());
            for random in 0..24 {
                let order: Vec<usize> = near.order(worker, random).collect();
                assert!(order[..4].iter().all(|other| cache(*other) == cache(worker)), "{worker}: {order:?}");
                assert!(order[4..8].iter().all(|other| node(*other) == node(worker)), "{worker}: {order:?}");
                for (ring, first) in [0, 4, 8].into_iter().enumerate() {
                    *firsts[ring].entry(order[first]).or_insert(0) += 1;
                }
                let mut each = order;
                each.sort_unstable();
                assert_eq!(each, (0..16).collect::<Vec<_>>(), "once each");
            }
            // In each ring, every worker comes first equally often.
            for (ring, times) in firsts.iter().zip([6, 6, 3]) {
                assert!(ring.values().all(|first| *first == times), "{worker}: {ring:?}");
            }
        }
    }

    #[test]
    fn workers_may_share_processors_or_have_a_cache_for_themselves() {
        let machine = two_nodes_and_four_caches("shared");
        // Six workers on three processors: two share a cache, and the third is on the other node.
        let near = Near::at(&topology::places(machine.root(), [1, 8, 7, 1, 8, 7].into_iter())).unwrap();
        let sorted = |worker, ring: Range<usize>| {
            let mut order: Vec<usize> = near.order(worker, 7).collect::<Vec<_>>()[ring].to_vec();
            order.sort_unstable();
            order
        };
        assert_eq!((sorted(0, 0..4), sorted(0, 4..6)), (vec![0, 1, 3, 4], vec![2, 5]));
        assert_eq!((sorted(5, 0..2), sorted(5, 2..6)), (vec![2, 5], vec![0, 1, 3, 4]));
        assert!(Near::at(&topology::places(machine.root(), [0, 1, 8, 9].into_iter())).is_none(), "one cache");
        assert!(Near::of(4, &Places::default(), machine.root()).is_none(), "no processors of their own");
    }

    #[test]
    fn a_pinned_pool_has_the_order_of_its_processors() {
        let machine = Described::new("pool");
        let processors = Places::of_this_thread(machine.root()).unwrap();
        processors.numbers().iter().for_each(|&number| machine.cache(number, 0, 3, &number.to_string()));
        let orders = |pin: bool| {
            let mut builder = Builder::<Split>::new().workers(2 * processors.len()).pin(pin).victims(Victims::Near);
            builder.machine = machine.root().into();
            let pool = builder.build().unwrap();
            let sum = pool.install(|| crate::map_reduce(0..1000_u64, 0, |n| n, |a, b| a + b));
            assert_eq!((sum, pool.common.near.is_some()), (499_500, pin && processors.len() > 1));
            pool.broadcast(|_| {
                let mut order = Vec::new();
                let none = current_home().unwrap().at_victims(|victim| -> Option<()> {
                    order.push(victim);
                    None
                });
                assert_eq!(none, None);
                order
            })
        };
        for (worker, order) in orders(true).into_iter().enumerate() {
            let near = |other: &usize| other % processors.len() == worker % processors.len();
            assert!(order[..2].iter().all(near), "{worker}: {order:?}");
            assert_eq!(order.len(), 2 * processors.len());
        }
        orders(false);
    }

    #[test]
    fn thieves_of_a_team_take_what_is_near_before_what_is_far() {
        let machine = two_nodes_and_four_caches("team");
        let near = Near::at(&topology::places(machine.root(), [0, 4, 8, 2].into_iter())).map(Arc::new);
        // SAFETY: this thread alone uses all queues.
        let hands = unsafe { deal_any::<ChaseLev>(4, 8, &(), &Places::default()) };
        let queue = |(index, hand)| WorkerQueue::<ChaseLev>::new(index, hand, None, Habits::default(), near.clone());
        let mut queues: Vec<_> = hands.into_iter().enumerate().map(queue).collect();
        let task = |n: usize| Task::from_id(NonZeroUsize::new(n).unwrap());
        for _ in 0..20 {
            // The owners are on the other node, in the same cache, and in another cache of the same node.
            (1..4).for_each(|owner| queues[owner].push(task(owner)));
            assert_eq!([(); 4].map(|()| queues[0].steal()), [Some(task(2)), Some(task(3)), Some(task(1)), None]);
        }
    }
}
