//! instant-distance: builds an index of points for approximate searches of neighbours (HNSW). The points of each layer
//! are inserted by a parallel iterator, under a lock for each node.

use crate::neighbours::{self, NEAREST, Neighbours};
use instant_distance::{Builder, Point, Search};

const POINTS: usize = 2500;
const QUERIES: usize = 50;

#[derive(Clone)]
struct Place(neighbours::Point);

impl Point for Place {
    fn distance(&self, other: &Self) -> f32 {
        self.0.iter().zip(&other.0).map(|(a, b)| (a - b) * (a - b)).sum::<f32>().sqrt()
    }
}

/// Returns a run: an index and the neighbours of some places.
pub(crate) fn make() -> Box<dyn FnMut() -> u64> {
    let neighbours = Neighbours::of(POINTS, QUERIES);
    let [places, queries] =
        [&neighbours.points, &neighbours.queries].map(|points| points.iter().copied().map(Place).collect::<Vec<_>>());
    Box::new(move || {
        let map = Builder::default().seed(1).build(places.clone(), (0..POINTS).collect());
        let mut search = Search::default();
        let found =
            queries.iter().map(|query| map.search(query, &mut search).take(NEAREST).map(|item| *item.value).collect());
        neighbours.check(found)
    })
}
